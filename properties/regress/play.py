"""Whether a change shows on a trace, told cheaply: one model plays the router and the other one judges.

This looks at one run, and not at all that is allowed as `quidnunc.properties.regress.pair` does, which has
the last word. It costs a small part of that, and finds the traces that are worth its while.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play, rejudge
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.shrink import smallest_trace
from quidnunc.properties.suite.simpler_traces import on_streams_of
from quidnunc.properties.suite.traces import Trace

DICE = range(2)
"""Dice with which each of the two plays the router."""


@frozen
class DepartingTrace:
    """A trace at whose last event `subject` as a router departs from `oracle`."""

    trace: Trace
    subject: Side
    oracle: Side
    die: int

    def still(self, trace: Trace) -> bool:
        """Whether the same two part on another trace."""
        return departs_at(self.subject, self.oracle, trace, self.die) is not None


def departing_trace(old: Side, new: Side, trace: Trace) -> DepartingTrace | None:
    """The trace up to the first event at which one of the two departs from the other, the earliest of all."""
    trace = on_streams_of(trace, new.base)
    found: list[tuple[int, DepartingTrace]] = []
    for subject, oracle in ((old, new), (new, old)):
        for die in DICE:
            at = departs_at(subject, oracle, trace, die)
            if at is not None:
                cut = trace[0], trace[1][: at + 1]
                found.append((at, DepartingTrace(cut, subject, oracle, die)))
    return min(found, key=lambda each: each[0])[1] if found else None


def departs_at(subject: Side, oracle: Side, trace: Trace, die: int) -> int | None:
    """The event at which `subject` first does what `oracle` does not allow; None where it does not."""
    given, events = trace
    try:
        own, judges = subject.parameters(given), oracle.parameters(given)
        run = Play(ModelSubject(subject.protocol, own, die), Oracle(oracle.protocol, judges))
    except ValueError:
        return None  # The parameters of the trace do not go with those that a side sets itself.
    try:
        for at, event in enumerate(events):
            if run.do(event):
                # What it would not have allowed itself (the search of splits is bounded) does not count.
                agreed, found = rejudge(run.moments, subject.protocol, own)
                return at if agreed == len(run.moments) and not found else None
            if run.blurred:
                return None
    except KeyError:
        return None  # A rule asks for a handler that only another change brings.
    return None


def first_departing(sides: Iterable[tuple[Side, Side]], trace: Trace, replays: int) -> DepartingTrace | None:
    """The first of `sides` that part on the trace, and the trace made smaller with `replays` at most."""
    for old, new in sides:
        found = departing_trace(old, new, trace)
        if found is not None:
            small = smallest_trace(found.trace, found.still, found.oracle.base, replays)
            return evolve(found, trace=small)
    return None
