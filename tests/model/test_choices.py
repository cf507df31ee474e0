"""Choices: partial sets against brute force, and the four oracles against each other."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from quidnunc.model.choices import (
    MAX_FORKS,
    AngelicChoices,
    Choose,
    PartialSet,
    ScriptedChoices,
    SeededChoices,
    SuchThat,
    next_split,
    outcomes,
    subsets,
)
from quidnunc.model.events import Output, Sent
from quidnunc.model.rpc import Graft, Prune
from quidnunc.model.rules import Targets

PEERS = range(1, 6)
SETS = st.frozensets(st.sampled_from(PEERS))
Concrete = frozenset[frozenset[int]]


def concrete(known: PartialSet) -> Concrete:
    """Every set that `known` stands for."""
    return frozenset(
        known.must | frozenset(some)
        for size in range(len(known.may) + 1)
        for some in combinations(sorted(known.may), size)
        if known.least <= len(known.must) + size <= known.most
    )


@st.composite
def partial_sets(draw: st.DrawFn) -> PartialSet:
    """Partial sets that stand for something."""
    must = draw(SETS)
    may = draw(SETS) - must
    least = draw(st.integers(len(must), len(must | may)))
    most = draw(st.integers(least, len(must | may)))
    return PartialSet(must, may, least, most)


class TestPartialSet:
    @given(SETS)
    def test_a_known_set_is_itself(self, members: frozenset[int]) -> None:
        assert concrete(PartialSet.of(members)) == {members}
        assert PartialSet.of(members).all == members

    @given(partial_sets(), st.sampled_from([*PEERS, 9]))
    def test_holds(self, known: PartialSet, peer: int) -> None:
        every = {peer in s for s in concrete(known)}
        said = known.holds(peer)
        # Where the count settles it the pair of bounds may not know yet; what it says is true.
        assert said is None or every == {said}
        assert said is not False or peer not in known.all

    @given(partial_sets(), SETS)
    def test_less_is_what_is_left_of_every_set(self, known: PartialSet, gone: frozenset[int]) -> None:
        left = {s - gone for s in concrete(known)}
        after = known.less(gone)
        # Sound: nothing that is possible is ruled out.
        assert left <= concrete(after)
        # Exact in what surely is, and may be, in it, and in how many there are.
        assert after.all == frozenset().union(*left) or after.all == known.all - gone
        sizes = {len(s) for s in left}
        assert (after.least, after.most) == (min(sizes), max(sizes))

    @given(partial_sets())
    def test_nothing_less_is_the_same(self, known: PartialSet) -> None:
        assert known.less([]) == known
        assert known.less([99]) == known

    @given(partial_sets(), SETS, SETS)
    def test_less_in_two_steps_rules_nothing_out(
        self, known: PartialSet, one: frozenset[int], two: frozenset[int]
    ) -> None:
        at_once = {s - one - two for s in concrete(known)}
        assert at_once <= concrete(known.less(one).less(two))


def reveals(peer: int) -> Output:
    return Sent(peer, Graft("t"))


def shown(peers: Iterable[int]) -> frozenset[Output]:
    return frozenset(map(reveals, peers))


@st.composite
def constraints(draw: st.DrawFn) -> tuple[Targets, tuple[int, int], SuchThat | None]:
    """(among, count, such_that) that some subset fulfils."""
    must = draw(SETS)
    may = draw(SETS) - must
    pool = must | may
    least = draw(st.integers(0, len(pool)))
    most = draw(st.integers(least, len(pool)))
    wanted = draw(st.one_of(st.none(), SETS))
    if wanted is None:
        return Targets(must, may), (least, most), None
    floor = draw(st.integers(0, len(wanted & pool)))
    bound = wanted & pool
    assume(any(len(s & bound) >= floor for s in subsets(pool, (least, most), None)))
    return Targets(must, may), (least, most), lambda s: len(s & bound) >= floor


Constraint = tuple[Targets, tuple[int, int], SuchThat | None]


def ask(choose: Choose, constraint: Constraint) -> frozenset[int]:
    among, count, such_that = constraint
    return choose.some("c", "clause", among, count, reveals=reveals, such_that=such_that)


def allowed(constraint: Constraint) -> Concrete:
    among, (least, most), such_that = constraint
    return frozenset(
        frozenset(some)
        for size in range(least, most + 1)
        for some in combinations(sorted(among.all), size)
        if such_that is None or such_that(frozenset(some))
    )


class TestOracles:
    @given(constraints(), st.integers(0, 2**32))
    def test_a_seeded_answer_is_allowed(self, constraint: Constraint, seed: int) -> None:
        drawn = ask(SeededChoices(random.Random(seed)), constraint)
        assume(drawn in allowed(constraint) or not _size_is_stuck(constraint, drawn))
        assert drawn in allowed(constraint)

    @given(constraints())
    def test_the_enumeration_is_all_that_is_allowed(self, constraint: Constraint) -> None:
        found, complete = outcomes(lambda choose: ask(choose, constraint))
        assert complete
        results = [result for result, _ in found]
        assert len(results) == len(set(results))
        assert set(results) == allowed(constraint)

    @given(constraints())
    @settings(max_examples=50)
    def test_the_enumeration_is_what_can_be_drawn(self, constraint: Constraint) -> None:
        among, (least, _), such_that = constraint
        exact = (among, (least, least), such_that)
        assume(allowed(exact))
        drawn = {ask(SeededChoices(random.Random(seed)), exact) for seed in range(400)}
        found, _ = outcomes(lambda choose: ask(choose, exact))
        assert drawn == {result for result, _ in found}

    @given(constraints(), SETS)
    def test_the_angel_takes_what_is_allowed_and_nothing_else(
        self, constraint: Constraint, seen: frozenset[int]
    ) -> None:
        angel = AngelicChoices(shown(seen))
        taken = ask(angel, constraint)
        inside = seen & constraint[0].all
        if inside in allowed(constraint):
            assert (taken, angel.problems) == (inside, [])
        elif len(inside) > constraint[1][1]:
            # What is beyond the count is left to other choices, or has no permit.
            assert len(taken) == constraint[1][1]
            assert taken < inside
        else:
            assert [p.name for p in angel.problems] in (["c"], ["c", "c"])

    @given(partial_sets(), st.integers(0, 2**32))
    def test_hidden_sets(self, known: PartialSet, seed: int) -> None:
        drawn = SeededChoices(random.Random(seed)).hidden("h", known)
        assert concrete(drawn) <= concrete(known)
        assert len(concrete(drawn)) == 1
        found, complete = outcomes(lambda choose: choose.hidden("h", known))
        assert complete
        assert {next(iter(concrete(result))) for result, _ in found} == concrete(known)
        assert concrete(AngelicChoices(frozenset()).hidden("h", known)) == concrete(known)

    @pytest.mark.parametrize("default", [True, False])
    def test_whether(self, default: bool) -> None:
        def yes(choose: Choose) -> bool:
            return choose.whether("w", lambda o: o == reveals(1), default)

        assert {yes(SeededChoices(random.Random(seed))) for seed in range(20)} == {True, False}
        found, complete = outcomes(yes)
        assert ([result for result, _ in found], complete) == ([default, not default], True)
        assert yes(AngelicChoices(shown([1])))
        assert not yes(AngelicChoices(shown([2])))


def _size_is_stuck(constraint: Constraint, drawn: frozenset[int]) -> bool:
    """Whether no set of the size that was drawn first fulfils the condition."""
    return not any(len(s) == len(drawn) for s in allowed(constraint))


class TestOutcomes:
    def test_choices_that_follow_from_choices(self) -> None:
        """The second choice is of what the first one left."""

        def two(choose: ScriptedChoices) -> tuple[frozenset[int], frozenset[int]]:
            one = choose.some("a", "c", Targets(frozenset({1, 2})), (0, 1), reveals=reveals)
            rest = Targets(frozenset({1, 2, 3}) - one)
            return one, choose.some("b", "c", rest, (2, 2), reveals=reveals)

        found, complete = outcomes(two)
        assert complete
        assert len(found) == 3 + 1 + 1
        assert len({result for result, _ in found}) == 5

    def test_the_limit_is_said(self) -> None:
        wide = Targets(frozenset(range(9)))
        found, complete = outcomes(lambda c: c.some("a", "c", wide, (1, 1), reveals=reveals), limit=4)
        assert (len(found), complete) == (4, False)

    def test_one_choice_is_cut_at_the_forks(self) -> None:
        wide = Targets(frozenset(range(20)))
        oracle = ScriptedChoices()
        oracle.some("a", "c", wide, (3, 3), reveals=reveals)
        assert oracle.widths == [MAX_FORKS]

    def test_a_script_beyond_its_end_takes_the_first(self) -> None:
        both = Targets(frozenset({1, 2}))
        assert ScriptedChoices().some("a", "c", both, (1, 1), reveals=reveals) == {1}
        assert ScriptedChoices((1,)).some("a", "c", both, (1, 1), reveals=reveals) == {2}


def each_split(alike: dict[int, int] | None) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """One or two of four, and then one of those that are left."""
    split: int | None = 0
    while split is not None:
        angel = AngelicChoices(shown([1, 2, 3, 4]), split, alike=alike)
        pool = frozenset({1, 2, 3, 4})
        one = angel.some("a", "c", Targets(pool), (1, 2), reveals=reveals)
        yield one, angel.some("b", "c", Targets(pool - one), (1, 1), reveals=reveals)
        split = next_split(split, angel.widths)


class TestAngelic:
    def test_one_output_answers_one_choice(self) -> None:
        angel = AngelicChoices(shown([1, 2, 3]))
        pool = Targets(frozenset({1, 2, 3}))
        first = angel.some("a", "c", pool, (2, 2), reveals=reveals)
        second = angel.some("b", "c", pool, (1, 1), reveals=reveals)
        assert (first | second, first & second, angel.problems) == ({1, 2, 3}, frozenset(), [])

    def test_every_split_is_reached(self) -> None:
        """Two choices that each have more than they can take: one digit of the split for each."""

        def splits(split: int) -> tuple[frozenset[int], ...]:
            angel = AngelicChoices(shown([1, 2, 3]) | {Sent(p, Prune("t")) for p in (1, 2, 3)}, split)
            pool = Targets(frozenset({1, 2, 3}))
            one = angel.some("a", "c", pool, (2, 2), reveals=reveals)
            two = angel.some("b", "c", pool, (2, 2), reveals=lambda p: Sent(p, Prune("t")))
            assert angel.alternatives == 9
            return one, two

        assert len({splits(k) for k in range(9)}) == 9

    def test_what_is_wanted_comes_first(self) -> None:
        pool = Targets(frozenset(range(1, 8)))
        angel = AngelicChoices(shown(range(1, 8)), wanted=shown([5, 7]))
        assert angel.some("a", "c", pool, (3, 3), reveals=reveals) == {1, 5, 7}
        more = AngelicChoices(shown(range(1, 8)), wanted=shown([3, 5, 6, 7]))
        assert len(more.some("a", "c", pool, (3, 3), reveals=reveals)) == 3

    def test_answers_of_each_size_take_turns(self) -> None:
        """Mutant: the 330 largest come first, and no other is among those that are told apart."""
        pool = Targets(frozenset(), frozenset(range(11)))
        every = [
            AngelicChoices(shown(range(11)), split).some("a", "c", pool, (0, 4), reveals=reveals)
            for split in range(MAX_FORKS)
        ]
        assert {len(taken) for taken in every} == {0, 1, 2, 3, 4}
        assert len(every[0]) == 4
        assert len(set(every)) == MAX_FORKS

    @pytest.mark.parametrize("alike", [None, {}])
    def test_the_next_split_goes_through_all(self, alike: dict[int, int] | None) -> None:
        """Mutant: splits are counted up to the greatest product, of which some come twice."""
        found = [*each_split(alike)]
        assert len(found) == len(set(found))
        wanted = {
            (one, two)
            for one in subsets(frozenset({1, 2, 3, 4}), (1, 2), None)
            for two in subsets(frozenset({1, 2, 3, 4}) - one, (1, 1), None)
        }
        assert set(found) == wanted

    def test_one_answer_stands_for_all_of_its_classes(self) -> None:
        """1 and 2 are alike, and 3 and 4; the second choice tells who was taken from who was not."""
        found = [*each_split({1: 0, 2: 0, 3: 1, 4: 1})]
        kinds = [tuple(tuple(sorted((p - 1) // 2 for p in taken)) for taken in both) for both in found]
        assert len(kinds) == len(set(kinds))
        everything = {
            tuple(tuple(sorted((p - 1) // 2 for p in taken)) for taken in both) for both in each_split(None)
        }
        assert set(kinds) == everything

    def test_who_was_taken_before_is_like_those_taken(self) -> None:
        """Mutant: the second choice can fall on those alone that the first one fell on."""
        pool = Targets(frozenset({1, 2, 3}))
        seen = shown([1, 2, 3]) | {Sent(p, Prune("t")) for p in (1, 2, 3)}
        found = set()
        for split in range(4):
            angel = AngelicChoices(seen, split, alike={1: 0, 2: 0, 3: 0})
            one = angel.some("a", "c", pool, (2, 2), reveals=reveals)
            two = angel.some("b", "c", pool, (1, 1), reveals=lambda p: Sent(p, Prune("t")))
            assert angel.widths == [1, 2]
            found.add((one, two <= one))
        assert found == {(frozenset({1, 2}), True), (frozenset({1, 2}), False)}

    def test_after_a_free_answer_nobody_is_alike(self) -> None:
        pool = Targets(frozenset({1, 2, 3}))
        angel = AngelicChoices(shown([1, 2, 3]), alike={1: 0, 2: 0, 3: 0})
        angel.free("f")
        angel.some("a", "c", pool, (2, 2), reveals=reveals)
        assert angel.widths == [2, 3]

    def test_a_stalled_peer_blurs_the_choice(self) -> None:
        pool = Targets(frozenset({1, 2, 3}))
        blurred = AngelicChoices(shown([1]), blind=frozenset({3}))
        blurred.some("a", "c", pool, (2, 2), reveals=reveals)
        assert (blurred.blurred, blurred.problems) == (True, [])
        clear = AngelicChoices(shown([1, 2]), blind=frozenset({3}))
        clear.some("a", "c", pool, (2, 2), reveals=reveals)
        assert not clear.blurred
        outside = AngelicChoices(shown([1]), blind=frozenset({9}))
        outside.some("a", "c", pool, (2, 2), reveals=reveals)
        assert (outside.blurred, len(outside.problems)) == (False, 1)

    def test_a_condition_chooses_the_split(self) -> None:
        pool = Targets(frozenset({1, 2, 3, 4}))
        angel = AngelicChoices(shown([1, 2, 3, 4]))
        taken = angel.some("a", "c", pool, (2, 2), reveals=reveals, such_that=lambda s: {3, 4} <= s)
        assert (taken, angel.problems) == ({3, 4}, [])


def test_the_most_comes_first_in_an_enumeration() -> None:
    """So that the first outcome of a run is the one in which most happens."""
    sizes = [len(s) for s in subsets(frozenset({1, 2, 3}), (1, 3), None)]
    assert sizes == [3, 2, 2, 2, 1, 1, 1]
    assert [*subsets(frozenset({1}), (0, 5), None)] == [{1}, frozenset()]
    assert [*subsets(frozenset(), (0, 0), None)] == [frozenset()]


@pytest.mark.parametrize("count", [(1, 0), (0, -1), (3, 1)])
def test_a_draw_that_two_edits_ask_for_more_than_there_may_be_takes_as_many_as_may_be(
    count: tuple[int, int],
) -> None:
    drawn = SeededChoices(random.Random(1)).some(
        "c", "clause", Targets(frozenset({1, 2})), count, reveals=lambda p: Sent(p, Graft("t1"))
    )
    assert len(drawn) == max(0, count[1])
