"""Messages through our router: who gets which copy, and what leaves no trace."""

from __future__ import annotations

from typing import Any

import pytest

from quidnunc.impl.wire import keys
from quidnunc.model.events import FLOODSUB
from quidnunc.model.rpc import Flaw, Graft, IHave, IWant, Message, Part, Prune, Unsubscribe
from tests.helpers.neighbourhood import STREAMS, Hood

UNSIGNED = {"signature_policy": "StrictNoSign", "message_id": "content"}
MESH = (1, 2, 3)


def small(**changes: Any) -> Hood:
    """Peers 1, 2, 3 in the mesh of t1; nobody is told IDONTWANT, to keep the picture clear."""
    hood = Hood(**{"protocol": "gossipsub-1.1", **changes})
    hood.connect(*MESH)
    hood.join()
    assert hood.mesh() == set(MESH) or hood.protocol == "floodsub"
    return hood


def relayed(hood: Hood, message: Message) -> set[int]:
    assert all(parts == [message] for parts in hood.sent.values())
    return set(hood.sent)


# -- relay --


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_message_goes_on_but_not_back_and_not_to_its_author(protocol: str) -> None:
    hood = small(protocol=protocol, idontwant_min_bytes=1000)
    hood.connect(4, stream=FLOODSUB)
    hood.connect(5, stream=FLOODSUB, topics="t2")
    message = Message("m1", "t1", 3, 70)
    hood.say(1, message)
    assert relayed(hood, message) == {2, 4}
    assert hood.delivered() == ["m1"]
    hood.say(2, message)
    assert hood.sent == {} and hood.delivered() == []


def test_a_message_of_another_topic_leaves_no_trace() -> None:
    hood = small()
    message = Message("m1", "t2", 1)
    assert hood.say(1, message) == {} and hood.delivered() == []
    hood.join("t2")
    hood.say(1, message)
    assert hood.delivered() == ["m1"]


@pytest.mark.parametrize("flaw", ["unsigned", "forged", "foreign-key", "no-author", "no-seqno"])
def test_a_flawed_copy_leaves_no_trace(flaw: Flaw) -> None:
    hood = small()
    assert hood.say(1, Message("m1", "t1", 3, 0, flaw)) == {}
    assert hood.delivered() == []
    hood.say(2, Message("m1", "t1", 3))
    assert hood.delivered() == ["m1"] and set(hood.sent) == {1}


def test_a_stamped_copy_leaves_no_trace_under_strict_no_sign() -> None:
    hood = small(**UNSIGNED)
    assert hood.say(1, Message("m1", "t1", None, 0, "stamped")) == {}
    hood.say(2, Message("m1", "t1"))
    assert hood.delivered() == ["m1"] and set(hood.sent) == {1, 3}


def test_a_message_in_our_name_is_dropped() -> None:
    hood = small()
    assert hood.say(1, Message("m1", "t1", 0)) == {} and hood.delivered() == []


def test_a_message_over_the_limit_is_dropped_and_the_stream_lives() -> None:
    hood = small(max_message_bytes=100)
    assert hood.say(1, Message("m1", "t1", 3, 101)) == {} and hood.delivered() == []
    hood.say(1, Message("m2", "t1", 3, 100))
    assert hood.delivered() == ["m2"]


def test_seen_counts_from_the_first_receipt() -> None:
    hood = small()
    message = Message("m1", "t1", 3)
    for ms in (0, 7000, 999):
        hood.advance(ms)
        hood.say(1, message)
    assert hood.delivered() == [], "8 s are not over"
    hood.advance(1)
    hood.say(1, message)
    assert hood.delivered() == ["m1"]


def test_explicit_peers_in_the_topic_get_everything_whatever_their_score() -> None:
    hood = Hood(protocol="gossipsub-1.1", explicit_peers=frozenset({2, 3}))
    hood.connect(1, 2)
    hood.connect(3, topics="t2")
    hood.join()
    hood.score(2, -100)
    hood.say(1, Message("m1", "t1", 1))
    assert set(hood.sent) == {2}
    hood.say(2, Message("m2", "t1", 2))
    assert set(hood.sent) == {1}, "and are heard"


# -- graylist --


def test_nothing_of_a_graylisted_rpc_counts() -> None:
    hood = small()
    hood.score(1, -41)
    assert hood.say(1, Unsubscribe("t1"), Message("m1", "t1", 1), Prune("t1")) == {}
    assert hood.delivered() == [] and 1 in hood.mesh()
    hood.score(1, -40)
    hood.say(1, Message("m1", "t1", 1))
    assert hood.delivered() == ["m1"], "at the threshold is not below it"


# -- validation --


@pytest.mark.parametrize("judgement", ["accept", "reject", "ignore"])
def test_a_message_waits_for_its_verdict(judgement: str) -> None:
    hood = small(validation="manual")
    message = Message("m1", "t1", 1)
    assert hood.say(1, message) == {} and hood.delivered() == []
    assert hood.say(2, message, IHave("t1", ("m1",)), IWant(("m1",))) == {}, "seen, and not to be had"
    hood.verdict("m1", judgement)
    accepted = judgement == "accept"
    assert hood.delivered() == (["m1"] if accepted else [])
    assert set(hood.sent) == ({2, 3} if accepted else set())
    hood.say(3, message, IWant(("m1",)))
    assert hood.delivered() == [] and set(hood.sent) == ({3} if accepted else set())
    assert hood.verdict("m1", "accept") == {}, "one verdict is enough"


def test_a_message_that_waits_longer_than_seen_is_still_one_message() -> None:
    hood = small(validation="manual")
    message = Message("m1", "t1", 1)
    hood.say(1, message)
    hood.advance(9000)
    hood.say(2, message)
    hood.verdict("m1", "accept")
    assert hood.delivered() == ["m1"]
    assert hood.verdict("m1", "accept") == {} and hood.delivered() == []


def test_a_verdict_after_leave_delivers_nothing() -> None:
    hood = small(validation="manual")
    hood.connect(4, stream=FLOODSUB)
    hood.say(1, Message("m1", "t1", 1))
    hood.leave()
    hood.verdict("m1", "accept")
    assert hood.delivered() == [] and set(hood.sent) == {4}


# -- own messages --


@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign"])
def test_an_own_message_keeps_the_signature_policy(policy: str) -> None:
    hood = small(**(UNSIGNED if policy == "StrictNoSign" else {}))
    message = Message("m1", "t1", 0 if policy == "StrictSign" else None, 50)
    assert set(hood.publish(message)) == set(MESH)
    assert relayed(hood, message) == set(MESH), "the codec finds no flaw in it"
    assert hood.say(1, message) == {}, "and its echo is nothing new"


def test_own_sequence_numbers_grow() -> None:
    hood = small()
    ids = []
    for number in range(1, 5):
        hood.publish(Message(f"m{number}", "t1", 0))
        ids.append(hood.codec.id_bytes(f"m{number}"))
    assert ids == sorted(set(ids)) and all(len(i) == 38 + 8 for i in ids)


def test_the_same_data_again_is_the_same_message_by_content() -> None:
    hood = small(**UNSIGNED)
    assert set(hood.publish(Message("m1", "t1"))) == set(MESH)
    assert hood.publish(Message("m1", "t1")) == {}


def test_flooding_reaches_every_member_above_the_threshold() -> None:
    hood = small(flood_publish=True, explicit_peers=frozenset({7}))
    hood.connect(4, 5, 7)
    hood.connect(6, stream=FLOODSUB)
    for peer, score in {1: -20, 2: -21, 4: -20, 5: -21, 6: -21, 7: -99}.items():
        hood.score(peer, score)
    assert set(hood.publish(Message("m1", "t1", 0))) == {1, 3, 4, 7}
    hood.leave()
    assert set(hood.publish(Message("m2", "t1", 0))) == {1, 3, 4, 7}, "in the topic or not"
    assert hood.fanout() == set()
    hood.say(3, Message("m3", "t1", 3))
    assert hood.sent == {}


def test_v1_0_does_not_flood() -> None:
    hood = small(protocol="gossipsub-1.0", flood_publish=True)
    hood.connect(4, 5)
    assert set(hood.publish(Message("m1", "t1", 0))) == set(MESH)


def test_without_flooding_it_is_mesh_floodsub_and_explicit() -> None:
    hood = small(explicit_peers=frozenset({7}))
    hood.connect(4, 7)
    hood.connect(5, 6, stream=FLOODSUB)
    hood.score(5, -21)
    hood.score(2, -21)
    assert set(hood.publish(Message("m1", "t1", 0))) == {1, 3, 6, 7}


def test_an_own_message_over_the_limit_is_refused() -> None:
    hood = small(max_message_bytes=100)
    assert hood.publish(Message("m1", "t1", 0, 101)) == {}
    assert set(hood.publish(Message("m2", "t1", 0, 100))) == set(MESH)


# -- fanout --


def test_the_fanout_is_chosen_once_and_kept() -> None:
    hood = Hood(protocol="gossipsub-1.1")
    hood.connect(*range(1, 10))
    first = set(hood.publish(Message("m1", "t1", 0)))
    assert len(first) == 4 == len(hood.fanout())
    hood.advance(2000)
    assert set(hood.publish(Message("m2", "t1", 0))) == first


def test_the_fanout_is_kept_up_and_dropped_in_the_end() -> None:
    hood = Hood(protocol="gossipsub-1.1")
    hood.connect(1, 2)
    hood.publish(Message("m1", "t1", 0))
    hood.score(1, -21)
    hood.connect(3, 4, 5)
    hood.say(2, Unsubscribe("t1"))
    hood.beat()
    assert hood.fanout() == {3, 4, 5}, "who is unfit goes, and D are looked for"
    hood.advance(2500)
    assert hood.fanout() == {3, 4, 5}, "3 s of silence are not more than 3 s"
    hood.beat()
    assert hood.fanout() == set()


def test_nobody_to_publish_to_is_no_fanout() -> None:
    hood = Hood(protocol="gossipsub-1.1")
    assert hood.publish(Message("m1", "t1", 0)) == {}
    hood.connect(1)
    hood.beat()
    assert hood.fanout() == set() and hood.sent == {}


def test_a_fanout_peer_below_the_publish_threshold_is_spared() -> None:
    hood = Hood(protocol="gossipsub-1.1")
    hood.connect(1, 2)
    hood.publish(Message("m1", "t1", 0))
    hood.score(1, -21)
    assert set(hood.publish(Message("m2", "t1", 0))) == {2}


# -- order within an RPC --


def test_messages_count_before_control() -> None:
    hood = small()
    message = Message("m1", "t1", 1)
    parts: tuple[Part, ...] = (IHave("t1", ("m1",)), IWant(("m1",)), Prune("t1"), message, Graft("t8"))
    hood.say(1, *parts)
    assert hood.sent == {1: [message], 2: [message], 3: [message]}, "asked for, and there already"


def test_an_author_is_known_though_nobody_else_has_named_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A router that is alone in its process knows the peer ids of its neighbours."""
    hood = small(protocol="floodsub")
    message = Message("m1", "t1", 2, 70)
    monkeypatch.setattr(keys, "_peers", {})
    hood.say(1, message)
    assert relayed(hood, message) == {3} and hood.delivered() == ["m1"]
