"""Runs made plain: peers 1, 2, ..., topics t1, ... and ids m1, ... in the order of mention."""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import evolve, field, mutable

from quidnunc.model.events import Event
from quidnunc.model.rpc import ROUTER, Control, HaveTx, Message, Prune, SeenTx, Tx, WantTx, says_more

KEPT_FROM = 1 << 16
"""Numbers of peers from here on are kept."""
Trace: TypeAlias = tuple[Any, tuple[Event, ...]]
"""Parameters and events."""


def renamed_trace(trace: Trace) -> Trace:
    """The trace with peers 1, 2, ..., topics t1, ... and ids m1, ... (x1t, ...) in the order of mention."""
    parameters, events = trace
    names = _Names()
    told = tuple(names.event(event) for event in events)
    explicit: frozenset[int] = getattr(parameters, "explicit_peers", frozenset())
    if explicit:
        parameters = evolve(parameters, explicit_peers=frozenset(map(names.peer, sorted(explicit))))
    scores = getattr(parameters, "scores", None)
    if scores is not None and scores.topics:
        topics = tuple(evolve(each, topic=names.topic(each.topic)) for each in scores.topics)
        parameters = evolve(parameters, scores=evolve(scores, topics=topics))
    return parameters, told


@mutable
class _Names:
    of: dict[str, dict[Any, Any]] = field(
        factory=lambda: {"peer": {ROUTER: ROUTER}, "topic": {}, "m": {}, "x": {}}
    )
    """What is named -> old name -> new one."""

    def peer(self, peer: int) -> int:
        table = self.of["peer"]
        # A large number says of which type the key of an author is.
        return peer if peer >= KEPT_FROM else int(table.setdefault(peer, len(table)))

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
        if hasattr(event, "peer"):
            changes["peer"] = self.peer(event.peer)
        if hasattr(event, "decisions"):
            changes["decisions"] = tuple(evolve(d, peer=self.peer(d.peer)) for d in event.decisions)
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
