"""Statements that repeat a definition: true whatever the numbers in them are."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.questions import answer_of_z3
from quidnunc.properties.solver.rules import Expression


def by_definition(premise: Expression, conclusion: Expression) -> bool:
    """Whether the conclusion follows from the premise by logic alone, with every comparison left open.

    Symbols that the premise sets equal to something are replaced by it first. Then each comparison is taken
    for a statement of its own, that may be true or false whatever the others are. What follows even so needs
    no arithmetic and no second rule: the conclusion is what a rule says, in the case that the premise names.
    """
    swaps: list[tuple[Expression, Expression]] = []
    for part in _conjuncts(premise):
        named = _named(part)
        if named is not None and not any(named[0].eq(symbol) for symbol, _ in swaps):
            swaps.append(named)
    statement = z3.Implies(premise, conclusion)
    for swap in swaps:
        statement = z3.substitute(statement, swap)
    statement = _abstracted(z3.simplify(statement, elim_ite=False), {})
    solver = z3.Solver()
    solver.add(z3.Not(statement))
    return answer_of_z3(solver) == "unsat"


def _conjuncts(statement: Expression) -> Iterator[Expression]:
    if z3.is_and(statement):
        for part in statement.children():
            yield from _conjuncts(part)
    else:
        yield statement


def _named(part: Expression) -> tuple[Expression, Expression] | None:
    """(symbol, what it is equal to), of an equality of a symbol with a number or another symbol."""
    if not z3.is_eq(part):
        return None
    left, right = part.children()
    for symbol, value in ((left, right), (right, left)):
        if _is_symbol(symbol) and z3.is_const(value) and not symbol.eq(value):
            return symbol, value
    return None


def _is_symbol(one: Expression) -> bool:
    return bool(z3.is_const(one)) and one.decl().kind() == z3.Z3_OP_UNINTERPRETED


def _abstracted(one: Expression, atoms: dict[int, Expression]) -> Expression:
    """The same with a Bool of its own for each comparison."""
    logical = (z3.Z3_OP_AND, z3.Z3_OP_OR, z3.Z3_OP_NOT, z3.Z3_OP_IMPLIES, z3.Z3_OP_TRUE, z3.Z3_OP_FALSE)
    if one.decl().kind() in logical or (z3.is_eq(one) and z3.is_bool(one.children()[0])):
        parts = [_abstracted(part, atoms) for part in one.children()]
        return one.decl()(*parts) if parts else one
    # z3 gives equal expressions one number.
    return atoms.setdefault(one.get_id(), z3.Bool(f"atom {len(atoms)}"))
