"""Which functions of our routers call which: what a small helper does shows where it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from tools.source_mutants.mutants import MODULES, source_of

MOST = 3
"""Callers, as there are three clauses at most of a function."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@lru_cache
def callers() -> Mapping[str, frozenset[str]]:
    """Module and function -> those that name it, by the places that `clauses.toml` uses.

    A name that two functions of the routers share says nothing, and has no callers here; nor has a function
    that many call.
    """
    bodies = {place: node for module in MODULES for place, node in _functions(module)}
    by_name: dict[str, list[str]] = {}
    for place in bodies:
        by_name.setdefault(_simple(place), []).append(place)
    found: dict[str, set[str]] = {place: set() for place in bodies}
    for place, node in bodies.items():
        for name in _names_in(node):
            named = by_name.get(name, [])
            if len(named) == 1 and named[0] != place:
                found[named[0]].add(place)
    return {place: frozenset(of if len(of) <= MOST else ()) for place, of in found.items()}


def _simple(place: str) -> str:
    return place.rpartition(":")[2].rpartition(".")[2]


def _functions(module: str) -> Iterator[tuple[str, ast.AST]]:
    _, text = source_of(module)
    for node in ast.parse(text).body:
        if isinstance(node, FUNCTIONS):
            yield f"{module}:{node.name}", node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, FUNCTIONS):
                    yield f"{module}:{node.name}.{each.name}", each


def _names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Name):
            yield each.id
