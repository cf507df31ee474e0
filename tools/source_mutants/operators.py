"""Operators: the small changes that one node of a syntax tree can be given.

Each takes a node and gives the nodes that can stand in its place. None knows what the code is about.
Annotations, docstrings, decorators, assertions and the texts of errors are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Operator: TypeAlias = Callable[[ast.AST, "Function | None"], Iterator[ast.AST]]
"""A node, and the function that it is in -> what can stand in its place."""

BOUNDARIES: Mapping[type[ast.cmpop], type[ast.cmpop]] = MappingProxyType(
    {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
)
NEGATIONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = MappingProxyType(
    {
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Lt: ast.GtE,
        ast.LtE: ast.Gt,
        ast.Gt: ast.LtE,
        ast.GtE: ast.Lt,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
    }
)
ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = MappingProxyType(
    {
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.FloorDiv,
        ast.Div: ast.Mult,
        ast.FloorDiv: ast.Mult,
        ast.Mod: ast.FloorDiv,
        ast.BitOr: ast.BitAnd,
        ast.BitAnd: ast.BitOr,
    }
)
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "add": "discard",
        "discard": "add",
        "appendleft": "append",
        "popleft": "pop",
        "setdefault": "get",
        "update": "difference_update",
    }
)
FUNCTIONS: Mapping[str, str] = MappingProxyType({"min": "max", "max": "min", "any": "all", "all": "any"})
EMPTY: Mapping[str, str] = MappingProxyType(
    {"set": "set()", "list": "[]", "dict": "{}", "tuple": "()", "frozenset": "frozenset()", "str": "''"}
)
"""What a function that returns such a collection can return instead."""
TESTED = (ast.If, ast.IfExp, ast.While)


def expression(text: str) -> ast.expr:
    """The expression that a text spells."""
    return ast.parse(text, mode="eval").body


def boundary(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """`<` becomes `<=`, and so on."""
    yield from _compared(node, BOUNDARIES)


def negation(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """A comparison becomes its opposite; `not` is dropped."""
    yield from _compared(node, NEGATIONS)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _compared(node: ast.AST, by: Mapping[type[ast.cmpop], type[ast.cmpop]]) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Compare):
        return
    for at, op in enumerate(node.ops):
        if type(op) in by:
            ops = [*node.ops[:at], by[type(op)](), *node.ops[at + 1 :]]
            yield ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def connective(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """`and` becomes `or`, and the other way round."""
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(op=ast.Or() if isinstance(node.op, ast.And) else ast.And(), values=node.values)


def operand(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """One operand of `and`, `or`, `-` or `|` is dropped."""
    if isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            left = [*node.values[:at], *node.values[at + 1 :]]
            yield left[0] if len(left) == 1 else ast.BoolOp(op=node.op, values=left)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.BitOr):
        yield node.left


def condition(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """The condition of an `if` or a `while` is forced, a filter of a comprehension left out."""
    if isinstance(node, TESTED):
        for forced in (True, False):
            yield _with(node, test=ast.Constant(forced))
    elif isinstance(node, ast.comprehension):
        for at in range(len(node.ifs)):
            yield _with(node, ifs=[*node.ifs[:at], *node.ifs[at + 1 :]])


def statement(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """A statement is deleted, where no name is missing for it."""
    if isinstance(node, ast.Expr):
        deleted = not isinstance(node.value, ast.Constant)
    elif isinstance(node, ast.Assign):
        deleted = not any(isinstance(target, ast.Name) for target in node.targets)
    else:
        deleted = isinstance(node, ast.AugAssign | ast.Delete | ast.Raise | ast.For)
        deleted = deleted or (isinstance(node, ast.Return) and node.value is None)
    if deleted:
        yield ast.Pass()


def loop_exit(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """`break` becomes `continue`, and the other way round; either is deleted."""
    if isinstance(node, ast.Break | ast.Continue):
        yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield ast.Pass()


def returned(node: ast.AST, inside: Function | None) -> Iterator[ast.AST]:
    """What a function returns is dropped: nothing of that type comes instead."""
    if not isinstance(node, ast.Return) or node.value is None or inside is None:
        return
    said = ast.unparse(inside.returns) if inside.returns is not None else ""
    kind = said.partition("[")[0]
    if said == "bool":
        instead = ["True", "False"]
    elif said in ("int", "float"):
        instead = ["0", "1"]
    elif kind.lower() in EMPTY:
        instead = [EMPTY[kind.lower()]]
    else:
        instead = ["None"]
    for text in instead:
        if text != ast.unparse(node.value):
            yield ast.Return(value=expression(text))


def arithmetic(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """`+` becomes `-`, `*` becomes `//`, `|` becomes `&`, and so on; a sign is dropped."""
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(left=node.left, op=ARITHMETIC[type(node.op)](), right=node.right)
    elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield ast.AugAssign(target=node.target, op=ARITHMETIC[type(node.op)](), value=node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def constant(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """A number is one more or one less; True becomes False, and the other way round."""
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value - 1)


def argument(node: ast.AST, inside: Function | None) -> Iterator[ast.AST]:
    """Two neighbouring arguments change places, unless they are plainly of two types."""
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
        return
    for at in range(len(node.args) - 1):
        pair = node.args[at : at + 2]
        if _may_swap(pair[0], pair[1], inside):
            swapped = [*node.args[:at], *reversed(pair), *node.args[at + 2 :]]
            yield ast.Call(func=node.func, args=swapped, keywords=node.keywords)


def _may_swap(one: ast.expr, other: ast.expr, inside: Function | None) -> bool:
    if type(one) is not type(other) or isinstance(one, ast.Starred) or ast.dump(one) == ast.dump(other):
        return False
    if not isinstance(one, ast.Name) or not isinstance(other, ast.Name) or inside is None:
        return True
    said = {a.arg: ast.unparse(a.annotation) for a in inside.args.args if a.annotation is not None}
    types = {said.get(one.id), said.get(other.id)}
    return None in types or len(types) == 1


def method(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """One method of a collection becomes another, `min` becomes `max`; what `pop` takes out stays."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        yield _called(node, ast.Name(FUNCTIONS[node.func.id], ast.Load()))
    elif isinstance(node.func, ast.Attribute):
        if node.func.attr in METHODS:
            yield _called(node, ast.Attribute(node.func.value, METHODS[node.func.attr], ast.Load()))
        elif node.func.attr == "pop" and len(node.args) == 2:
            yield _called(node, ast.Attribute(node.func.value, "get", ast.Load()))


def _called(node: ast.Call, function: ast.expr) -> ast.Call:
    return ast.Call(func=function, args=node.args, keywords=node.keywords)


def order(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """A sort by a key is reversed, the last of an order is taken instead of the first."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return
    keywords = {k.arg: k.value for k in node.keywords}
    if node.func.id == "sorted" and keywords:
        was = keywords.get("reverse")
        keywords["reverse"] = ast.Constant(not (isinstance(was, ast.Constant) and was.value))
        yield ast.Call(
            func=node.func, args=node.args, keywords=[ast.keyword(k, v) for k, v in keywords.items()]
        )
    elif node.func.id == "iter" and len(node.args) == 1:
        yield _called(node, ast.Name("reversed", ast.Load()))


def portion(node: ast.AST, _: Function | None) -> Iterator[ast.AST]:
    """What a slice leaves out is taken, and what it takes left out."""
    if isinstance(node, ast.Slice) and (node.lower is None) != (node.upper is None):
        yield ast.Slice(lower=node.upper, upper=node.lower, step=node.step)


def _with(node: ast.AST, **changed: object) -> ast.AST:
    kept = {name: getattr(node, name) for name in node._fields}
    return type(node)(**{**kept, **changed})


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "boundary": boundary,
        "negation": negation,
        "connective": connective,
        "operand": operand,
        "condition": condition,
        "statement": statement,
        "loop-exit": loop_exit,
        "return": returned,
        "arithmetic": arithmetic,
        "constant": constant,
        "argument": argument,
        "method": method,
        "order": order,
        "portion": portion,
    }
)
