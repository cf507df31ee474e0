"""Gossip of our router: what it tells whom, what it asks for, what it gives, and IDONTWANT."""

from __future__ import annotations

from typing import Any

import pytest

from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_1
from quidnunc.model.rpc import IDontWant, IHave, IWant, Message
from tests.helpers.neighbourhood import STREAMS, Hood

GOSSIPSUB = [name for name in STREAMS if name != "floodsub"]
BEFORE_1_2 = ("gossipsub-1.0", "gossipsub-1.1")


def crowd(*, peers: int = 12, **changes: Any) -> Hood:
    """More members of t1 than the mesh takes, so that there is someone to gossip to."""
    hood = Hood(**changes)
    hood.connect(*range(1, peers + 1))
    hood.join()
    hood.beat()
    assert len(hood.mesh()) == 4
    return hood


# -- IHAVE out --


@pytest.mark.parametrize("protocol", GOSSIPSUB)
def test_d_lazy_peers_outside_the_mesh_are_told_for_some_heartbeats(protocol: str) -> None:
    hood = crowd(protocol=protocol)
    assert hood.sent.keys() <= hood.mesh(), "nothing to tell yet"
    hood.publish(Message("m1", "t1", 0))
    told = []
    for _ in range(5):
        hood.beat()
        told.append(hood.got(IHave("t1", ("m1",))))
        assert told[-1] == hood.got_any(IHave) and not told[-1] & hood.mesh()
    assert [len(each) for each in told] == [2, 2, 2, 0, 0], "mcache_gossip windows"


def test_the_share_that_is_told_grows_with_the_pool() -> None:
    hood = crowd(peers=24)
    hood.publish(Message("m1", "t1", 0))
    hood.beat()
    assert len(hood.got_any(IHave)) == 5, "a quarter of twenty"
    hood = crowd(peers=24, protocol="gossipsub-1.0")
    hood.publish(Message("m1", "t1", 0))
    hood.beat()
    assert len(hood.got_any(IHave)) == 2, "D_lazy in v1.0"


def test_gossip_goes_by_topic_and_spares_some() -> None:
    hood = Hood(explicit_peers=frozenset({1}), d=0, d_low=0, d_score=0, d_out=0, d_high=0, d_lazy=9)
    hood.connect(1, 2, 3, 4)
    hood.connect(5, topics="t2")
    hood.connect(6, stream=FLOODSUB)
    hood.join()
    hood.join("t2")
    hood.score(2, -10)
    hood.score(3, -11)
    hood.publish(Message("m1", "t1", 0))
    hood.beat()
    assert hood.got_any(IHave) == {2, 4}
    assert hood.got(IHave("t1", ("m1",))) == {2, 4}


def test_gossip_for_a_fanout_topic() -> None:
    hood = Hood(protocol="gossipsub-1.1")
    hood.connect(*range(1, 10))
    fanout = set(hood.publish(Message("m1", "t1", 0)))
    hood.beat()
    told = hood.got(IHave("t1", ("m1",)))
    assert len(told) == 2 and not told & fanout


def test_long_lists_are_cut_to_what_others_heed() -> None:
    hood = crowd()
    for number in range(1, 10):
        hood.publish(Message(f"m{number}", "t1", 0))
    hood.beat()
    assert all(len(parts) == 6 for parts in hood.sent.values())


# -- IHAVE in --


def test_what_is_new_is_asked_for_and_nothing_else() -> None:
    hood = crowd(idontwant_min_bytes=1000)
    hood.codec.declare(Message("m2", "t1", 1))
    hood.say(1, Message("m1", "t1", 1))
    assert hood.say(2, IHave("t1", ("m1", "m2"))) == {2: [IWant(("m2",))]}
    assert hood.say(3, IHave("t1", ("m1",))) == {}, "no empty IWANT"
    assert hood.say(3, IHave("t9", ("m2",))) == {3: [IWant(("m2",))]}, "of a topic that is not ours, too"
    assert hood.say(3, IHave("t1", ("m2",))) == {3: [IWant(("m2",))]}, "of everyone who has it"


def test_ihaves_are_capped_per_heartbeat() -> None:
    hood = crowd()
    for number in range(1, 4):
        assert hood.say(1, IHave("t1", (f"m{number}",)))
    assert hood.say(1, IHave("t1", ("m4",))) == {}
    assert hood.say(2, IHave("t1", ("m4",))), "each peer has its own"
    hood.beat()
    assert hood.say(1, IHave("t1", ("m5",)))


def test_advertised_ids_are_capped_per_heartbeat() -> None:
    hood = crowd()
    ids = tuple(f"m{number}" for number in range(1, 9))
    hood.say(1, IHave("t1", ids))
    assert len(hood.sent[1]) == 6
    assert hood.say(1, IHave("t1", ("m20",))) == {}


def test_other_control_does_not_use_up_the_cap() -> None:
    hood = crowd()
    for _ in range(9):
        hood.say(1, IDontWant(("m9",)))
    assert hood.say(1, IHave("t1", ("m1",)))


def test_v1_0_has_no_caps() -> None:
    hood = crowd(protocol="gossipsub-1.0")
    for number in range(1, 30):
        assert hood.say(1, IHave("t1", (f"m{number}",)))


def test_gossip_below_the_threshold_is_ignored() -> None:
    hood = crowd()
    hood.publish(Message("m1", "t1", 0))
    hood.score(1, -11)
    assert hood.say(1, IHave("t1", ("m2",)), IWant(("m1",))) == {}
    hood.score(1, -10)
    assert hood.say(1, IWant(("m1",))) == {1: [Message("m1", "t1", 0)]}


# -- IWANT --


def test_what_is_cached_is_given_a_few_times_to_the_one_who_asks() -> None:
    hood = crowd()
    message = Message("m1", "t1", 0)
    hood.publish(message)
    for _ in range(3):
        assert hood.say(1, IWant(("m1", "m7", "m1"))) == {1: [message]}
    assert hood.say(1, IWant(("m1",))) == {}
    assert hood.say(2, IWant(("m1",))) == {2: [message]}


def test_v1_0_gives_without_end_and_for_mcache_len_heartbeats() -> None:
    hood = crowd(protocol="gossipsub-1.0")
    hood.publish(Message("m1", "t1", 0))
    for _ in range(9):
        assert hood.say(1, IWant(("m1",)))
    for _ in range(4):
        hood.beat()
        assert hood.say(1, IWant(("m1",)))
    hood.beat()
    assert hood.say(1, IWant(("m1",))) == {}


# -- IDONTWANT out --


@pytest.mark.parametrize("protocol", GOSSIPSUB)
@pytest.mark.parametrize("validation", ["accept", "manual"])
def test_idontwant_goes_to_the_whole_mesh_at_once(protocol: str, validation: str) -> None:
    hood = crowd(protocol=protocol, validation=validation, idontwant_min_bytes=100)
    sender = min(hood.mesh())
    hood.say(sender, Message("m1", "t1", sender, 99))
    assert hood.got_any(IDontWant) == set(), "not worth it"
    hood.say(sender, Message("m2", "t1", sender, 100))
    assert hood.got(IDontWant(("m2",))) == (set() if protocol in BEFORE_1_2 else hood.mesh())
    hood.say(sender, Message("m2", "t1", sender, 100))
    assert hood.sent == {}


def test_idontwant_is_for_those_who_know_it_and_not_for_bad_or_own_messages() -> None:
    hood = Hood()
    hood.connect(1)
    hood.connect(2, stream=MESHSUB_1_1)
    hood.connect(3, stream=MESHSUB_1_0)
    hood.connect(4, stream=FLOODSUB)
    hood.join()
    hood.say(1, Message("m1", "t1", 1, 0, "forged"))
    hood.publish(Message("m2", "t1", 0))
    assert hood.got_any(IDontWant) == set()
    hood.say(1, Message("m3", "t1", 1))
    assert hood.got_any(IDontWant) == {1}


def test_idontwant_travels_ahead_and_the_draft_has_one_id_per_entry() -> None:
    for protocol, entries in (("gossipsub-1.2-draft", 2), ("gossipsub-1.2", 1)):
        hood = Hood(protocol=protocol)
        hood.connect(1, 2)
        hood.join()
        hood.say(1, Message("m1", "t1", 1), Message("m2", "t1", 1))
        first, second = [hood.codec.decode(data) for peer, _, data in hood.reply.out if peer == 2]
        assert len(first) == entries and all(isinstance(part, IDontWant) for part in first)
        assert second == (Message("m1", "t1", 1), Message("m2", "t1", 1))


# -- IDONTWANT in --


def test_who_said_idontwant_is_skipped_for_some_heartbeats() -> None:
    hood = crowd(d_low=4)
    one, other, *rest = sorted(hood.mesh())
    for number, beats in enumerate((0, 2, 3), start=1):
        message = Message(f"m{number}", "t1", one)
        hood.codec.declare(message)
        hood.say(other, IDontWant((message.id,)))
        for _ in range(beats):
            hood.beat()
        hood.say(one, message)
        assert hood.got(message) == {*rest, *((other,) if beats == 3 else ())}
        assert hood.say(other, IWant((message.id,))) == {other: [message]}, "asking is another matter"


def test_idontwant_counts_for_its_peer_and_its_id_alone() -> None:
    hood = crowd()
    one, other, third, fourth = sorted(hood.mesh())
    message = Message("m1", "t1", one)
    hood.codec.declare(message)
    hood.say(third, IDontWant(("m8", "m9")))
    hood.say(one, message)
    assert hood.got(message) == {other, third, fourth}


def test_idontwants_are_capped_per_heartbeat() -> None:
    hood = crowd()
    one, other, *_ = sorted(hood.mesh())
    for number in range(1, 6):
        message = Message(f"m{number}", "t1", one)
        hood.codec.declare(message)
        hood.say(other, IDontWant((message.id,)))
        hood.say(one, message)
        assert (other in hood.got(message)) == (number > 3)


def test_the_draft_skips_or_not() -> None:
    hood = crowd(protocol="gossipsub-1.2-draft", max_idontwant_messages=100)
    one, other, *_ = sorted(hood.mesh())
    skipped = set()
    for number in range(1, 30):
        message = Message(f"m{number}", "t1", one)
        hood.codec.declare(message)
        hood.say(other, IDontWant((message.id,)))
        hood.say(one, message)
        skipped.add(other in hood.got(message))
    assert skipped == {True, False}


def test_idontwant_of_an_older_stream_or_to_an_older_router_is_nothing() -> None:
    for protocol, stream in (("gossipsub-1.2", MESHSUB_1_1), ("gossipsub-1.1", MESHSUB_1_1)):
        hood = Hood(protocol=protocol)
        hood.connect(1, 2, stream=stream)
        hood.join()
        message = Message("m1", "t1", 1)
        hood.codec.declare(message)
        hood.say(2, IDontWant(("m1",)))
        hood.say(1, message)
        assert hood.got(message) == {2}
