"""A claim about all states of a small network, as a model for Spin: one loop of guarded commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.model.errors import SpecError
from quidnunc.properties.exports.heads import commented, head
from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import Expression, NetworkField, NetworkModel

CHECK = (
    "spin -a FILE && cc -O2 -DSAFETY -o pan pan.c && ./pan -m1000000. {expected} Each option of the loop is "
    "one rule with its clause; the assertion is the claim."
)
EXPECTED = {
    "proved": "It must end with `errors: 0` and say nothing of a search that was cut short.",
    "refuted": "It must find the assertion violated.",
}
_TWO = {"EQ": "==", "DISTINCT": "!=", "ULT": "<", "ULEQ": "<=", "UGT": ">", "UGEQ": ">="}
_ARITHMETIC = {"BADD": "+", "BSUB": "-", "BMUL": "*"}


def promela_lines(result: ProofResult, network: NetworkModel, claim: str) -> Iterator[str]:
    """The lines of the file. Raises SpecError for an expression that it cannot write."""
    yield from commented(
        head(result, CHECK.format(expected=EXPECTED.get(result.verdict, EXPECTED["proved"]))), "//"
    )
    yield ""
    yield from (f"{_type(each)};" for each in network.fields)
    most = max((len(rule.updates) for rule in network.rules), default=0)
    yield from (f"int next{n};" for n in range(most))
    holds = _text(network.claim(claim).noted())
    yield f"\n#define CLAIM (!{holds})\n"
    yield "active proctype network() {\n  assert(CLAIM);\nend:\n  do"
    for rule in network.rules:
        yield f"  // {rule.name}: {rule.clause}"
        yield f"  :: d_step {{ {_text(rule.guard)} ->"
        values = list(rule.updates.items())
        # All values are of the state before, so none is put before all are known.
        yield from (f"    next{n} = {_text(value)};" for n, (_, value) in enumerate(values))
        yield from (f"    {name} = next{n}; next{n} = 0;" for n, (name, _) in enumerate(values))
        yield "    assert(CLAIM) }"
    yield "  od\n}"


def _type(of: NetworkField) -> str:
    return f"bool {of.name}" if of.width == 1 else f"unsigned {of.name} : {of.width}"


def _text(expression: Expression) -> str:
    """An expression over fields in Promela, in brackets where it has parts."""
    kind = expression.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED:
        return str(expression.decl().name())
    if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
        return "true" if kind == z3.Z3_OP_TRUE else "false"
    if kind == z3.Z3_OP_BNUM:
        return str(expression.as_long())
    mask = (1 << expression.size()) - 1 if z3.is_bv(expression) else None
    text = _applied(kind, [_text(child) for child in expression.children()], mask)
    if text is None:
        raise SpecError(f"the operator {expression.decl().name()} has no form in Promela here")
    return f"({text})"


def _applied(kind: int, parts: Sequence[str], mask: int | None) -> str | None:
    if kind == z3.Z3_OP_AND:
        return " && ".join(parts) or "true"
    if kind == z3.Z3_OP_OR:
        return " || ".join(parts) or "false"
    if kind == z3.Z3_OP_NOT:
        return f"!{parts[0]}"
    if kind == z3.Z3_OP_ITE:
        return f"{parts[0]} -> {parts[1]} : {parts[2]}"
    if kind == z3.Z3_OP_IMPLIES:
        return f"!{parts[0]} || {parts[1]}"
    for name, sign in _ARITHMETIC.items():
        if kind == getattr(z3, f"Z3_OP_{name}"):
            return f"({f' {sign} '.join(parts)}) & {mask}"
    compare = next((sign for name, sign in _TWO.items() if kind == getattr(z3, f"Z3_OP_{name}")), None)
    return f"{parts[0]} {compare} {parts[1]}" if compare else None
