"""The arithmetic of an announced backoff, for every value of its 64 bits.

PRUNE carries the backoff as an unsigned 64-bit number of seconds. A router turns it into a time in some unit
and some width; where that wraps, a long backoff becomes a short one, or none. Each way is decided for all
values: up to which the result is what was announced, and what becomes of the first value beyond.
"""

from __future__ import annotations

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.variants import variants_of
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import Expression

BITS = 64


@frozen(kw_only=True)
class BackoffArithmetic:
    """One way to compute the length of a backoff from the seconds announced."""

    name: str
    unit: int
    """How many to the second."""
    text: str
    signed: bool = True
    cap_s: int | None = None
    """The greatest length that is taken, applied before the multiplication."""

    @property
    def greatest_exact(self) -> int:
        """The greatest number of seconds whose length this width can hold; all, with a cap that it can."""
        most: int = (2 ** (BITS - self.signed) - 1) // self.unit
        if self.cap_s is not None and self.cap_s <= most:
            most = 2**BITS - 1
        return most


WAYS = variants_of("backoff", BackoffArithmetic)


@frozen(kw_only=True)
class ExactRange:
    """What z3 says of one way."""

    exact_up_to: int | None
    """Every value up to this one gives its own length (or the cap); None where that could not be shown."""
    first_wrong: int | None
    """The value after it, where that gives another."""
    becomes: int | None
    """What `first_wrong` gives, in units; negative means a backoff that is over before it begins."""


def length(way: BackoffArithmetic, seconds: Expression, bits: int = BITS) -> Expression:
    """The length as the way computes it, in `BITS` bits; in twice as many, as it should be: nothing wraps."""
    taken = seconds
    if way.cap_s is not None:
        cap = z3.BitVecVal(way.cap_s, bits)
        taken = z3.If(z3.ULT(cap, seconds), cap, seconds)
    return taken * z3.BitVecVal(way.unit, bits)


def right(way: BackoffArithmetic, seconds: Expression) -> Expression:
    """That the way's length, read as a number of its sign, is the intended one."""
    extend = z3.SignExt if way.signed else z3.ZeroExt
    return extend(BITS, length(way, seconds)) == length(way, z3.ZeroExt(BITS, seconds), 2 * BITS)


def exact_for_a_minute(questions: SolverSession, way: BackoffArithmetic) -> bool:
    """Whether the recommended minute is among the values that are taken for what they are."""
    seconds = z3.BitVec("seconds", BITS)
    minute = length(way, seconds) == 60 * way.unit
    return questions.possible(f"backoff, {way.name}, a minute", seconds == 60, right(way, seconds), minute)


def exact_range(questions: SolverSession, way: BackoffArithmetic) -> ExactRange:
    """Ask whether every value up to the greatest is right, and whether the next one is wrong."""
    seconds = z3.BitVec("seconds", BITS)
    most = way.greatest_exact
    fine = questions.valid(
        f"backoff, {way.name}, up to {most}",
        z3.Implies(z3.ULE(seconds, z3.BitVecVal(most, BITS)), right(way, seconds)),
    )
    if most == 2**BITS - 1:
        return ExactRange(exact_up_to=most if fine else None, first_wrong=None, becomes=None)
    beyond = z3.BitVecVal(most + 1, BITS)
    wrong = not questions.valid(f"backoff, {way.name}, {most + 1}", right(way, beyond))
    result = z3.simplify(length(way, beyond))
    becomes = result.as_signed_long() if way.signed else result.as_long()
    return ExactRange(
        exact_up_to=most if fine else None,
        first_wrong=most + 1 if wrong else None,
        becomes=becomes if wrong else None,
    )
