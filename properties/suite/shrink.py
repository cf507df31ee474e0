"""A trace made as small as what it shows allows: fewer and smaller events, plain values, names in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from quidnunc.model.rpc import Message
from quidnunc.properties.explain.minimise import plainer_parameters, simplifications
from quidnunc.properties.explain.plain_names import renamed_trace
from quidnunc.properties.suite.simpler_traces import plainer_events
from quidnunc.properties.suite.traces import Trace


def smallest_trace(trace: Trace, still: Callable[[Trace], bool], protocol: str, replays: int) -> Trace:
    """The trace minimised for as long as `still` says that it shows the same; asked at most `replays` times.

    Once more it is asked whether the names may be put in order.
    """
    spent = 0

    def shown(candidate: Trace) -> bool:
        nonlocal spent
        spent += 1
        return spent <= replays and can_be_said(candidate) and still(candidate)

    before = None
    while trace != before and spent < replays:
        before = trace
        trace = _fewer(trace, shown)
        trace = _smaller(trace, shown, simplifications)
        trace = _smaller(trace, shown, lambda event: plainer_events(event, protocol))
        trace = _plainer_parameters(trace, shown)
    named = renamed_trace(trace)
    # What is shown may hang on an order of names, where all else is equal.
    return named if still(named) else trace


def can_be_said(trace: Trace) -> bool:
    """Whether good copies of one message agree on its author and size: no case can say anything else."""
    parts = [p for e in trace[1] for p in getattr(e, "parts", (getattr(e, "message", None),))]
    said = {(p.id, p.author, p.size) for p in parts if isinstance(p, Message) and not p.flaw}
    return len(said) == len({each[0] for each in said})


def _plainer_parameters(trace: Trace, shown: Callable[[Trace], bool]) -> Trace:
    parameters, events = trace
    return plainer_parameters(parameters, lambda other: shown((other, events))), events


def _fewer(trace: Trace, shown: Callable[[Trace], bool]) -> Trace:
    parameters, best = trace[0], list(trace[1])
    size = max(1, len(best) // 2)
    while size:
        at = 0
        while at < len(best):
            candidate = best[:at] + best[at + size :]
            if candidate and shown((parameters, tuple(candidate))):
                best = candidate
            else:
                at += size
        size //= 2
    return parameters, tuple(best)


def _smaller(
    trace: Trace, shown: Callable[[Trace], bool], simpler: Callable[[Any], Iterator[Any] | Any]
) -> Trace:
    parameters, best = trace[0], list(trace[1])
    for at in range(len(best)):
        again = True
        while again:
            again = False
            for event in simpler(best[at]):
                if shown((parameters, (*best[:at], event, *best[at + 1 :]))):
                    best[at], again = event, True
                    break
    return parameters, tuple(best)
