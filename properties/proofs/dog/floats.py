"""What floating point makes of the bounds of DOG's controller, as the Go node computes them.

Between the ends it follows from how much one operation may round, in fractions; at the ends, where numbers
underflow and overflow, and beside each bound, both are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from quidnunc.properties.proofs.dog.controller import FIXED_DELTA, ControllerRevision, bounds, found
from quidnunc.properties.solver.result import ProofResult


def rounding(by: ControllerRevision) -> Fraction:
    """What one operation in floating point may add or take away, relatively, where nothing overflows."""
    return Fraction(1, 2**24 if by.single_precision else 2**53)


NEAR = Fraction(1, 2**50)
TARGETS = ("0.01", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "2")
MOST_FIRST = 400
"""First-time transactions up to which both arithmetics are compared."""


def in_floats(name: str, by: ControllerRevision) -> Iterator[ProofResult]:
    """Every line about floating point."""
    yield _bounds_in_floats(name, by)
    yield _rounding(name, by)
    yield _near(name, by)


def float_bounds(target: float) -> tuple[float, float]:
    """The bounds as the Go node computes them."""
    return target - target * FIXED_DELTA / 100, target + target * FIXED_DELTA / 100


def found_in_floats(target: float, first: int, again: int) -> str:
    """What an adjustment of the Go node finds, with something new."""
    lower, upper = float_bounds(target)
    redundancy = again / first
    return "low" if redundancy < lower else "high" if redundancy >= upper else "in-band"


def share_in_floats(by: ControllerRevision) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Between what the bounds are, as shares of the target that was written, each operation rounded."""
    least, most = 1 - rounding(by), 1 + rounding(by)
    target = (least, most)
    times_ten = (target[0] * 10 * least, target[1] * 10 * most)
    width = (times_ten[0] / 100 * least, times_ten[1] / 100 * most)
    lower = ((target[0] - width[1]) * least, (target[1] - width[0]) * most)
    upper = ((target[0] + width[0]) * least, (target[1] + width[1]) * most)
    return lower, upper


def _bounds_in_floats(name: str, by: ControllerRevision) -> ProofResult:
    tiny, huge = math.nextafter(0.0, 1.0), _first_without_bounds()
    wrong = [t for t in (tiny, huge) if not _sound(t)]
    lower, upper = share_in_floats(by)
    return ProofResult(
        name=f"{name}.floats",
        text="the bounds of every target are two numbers, the lower below the upper",
        verdict="refuted" if wrong else "undetermined",
        scope=f"{by.summary}: every target above 0 in 64-bit floating point",
        assumptions=(),
        engine="floating point at both ends, fractions and what an operation rounds between",
        vacuous=not lower[1] < upper[0],
        evidence=(
            *(f"target {t!r}: bounds {' and '.join(map(repr, float_bounds(t)))}" for t in wrong),
            f"from 1e-300 to {math.nextafter(huge, 0.0)!r} it holds, for nothing underflows or overflows: "
            "each bound is within a few roundings of its share of the target",
            f"from {huge!r} on nobody is asked, and only duplicates alone allow a HaveTx",
        ),
    )


def _sound(target: float) -> bool:
    lower, upper = float_bounds(target)
    return math.isfinite(lower) and math.isfinite(upper) and lower < upper


def _first_without_bounds() -> float:
    """The least target whose bounds are not numbers, by halving."""
    good, bad = 1.0, math.inf
    while math.nextafter(good, math.inf) < bad:
        middle = good + (min(bad, 1.7976931348623157e308) - good) / 2
        middle = middle if good < middle < bad else math.nextafter(good, math.inf)
        if _sound(middle):
            good = middle
        else:
            bad = middle
    return bad


def _rounding(name: str, by: ControllerRevision) -> ProofResult:
    tried, wrong = 0, []
    for text in TARGETS:
        exact, delta = Fraction(text), Fraction(FIXED_DELTA)
        for first in range(1, MOST_FIRST + 1):
            # Far from a bound nothing can differ (`near`).
            agains = {int(bound * first) + more for bound in bounds(by, exact, delta) for more in (-1, 0, 1)}
            for again in sorted(a for a in agains if a >= 0):
                tried += 1
                in_floats, exactly = (
                    found_in_floats(float(text), first, again),
                    found(by, exact, delta, first, again),
                )
                if in_floats != exactly:
                    wrong.append((text, first, again, in_floats, exactly))
    shown = [f"target {t}, {f} new, {a} again: {x}, exactly {y}" for t, f, a, x, y in wrong[:1]]
    return ProofResult(
        name=f"{name}.rounding",
        text="floating point decides as exact arithmetic of the decimal that was configured",
        verdict="refuted" if wrong else "proved",
        scope=f"{by.summary}: targets {', '.join(TARGETS)}; up to {MOST_FIRST} new transactions",
        assumptions=(),
        engine="both computed, beside each bound",
        vacuous=not tried,
        evidence=(*shown, f"{len(wrong)} of {tried} differ, with targets {_targets(wrong)}"),
    )


def _targets(wrong: Sequence[tuple[str, int, int, str, str]]) -> str:
    return ", ".join(sorted({text for text, *_ in wrong})) or "none"


def _near(name: str, by: ControllerRevision) -> ProofResult:
    """r < lower in floats and exactly alike, unless r is near to lower; and so with upper."""
    exact = (Fraction(100 - FIXED_DELTA, 100), Fraction(100 + FIXED_DELTA, 100))
    shown = all(
        share * (1 - NEAR) * (1 + rounding(by)) < least and most < share * (1 + NEAR) * (1 - rounding(by))
        for share, (least, most) in zip(exact, share_in_floats(by), strict=True)
    )
    return ProofResult(
        name=f"{name}.rounding.near",
        text="where floating point decides otherwise, the redundancy is within 2^-50 of a bound, relatively",
        verdict="proved" if shown else "undetermined",
        scope=f"{by.summary}: every target from 1e-300 to 1e307, counters below 2^53",
        assumptions=("each operation rounds to the nearest number, by 2^-53 of its result at most",),
        engine="fractions, between the least and the most that each operation may give",
        # A bound without room for rounding would leave nothing to say.
        vacuous=any(least == most for least, most in share_in_floats(by)),
    )
