"""The mesh of our router, clause by clause, as its neighbours see it."""

from __future__ import annotations

from typing import Any

import pytest

from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_1
from quidnunc.model.rpc import Graft, Message, Prune, Subscribe, Unsubscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers.neighbourhood import Hood

HARDENED = ("gossipsub-1.1", "gossipsub-1.2-draft", "gossipsub-1.2")


def meshed(
    count: int, *, protocol: str = "gossipsub-1.2", outbound: tuple[int, ...] = (), **changes: Any
) -> Hood:
    """Peers 1 to `count` have grafted themselves; they and nobody else are in the mesh of t1."""
    hood = Hood(protocol=protocol, **{"d_out": 0, "d_score": 0, **changes})
    hood.join()
    for peer in range(1, count + 1):
        hood.connect(peer, outbound=peer in outbound)
        hood.say(peer, Graft("t1"))
    assert hood.mesh() == set(range(1, count + 1))
    return hood


# -- Join and Leave --


def test_join_grafts_d_members_and_tells_everyone() -> None:
    hood = Hood()
    hood.connect(*range(1, 8))
    hood.connect(8, topics="t2")
    hood.join()
    grafted = hood.got(Graft("t1"))
    assert len(grafted) == 4 and 8 not in grafted and grafted == hood.mesh()
    assert hood.got(Subscribe("t1")) == set(range(1, 9))
    assert hood.join() == {}


def test_join_takes_no_floodsub_peers() -> None:
    hood = Hood()
    hood.connect(1, stream=FLOODSUB)
    hood.join()
    assert hood.sent == {1: [Subscribe("t1")]}


def test_join_moves_the_fanout_into_the_mesh() -> None:
    hood = Hood()
    hood.connect(1, 2)
    hood.publish(Message("m1", "t1", 0))
    hood.connect(3, 4, 5, 6, 7)
    hood.join()
    assert {1, 2} <= hood.got(Graft("t1")) and len(hood.mesh()) == 4
    assert hood.fanout() == set()


def test_leave_prunes_each_member_with_the_short_backoff() -> None:
    hood = meshed(3)
    hood.leave()
    assert hood.got(Prune("t1", 3)) == hood.got(Unsubscribe("t1")) == {1, 2, 3}
    assert hood.leave() == {}


def test_join_leaves_peers_in_backoff_alone_until_a_heartbeat_after_it() -> None:
    hood = meshed(3)
    hood.leave()
    hood.advance(3000)
    hood.join()
    assert hood.got_any(Graft) == set(), "the backoff is over, but no heartbeat has come yet"
    assert hood.beat() and hood.got(Graft("t1")) == {1, 2, 3}


# -- GRAFT --


@pytest.mark.parametrize("protocol", ["gossipsub-1.0", *HARDENED])
def test_a_graft_for_a_topic_that_we_are_not_in(protocol: str) -> None:
    hood = Hood(protocol=protocol)
    hood.connect(1)
    hood.say(1, Graft("t1"))
    assert hood.sent == ({1: [Prune("t1")]} if protocol == "gossipsub-1.0" else {})


def test_a_graft_is_taken_in_silence_and_again() -> None:
    hood = meshed(1)
    assert hood.say(1, Graft("t1")) == {}
    hood.connect(2, topics="")
    assert hood.say(2, Graft("t1")) == {} and hood.mesh() == {1, 2}, "who did not announce the topic as well"


def test_floodsub_peers_have_no_control() -> None:
    hood = meshed(1)
    hood.connect(2, stream=FLOODSUB)
    assert hood.say(2, Graft("t1"), Graft("t9")) == {}
    assert hood.mesh() == {1}


def test_v1_0_takes_any_graft() -> None:
    hood = meshed(9, protocol="gossipsub-1.0")
    assert len(hood.mesh()) == 9


def test_an_explicit_peer_is_pruned_and_never_grafted() -> None:
    hood = Hood(explicit_peers=frozenset({1}))
    hood.connect(1, 2)
    hood.join()
    assert hood.got_any(Graft) == {2}
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}
    assert hood.mesh() == {2}


def test_at_d_high_only_those_we_dialled_are_taken() -> None:
    hood = meshed(6)
    hood.connect(7)
    hood.connect(8, outbound=True)
    assert hood.say(7, Graft("t1")) == {7: [Prune("t1", 6)]}
    assert hood.say(8, Graft("t1")) == {}
    assert 8 in hood.mesh()
    hood.advance(5000)
    assert hood.say(7, Graft("t1")) == {7: [Prune("t1", 6)]}, "in backoff, though the mesh was cut since"


def test_a_negative_score_is_pruned_and_backs_off() -> None:
    hood = meshed(1)
    hood.connect(2)
    hood.score(2, -1)
    assert hood.say(2, Graft("t1")) == {2: [Prune("t1", 6)]}
    hood.score(2, 5)
    assert hood.say(2, Graft("t1")) == {2: [Prune("t1", 6)]}


# -- PRUNE and backoff --


def test_prune_removes_in_silence() -> None:
    hood = meshed(4)
    assert hood.say(1, Prune("t1", 9), Prune("t9", 9)) == {}
    assert hood.mesh() == {2, 3, 4}
    assert hood.say(1, Prune("t1", 9)) == {}


@pytest.mark.parametrize(("announced_s", "wait_s"), [(None, 6), (0, 6), (2, 2), (9, 9)])
def test_the_announced_period_is_waited_to_the_next_heartbeat(announced_s: int | None, wait_s: int) -> None:
    hood = meshed(1)
    hood.advance(500)
    hood.advance(100)
    hood.say(1, Prune("t1", announced_s))
    hood.advance(1000 * wait_s)
    assert hood.got_any(Graft) == set()
    hood.beat()
    assert hood.got_any(Graft) == {1}


def test_an_endless_backoff_is_no_accident() -> None:
    hood = meshed(1)
    hood.say(1, Prune("t1", 2**64 - 1))
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}
    hood.advance(60_000)
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}


def test_a_running_backoff_is_never_shortened() -> None:
    hood = meshed(1)
    hood.say(1, Prune("t1", 9))
    hood.say(1, Prune("t1", 1))
    hood.advance(8000)
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}


def test_a_graft_inside_the_backoff_extends_it() -> None:
    hood = meshed(1)
    hood.say(1, Prune("t1", 3))
    hood.advance(2900)
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}
    hood.advance(5999)
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}
    hood.advance(6000)
    assert hood.say(1, Graft("t1")) == {}, "inside excludes the instant of expiry"


def test_a_backoff_survives_a_new_connection() -> None:
    hood = meshed(1)
    hood.say(1, Prune("t1", 9))
    hood.note(hood.driver.disconnect(1))
    hood.connect(1)
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}


def test_a_stranger_can_back_off_too_in_our_topics() -> None:
    hood = Hood()
    hood.connect(1, 2)
    hood.say(2, Prune("t1"))
    hood.join()
    assert hood.got_any(Graft) == {1, 2}, "before Join the topic was unknown"
    hood = Hood(d_low=0, d=0, d_score=0, d_out=0)
    hood.join()
    hood.connect(1)
    hood.say(1, Prune("t1"))
    assert hood.say(1, Graft("t1")) == {1: [Prune("t1", 6)]}


@pytest.mark.parametrize(("stream", "backoff_s"), [(MESHSUB_1_0, None), (MESHSUB_1_1, 6)])
def test_a_prune_says_the_backoff_to_those_who_know_it(stream: str, backoff_s: int | None) -> None:
    hood = meshed(1)
    hood.connect(2, stream=stream)
    hood.score(2, -1)
    assert hood.say(2, Graft("t1")) == {2: [Prune("t1", backoff_s)]}


def test_v1_0_has_no_backoff() -> None:
    hood = meshed(1, protocol="gossipsub-1.0")
    hood.say(1, Prune("t1"))
    assert hood.say(1, Graft("t1")) == {} and hood.mesh() == {1}


# -- upkeep --


def test_a_thin_mesh_is_filled_to_d_and_another_is_let_be() -> None:
    hood = meshed(2)
    hood.connect(*range(3, 10))
    hood.beat()
    assert len(hood.got_any(Graft)) == 2 and len(hood.mesh()) == 4
    for _ in range(5):
        hood.beat()
        assert hood.got_any(Graft) | hood.got_any(Prune) == set()


def test_a_mesh_of_d_high_is_let_be_and_one_above_is_cut_to_d() -> None:
    hood = meshed(6)
    hood.beat()
    assert hood.got_any(Prune) == set()
    hood.connect(7, outbound=True)
    hood.say(7, Graft("t1"))
    hood.beat()
    assert len(hood.got(Prune("t1", 6))) == 3 and len(hood.mesh()) == 4


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_keeps_the_best_and_the_outbound(seed: int) -> None:
    hood = Hood(seed=seed)
    hood.join()
    for peer in range(1, 10):
        hood.connect(peer, outbound=peer >= 7)
        hood.score(peer, {3: 9, 4: 8}.get(peer, 0))
        hood.say(peer, Graft("t1"))
    assert len(hood.mesh()) == 9
    hood.beat()
    assert {3, 4} < hood.mesh() and hood.mesh() & {7, 8, 9} and len(hood.mesh()) == 4


def test_cuts_differ_where_they_are_free() -> None:
    cuts = set()
    for seed in range(8):
        hood = meshed(6, seed=seed)
        hood.connect(7, outbound=True)
        hood.say(7, Graft("t1"))
        hood.beat()
        cuts.add(frozenset(hood.mesh()))
    assert len(cuts) > 2


def test_negative_members_go_at_the_heartbeat() -> None:
    hood = meshed(5)
    hood.score(2, -1)
    hood.beat()
    assert hood.got(Prune("t1", 6)) == {2} and 2 not in hood.mesh()


@pytest.mark.parametrize("protocol", HARDENED)
def test_who_is_cut_from_one_mesh_is_not_negative_in_another_before_the_next_heartbeat(protocol: str) -> None:
    """What its time in the first mesh earned it is gone with the cut; scores are looked at before it."""
    in_mesh = TopicScoreParameters(topic="t1", time_in_mesh_weight=5.0, time_in_mesh_quantum_ms=100)
    sizes = {"d": 2, "d_low": 1, "d_high": 2, "d_score": 1, "d_out": 0}
    scores = ScoreParameters(topics=(in_mesh,), decay_interval_ms=100)
    hood = Hood(protocol=protocol, scores=scores, **sizes)
    hood.join("t1")
    hood.join("t2")
    hood.connect(1, 2, 3, outbound=True, topics="t1 t2")
    for peer, topics in ((1, "t1 t2"), (2, "t1 t2"), (3, "t1")):
        hood.say(peer, *(Graft(topic) for topic in topics.split()))
    hood.advance(400)
    assert (hood.mesh("t1"), hood.mesh("t2")) == ({1, 2, 3}, {1, 2})
    hood.score(1, -1)
    hood.score(2, -1)
    hood.beat()
    (cut,) = {1, 2, 3} - hood.mesh("t1")
    assert cut in (1, 2) and hood.mesh("t2") == {1, 2}
    hood.beat()
    assert hood.mesh("t2") == {1, 2} - {cut}


def test_missing_outbound_members_are_grafted() -> None:
    hood = meshed(4, d_out=1)
    hood.connect(5)
    hood.connect(6, outbound=True)
    hood.beat()
    assert hood.got_any(Graft) == {6}
    hood.beat()
    assert hood.got_any(Graft) == set()


def test_opportunistic_grafting_takes_those_above_the_median_every_few_heartbeats() -> None:
    hood = meshed(4)
    hood.connect(5, 6, 7, 8)
    for peer, value in {1: 0, 2: 1, 3: 1, 4: 2, 5: 1, 6: 2, 7: 5, 8: 9}.items():
        hood.score(peer, value)
    hood.beat()
    hood.beat()
    assert hood.got_any(Graft) == set()
    hood.beat()
    assert len(hood.got_any(Graft)) == 2 and hood.got_any(Graft) < {6, 7, 8}


def test_a_content_mesh_needs_no_opportunity() -> None:
    hood = meshed(4)
    hood.connect(5)
    for peer in range(1, 6):
        hood.score(peer, 3 + peer)
    for _ in range(6):
        hood.beat()
        assert hood.got_any(Graft) == set()


def test_who_leaves_the_topic_leaves_the_mesh() -> None:
    hood = meshed(3)
    assert hood.say(1, Unsubscribe("t1")) == {}
    assert hood.mesh() == {2, 3}


def test_nobody_is_grafted_for_a_subscription() -> None:
    hood = Hood()
    hood.join()
    hood.connect(1)
    assert hood.sent == {} and hood.mesh() == set()
