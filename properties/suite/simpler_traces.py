"""Traces of the suite made plain: usual streams and values, peers, topics and ids named in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve, field, mutable

from quidnunc.model.events import MEMPOOL, Connect, Event, Receive
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.rpc import (
    ROUTER,
    Control,
    HaveTx,
    Message,
    Part,
    Prune,
    SeenTx,
    Tx,
    WantTx,
    says_more,
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


def renamed_trace(trace: Trace) -> Trace:
    """The trace with peers 1, 2, ..., topics t1, ... and ids m1, ... (x1t, ...) in the order of mention."""
    parameters, events = trace
    names = _Names()
    told = tuple(names.event(event) for event in events)
    explicit: frozenset[int] = getattr(parameters, "explicit_peers", frozenset())
    if explicit:
        parameters = evolve(parameters, explicit_peers=frozenset(map(names.peer, sorted(explicit))))
    return parameters, told


@mutable
class _Names:
    of: dict[str, dict[Any, Any]] = field(
        factory=lambda: {"peer": {ROUTER: ROUTER}, "topic": {}, "m": {}, "x": {}}
    )
    """What is named -> old name -> new one."""

    def peer(self, peer: int) -> int:
        table = self.of["peer"]
        return int(table.setdefault(peer, len(table)))

    def topic(self, topic: str) -> str:
        table = self.of["topic"]
        return str(table.setdefault(topic, f"t{len(table) + 1}"))

    def id(self, name: str, *, tx: bool) -> str:
        if tx and says_more(name):
            return name
        table = self.of["x" if tx else "m"]
        return str(table.setdefault(name, f"x{len(table) + 1}t" if tx else f"m{len(table) + 1}"))

    def event(self, event: Any) -> Any:
        kind = type(event).__name__
        changes: dict[str, Any] = {}
        if hasattr(event, "peers"):
            changes["peers"] = tuple(self.peer(p) for p in event.peers)
        if hasattr(event, "parts"):
            changes["parts"] = tuple(self.part(p) for p in event.parts)
        if hasattr(event, "topic"):
            changes["topic"] = self.topic(event.topic)
        if hasattr(event, "message"):
            changes["message"] = self.part(event.message)
        if hasattr(event, "id"):
            changes["id"] = self.id(event.id, tx=kind in ("Submit", "Commit"))
        return evolve(event, **changes) if changes else event

    def part(self, part: Any) -> Any:
        tx = isinstance(part, Tx | HaveTx | SeenTx | WantTx)
        changes: dict[str, Any] = {}
        if hasattr(part, "id"):
            changes["id"] = self.id(part.id, tx=tx)
        if hasattr(part, "ids"):
            own = self.of["topic"] if isinstance(part, Control) else {}
            changes["ids"] = tuple(self.topic(i) if i in own else self.id(i, tx=False) for i in part.ids)
        if hasattr(part, "topic"):
            changes["topic"] = self.topic(part.topic)
        if isinstance(part, Prune) and part.peers:
            changes["peers"] = tuple(self.peer(p) for p in part.peers)
        if isinstance(part, Message) and part.author is not None:
            changes["author"] = self.peer(part.author)
        return evolve(part, **changes) if changes else part
