"""Whether a rule can grant an output at all, read off its code."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from quidnunc.model.permits import Permit
from quidnunc.model.rules import Rule

OTHER_HANDLERS = frozenset({"run", "handlers", "protocol"})
"""Names by which a rule reaches other rules of its protocol, which may grant something."""


@lru_cache(maxsize=4096)
def may_grant(rule: Rule) -> bool:
    """Whether the rule, or a function of the model that it calls, makes a permit or asks other rules."""
    todo: list[Any] = [rule.apply]
    seen: set[int] = set()
    while todo:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if not isinstance(function, FunctionType):
            return True  # It cannot be read.
        for code in _codes(function.__code__):
            if OTHER_HANDLERS & {*code.co_names}:
                return True
            for value in _named(code, function.__globals__):
                if value is Permit:
                    return True
                todo += _functions_in(value)
        for cell in function.__closure__ or ():
            todo += _functions_in(cell.cell_contents)
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """What a code names: of its module, or of a module that it names."""
    found = [names[name] for name in code.co_names if name in names]
    yield from found
    for module in (each for each in found if isinstance(each, ModuleType)):
        yield from (vars(module)[name] for name in code.co_names if name in vars(module))


def _functions_in(value: object) -> list[Any]:
    """Functions of the model behind a value."""
    if isinstance(value, Rule):
        return [value.apply]
    ours = isinstance(value, FunctionType) and value.__module__.startswith("quidnunc.")
    return [value] if ours else []
