"""What is decided of the arithmetic of DOG's controller, for all counters and all that may be configured.

z3 answers over whole numbers and reals; each witness is computed again in fractions. What floating point
makes of the bounds is in `dog/floats.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.dog.controller import (
    CONTROLLERS,
    FIXED_DELTA,
    ControllerRevision,
    bounds,
    decisions,
    found,
)
from quidnunc.properties.proofs.dog.floats import in_floats
from quidnunc.properties.solver.questions import Numbers, SolverSession
from quidnunc.properties.solver.result import ProofResult, Verdict
from quidnunc.properties.solver.rules import Expression
from quidnunc.properties.solver.unfold import by_definition

READ_AS_IDLE = "0/0, which the text leaves undefined, is read as nothing to do"
READ_AS_HIGH = "a ratio over nothing new, which the text leaves undefined, is read as beyond every bound"
KEEP_ALIVE_INTERVALS = 3
NEAT = ((1, 10), (10, 10), (0, 10), (1, 0))
"""Targets and deltas that a witness is looked for among before all others."""
Fails = Callable[[ControllerRevision, Fraction, Fraction, int, int], bool]


@frozen(kw_only=True)
class ControllerStatement:
    """One statement about a controller."""

    name: str
    text: str
    premise: Expression
    conclusion: Expression
    fails: Fails
    """The same of numbers at hand: target, delta, first, again."""
    assumptions: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()


@frozen(kw_only=True)
class ControllerSymbols:
    """What is free, and what is true of it."""

    by: ControllerRevision
    target: Expression
    delta: Expression
    width: Expression
    quotient: Expression
    """The redundancy rounded down, where numbers are whole and something new came."""
    first: Expression
    again: Expression
    idle: Expression
    """Idle intervals up to this one."""
    given: Expression

    @property
    def lower(self) -> Expression:
        return self.target - self.width

    @property
    def upper(self) -> Expression:
        return self.target + self.width

    def follows(self) -> tuple[Expression, ...]:
        """What follows of the width from what is given: without it cvc5 finds no numbers in a minute."""
        by = self.by
        if by.whole or by.zero_target or by.zero_delta or by.no_width:
            return ()
        return self.width > 0, self.width < self.target

    def above(self, bound: Expression, *, strict: bool) -> Expression:
        """The redundancy is above `bound`, or at it; something new came."""
        if self.by.whole:
            return self.quotient > bound if strict else self.quotient >= bound
        return self.again > bound * self.first if strict else self.again >= bound * self.first

    def asks(self) -> Expression:
        """A route is asked for."""
        low = z3.And(self.first > 0, z3.Not(self.above(self.lower, strict=False)))
        if self.by.asks_after_duplicates:
            low = z3.And(low, self.again > 0)
        if not self.by.keep_alive:
            return low
        return z3.Or(low, z3.And(self.first == 0, self.again == 0, self.idle >= KEEP_ALIVE_INTERVALS))

    def allows(self) -> Expression:
        """HaveTx is allowed."""
        beyond = z3.BoolVal(True) if self.by.always_allows else self.above(self.upper, strict=self.by.strict)
        high = z3.And(self.first > 0, beyond)
        return z3.Or(high, z3.And(self.first == 0, self.again > 0))


def symbols(by: ControllerRevision) -> ControllerSymbols:
    """The symbols of one controller, with what may be configured."""
    number = z3.Int if by.whole else z3.Real
    target, delta, width = number("target"), number("delta"), number("width")
    first, again, quotient, idle = z3.Int("first"), z3.Int("again"), z3.Int("quotient"), z3.Int("idle")
    given = [first >= 0, again >= 0, idle >= 0, target >= 0 if by.zero_target else target > 0]
    if by.fixed_delta:
        given.append(delta == FIXED_DELTA)
    given += [delta >= 0 if by.zero_delta else delta > 0, delta < 100]
    if by.no_width:
        given.append(width == 0)
    elif by.whole:
        given += [100 * width <= target * delta, target * delta < 100 * width + 100]
    else:
        given.append(100 * width == target * delta)
    if by.whole:
        given.append(
            z3.Implies(
                first > 0, z3.And(quotient * first <= again, again < (quotient + 1) * first, quotient >= 0)
            )
        )
    return ControllerSymbols(
        by=by,
        target=target,
        delta=delta,
        width=width,
        quotient=quotient,
        first=first,
        again=again,
        idle=idle,
        given=z3.And(*given),
    )


# -- the statements -----------------------------------------------------------------------------------------


def lines(by: ControllerRevision) -> Iterator[ControllerStatement]:
    """What is asked of one controller."""
    at = symbols(by)
    yield from _of_bounds(at)
    yield from _of_decisions(at)
    yield from _of_no_band(at)
    yield from _of_counters(at)


def _of_bounds(at: ControllerSymbols) -> Iterator[ControllerStatement]:
    def empty(by: ControllerRevision, target: Fraction, delta: Fraction, first: int, again: int) -> bool:
        lower, upper = bounds(by, target, delta)
        return not lower < upper

    yield ControllerStatement(
        name="bounds",
        text="the lower bound is below the upper one, so that some redundancy is left alone",
        premise=at.given,
        conclusion=at.lower < at.upper,
        fails=empty,
    )
    if at.by.whole:
        yield ControllerStatement(
            name="bounds.exactly",
            text="the lower bound is below the upper one exactly if target times delta is 100 or more",
            premise=at.given,
            conclusion=(at.lower < at.upper) == (at.target * at.delta >= 100),
            fails=lambda by, t, d, f, a: empty(by, t, d, f, a) == (t * d >= 100),
        )


def _both(by: ControllerRevision, target: Fraction, delta: Fraction, first: int, again: int) -> bool:
    """Whether there is too little and too much at once: no `Found` says it."""
    return bool(first) and all(decisions(by, target, delta, first, again))


def _of_decisions(at: ControllerSymbols) -> Iterator[ControllerStatement]:
    yield ControllerStatement(
        name="one-thing",
        text="no adjustment both asks for a route and allows a HaveTx",
        premise=z3.And(at.given, at.first + at.again > 0),
        conclusion=z3.Not(z3.And(at.asks(), at.allows())),
        fails=_both,
    )
    nothing_again = z3.And(at.given, at.first > 0, at.again == 0)
    text = "who hears something new, and nothing again, asks for a route"
    yield ControllerStatement(
        name="asks",
        text=text,
        premise=nothing_again,
        conclusion=at.asks(),
        fails=lambda by, t, d, f, a: found(by, t, d, f, a) != "low",
    )
    if at.by.zero_target:
        yield ControllerStatement(
            name="asks.some-target",
            text=f"{text}, if the target is not 0",
            premise=z3.And(nothing_again, at.target > 0),
            conclusion=at.asks(),
            fails=lambda by, t, d, f, a: found(by, t, d, f, a) != "low",
        )
    yield ControllerStatement(
        name="upper-bound",
        text="at the upper bound HaveTx is allowed",
        premise=z3.And(at.given, at.first > 0, at.above(at.upper, strict=False)),
        conclusion=at.allows(),
        fails=lambda by, t, d, f, a: found(by, t, d, f, a) != "high",
    )
    yield ControllerStatement(
        name="above-target",
        text="HaveTx that is blocked does not stay so for ever while the redundancy is above the target",
        premise=z3.And(at.given, *at.follows(), at.first > 0, at.again > at.target * at.first),
        conclusion=at.allows(),
        fails=lambda by, t, d, f, a: found(by, t, d, f, a) != "high",
        besides=("the same counters in every interval leave it blocked in every interval",),
    )


def _of_no_band(at: ControllerSymbols) -> Iterator[ControllerStatement]:
    """Where rounding leaves no band there is nothing between too little and too much."""
    if at.by.whole:
        yield ControllerStatement(
            name="above-target.no-band",
            text="where target times delta is below 100, each adjustment asks for a route or allows a HaveTx",
            premise=z3.And(at.given, at.first > 0, at.target * at.delta < 100),
            conclusion=z3.Or(at.asks(), at.allows()),
            fails=lambda by, t, d, f, a: found(by, t, d, f, a) == "in-band",
        )


def _of_counters(at: ControllerSymbols) -> Iterator[ControllerStatement]:
    undefined = at.by.undefined_at_zero
    idle = z3.And(at.given, at.first == 0, at.again == 0)
    yield ControllerStatement(
        name="duplicates-alone",
        text="duplicates alone, with nothing new, allow a HaveTx",
        premise=z3.And(at.given, at.first == 0, at.again > 0),
        conclusion=at.allows(),
        fails=lambda by, t, d, f, a: found(by, t, d, f, a) != "high",
        assumptions=(READ_AS_HIGH,) if undefined else (),
    )
    yield ControllerStatement(
        name="idle",
        text="an adjustment without any transaction asks nobody and allows nothing",
        premise=idle,
        conclusion=z3.And(z3.Not(at.asks()), z3.Not(at.allows())),
        fails=lambda by, t, d, f, a: by.keep_alive,
        assumptions=(READ_AS_IDLE,) if undefined else (),
        besides=(f"after {KEEP_ALIVE_INTERVALS} idle intervals it asks, as is meant",)
        if at.by.keep_alive
        else (),
    )


def controller_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Every line about one of `CONTROLLERS`."""
    by = CONTROLLERS[name]
    at = symbols(by)
    for line in lines(by):
        yield _result(name, by, at, line, questions)
    if by.floats:
        yield from in_floats(name, by)


def _result(
    name: str,
    by: ControllerRevision,
    at: ControllerSymbols,
    line: ControllerStatement,
    questions: SolverSession,
) -> ProofResult:
    label = f"{name}.{line.name}"
    answer, values = questions.solve(label, line.premise, z3.Not(line.conclusion))
    verdict: Verdict = "proved" if answer == "unsat" else "undetermined"
    evidence: tuple[str, ...] = ()
    if verdict == "proved" and by_definition(line.premise, line.conclusion):
        verdict = "by definition"
    if answer == "sat":
        target, delta, first, again = _neat(at, line, values, questions)
        if line.fails(by, target, delta, first, again):
            verdict = "refuted"
        said = f"target {target}, delta {delta} %, {first} new, {again} again"
        evidence = (f"{said}: {_outcome(by, target, delta, first, again)}", *line.besides)
    met = questions.solve(f"{label}: its premise", line.premise)[0]
    return ProofResult(
        name=label,
        text=line.text,
        verdict=verdict,
        scope=f"{by.summary}: {_configured(by)}; any counters",
        assumptions=line.assumptions,
        engine="z3, whole numbers" if by.whole else "z3, whole numbers and reals",
        vacuous=met != "sat",
        evidence=evidence,
    )


def _neat(
    at: ControllerSymbols, line: ControllerStatement, values: Numbers, questions: SolverSession
) -> tuple[Fraction, Fraction, int, int]:
    """A witness with a target and a delta that people use, where there is one."""
    for target, delta in NEAT:
        neat = [at.target == target, at.delta == delta, at.first <= 20, at.again <= 120]
        answer, other = questions.solve(
            f"{line.name}, with {target} and {delta}", line.premise, z3.Not(line.conclusion), *neat
        )
        if answer == "sat":
            values = other
            break
    found_of = {name: values.get(name, Fraction(0)) for name in ("target", "delta", "first", "again")}
    delta_value = Fraction(FIXED_DELTA) if at.by.fixed_delta else found_of["delta"]
    return found_of["target"], delta_value, int(found_of["first"]), int(found_of["again"])


def _outcome(by: ControllerRevision, target: Fraction, delta: Fraction, first: int, again: int) -> str:
    lower, upper = bounds(by, target, delta)
    words: Mapping[str, str] = {
        "idle": "nothing to do",
        "low": "a route is asked for",
        "in-band": "nothing is done",
        "high": "HaveTx is allowed",
    }
    return f"bounds {lower} and {upper}, {words[found(by, target, delta, first, again)]}"


def _configured(by: ControllerRevision) -> str:
    kind = "whole target" if by.whole else "target"
    targets = f"every {kind} {'of 0 or more' if by.zero_target else 'above 0'}"
    if by.fixed_delta:
        return f"{targets}, a delta of {FIXED_DELTA} %"
    return f"{targets}, every delta {'from 0' if by.zero_delta else 'above 0'} and below 100 %"
