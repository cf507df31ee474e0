"""The controller of DOG as its texts compute it: what an adjustment finds, of every pair of counters.

`found` computes it in fractions, for counters at hand; `dog/controller_prove.py` asks the same of z3,
for all of them. The Go node and the kit compute in floating point; what that changes is a question of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.proofs.variants import variants_of

Found: TypeAlias = Literal["idle", "low", "in-band", "high"]
"""Nothing came; too little, so that a route is asked for; within the bounds; too much: HaveTx is allowed."""

FIXED_DELTA = 10
"""Percent, in ADR-119 and the Go node."""


@frozen(kw_only=True)
class ControllerRevision:
    """One text's arithmetic, and which targets and deltas it lets be configured."""

    summary: str
    strict: bool = False
    """HaveTx is allowed above the upper bound, and not at it."""
    whole: bool = False
    """Targets, bounds and redundancy are whole numbers, rounded down."""
    floats: bool = False
    """The node computes in 64-bit floating point."""
    zero_target: bool = False
    """A target of 0 may be configured."""
    fixed_delta: bool = False
    undefined_at_zero: bool = False
    """The text divides by the number of first-time transactions, and says nothing of none."""
    keep_alive: bool = False
    """After idle intervals a route is asked for."""
    no_width: bool = False
    """A planted error, as are the next four: both bounds are the target."""
    zero_delta: bool = False
    """A delta of 0 percent may be configured, which dog.md leaves out."""
    always_allows: bool = False
    """HaveTx is allowed whatever the redundancy."""
    asks_after_duplicates: bool = False
    """A route is asked for only where a duplicate came."""
    single_precision: bool = False
    """The node computes in 32-bit floating point."""


CONTROLLERS: Mapping[str, ControllerRevision] = variants_of("dog-controller", ControllerRevision)


def bounds(by: ControllerRevision, target: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """The lower and the upper bound, exactly. `delta` in percent."""
    width = Fraction(0) if by.no_width else target * delta / 100
    if by.whole:
        width = Fraction(width.__floor__())
    return target - width, target + width


def found(by: ControllerRevision, target: Fraction, delta: Fraction, first: int, again: int) -> Found:
    """What an adjustment finds: `first` transactions came that were new, `again` duplicates.

    Duplicates alone are too much, as all texts say or are read.
    """
    if not first:
        return "high" if again else "idle"
    low, high = decisions(by, target, delta, first, again)
    return "low" if low else "high" if high else "in-band"


def decisions(
    by: ControllerRevision, target: Fraction, delta: Fraction, first: int, again: int
) -> tuple[bool, bool]:
    """(a route is asked for, HaveTx is allowed), where something new came."""
    redundancy = Fraction(again // first) if by.whole else Fraction(again, first)
    lower, upper = bounds(by, target, delta)
    low = redundancy < lower and (again > 0 or not by.asks_after_duplicates)
    high = redundancy > upper if by.strict else redundancy >= upper
    return low, high or by.always_allows
