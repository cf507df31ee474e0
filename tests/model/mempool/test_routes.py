"""What is known of a hidden set of routes: never less than the truth, and no more than needs be."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from quidnunc.model.choices import PartialSet
from quidnunc.model.mempool.routes import shown_disabled, shown_enabled, with_one_freed, with_source

PEERS = (1, 2, 3, 4)
ALL = [frozenset(c) for k in range(len(PEERS) + 1) for c in combinations(PEERS, k)]

Worlds = frozenset[frozenset[int]]


def meant(known: PartialSet) -> Worlds:
    """Every set that `known` may stand for."""
    return frozenset(s for s in ALL if known.must <= s <= known.all and known.least <= len(s) <= known.most)


def freed(worlds: Worlds) -> Worlds:
    return frozenset(s - {p} for s in worlds for p in s) | {s for s in worlds if not s}


ACTS = st.lists(st.tuples(st.sampled_from("sfsdex"), st.sampled_from(PEERS)), max_size=12)


@given(ACTS)
def test_no_possible_set_is_lost(acts: list[tuple[str, int]]) -> None:
    known, worlds = PartialSet(), frozenset([frozenset[int]()])
    for act, peer in acts:
        inside = frozenset(s for s in worlds if peer in s)
        if act == "s":
            known, worlds = with_source(known, peer), frozenset(s | {peer} for s in worlds)
        elif act == "f":
            known, worlds = with_one_freed(known), freed(worlds)
        elif act == "x":
            known, worlds = known.less([peer]), frozenset(s - {peer} for s in worlds)
        elif known.holds(peer) is None and inside and worlds - inside:
            learn, worlds = (shown_disabled, inside) if act == "d" else (shown_enabled, worlds - inside)
            known = learn(known, peer)
        assert worlds <= meant(known)
        if known.holds(peer) is not None:
            assert {peer in s for s in worlds} == {known.holds(peer)}


def test_one_of_two_shows_the_other() -> None:
    one = with_one_freed(PartialSet.of([1, 2]))
    assert one == PartialSet(frozenset(), frozenset([1, 2]), 1, 1)
    assert shown_enabled(one, 1) == PartialSet.of([2])
    assert shown_disabled(one, 1) == PartialSet.of([1])


def test_two_freed_of_three_leave_one() -> None:
    one = with_one_freed(with_one_freed(PartialSet.of([1, 2, 3])))
    assert meant(one) == {frozenset([1]), frozenset([2]), frozenset([3])}
    assert with_one_freed(one) == PartialSet()
    assert with_one_freed(PartialSet()) == PartialSet()


def test_a_source_that_was_free_and_is_disabled_again() -> None:
    one = with_one_freed(PartialSet.of([1, 2]))
    assert meant(with_source(one, 1)) == {frozenset([1]), frozenset([1, 2])}
    assert meant(with_source(one, 3)) == {frozenset([1, 3]), frozenset([2, 3])}
