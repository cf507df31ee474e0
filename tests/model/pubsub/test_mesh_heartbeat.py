"""The mesh at the heartbeat: bounds of the degree, the cut, the outbound quota, opportunistic grafting."""

from __future__ import annotations

from itertools import combinations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from quidnunc.model.choices import AngelicChoices
from quidnunc.model.events import Advance, Event, Join, Leave, Output, Sent
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_2, started
from quidnunc.model.pubsub.router import Neighbour, Router
from quidnunc.model.pubsub.step import step
from quidnunc.model.rpc import Graft, Prune
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    BEAT,
    MESH_VERSIONS,
    SINCE_1_1,
    After,
    T,
    after,
    grafted,
    onward,
    own,
    peers,
    pruned,
    sent,
    to_heartbeat,
)

MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])


def with_mesh(
    members: int, others: int = 0, protocol: Protocol = GOSSIPSUB_1_2, **parameters: object
) -> Router:
    """A router just before its first heartbeat: peers 1.. are in its mesh, the `others` only in the topic.

    Members are outbound, so that v1.1 takes them whatever D_high is.
    """
    inside = tuple(range(1, members + 1))
    outside = tuple(range(50, 50 + others))
    events: list[Event] = [Join(T)]
    if inside:
        events += [*peers(*inside, outbound=True), grafted(*inside)]
    if outside:
        events += peers(*outside)
    return after(*events, protocol=protocol, **parameters).router


class TestBounds:
    """D_low 2, D 3, D_high 4."""

    @MESHED
    @pytest.mark.parametrize(
        ("members", "grafts", "prunes"),
        [(0, 3, 0), (1, 2, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 2), (6, 0, 3)],
    )
    def test_below_between_above(self, protocol: Protocol, members: int, grafts: int, prunes: int) -> None:
        r = with_mesh(members, others=5, protocol=protocol)
        end = onward(r, to_heartbeat(r))
        assert (len(end.due(Graft)), len(end.due(Prune))) == (grafts, prunes)
        assert not end.free(Graft)
        assert not end.free(Prune)
        assert len(end.mesh()) == members + grafts - prunes

    @MESHED
    def test_nothing_between_heartbeats(self, protocol: Protocol) -> None:
        for members in (0, 6):
            end = onward(with_mesh(members, others=5, protocol=protocol), Advance(499))
            assert not end.all

    @MESHED
    @pytest.mark.parametrize("others", [0, 1, 2])
    def test_as_many_as_there_are(self, protocol: Protocol, others: int) -> None:
        r = with_mesh(0, others=others, protocol=protocol)
        assert len(onward(r, to_heartbeat(r)).due(Graft)) == others

    @MESHED
    def test_too_few_and_too_many_grafts_are_noticed(self, protocol: Protocol) -> None:
        r = with_mesh(1, others=4, protocol=protocol)
        good = onward(r, to_heartbeat(r), seen=sent(Graft(T), 51, 53))
        assert (good.problems, good.mesh()) == ((), {1, 51, 53})
        few = onward(r, to_heartbeat(r), seen=sent(Graft(T), 51))
        assert [p.name for p in few.problems] == ["mesh.fill"]
        many = onward(r, to_heartbeat(r), seen=sent(Graft(T), 51, 52, 53))
        assert len(many.due(Graft)) == 2

    @MESHED
    def test_the_cut_goes_to_d_exactly(self, protocol: Protocol) -> None:
        r = with_mesh(6, protocol=protocol)
        good = onward(r, to_heartbeat(r), seen=sent(Prune(T), 4, 5, 6))
        assert (good.problems, good.mesh()) == ((), {1, 2, 3})
        few = onward(r, to_heartbeat(r), seen=sent(Prune(T), 4, 5))
        assert [p.name for p in few.problems] == ["mesh.cut"]

    @MESHED
    def test_each_topic_for_itself(self, protocol: Protocol) -> None:
        both = [*peers(1, 2, 3), *peers(4, 5, 6, topic="t2"), Join("t1"), Join("t2"), pruned(1, 2)]
        end = after(both, peers(7, 8, 9), peers(10, 11, topic="t2"), Advance(500), protocol=protocol)
        assert {part for parts in end.due(Graft).values() for part in parts} == {Graft("t1")}
        assert (len(end.mesh("t1")), end.mesh("t2")) == (3, {4, 5, 6})


class TestCut:
    @LATER
    def test_the_best_stay(self, protocol: Protocol) -> None:
        """D 3, D_score 2: of five, the two best stay, and any one of the others."""
        r = with_mesh(5, protocol=protocol)
        r = evolve(r, scores={1: 1, 2: 2, 3: 3, 4: 4, 5: 5})
        for gone in ({1, 2}, {1, 3}, {2, 3}):
            assert not onward(r, to_heartbeat(r), seen=sent(Prune(T), *gone)).problems, gone
        for gone in ({1, 4}, {1, 5}, {4, 5}):
            found = onward(r, to_heartbeat(r), seen=sent(Prune(T), *gone))
            assert [p.clause for p in found.problems] == ["gs1.0/heartbeat.cut"], gone

    @LATER
    def test_ties_are_free(self, protocol: Protocol) -> None:
        r = evolve(with_mesh(5, protocol=protocol), scores=dict.fromkeys(range(1, 6), 7))
        for gone in combinations(range(1, 6), 2):
            assert not onward(r, to_heartbeat(r), seen=sent(Prune(T), *gone)).problems

    def test_v1_0_cuts_anybody(self) -> None:
        r = evolve(with_mesh(5, protocol=GOSSIPSUB_1_0), scores={5: 5, 4: 4})
        assert not onward(r, to_heartbeat(r), seen=sent(Prune(T), 4, 5)).problems

    def test_the_outbound_quota_is_kept(self) -> None:
        """D 4, D_out 2: of seven, two of the three outbound ones stay."""
        quota = {"d": 4, "d_low": 3, "d_high": 6, "d_out": 2, "d_score": 0}
        r = self._seven(outbound={1, 2, 3}, **quota)
        assert not onward(r, to_heartbeat(r), seen=sent(Prune(T), 1, 4, 5)).problems
        assert onward(r, to_heartbeat(r), seen=sent(Prune(T), 1, 2, 5)).problems

    def test_the_outbound_quota_needs_as_many(self) -> None:
        quota = {"d": 4, "d_low": 3, "d_high": 6, "d_out": 2, "d_score": 0}
        r = self._seven(outbound={1}, **quota)
        assert not onward(r, to_heartbeat(r), seen=sent(Prune(T), 5, 6, 7)).problems
        assert onward(r, to_heartbeat(r), seen=sent(Prune(T), 1, 6, 7)).problems

    @staticmethod
    def _seven(outbound: set[int], **parameters: object) -> Router:
        r = started(GOSSIPSUB_1_2, Parameters(**parameters))  # type: ignore[arg-type]
        known = {p: Neighbour("/meshsub/1.2.0", p in outbound, frozenset({T})) for p in range(1, 8)}
        return evolve(r, peers=known, topics=frozenset({T}), mesh={T: frozenset(known)})

    @given(
        scores=st.lists(st.integers(0, 3), min_size=7, max_size=7),
        outbound=st.sets(st.integers(1, 7)),
        d_score=st.integers(0, 4),
        d_out=st.integers(0, 2),
    )
    def test_the_predicate_is_what_the_text_generates(
        self, scores: list[int], outbound: set[int], d_score: int, d_out: int
    ) -> None:
        """Sort by score, keep the D_score best, fill up at random, and bring in outbound peers for the last
        ones kept until there are D_out: every outcome of that, ties and all, and nothing else, is allowed."""
        degrees = {"d": 4, "d_low": 3, "d_high": 6, "d_score": d_score, "d_out": d_out}
        r = evolve(self._seven(outbound, **degrees), scores=dict(enumerate(scores, 1)))
        generated = generate_cuts(dict(enumerate(scores, 1)), outbound, 4, d_score, d_out)
        for gone in map(frozenset, combinations(range(1, 8), 3)):
            angel = AngelicChoices(sent(Prune(T), *gone))
            step(r, to_heartbeat(r), angel)
            cut = [p for p in angel.problems if p.name == "mesh.cut"]
            assert (not cut) == (frozenset(range(1, 8)) - gone in generated), (gone, cut)


def generate_cuts(
    scores: dict[int, int], outbound: set[int], d: int, d_score: int, d_out: int
) -> set[frozenset[int]]:
    """Everything that the text's procedure can keep.

    The best D_score under some order of ties; the rest from any others; then, while fewer than D_out are
    outbound, outbound peers of those left replace inbound ones of the random part, and only where that is
    used up one of the best.
    """
    everyone = set(scores)
    quota = min(d_out, len(outbound))
    kept: set[frozenset[int]] = set()
    for best in tops(scores, d_score):
        for rest in combinations(sorted(everyone - best), d - len(best)):
            chosen = best | set(rest)
            lacking = quota - len(chosen & outbound)
            if lacking <= 0:
                kept.add(frozenset(chosen))
                continue
            room = sorted(set(rest) - outbound) if len(set(rest) - outbound) >= lacking else None
            spare = sorted(outbound - chosen)
            for come in combinations(spare, lacking):
                if room is not None:
                    kept |= {frozenset(chosen - set(go) | set(come)) for go in combinations(room, lacking)}
                    continue
                must = set(rest) - outbound
                for go in combinations(sorted(best - outbound), lacking - len(must)):
                    kept.add(frozenset(chosen - must - set(go) | set(come)))
    return kept


def tops(scores: dict[int, int], count: int) -> list[set[int]]:
    """Every set of `count` best, over the orders of ties."""
    if not count:
        return [set()]
    bar = sorted(scores.values(), reverse=True)[count - 1]
    sure = {p for p, s in scores.items() if s > bar}
    tied = sorted(p for p, s in scores.items() if s == bar)
    return [sure | set(some) for some in combinations(tied, count - len(sure))]


class TestOutbound:
    """D 4, D_low 3, D_high 6, D_out 2."""

    QUOTA = {"d": 4, "d_low": 3, "d_high": 6, "d_out": 2}

    @LATER
    @pytest.mark.parametrize(
        ("inside", "outside", "grafts"), [(0, 3, 2), (1, 3, 1), (2, 3, 0), (0, 1, 1), (0, 0, 0)]
    )
    def test_the_missing_ones_are_grafted(
        self, protocol: Protocol, inside: int, outside: int, grafts: int
    ) -> None:
        members = [
            *peers(*range(1, 4 - inside)),
            *(peers(*range(10, 10 + inside), outbound=True) if inside else []),
        ]
        all_in = (*range(1, 4 - inside), *range(10, 10 + inside))
        others = peers(*range(20, 20 + outside), outbound=True) if outside else []
        spare = peers(30, 31)
        end = after(
            Join(T), members, grafted(*all_in), others, spare, Advance(500), protocol=protocol, **self.QUOTA
        )
        assert set(end.due(Graft)) <= set(range(20, 20 + outside))
        assert len(end.due(Graft)) == grafts

    def test_of_a_mesh_that_the_heartbeat_filled_it_is_free_and_owed_by_the_next(self) -> None:
        """The fill takes anybody, and only then has the mesh D_low members."""
        base = [Join(T), *peers(1, 2, 3, 4, 5), *peers(20, 21, outbound=True)]
        r = after(base, **self.QUOTA).router
        end = onward(r, to_heartbeat(r), seen=sent(Graft(T), 1, 2, 3, 4))
        assert (end.problems, end.mesh()) == ((), {1, 2, 3, 4})
        later = onward(end.router, BEAT, seen=())
        assert [p.name for p in later.problems] == ["mesh.outbound"]
        later = onward(end.router, BEAT, seen=sent(Graft(T), 20, 21))
        assert (later.problems, later.mesh()) == ((), {1, 2, 3, 4, 20, 21})
        end = onward(r, to_heartbeat(r), seen=sent(Graft(T), 1, 2, 3, 4, 20, 21))
        assert (end.problems, end.mesh()) == ((), {1, 2, 3, 4, 20, 21})

    def test_v1_0_has_no_quota(self) -> None:
        end = after(
            Join(T),
            peers(1, 2, 3),
            grafted(1, 2, 3),
            peers(20, outbound=True),
            Advance(500),
            protocol=GOSSIPSUB_1_0,
            **self.QUOTA,
        )
        assert not end.due(Graft)


class TestNegativeScores:
    @LATER
    @pytest.mark.parametrize(("score", "stays"), [(-1, False), (0, True)])
    def test_members_below_zero_are_pruned(self, protocol: Protocol, score: int, stays: bool) -> None:
        r = evolve(with_mesh(3, protocol=protocol), scores={1: score})
        end = onward(r, to_heartbeat(r))
        assert (1 in end.mesh()) is stays
        assert end.due(Prune) == ({} if stays else {1: [Prune(T, 60)]})

    @LATER
    def test_the_fill_comes_after_and_takes_others(self, protocol: Protocol) -> None:
        r = evolve(with_mesh(2, others=3, protocol=protocol), scores={1: -1, 50: -1})
        end = onward(r, to_heartbeat(r))
        assert set(end.due(Prune)) == {1}
        assert set(end.due(Graft)) == {51, 52}

    def test_v1_0_has_no_scores(self) -> None:
        r = evolve(with_mesh(3, protocol=GOSSIPSUB_1_0), scores={1: -9})
        assert not onward(r, to_heartbeat(r)).due(Prune)


class TestOpportunistic:
    """Due at the third heartbeat in a row with a poor median; the threshold is 3."""

    TICKS = {"opportunistic_graft_ticks": 3, "opportunistic_graft_threshold": 3, "d_high": 8}

    def poor(self, members: dict[int, int], others: dict[int, int]) -> Router:
        r = with_mesh(len(members), others=0, **self.TICKS)
        outside = {p: Neighbour("/meshsub/1.2.0", False, frozenset({T})) for p in others}
        return evolve(r, peers={**r.peers, **outside}, scores={**members, **others})

    def beats(self, r: Router, count: int, seen: frozenset[Output] = frozenset()) -> After:
        for _ in range(count - 1):
            r = onward(r, to_heartbeat(r), seen=()).router
        return onward(r, to_heartbeat(r), seen=seen)

    MEMBERS = {1: 1, 2: 1, 3: 1}
    OTHERS = {20: 2, 21: 5, 22: 1, 23: 0}

    def test_free_before_it_is_due(self) -> None:
        r = self.poor(self.MEMBERS, self.OTHERS)
        for count in (1, 2):
            assert not self.beats(r, count).problems
        early = onward(r, to_heartbeat(r), seen=sent(Graft(T), 20, 21))
        assert (early.problems, early.mesh()) == ((), {1, 2, 3, 20, 21})

    def test_due_once_it_has_lasted(self) -> None:
        r = self.poor(self.MEMBERS, self.OTHERS)
        found = self.beats(r, 3)
        assert [p.name for p in found.problems] == ["mesh.opportunistic"]
        good = self.beats(r, 3, seen=sent(Graft(T), 20, 21))
        assert not good.problems

    def test_better_than_the_median_only(self) -> None:
        r = self.poor(self.MEMBERS, self.OTHERS)
        end = onward(r, to_heartbeat(r), seen=sent(Graft(T), 22, 23))
        assert not end.all
        assert end.mesh() == {1, 2, 3}

    def test_not_due_with_fewer_than_two_better_ones(self) -> None:
        r = self.poor(self.MEMBERS, {20: 2, 22: 1})
        assert not self.beats(r, 5).problems

    @pytest.mark.parametrize(
        ("scores", "allowed", "due"),
        [
            ({1: 2, 2: 2, 3: 2}, True, True),
            ({1: 3, 2: 3, 3: 3}, False, False),
            ({1: 2, 2: 3, 3: 9}, False, False),
            # Of an even number either middle one passes for the median: allowed, and never due.
            ({1: 2, 2: 2, 3: 3, 4: 9}, True, False),
            ({1: 2, 2: 3, 3: 3, 4: 9}, False, False),
            # Of one member too, which some routers do not take for a mesh with a median.
            ({1: 0}, True, False),
            ({1: 3}, False, False),
        ],
    )
    def test_the_median_decides(self, scores: dict[int, int], allowed: bool, due: bool) -> None:
        r = self.poor(scores, {20: 20, 21: 20})
        if len(scores) == 1:
            r = evolve(r, parameters=evolve(r.parameters, d_low=1))
        grafts = onward(r, to_heartbeat(r), seen=sent(Graft(T), 20, 21))
        assert bool(grafts.due(Graft)) is allowed
        assert bool(self.beats(r, 3).problems) is due

    def test_good_times_start_the_count_anew(self) -> None:
        r = self.poor(self.MEMBERS, self.OTHERS)
        r = self.beats(r, 2).router
        better = onward(evolve(r, scores={**r.scores, 1: 9, 2: 9}), BEAT, seen=()).router
        worse = evolve(better, scores={**better.scores, 1: 1, 2: 1})
        assert not self.beats(worse, 2).problems
        assert self.beats(worse, 3).problems

    def test_only_heartbeats_at_which_it_could_be_done_count(self) -> None:
        """A median that may pass for good, or too few better peers: no router need act."""
        r = self.poor({1: 1, 2: 1, 3: 9, 4: 9}, self.OTHERS)
        r = self.beats(r, 2).router
        worse = evolve(r, scores={**r.scores, 3: 1, 4: 1})
        assert not self.beats(worse, 2).problems
        assert self.beats(worse, 3).problems

    def test_what_was_grafted_is_not_due_again_at_once(self) -> None:
        r = self.poor(self.MEMBERS, {20: 2, 21: 2, 22: 2, 23: 2, 24: 2})
        r = self.beats(r, 2).router
        took = onward(r, to_heartbeat(r), seen=sent(Graft(T), 20, 21)).router
        took = evolve(took, scores=dict.fromkeys(took.scores, 1) | {22: 2, 23: 2})
        assert not self.beats(took, 2).problems
        assert self.beats(took, 3).problems

    def test_a_mesh_that_was_left_starts_anew(self) -> None:
        r = self.poor(self.MEMBERS, self.OTHERS)
        r = self.beats(r, 2).router
        r = onward(r, Leave(T), Join(T)).router
        assert not r.poor_for


def test_fanout_topics_have_no_mesh_to_keep() -> None:
    end = after(peers(1, 2, 3), own(), Advance(500), flood_publish=False)
    assert T not in end.router.mesh
    assert not [o for o in end.must if isinstance(o, Sent) and isinstance(o.part, Graft | Prune)]
