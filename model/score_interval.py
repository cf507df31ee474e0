"""Numbers known within bounds, at a fixed denominator: what scores are made of.

A decaying counter has no short exact value after a few intervals, and a router's floats are not exact either.
So a score is an interval that surely holds the true value and the float; a threshold inside it is a free
choice. Where an interval is a point, each operation on the way to it was exact in 53 bits as well.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from attrs import frozen

DENOMINATOR = 1 << 24
"""A power of two, so that halves and quarters stay exact, and coarser than a float by far: the rounding of
floats below 2^20 vanishes in one unit."""


@frozen
class ScoreInterval:
    """From `lo` to `hi`, both in units of 1/DENOMINATOR."""

    lo: int
    hi: int

    def __add__(self, other: ScoreInterval | int) -> ScoreInterval:
        """An integer counts as itself, not in units."""
        if isinstance(other, int):
            return (
                self
                if not other
                else ScoreInterval(self.lo + other * DENOMINATOR, self.hi + other * DENOMINATOR)
            )
        # Most terms of a score are nothing.
        return ScoreInterval(self.lo + other.lo, self.hi + other.hi) if other.lo or other.hi else self

    __radd__ = __add__

    def less(self, other: ScoreInterval) -> ScoreInterval:
        """The difference."""
        return ScoreInterval(self.lo - other.hi, self.hi - other.lo)

    def times(self, other: ScoreInterval) -> ScoreInterval:
        """The product, rounded outward."""
        if not (self.lo or self.hi) or not (other.lo or other.hi):
            return ZERO
        if self.lo == self.hi == DENOMINATOR:
            return other
        ends = (self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi)
        return _outward(min(ends), max(ends), DENOMINATOR)

    def squared(self) -> ScoreInterval:
        """The square; not that of the bounds alone, where zero is inside."""
        if not (self.lo or self.hi):
            return ZERO
        ends = (self.lo * self.lo, self.hi * self.hi)
        least = 0 if self.lo < 0 < self.hi else min(ends)
        return _outward(least, max(ends), DENOMINATOR)

    def unsquared(self) -> ScoreInterval:
        """Itself: what takes the place of `squared` where a router forgets to square."""
        return self

    def at_most(self, cap: ScoreInterval) -> ScoreInterval:
        return ScoreInterval(min(self.lo, cap.lo), min(self.hi, cap.hi))

    def at_least_zero(self) -> ScoreInterval:
        return ScoreInterval(max(0, self.lo), max(0, self.hi))

    def or_also(self, other: ScoreInterval) -> ScoreInterval:
        """The shortest interval that holds both: one of the two, and it is not known which."""
        return ScoreInterval(min(self.lo, other.lo), max(self.hi, other.hi))

    def below(self, other: ScoreInterval) -> bool | None:
        """Whether it is less than `other`; None where both are possible."""
        if self.hi < other.lo:
            return True
        return False if self.lo >= other.hi else None


def _outward(lo: int, hi: int, by: int) -> ScoreInterval:
    """`lo / by` to `hi / by`; what does not divide is rounded away, by one unit more than it takes, so that a
    float on the edge is inside too."""
    low, lost_low = divmod(lo, by)
    high, lost_high = divmod(hi, by)
    return ScoreInterval(low - 1 if lost_low else low, high + 2 if lost_high else high)


@lru_cache(maxsize=4096)
def interval(value: float) -> ScoreInterval:
    """An integer or a float, which is taken for exactly what it is in binary."""
    exact = Fraction(value) * DENOMINATOR
    return _outward(exact.numerator, exact.numerator, exact.denominator)


def between(least: float, most: float) -> ScoreInterval:
    return ScoreInterval(interval(least).lo, interval(most).hi)


ZERO = ScoreInterval(0, 0)
ONE = ScoreInterval(DENOMINATOR, DENOMINATOR)
