"""Under which protocols a mutant is tried: those whose router executes the line that was changed.

A module has a list of protocols, in an order. Which lines each of them executes is measured: the suite and a
few runs of the search are played on our router with a trace of its lines. A mutant is tried under the first
protocol of its list that executes its line; where none does, under the first that enters its function; where
none does either, under the first of the list. Where the function reads a switch of the protocol (`SWITCHES`),
or what changed is the default of an argument, the suite runs under every protocol of the list that executes
the line or enters the function, and so does the search until one of them notices the mutant. So they do for
modules whose protocols judge the same lines by other clauses (`JUDGED_APART`): each reading of partial
messages, and the mempools.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType, MappingProxyType
from typing import Any, TypeAlias

from quidnunc.properties.search.machine import FindingSearch, next_run
from quidnunc.properties.search.worker import hello_of, opener_of
from quidnunc.properties.suite.run import run_suite
from tools.source_mutants.mutants import MODULES, Mutant, source_of

PUBSUB = (
    "gossipsub-1.2",
    "gossipsub-1.0",
    "gossipsub-1.2-draft",
    "gossipsub-1.3",
    "partial-messages",
    "partial-messages-jvm",
    "partial-messages-go",
    "floodsub",
)
"""All but v1.1: v1.2 executes every line of it."""
PARTIAL = ("partial-messages", "partial-messages-jvm", "partial-messages-go")
DOG = ("dog", "flood", "peer-limit")
"""The variants of DOG are planted switches, and left out."""
CAT = ("cat", "cat-classic")

ORDER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gossipsub": PUBSUB,
        "gossipsub.extensions": ("gossipsub-1.3", *PARTIAL),
        "gossipsub.partial": PARTIAL,
        "mempool.cat": CAT,
        "mempool.dog": DOG,
        "mempool.peer_limit": ("peer-limit", "flood"),
        "mempool.pool": (*DOG, *CAT),
    }
)
"""By module, or by the beginning of its name."""
SWITCHES = frozenset({"features", "reading", "version", "dog"})
"""Attributes that tell protocols apart."""
JUDGED_APART = ("gossipsub.partial", "mempool")
TRACED_RUNS = 10

Lines: TypeAlias = Mapping[str, frozenset[tuple[str, int]]]
"""Protocol -> (module, line) of what its router executes."""


def order_of(module: str) -> tuple[str, ...]:
    """The protocols of one module."""
    return ORDER[max((name for name in ORDER if f"{module}.".startswith(f"{name}.")), key=len)]


def protocols_of(mutant: Mutant, lines: Lines) -> tuple[str, ...]:
    """The protocols under which a mutant is tried, the first of them first."""
    order = order_of(mutant.module)
    first_line, last_line, switched = function_of(mutant.module, mutant.function)
    entered, is_default = range(first_line, last_line + 1), mutant.line < first_line
    on_line = [p for p in order if (mutant.module, mutant.line) in lines[p]]
    inside = [p for p in order if any((mutant.module, line) in lines[p] for line in entered)]
    found = on_line or inside or list(order)
    several = is_default or switched or mutant.module.startswith(JUDGED_APART)
    return tuple(found) if several and (on_line or inside) else (found[0],)


@cache
def function_of(module: str, name: str) -> tuple[int, int, bool]:
    """First and last line of a function's body, and whether it reads a switch; an empty range at the top."""
    if not name:
        return 0, -1, False
    node: Any = ast.parse(source_of(module)[1])
    for part in name.split("."):
        node = next(each for each in node.body if getattr(each, "name", None) == part)
    reads = any(isinstance(n, ast.Attribute) and n.attr in SWITCHES for n in ast.walk(node))
    return node.body[0].lineno, node.end_lineno, reads


def executed_lines(among: Iterable[str] = MODULES) -> dict[str, frozenset[tuple[str, int]]]:
    """What the routers of these modules' protocols execute in the suite and in `TRACED_RUNS` runs."""
    modules = {os.fspath(source_of(module)[0]): module for module in MODULES}
    protocols = dict.fromkeys(p for module in among for p in order_of(module))
    return {name: frozenset(_lines_of(name, modules)) for name in protocols}


def _lines_of(protocol: str, modules: Mapping[str, str]) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    with _traced(lambda file, line: found.add((modules[file], line)), modules):
        run_suite(protocol, "ours")
        hunt = FindingSearch(protocol, opener_of("ours"), hello_of("ours", protocol), counting=True)
        for _ in range(TRACED_RUNS):
            next_run(hunt, seed=0)
    return found


@contextmanager
def _traced(note: Callable[[str, int], None], files: Mapping[str, str]) -> Iterator[None]:
    """Note every line of these files that is executed meanwhile."""

    def inner(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            note(frame.f_code.co_filename, frame.f_lineno)
        return inner

    def outer(frame: FrameType, event: str, _: Any) -> Any:
        return inner if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(outer)
    try:
        yield
    finally:
        sys.settrace(before)
