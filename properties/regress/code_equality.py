"""Whether two functions do the same, told by their code: of a module that is loaded twice nothing is the same
object, and most of it is the same.

What cannot be told counts as different: it is searched then for what it does, and nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType

from quidnunc.model.rules import Rule

Pairs = set[tuple[int, int]]


def same_function(one: object, other: object) -> bool:
    """Whether the two have the same code, defaults and closures, and whatever they name is the same too."""
    return _same(one, other, set())


def _same(one: object, other: object, met: Pairs) -> bool:
    if one is other or (id(one), id(other)) in met:
        return True
    match one, other:
        case FunctionType(), FunctionType():
            met.add((id(one), id(other)))
            return _same_function(one, other, met)
        case Rule(), Rule():
            told = (one.name, one.clause) == (other.name, other.clause)
            return told and _same(one.apply, other.apply, met)
        case CodeType(), CodeType():
            return _same_code(one, other, met)
        case ModuleType(), ModuleType():
            # What is named of it is compared where it is named.
            return one.__name__ == other.__name__
        case tuple(), tuple():
            return len(one) == len(other) and all(map(lambda a, b: _same(a, b, met), one, other))
    return type(one) is type(other) and bool(one == other)


def _same_function(one: FunctionType, other: FunctionType, met: Pairs) -> bool:
    cells = [tuple(c.cell_contents for c in f.__closure__ or ()) for f in (one, other)]
    given = [(f.__defaults__, *sorted((f.__kwdefaults__ or {}).items())) for f in (one, other)]
    return (
        _same(one.__code__, other.__code__, met)
        and _same(given[0], given[1], met)
        and _same(cells[0], cells[1], met)
        and _same(_named(one), _named(other), met)
    )


def _same_code(one: CodeType, other: CodeType, met: Pairs) -> bool:
    texts = [(c.co_code, c.co_names, c.co_varnames, c.co_freevars, c.co_flags) for c in (one, other)]
    # A docstring is the first constant, and no part of what a function does; it is compared all the same.
    return texts[0] == texts[1] and _same(one.co_consts, other.co_consts, met)


def _named(function: FunctionType) -> tuple[object, ...]:
    """The values of all names that its code may look up: those of its module, and of modules among them."""
    found: list[object] = []
    for code in codes_in(function.__code__):
        values = [function.__globals__.get(name) for name in code.co_names]
        modules = [each for each in values if isinstance(each, ModuleType)]
        found += values
        found += [
            vars(m).get(name) for m in modules for name in code.co_names if _is_plain(vars(m).get(name))
        ]
    return tuple(found)


def _is_plain(value: object) -> bool:
    return isinstance(value, FunctionType | Rule | int | str | float | tuple | frozenset)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes_in(const)
