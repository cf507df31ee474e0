"""What a rule looks at: the names in its function and in the functions of the model that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from quidnunc.model.mempool.node import Node
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rules import Rule

DEPTH = 3
"""Calls of calls that are followed."""


@lru_cache(maxsize=4096)
def names_read(rule: Rule) -> frozenset[str]:
    """Names of attributes and functions. More than it looks at perhaps, where two things share a name."""
    return frozenset(_names_of(rule.apply, DEPTH, set()))


@lru_cache(maxsize=4096)
def sets_asked(rule: Rule, sets: frozenset[str]) -> frozenset[str]:
    """Those of `sets`, handlers by name, that its function or one that it calls in the model may ask for."""
    seen = set[Any]()
    _names_of(rule.apply, DEPTH, seen)
    return sets.intersection(text for function in seen for text in _texts_in(function.__code__))


def _names_of(function: Any, depth: int, seen: set[Any]) -> set[str]:
    if not isinstance(function, FunctionType) or function in seen:
        return set()
    seen.add(function)
    names = set(_names_in(function.__code__))
    found = set(names)
    for cell in function.__closure__ or ():
        inner = cell.cell_contents
        found |= _names_of(inner.apply if isinstance(inner, Rule) else inner, depth, seen)
    if depth:
        for name in names:
            for inner in _functions_named(name, function, names):
                found |= _names_of(inner, depth - 1, seen)
    return found


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _texts_in(code: CodeType) -> Iterator[str]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _texts_in(inner)
        elif isinstance(inner, str):
            yield inner


def _functions_named(name: str, function: FunctionType, names: set[str]) -> Iterator[Any]:
    """What a name can mean there: a function of its module, of a module that it names too, or of a state."""
    places = [function.__globals__.get(other) for other in names]
    modules = [vars(each) for each in places if getattr(each, "__name__", "").startswith("quidnunc.model.")]
    for scope in (function.__globals__, *modules):
        inner = scope.get(name)
        if isinstance(inner, FunctionType) and inner.__module__.startswith("quidnunc.model."):
            yield inner
    for state in (Router, Node):
        inner = vars(state).get(name)
        if isinstance(inner, FunctionType):
            yield inner
