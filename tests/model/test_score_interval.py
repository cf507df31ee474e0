"""Intervals hold the exact value and the float, and nothing is lost where floats are exact."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from quidnunc.model.score_interval import DENOMINATOR, ONE, ZERO, ScoreInterval, between, interval


def holds(known: ScoreInterval, value: Fraction | float) -> bool:
    return known.lo <= Fraction(value) * DENOMINATOR <= known.hi


@pytest.mark.parametrize("seed", range(20))
def test_they_hold_what_floats_and_fractions_come_to(seed: int) -> None:
    """A counter that grows, decays, is capped and squared, beside both kinds of number."""
    die = random.Random(seed)
    known, as_float, exact = ZERO, 0.0, Fraction(0)
    for _ in range(60):
        factor = die.choice((0.9, 0.97, 0.5, 0.333))
        if die.random() < 0.5:
            known, as_float, exact = known + ONE, as_float + 1, exact + 1
        known, as_float = known.times(interval(factor)), as_float * factor
        exact *= Fraction(factor)
        cap = 3.7
        known, as_float = known.at_most(interval(cap)), min(as_float, cap)
        exact = min(exact, Fraction(cap))
        assert holds(known, exact) and holds(known, as_float)
        weighted = interval(-2.3).times(known.squared())
        assert holds(weighted, Fraction(-2.3) * exact**2) and holds(weighted, -2.3 * as_float * as_float)
        assert known.hi - known.lo < DENOMINATOR / 1000


def test_halves_and_quarters_stay_points() -> None:
    value = interval(2.5).times(interval(0.25)).squared()
    assert value == ScoreInterval(value.lo, value.lo)
    assert Fraction(value.lo, DENOMINATOR) == Fraction(25, 64)


def test_what_does_not_divide_is_rounded_outward() -> None:
    third = interval(1 / 3)
    assert third.lo < Fraction(1 / 3) * DENOMINATOR < third.hi
    assert interval(3).times(third).below(ONE) is None


def test_a_threshold_inside_is_free() -> None:
    assert between(-1, 1).below(ZERO) is None
    assert between(-1, 0).below(ZERO) is None
    assert between(-2, -1).below(ZERO) is True
    assert between(0, 1).below(ZERO) is False


def test_signs() -> None:
    mixed = between(-2, 3)
    assert mixed.squared() == between(0, 9)
    assert mixed.times(interval(-2)) == between(-6, 4)
    assert mixed.at_least_zero() == between(0, 3)
    assert ONE.less(mixed) == between(-2, 3)
    assert between(1, 2).or_also(ZERO) == between(0, 2)


def test_sums_start_at_zero() -> None:
    assert sum([ONE, ONE], 0) == interval(2)
    assert ONE + 2 == interval(3)
