"""GRAFT and PRUNE, Join and Leave, clause by clause and at their boundaries."""

from __future__ import annotations

import pytest

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_0,
    MESHSUB_1_1,
    Connect,
    Join,
    Leave,
    Receive,
    Score,
    Sent,
)
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_1, GOSSIPSUB_1_2
from quidnunc.model.rpc import UNSAID, Graft, Prune, Subscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    MESH_VERSIONS,
    SINCE_1_1,
    After,
    T,
    after,
    grafted,
    of,
    own,
    peers,
    pruned,
    sent,
)

MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])


def full(count: int = 4, protocol: Protocol = GOSSIPSUB_1_2, *last: object, **parameters: object) -> After:
    """Join alone, then `count` peers graft themselves, then what follows."""
    members = tuple(range(1, count + 1))
    events = [Join(T), *peers(*members), grafted(*members), *peers(11), *peers(12, outbound=True)]
    return after(events, *last, protocol=protocol, **parameters)  # type: ignore[arg-type]


class TestGraft:
    @MESHED
    def test_accepted_without_a_word(self, protocol: Protocol) -> None:
        end = after(Join(T), peers(1), grafted(1), protocol=protocol)
        assert end.mesh() == {1}
        assert not end.all

    @MESHED
    def test_its_sender_need_not_be_subscribed(self, protocol: Protocol) -> None:
        assert after(Join(T), Connect((1,)), grafted(1), protocol=protocol).mesh() == {1}

    @MESHED
    def test_from_a_member_changes_nothing(self, protocol: Protocol) -> None:
        once = full(4, protocol)
        again = full(4, protocol, grafted(1))
        assert again.mesh() == once.mesh()
        assert not again.all

    @LATER
    def test_from_a_member_at_d_high_is_still_idempotent(self, protocol: Protocol) -> None:
        assert full(4, protocol, grafted(1)).mesh() == {1, 2, 3, 4}

    def test_for_an_unknown_topic_v1_0_prunes(self) -> None:
        end = after(peers(1, stream=MESHSUB_1_0), grafted(1), protocol=GOSSIPSUB_1_0)
        assert end.must == sent(Prune(T, UNSAID), 1)
        assert "gs1.0/graft.unsubscribed" in end.because

    @LATER
    def test_for_an_unknown_topic_v1_1_ignores(self, protocol: Protocol) -> None:
        end = after(peers(1), grafted(1), protocol=protocol)
        assert not end.all
        assert "gs1.1/graft.unknown-topic" in end.because
        assert T not in end.router.mesh

    @LATER
    @pytest.mark.parametrize(("members", "taken"), [(3, True), (4, False), (5, False)])
    def test_at_d_high_an_inbound_peer_is_refused(
        self, protocol: Protocol, members: int, taken: bool
    ) -> None:
        events = [Join(T), *peers(*range(1, members + 1), outbound=True), grafted(*range(1, members + 1))]
        end = after(events, peers(11), grafted(11), protocol=protocol)
        assert (11 in end.mesh()) is taken
        assert end.must == (frozenset() if taken else sent(Prune(T, 60), 11))
        assert bool(end.router.backoff) is not taken

    @LATER
    def test_at_d_high_an_outbound_peer_is_taken(self, protocol: Protocol) -> None:
        end = full(4, protocol, grafted(12))
        assert end.mesh() == {1, 2, 3, 4, 12}
        assert not end.all

    def test_v1_0_has_no_ceiling_for_grafts(self) -> None:
        assert full(4, GOSSIPSUB_1_0, grafted(11)).mesh() == {1, 2, 3, 4, 11}

    @LATER
    @pytest.mark.parametrize(("score", "taken"), [(-1, False), (0, True), (1, True)])
    def test_negative_scores_are_refused(self, protocol: Protocol, score: int, taken: bool) -> None:
        end = after(Join(T), peers(1), Score((1,), score), grafted(1), protocol=protocol)
        assert (end.mesh() == {1}) is taken
        assert end.must == (frozenset() if taken else sent(Prune(T, 60), 1))

    @LATER
    def test_explicit_peers_are_refused_and_not_backed_off(self, protocol: Protocol) -> None:
        explicit = frozenset({1})
        end = after(Join(T), peers(1), grafted(1), protocol=protocol, explicit_peers=explicit)
        assert (end.mesh(), end.must) == (set(), sent(Prune(T, 60), 1))
        assert not end.router.backoff

    def test_v1_0_knows_no_explicit_peers(self) -> None:
        end = after(Join(T), peers(1), grafted(1), protocol=GOSSIPSUB_1_0, explicit_peers=frozenset({1}))
        assert end.mesh() == {1}

    @LATER
    def test_a_burst_fills_to_d_high_and_no_further(self, protocol: Protocol) -> None:
        end = after(Join(T), peers(*range(1, 21)), grafted(*range(1, 21)), protocol=protocol)
        assert end.mesh() == {1, 2, 3, 4}
        assert end.due(Prune) == {p: [Prune(T, 60)] for p in range(5, 21)}

    def test_several_in_one_rpc_are_taken_in_turn(self) -> None:
        events = [Join("t1"), Join("t2"), *peers(1)]
        end = after(events, of(1, Graft("t2"), Graft("t3"), Graft("t1"), Prune("t2")))
        assert (end.mesh("t1"), end.mesh("t2")) == ({1}, set())
        assert not end.all


class TestPrune:
    @MESHED
    def test_removes_and_is_not_answered(self, protocol: Protocol) -> None:
        end = full(3, protocol, pruned(2))
        assert end.mesh() == {1, 3}
        assert not end.all

    @MESHED
    def test_from_a_stranger_leaves_the_mesh(self, protocol: Protocol) -> None:
        assert full(3, protocol, pruned(11)).mesh() == {1, 2, 3}

    @MESHED
    def test_of_another_topic_leaves_this_one(self, protocol: Protocol) -> None:
        end = full(3, protocol, pruned(1, topic="t2"))
        assert end.mesh() == {1, 2, 3}
        assert not end.router.backoff

    @pytest.mark.parametrize(
        ("stream", "field"), [(MESHSUB_1_0, UNSAID), (MESHSUB_1_1, 60), ("/meshsub/1.2.0", 60)]
    )
    def test_backoff_is_told_to_those_who_know_the_field(self, stream: str, field: int) -> None:
        end = after(Join(T), peers(1, stream=stream), Score((1,), -1), grafted(1))
        assert end.must == sent(Prune(T, field), 1)

    def test_v1_0_does_not_say_whether_one_is_told(self) -> None:
        end = after(peers(1), grafted(1), protocol=GOSSIPSUB_1_0)
        assert end.must == sent(Prune(T, UNSAID), 1)


@MESHED
class TestJoin:
    @pytest.mark.parametrize("there", [0, 1, 2, 3, 5])
    def test_up_to_d_are_grafted(self, protocol: Protocol, there: int) -> None:
        events = peers(*range(1, there + 1)) if there else []
        end = after(events, Join(T), protocol=protocol)
        assert len(end.mesh()) == min(3, there)
        assert end.due(Graft) == {p: [Graft(T)] for p in end.mesh()}

    def test_any_d_of_them(self, protocol: Protocol) -> None:
        base = peers(1, 2, 3, 4, 5)
        for chosen in ((1, 2, 3), (3, 4, 5), (1, 3, 5)):
            end = after(base, Join(T), protocol=protocol, seen=sent(Graft(T), *chosen))
            assert (end.mesh(), end.problems) == (set(chosen), ())
        for chosen in ((), (1, 2)):
            assert after(base, Join(T), protocol=protocol, seen=sent(Graft(T), *chosen)).problems
        more = after(base, Join(T), protocol=protocol, seen=sent(Graft(T), 1, 2, 3, 4))
        # The fourth GRAFT has no permit.
        assert len(more.due(Graft)) == 3

    def test_floodsub_peers_and_strangers_are_no_candidates(self, protocol: Protocol) -> None:
        base = [*peers(1, stream=FLOODSUB), *peers(2, topic="t2"), *peers(3)]
        assert after(base, Join(T), protocol=protocol).mesh() == {3}

    def test_the_fanout_comes_first_and_is_moved(self, protocol: Protocol) -> None:
        base = [*peers(1, 2), own(), *peers(3, 4, 5, 6)]
        quiet = {"flood_publish": False}
        end = after(base, Join(T), protocol=protocol, **quiet, seen=sent(Graft(T), 1, 2, 5))
        assert (end.mesh(), end.problems) == ({1, 2, 5}, ())
        assert T not in end.router.fanout
        wrong = after(base, Join(T), protocol=protocol, **quiet, seen=sent(Graft(T), 1, 4, 5))
        assert [p.name for p in wrong.problems] == ["mesh.join"]

    def test_the_subscription_is_announced_as_well(self, protocol: Protocol) -> None:
        end = after(peers(1), Join(T), protocol=protocol)
        assert end.due(Subscribe) == {1: [Subscribe(T)]}


class TestJoinSince11:
    @pytest.mark.parametrize("what", ["negative", "explicit", "backing off"])
    def test_who_is_no_candidate(self, what: str) -> None:
        before = {
            "negative": [*peers(1, 2), Score((1,), -1)],
            "explicit": peers(1, 2),
            "backing off": [Join(T), *peers(1), grafted(1), pruned(1), Leave(T), *peers(2)],
        }[what]
        explicit = frozenset({1} if what == "explicit" else ())
        assert after(before, Join(T), explicit_peers=explicit).mesh() == {2}


class TestLeave:
    @MESHED
    def test_each_member_is_pruned_and_the_mesh_forgotten(self, protocol: Protocol) -> None:
        end = full(3, protocol, Leave(T))
        assert set(end.due(Prune)) == {1, 2, 3}
        assert T not in end.router.mesh
        assert T not in end.router.topics

    @LATER
    def test_the_prune_tells_the_shorter_backoff(self, protocol: Protocol) -> None:
        end = full(2, protocol, Leave(T))
        assert end.due(Prune) == {p: [Prune(T, 10)] for p in (1, 2)}

    @LATER
    def test_nobody_else_is_backed_off(self, protocol: Protocol) -> None:
        end = full(2, protocol, Leave(T))
        assert {p for _, p in end.router.backoff} == {1, 2}

    def test_v1_0_has_no_backoff(self) -> None:
        end = full(2, GOSSIPSUB_1_0, Leave(T))
        assert end.due(Prune) == {p: [Prune(T, UNSAID)] for p in (1, 2)}
        assert not end.router.backoff

    @MESHED
    def test_an_empty_mesh_prunes_nobody(self, protocol: Protocol) -> None:
        assert not after(Join(T), peers(1, topic="t2"), Leave(T), protocol=protocol).due(Prune)


def test_control_of_a_1_1_router_reaches_every_part_of_a_combined_rpc() -> None:
    """Subscriptions first, so that a GRAFT behind them finds its sender in the topic."""
    end = after(Join(T), Connect((1,)), Receive((1,), (Graft(T), Subscribe(T))), protocol=GOSSIPSUB_1_1)
    assert end.mesh() == {1}
    assert end.router.members(T) == {1}
    assert Sent(1, Graft(T)) not in end.all
