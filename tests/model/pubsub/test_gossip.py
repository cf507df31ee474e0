"""IHAVE, IWANT and the message cache: targets, ids, caps and windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_2,
    Advance,
    Connect,
    Event,
    Join,
    Leave,
    Output,
    Score,
    Sent,
    Verdict,
)
from quidnunc.model.pubsub.gossip import IWANT_ALLOWANCE
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_1, GOSSIPSUB_1_2, PARTIAL
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import IDontWant, IHave, IWant, Message, Unsubscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    BEAT,
    MESH_VERSIONS,
    SINCE_1_1,
    STREAM_OF,
    After,
    T,
    after,
    grafted,
    message,
    of,
    onward,
    own,
    peers,
    sent,
    to_heartbeat,
)

MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])

MEMBERS = [Join(T), *peers(1, 2, 3), grafted(1, 2, 3)]
"""A mesh within bounds, so that the heartbeat has nothing to do but gossip."""


def ihave(*ids: str, topic: str = T) -> IHave:
    return IHave(topic, ids)


def beaten(r: Router, times: int) -> Router:
    for _ in range(times):
        r = onward(r, to_heartbeat(r)).router
    return r


def but_idontwant(outputs: Iterable[Output]) -> frozenset[Output]:
    """What else there is: the draft of 1.2 lets a router say IDONTWANT of what it asks for."""
    return frozenset(o for o in outputs if not (isinstance(o, Sent) and isinstance(o.part, IDontWant)))


class TestIHave:
    @MESHED
    def test_unseen_ids_are_requested_from_the_advertiser(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(2, ihave("m1", "m2")), protocol=protocol)
        assert end.must == sent(IWant(("m1",)), 2) | sent(IWant(("m2",)), 2)

    @MESHED
    def test_seen_ids_are_not(self, protocol: Protocol) -> None:
        base = [*MEMBERS, of(1, message("m1"))]
        assert not but_idontwant(after(base, of(2, ihave("m1")), protocol=protocol).all)
        found = after(base, of(2, ihave("m1", "m2")), protocol=protocol).all
        assert but_idontwant(found) == sent(IWant(("m2",)), 2)

    @MESHED
    def test_nor_those_that_are_waiting_for_a_verdict_or_were_refused(self, protocol: Protocol) -> None:
        base = [*MEMBERS, of(1, message("m1"))]
        assert not after(base, of(2, ihave("m1")), protocol=protocol, validation="manual").all

    @MESHED
    def test_repeated_ids_are_one_request(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(2, ihave("m1", "m1")), protocol=protocol)
        assert len(but_idontwant(p.output for p in end.permits)) == 1

    @MESHED
    def test_two_advertisers_are_both_asked(self, protocol: Protocol) -> None:
        r = after(MEMBERS, of(1, ihave("m1")), protocol=protocol).router
        assert onward(r, of(2, ihave("m1"))).must == sent(IWant(("m1",)), 2)

    @MESHED
    def test_without_ids_there_is_nothing_to_ask(self, protocol: Protocol) -> None:
        assert not after(MEMBERS, of(1, ihave()), protocol=protocol).all

    @MESHED
    def test_of_a_topic_that_we_are_not_in_it_is_owed_all_the_same(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(1, ihave("m1", topic="t2")), protocol=protocol)
        assert (end.must, end.may) == (sent(IWant(("m1",)), 1), frozenset())

    @MESHED
    @pytest.mark.parametrize(("at_ms", "asked"), [(7999, "no"), (8000, "free")])
    def test_after_the_seen_time_it_is_free(self, protocol: Protocol, at_ms: int, asked: str) -> None:
        base = [*MEMBERS, of(1, message("m1")), Advance(at_ms)]
        end = after(base, of(2, ihave("m1")), protocol=protocol, seen_ttl_ms=8000)
        assert (end.must, bool(end.may)) == (frozenset(), asked == "free")

    @LATER
    @pytest.mark.parametrize(("score", "ignored"), [(-10, False), (-11, True)])
    def test_below_the_gossip_threshold_it_is_ignored(
        self, protocol: Protocol, score: int, ignored: bool
    ) -> None:
        end = after(MEMBERS, Score((1,), score), of(1, ihave("m1")), protocol=protocol)
        assert bool(end.all) is not ignored


class TestIHaveCaps:
    """Two messages and four ids of one peer per heartbeat."""

    CAPS = {"max_ihave_messages": 2, "max_ihave_length": 4}

    def heard(self, *earlier: Event) -> After:
        return after(MEMBERS, *earlier, of(1, ihave("n1")), **self.CAPS)

    def test_messages(self) -> None:
        one, two = of(1, ihave("m1")), of(1, ihave("m2"))
        assert self.heard(one).must
        assert not self.heard(one, two).all

    def test_a_combined_rpc_may_count_as_one_or_as_its_entries(self) -> None:
        end = after(MEMBERS, of(1, ihave("m1"), ihave("m2"), ihave("m3")), **self.CAPS)
        assert set(end.due(IWant)[1]) == {IWant(("m1",)), IWant(("m2",))}
        assert end.free(IWant)[1] == [IWant(("m3",))]

    def test_rpcs_without_ihave_do_not_count(self) -> None:
        other = [of(1, IWant(("x",))) for _ in range(5)]
        assert self.heard(*other).must

    def test_ids(self) -> None:
        assert after(MEMBERS, of(1, ihave("m1", "m2", "m3", "m4")), **self.CAPS).due(IWant)
        over = after(MEMBERS, of(1, ihave("m1", "m2", "m3", "m4", "m5")), **self.CAPS)
        # Which four of the five are asked for is not said.
        assert (not over.must, len(over.may)) == (True, 5)
        assert not self.heard(of(1, ihave("m1", "m2", "m3", "m4"))).all

    def test_whether_seen_ids_count_is_free(self) -> None:
        base = [*MEMBERS, *(of(2, message(f"s{k}")) for k in range(4))]
        known = of(1, ihave("s0", "s1", "s2", "s3"))
        end = after(base, known, of(1, ihave("n1")), **self.CAPS)
        assert end.all == sent(IWant(("n1",)), 1) and not end.must
        fewer = of(1, ihave("s0", "s1", "s2"))
        assert after(base, fewer, of(1, ihave("n1")), **self.CAPS).must == sent(IWant(("n1",)), 1)

    def test_per_peer(self) -> None:
        base = [*MEMBERS, of(1, ihave("m1")), of(1, ihave("m2"))]
        assert after(base, of(2, ihave("n1")), **self.CAPS).must == sent(IWant(("n1",)), 2)

    def test_the_heartbeat_starts_anew(self) -> None:
        r = after(MEMBERS, of(1, ihave("m1")), of(1, ihave("m2")), **self.CAPS).router
        assert onward(r, Advance(499), of(1, ihave("n1"))).all == frozenset()
        assert onward(r, Advance(500), of(1, ihave("n1"))).must == sent(IWant(("n1",)), 1)

    def test_v1_0_has_none(self) -> None:
        earlier = [of(1, ihave(f"m{k}")) for k in range(9)]
        end = after(MEMBERS, earlier, of(1, ihave("n1")), protocol=GOSSIPSUB_1_0, **self.CAPS)
        assert end.must == sent(IWant(("n1",)), 1)


class TestIWant:
    M1 = message("m1")

    @MESHED
    def test_cached_ones_go_to_the_one_who_asked(self, protocol: Protocol) -> None:
        base = [*MEMBERS, Connect((7,), MESHSUB_1_2), of(1, self.M1)]
        end = after(base, of(7, IWant(("m1", "nothing"))), protocol=protocol)
        assert end.all == end.must == sent(self.M1, 7)

    @MESHED
    def test_so_do_our_own(self, protocol: Protocol) -> None:
        end = after(MEMBERS, own("m1"), of(7 - 6, IWant(("m1",))), protocol=protocol)
        assert set(end.due(Message)) == {1}

    @MESHED
    def test_even_to_who_sent_it(self, protocol: Protocol) -> None:
        assert after(MEMBERS, of(1, self.M1), of(1, IWant(("m1",))), protocol=protocol).must

    @MESHED
    def test_not_before_the_verdict_and_not_after_a_refusal(self, protocol: Protocol) -> None:
        base = [*MEMBERS, of(1, self.M1)]
        ask = of(2, IWant(("m1",)))
        assert not after(base, ask, protocol=protocol, validation="manual").all
        refused = after(base, Verdict("m1", "reject"), ask, protocol=protocol, validation="manual")
        assert not refused.all
        taken = after(base, Verdict("m1", "accept"), ask, protocol=protocol, validation="manual")
        assert taken.must == sent(self.M1, 2)

    @MESHED
    @pytest.mark.parametrize(("beats", "there"), [(0, True), (1, True), (4, True), (5, False)])
    def test_for_mcache_len_heartbeats(self, protocol: Protocol, beats: int, there: bool) -> None:
        """5 windows, the present one included."""
        r = beaten(after(MEMBERS, of(1, self.M1), protocol=protocol).router, beats)
        assert bool(onward(r, of(2, IWant(("m1",)))).must) is there

    @MESHED
    def test_also_after_we_left_the_topic(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(1, self.M1), Leave(T), of(2, IWant(("m1",))), protocol=protocol)
        assert end.must == sent(self.M1, 2)

    @LATER
    @pytest.mark.parametrize(("score", "ignored"), [(-10, False), (-11, True)])
    def test_below_the_gossip_threshold_it_is_ignored(
        self, protocol: Protocol, score: int, ignored: bool
    ) -> None:
        base = [*MEMBERS, of(1, self.M1), Score((2,), score)]
        assert bool(after(base, of(2, IWant(("m1",))), protocol=protocol).all) is not ignored

    @LATER
    def test_answers_to_one_peer_are_bounded(self, protocol: Protocol) -> None:
        """The first is owed, some more are free, and beyond the allowance there are none."""
        r = after(MEMBERS, of(1, self.M1), protocol=protocol).router
        answers = []
        for _ in range(IWANT_ALLOWANCE + 2):
            end = onward(r, of(2, IWant(("m1",))))
            answers.append("owed" if end.must else "free" if end.may else "none")
            r = end.router
        assert answers == ["owed", *["free"] * (IWANT_ALLOWANCE - 1), "none", "none"]
        assert onward(r, of(3, IWant(("m1",)))).must == sent(self.M1, 3)

    @LATER
    def test_a_larger_configured_bound_counts(self, protocol: Protocol) -> None:
        base = [*MEMBERS, of(1, self.M1), *(of(2, IWant(("m1",))) for _ in range(11))]
        for bound, free in ((11, False), (12, True)):
            end = after(base, of(2, IWant(("m1",))), protocol=protocol, gossip_retransmission=bound)
            assert bool(end.may) is free

    def test_v1_0_answers_each_time(self) -> None:
        base = [*MEMBERS, of(1, self.M1), *(of(2, IWant(("m1",))) for _ in range(20))]
        assert after(base, of(2, IWant(("m1",))), protocol=GOSSIPSUB_1_0).must == sent(self.M1, 2)

    def test_who_said_idontwant_may_be_left_without(self) -> None:
        base = [*MEMBERS, of(1, self.M1), of(2, IDontWant(("m1",)))]
        end = after(base, of(2, IWant(("m1",))))
        assert (end.must, end.may) == (frozenset(), sent(self.M1, 2))


class TestEmission:
    """Mesh 1 to 3; D_lazy 2; gossip factor 0.25."""

    def heartbeat(
        self,
        others: int,
        *before: Event,
        protocol: Protocol = GOSSIPSUB_1_2,
        seen: frozenset[Output] | None = None,
        **rest: Any,
    ) -> After:
        outside = tuple(range(20, 20 + others))
        base = [*MEMBERS, *(peers(*outside) if outside else []), of(1, message("m1")), *before]
        r = after(base, protocol=protocol, **rest).router
        return onward(r, to_heartbeat(r), seen=seen)

    @LATER
    @pytest.mark.parametrize(
        ("others", "targets"), [(0, 0), (1, 1), (2, 2), (5, 2), (8, 2), (12, 3), (16, 4)]
    )
    def test_how_many(self, protocol: Protocol, others: int, targets: int) -> None:
        """max(D_lazy, factor * eligible), of those there are."""
        end = self.heartbeat(others, protocol=protocol)
        assert len(end.due(IHave)) == targets
        assert not end.free(IHave)

    @LATER
    @pytest.mark.parametrize("some", [(20, 21), (20, 21, 22)])
    def test_rounding_is_free(self, protocol: Protocol, some: tuple[int, ...]) -> None:
        """0.25 * 10 is 2.5."""
        assert not self.heartbeat(10, protocol=protocol, seen=sent(ihave("m1"), *some)).problems

    @LATER
    @pytest.mark.parametrize("some", [(20,), ()])
    def test_too_few_is_noticed(self, protocol: Protocol, some: tuple[int, ...]) -> None:
        found = self.heartbeat(10, protocol=protocol, seen=sent(ihave("m1"), *some))
        assert [p.name for p in found.problems] == ["gossip.targets"]

    @LATER
    def test_too_many_has_no_permit(self, protocol: Protocol) -> None:
        found = self.heartbeat(10, protocol=protocol, seen=sent(ihave("m1"), 20, 21, 22, 23))
        assert len(found.all) == 3

    @pytest.mark.parametrize(("some", "allowed"), [((), 0), ((20,), 1), ((20, 21), 2), ((20, 21, 22), 2)])
    def test_v1_0_picks_before_it_filters(self, some: tuple[int, ...], allowed: int) -> None:
        found = self.heartbeat(12, protocol=GOSSIPSUB_1_0, seen=sent(ihave("m1"), *some))
        assert (found.problems, len(found.due(IHave))) == ((), allowed)

    @MESHED
    def test_not_to_the_mesh_nor_to_floodsub_peers_nor_outside_the_topic(self, protocol: Protocol) -> None:
        base = [*peers(30, stream=FLOODSUB), *peers(31, topic="t2"), *peers(32)]
        end = self.heartbeat(0, *base, protocol=protocol)
        assert set(end.due(IHave)) == {32}

    @LATER
    @pytest.mark.parametrize(("score", "told"), [(-10, True), (-11, False)])
    def test_the_gossip_threshold(self, protocol: Protocol, score: int, told: bool) -> None:
        end = self.heartbeat(1, Score((20,), score), protocol=protocol)
        assert bool(end.due(IHave)) is told

    @LATER
    def test_explicit_peers_have_it_anyway(self, protocol: Protocol) -> None:
        explicit = frozenset({20})
        for seen in (frozenset(), sent(ihave("m1"), 20)):
            end = self.heartbeat(1, protocol=protocol, explicit_peers=explicit, seen=seen)
            assert not end.problems
        assert set(end.due(IHave)) == {20}

    @LATER
    def test_the_mesh_is_that_after_its_upkeep(self, protocol: Protocol) -> None:
        """Who is grafted at this heartbeat gets no gossip at it."""
        base = [Join(T), of(1, message("m1")), *peers(20, 21, 22)]
        r = after(peers(1), base, grafted(1), of(1, Unsubscribe(T)), protocol=protocol).router
        end = onward(r, to_heartbeat(r))
        assert end.mesh() == {20, 21, 22}
        assert not end.due(IHave)

    @LATER
    def test_fanout_topics_gossip_too(self, protocol: Protocol) -> None:
        base = [*peers(1, 2, 3, 4, 5), own("m1")]
        r = after(base, protocol=protocol, flood_publish=False).router
        end = onward(r, to_heartbeat(r))
        assert r.fanout_of(T).must == {1, 2, 3}
        assert set(end.due(IHave)) == {4, 5}

    @MESHED
    def test_nothing_without_ids(self, protocol: Protocol) -> None:
        r = after(MEMBERS, peers(20, 21), protocol=protocol).router
        assert not onward(r, to_heartbeat(r)).all


@LATER
class TestIds:
    def told(self, r: Router) -> set[str]:
        return {i for parts in onward(r, to_heartbeat(r)).due(IHave).values() for p in parts for i in p.ids}

    def test_of_the_newest_windows(self, protocol: Protocol) -> None:
        """mcache_gossip 3: an id is told at three heartbeats, though it is served for two more."""
        r = after(MEMBERS, peers(20, 21), of(1, message("m1")), protocol=protocol).router
        told = []
        for _ in range(6):
            told.append(self.told(r))
            r = beaten(r, 1)
        assert told == [{"m1"}, {"m1"}, {"m1"}, set(), set(), set()]

    def test_what_is_accepted_again_is_in_the_newest_window(self, protocol: Protocol) -> None:
        """seen_ttl is shorter than the cache here: the message is new again while it is kept."""
        r = after(MEMBERS, peers(20, 21), of(1, message("m1")), protocol=protocol, seen_ttl_ms=1500).router
        r = onward(beaten(r, 2), of(1, message("m1"))).router
        told = []
        for _ in range(4):
            told.append(self.told(r))
            r = beaten(r, 1)
        assert told == [{"m1"}, {"m1"}, {"m1"}, set()]
        assert onward(r, of(2, IWant(("m1",)))).must == sent(message("m1"), 2)
        assert not onward(beaten(r, 1), of(2, IWant(("m1",)))).all

    def test_all_of_them_to_each(self, protocol: Protocol) -> None:
        r = after(MEMBERS, peers(20, 21), of(1, message("m1")), protocol=protocol).router
        r = onward(beaten(r, 1), of(1, message("m2"), message("m3"))).router
        end = onward(r, to_heartbeat(r))
        assert {p: {i for each in parts for i in each.ids} for p, parts in end.due(IHave).items()} == {
            20: {"m1", "m2", "m3"},
            21: {"m1", "m2", "m3"},
        }

    def test_by_topic(self, protocol: Protocol) -> None:
        base = [*MEMBERS, Join("t2"), *peers(20, 21), *peers(30, 31, topic="t2")]
        r = after(
            base, of(1, message("m1")), of(1, message("m2", topic="t2")), protocol=protocol, d=0, d_low=0
        ).router
        end = onward(r, to_heartbeat(r))
        assert {(p, each) for p, parts in end.due(IHave).items() for each in parts} == {
            (20, ihave("m1")),
            (21, ihave("m1")),
            (30, ihave("m2", topic="t2")),
            (31, ihave("m2", topic="t2")),
        }

    def test_no_more_than_a_message_holds_is_owed(self, protocol: Protocol) -> None:
        base = [*MEMBERS, *peers(20, 21), *(of(1, message(f"m{k}")) for k in range(3))]
        r = after(base, protocol=protocol, max_ihave_length=2).router
        end = onward(r, to_heartbeat(r))
        assert not end.due(IHave)
        assert set(end.free(IHave)) == {20, 21}

    def test_a_duplicate_does_not_renew_it(self, protocol: Protocol) -> None:
        r = beaten(after(MEMBERS, peers(20, 21), of(1, message("m1")), protocol=protocol).router, 2)
        r = onward(r, of(2, message("m1"))).router
        assert self.told(r) == {"m1"}
        assert self.told(beaten(r, 1)) == set()


def test_one_serving_counter_per_stay_in_the_cache() -> None:
    """Once the message has left the cache, its counters go with it."""
    r = after(MEMBERS, of(1, message("m1")), of(2, IWant(("m1",))), protocol=GOSSIPSUB_1_1).router
    assert r.served == {(2, "m1"): 1}
    assert not beaten(r, 5).served


@pytest.mark.parametrize("protocol", (*MESH_VERSIONS, PARTIAL), ids=lambda p: p.name)
def test_whether_a_message_is_cached_whose_verdict_came_after_leaving_is_free(protocol: Protocol) -> None:
    """Once the topic is joined again, it may be gossiped and served; what is accepted inside it is owed."""
    beside = [*peers(4, 5, stream=STREAM_OF[protocol.name]), of(1, message("m1")), Leave(T)]
    back = [Verdict("m1", "accept"), Join(T), grafted(1, 2, 3)]
    base: Any = [*MEMBERS, *beside, *back]
    wide = {"protocol": protocol, "validation": "manual", "d": 3, "unsubscribe_backoff_s": 0}
    beat = after(base, BEAT, **wide)
    assert not beat.due(IHave) and beat.free(IHave) == {4: [ihave("m1")], 5: [ihave("m1")]}
    silent = after(base, BEAT, seen=(), **wide)
    assert not silent.problems and not silent.due(IHave)
    asked = after(base, of(4, IWant(("m1",))), **wide)
    assert not asked.due(Message) and asked.free(Message) == {4: [message("m1")]}
    both = after(base, of(1, message("m2")), Verdict("m2", "accept"), BEAT, **wide)
    assert both.due(IHave) == {4: [ihave("m2")], 5: [ihave("m2")]}
    assert both.free(IHave) == {4: [ihave("m1")], 5: [ihave("m1")]}
