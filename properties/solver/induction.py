"""Invariants that hold at the start and that no rule breaks, and what a bounded search refutes."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import Expression, NetworkClaim, NetworkModel, NetworkRule
from quidnunc.properties.solver.trace import NetworkTrace


@frozen(kw_only=True)
class InductionCheck:
    """Whether an invariant is one, and implies what is claimed."""

    starts: bool
    broken_by: tuple[str, ...]
    """Rules that lead out of it."""
    implies: bool
    idle: tuple[str, ...]
    """Rules that are enabled nowhere in it: of those it says nothing."""

    @property
    def proved(self) -> bool:
        return self.starts and not self.broken_by and self.implies


def start_of(network: NetworkModel) -> Expression:
    """The first state: every field is false or zero."""
    return z3.And(*(z3.Not(f.symbol) if f.width == 1 else f.symbol == 0 for f in network.fields))


def expression_after(network: NetworkModel, rule: NetworkRule, expression: Expression) -> Expression:
    """`expression` of the state that `rule` leads to, in terms of the state before."""
    symbols = {f.name: f.symbol for f in network.fields}
    return z3.substitute(expression, *((symbols[name], value) for name, value in rule.updates.items()))


def check_induction(
    questions: SolverSession, network: NetworkModel, invariant: Expression, goal: Expression, *, label: str
) -> InductionCheck:
    """Ask whether `invariant` holds at the start, is kept by every rule, and implies `goal`."""
    broken, idle = [], []
    for rule in network.rules:
        kept = z3.Implies(z3.And(invariant, rule.guard), expression_after(network, rule, invariant))
        if not questions.valid(f"{label} is kept by {rule.name}", kept):
            broken.append(rule.name)
        if not questions.possible(f"{label} meets {rule.name}", invariant, rule.guard):
            idle.append(rule.name)
    return InductionCheck(
        starts=questions.valid(f"{label} at the start", z3.Implies(start_of(network), invariant)),
        broken_by=tuple(broken),
        implies=questions.valid(f"{label} implies the claim", z3.Implies(invariant, goal)),
        idle=tuple(idle),
    )


# -- bounded refutation -------------------------------------------------------------------------------------


def _at(network: NetworkModel, step: int) -> Mapping[str, Expression]:
    """The symbols of the fields at one step of an unrolled run."""
    return {
        f.name: z3.Bool(f"{f.name}@{step}") if f.width == 1 else z3.BitVec(f"{f.name}@{step}", f.width)
        for f in network.fields
    }


def _in(network: NetworkModel, expression: Expression, at: Mapping[str, Expression]) -> Expression:
    return z3.substitute(expression, *((f.symbol, at[f.name]) for f in network.fields))


def _step(
    network: NetworkModel, before: Mapping[str, Expression], later: Mapping[str, Expression]
) -> Expression:
    ways = []
    for rule in network.rules:
        same = [
            later[f.name]
            == (_in(network, rule.updates[f.name], before) if f.name in rule.updates else before[f.name])
            for f in network.fields
        ]
        ways.append(z3.And(_in(network, rule.guard, before), *same))
    return z3.Or(*ways)


def refuting_trace(
    questions: SolverSession, network: NetworkModel, claim: NetworkClaim, *, depth: int
) -> NetworkTrace | None:
    """The shortest trace of at most `depth` steps to a state of which the claim takes a note.

    Every shorter length is asked first and found impossible, so that the trace is shown to be the shortest.
    """
    at = [_at(network, 0)]
    run = [_in(network, start_of(network), at[0])]
    for steps in range(depth + 1):
        noted = _in(network, claim.noted(), at[-1])
        answer, values = questions.ask(f"{claim.id} of {network.name} after {steps} steps", *run, noted)
        if answer == "sat":
            return _trace(network, claim, [_word(network, values, k) for k in range(steps + 1)])
        at.append(_at(network, steps + 1))
        run.append(_step(network, at[-2], at[-1]))
    return None


def _word(network: NetworkModel, values: Mapping[str, int], step: int) -> int:
    return network.packed({f.name: values.get(f"{f.name}@{step}", 0) for f in network.fields})


def _trace(network: NetworkModel, claim: NetworkClaim, words: list[int]) -> NetworkTrace:
    """The trace of a run of words; the rules between are those that the interpreter finds."""
    steps = interpreter(network)
    rules = []
    for one, other in zip(words, words[1:], strict=False):
        found = {steps.word(s): number for number, s in reversed(list(steps.enabled(steps.state(one))))}
        rules.append(found[other])
    return NetworkTrace(network, claim.id, tuple(words), tuple(rules))
