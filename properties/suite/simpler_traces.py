"""Traces of the suite made plain: usual streams and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from quidnunc.model.events import MEMPOOL, Connect, Event, Receive
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.rpc import (
    ROUTER,
    Message,
    Part,
    Prune,
)
from quidnunc.properties.suite.traces import Trace

USUAL_BACKOFF_S = 60


def plainer_events(event: Event, protocol: str) -> Iterator[Event]:
    """`event` with one thing in it as it usually is."""
    if isinstance(event, Connect) and event.protocol != MEMPOOL:
        newest = family_of(protocol_named(protocol)).streams(protocol)[0]
        if event.protocol != newest:
            yield evolve(event, protocol=newest)
        if event.outbound:
            yield evolve(event, outbound=False)
    elif isinstance(event, Receive):
        for at, part in enumerate(event.parts):
            for plain in _plainer_parts(part, event.peers):
                yield evolve(event, parts=(*event.parts[:at], plain, *event.parts[at + 1 :]))


def _plainer_parts(part: Part, peers: Sequence[int]) -> Iterator[Part]:
    match part:
        case Prune(_, seconds) if seconds not in (None, USUAL_BACKOFF_S):
            # A backoff of 0 is read as one that is absent: the usual one says more.
            yield evolve(part, backoff_s=USUAL_BACKOFF_S)
            yield evolve(part, backoff_s=None)
            if part.peers:
                yield from _fewer_offered(part)
        case Prune(peers=offered) if offered:
            yield from _fewer_offered(part)
        case Message(author=author, size=size, flaw=flaw):
            if size:
                yield evolve(part, size=0)
            if author is not None and author != ROUTER and (author,) != tuple(peers) and not flaw:
                yield evolve(part, author=peers[0])


def _fewer_offered(part: Prune) -> Iterator[Prune]:
    """The PRUNE with one peer less in exchange, or with the first alone."""
    for some in dict.fromkeys((part.peers[:1], part.peers[:-1], part.peers[1:])):
        if some != part.peers:
            yield evolve(part, peers=some)


def on_streams_of(trace: Trace, protocol: str) -> Trace:
    """The trace with streams that `protocol` has: another version may have found it."""
    known = family_of(protocol_named(protocol)).streams(protocol)
    parameters, events = trace
    return parameters, tuple(
        evolve(e, protocol=known[0]) if isinstance(e, Connect) and e.protocol not in known else e
        for e in events
    )
