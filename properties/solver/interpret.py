"""The slow oracle: rules are interpreted, expression by expression, on states that are plain tuples.

Nothing is shared with the compiled explorer but the rules: no packed words, no emitted text, no set of bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.rules import Expression, NetworkModel

State: TypeAlias = tuple[int, ...]
"""The values of the fields, in the order of the network; a Bool is 0 or 1."""

Value: TypeAlias = Callable[[State], int]


def compiled_expression(expression: Expression, places: dict[str, int]) -> Value:
    """A function from a state to the value of `expression`; a Bool is 0 or 1.

    `places` says which field is where in a state. Raises SpecError for an operator that rules do not use.
    """
    kind = expression.decl().kind()
    parts = [compiled_expression(child, places) for child in expression.children()]
    if kind == z3.Z3_OP_UNINTERPRETED:
        return operator.itemgetter(places[expression.decl().name()])
    if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
        truth = int(kind == z3.Z3_OP_TRUE)
        return lambda s: truth
    if kind == z3.Z3_OP_BNUM:
        number = expression.as_long()
        return lambda s: number
    mask = (1 << expression.size()) - 1 if z3.is_bv(expression) else 1
    made = _operator(kind, parts, mask)
    if made is None:
        raise SpecError(f"the interpreter of network rules knows no {expression.decl().name()}: {expression}")
    return made


def _operator(kind: int, parts: Sequence[Value], mask: int) -> Value | None:
    if kind == z3.Z3_OP_AND:
        return lambda s: int(all(p(s) for p in parts))
    if kind == z3.Z3_OP_OR:
        return lambda s: int(any(p(s) for p in parts))
    if kind == z3.Z3_OP_BADD:
        return lambda s: sum(p(s) for p in parts) & mask
    if kind == z3.Z3_OP_NOT:
        (only,) = parts
        return lambda s: 1 - only(s)
    if kind == z3.Z3_OP_ITE:
        test, yes, no = parts
        return lambda s: yes(s) if test(s) else no(s)
    two = {
        z3.Z3_OP_EQ: operator.eq,
        z3.Z3_OP_DISTINCT: operator.ne,
        z3.Z3_OP_IMPLIES: operator.le,
        z3.Z3_OP_ULT: operator.lt,
        z3.Z3_OP_ULEQ: operator.le,
        z3.Z3_OP_UGT: operator.gt,
        z3.Z3_OP_UGEQ: operator.ge,
        z3.Z3_OP_BSUB: operator.sub,
        z3.Z3_OP_BMUL: operator.mul,
    }.get(kind)
    if two is None or len(parts) != 2:
        return None
    left, right = parts
    return lambda s: int(two(left(s), right(s))) & mask


@frozen(eq=False)
class Interpreter:
    """A network whose rules can be stepped one by one."""

    network: NetworkModel
    guards: tuple[Value, ...]
    updates: tuple[tuple[tuple[int, Value], ...], ...]
    """Per rule, the places it writes and their next values."""
    notes: tuple[Value, ...]
    """Per claim, whether a state is worth a note (`NetworkClaim.noted`)."""

    def start(self) -> State:
        return (0,) * len(self.network.fields)

    def enabled(self, state: State) -> Iterator[tuple[int, State]]:
        """(number of the rule, next state) of every rule enabled in `state`, in the order of the rules."""
        for number, guard in enumerate(self.guards):
            if guard(state):
                after = list(state)
                for place, value in self.updates[number]:
                    after[place] = value(state)
                yield number, tuple(after)

    def noted(self, state: State) -> int:
        """Bit i is set where claim i takes a note of the state."""
        return sum(note(state) << i for i, note in enumerate(self.notes))

    def word(self, state: State) -> int:
        """The packed word of a state."""
        return self.network.packed({f.name: v for f, v in zip(self.network.fields, state, strict=True)})

    def state(self, word: int) -> State:
        """The state of a packed word."""
        values = self.network.unpacked(word)
        return tuple(values[f.name] for f in self.network.fields)


@lru_cache(maxsize=8)
def interpreter(network: NetworkModel) -> Interpreter:
    """The interpreter of a network."""
    places = {f.name: i for i, f in enumerate(network.fields)}
    return Interpreter(
        network,
        tuple(compiled_expression(rule.guard, places) for rule in network.rules),
        tuple(
            tuple((places[name], compiled_expression(value, places)) for name, value in rule.updates.items())
            for rule in network.rules
        ),
        tuple(compiled_expression(claim.noted(), places) for claim in network.claims),
    )
