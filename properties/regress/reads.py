"""What the rules of a change read: parameters that are times or counts, and the state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from quidnunc.model.rules import Rule
from quidnunc.properties.regress.diff import ProtocolChange

DEPTH = 3
"""Functions that a rule calls, and these in turn, which are looked at for parameters."""


def time_ms(parameters: Any, name: str) -> int | None:
    """A parameter as a time in milliseconds; None where it is none."""
    value = getattr(parameters, name, None)
    if type(value) is not int:
        return None
    if name.endswith("_ms"):
        return value
    if name.endswith("_s"):
        return value * 1000
    if name.endswith(("_heartbeats", "_ticks")):
        return value * int(getattr(parameters, "heartbeat_interval_ms", 1000))
    return None


def count_of(parameters: Any, name: str) -> int | None:
    """A parameter that is a whole number and no time; None for any other name."""
    value = getattr(parameters, name, None)
    return value if type(value) is int and time_ms(parameters, name) is None else None


def names_read(what: ProtocolChange | Rule) -> frozenset[str]:
    """The names of attributes that a rule, or the rules of a change, read, in them and in what they call."""
    if isinstance(what, Rule):
        return _read_by(what)
    rules = (r for each in what.members or (what,) for r in (each.old, each.new) if r is not None)
    return frozenset().union(*map(_read_by, rules))


def times_read(change: ProtocolChange) -> frozenset[int]:
    """Times in milliseconds that are no parameters: constants (`..._MS`) that the rules of a change read."""
    rules = (r for each in change.members or (change,) for r in (each.old, each.new) if r is not None)
    return frozenset().union(*(_reading(rule)[1] for rule in rules))


def _read_by(rule: Rule) -> frozenset[str]:
    return _reading(rule)[0]


@lru_cache(maxsize=2000)
def _reading(rule: Rule) -> tuple[frozenset[str], frozenset[int]]:
    found, times = set[str](), set[int]()
    _read(rule.apply, found, times, DEPTH)
    return frozenset(found), frozenset(times)


def _read(function: object, found: set[str], times: set[int], depth: int) -> None:
    if isinstance(function, Rule):
        function = function.apply
    if not isinstance(function, FunctionType) or not depth:
        return
    names = set(_names(function.__code__))
    found |= names
    for cell in function.__closure__ or ():
        _read(cell.cell_contents, found, times, depth - 1)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if name.endswith("_MS") and type(value) is int:
            times.add(value)
        _read(value, found, times, depth - 1)
        for inner in names & vars(value).keys() if isinstance(value, ModuleType) else ():
            _read(vars(value)[inner], found, times, depth - 1)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
