"""Traces that wait around the deadlines of what a change is about: random walks seldom wait so long.

Known traces are prolonged: a wait, and the last event again, once and twice. A wait ends just before a
deadline or just after it, or takes most of it, so that two of them pass it together. For a parameter that is
a time, the wait ends between its two values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from quidnunc.model.events import Advance, Connect
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.traces import Trace

MOST = 0.6
"""The share of a deadline after which two waits pass it, and one does not."""
AGAIN = 2
"""Events from the end of a trace that are repeated, one at a time."""
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


def aimed_traces(change: ProtocolChange, old: Side, new: Side, known: Sequence[Trace]) -> Iterator[Trace]:
    """`known` traces prolonged by waits around the deadlines that the change is about."""
    for parameters, events in known:
        waits = _waits(change, old, new, parameters)
        acts = [e for e in events if not isinstance(e, Advance | Connect)][-AGAIN:]
        for wait in waits:
            for act in acts:
                once = (*events, Advance(wait), act)
                yield parameters, once
                yield parameters, (*once, Advance(wait), act)
            for at in range(1, len(events)):
                yield parameters, (*events[:at], Advance(wait), *events[at:])


def _waits(change: ProtocolChange, old: Side, new: Side, parameters: Any) -> list[int]:
    found: set[int] = set()
    if change.kind == "parameter":
        try:
            one, other = (time_ms(side.parameters(parameters), change.name) for side in (old, new))
        except ValueError:
            # What the trace sets does not go with what a side sets.
            return []
        if one is not None and other is not None and one != other:
            found.add((one + other) // 2)
        return sorted(found)
    names = {name for name in parameters_read(change) if time_ms(parameters, name)}
    for name in names:
        deadline = time_ms(parameters, name)
        assert deadline is not None
        found |= {deadline - 1, deadline + 1, int(deadline * MOST)}
    return sorted(each for each in found if each > 0)


def parameters_read(change: ProtocolChange) -> frozenset[str]:
    """The names of attributes that the rules of a change read, in them and in what they call."""
    found: set[str] = set()
    for each in change.members or (change,):
        for rule in (each.old, each.new):
            if rule is not None:
                _read(rule.apply, found, DEPTH)
    return frozenset(found)


def _read(function: object, found: set[str], depth: int) -> None:
    if not isinstance(function, FunctionType) or not depth:
        return
    names = set(_names(function.__code__))
    found |= names
    for cell in function.__closure__ or ():
        _read(cell.cell_contents, found, depth - 1)
    for name in names & function.__globals__.keys():
        _read(function.__globals__[name], found, depth - 1)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
