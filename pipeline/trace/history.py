"""How a network changes over time: who is connected, meshes and routes, and how far each message has come.

A trace becomes frames, each of which says how every node and link is at one instant. A picture of a network
has one message in view: the one that was published last. Times are compared between routers, so the trace
must be of one clock, as a simulation's is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, TypeAlias

from attrs import field, frozen, mutable

from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.trace.events import (
    ClosedStream,
    DeliverMessage,
    GraftEvent,
    JoinEvent,
    LeaveEvent,
    OpenedStream,
    PartialPublishEvent,
    PruneEvent,
    PublishMessage,
    RouteDisableEvent,
    RouteEnableEvent,
    RouterFailure,
    TraceEvent,
)
from quidnunc.pipeline.trace.shapes import TraceError

MAX_FRAMES = 150
MAX_CHANGES = 1_000_000
NS_PER_S = 1_000_000_000
MESH_STREAM = "/meshsub/"
NodeState: TypeAlias = Literal["away", "outside", "lacks", "has", "new", "publisher", "failed", "attacker"]
LinkState: TypeAlias = Literal["closed", "open", "half", "full"]
Flow: TypeAlias = Literal["none", "forth", "back"]
Change: TypeAlias = (
    OpenedStream
    | ClosedStream
    | JoinEvent
    | LeaveEvent
    | GraftEvent
    | PruneEvent
    | RouteDisableEvent
    | RouteEnableEvent
    | PublishMessage
    | DeliverMessage
    | RouterFailure
)
NODE_WORDS: Mapping[NodeState, str] = {
    "publisher": "published the message",
    "new": "gets it now",
    "has": "has it",
    "lacks": "does not have it",
    "outside": "not subscribed to its topic",
    "away": "has no connection",
    "failed": "failed",
    "attacker": "says what it likes",
}
MESH_WORDS: Mapping[LinkState, str] = {
    "full": "in the mesh of both ends",
    "half": "in the mesh of one end only",
    "open": "connected, in no mesh",
}
ROUTE_WORDS: Mapping[LinkState, str] = {
    "full": "connected, and no route over it is disabled",
    "half": "routes over it are disabled in one direction",
    "open": "routes over it are disabled in both directions",
}
PLAIN_WORDS: Mapping[LinkState, str] = {"open": "connected"}


@frozen(kw_only=True)
class NetworkFrame:
    """A network at one instant."""

    at: str
    """The instant in words."""
    says: str
    """What has happened since the frame before."""
    counts: tuple[str, ...]
    """Under `columns` of the history."""
    nodes: tuple[NodeState, ...]
    links: tuple[LinkState, ...]
    flows: tuple[Flow, ...]
    """Of each link, whether something went over it, and to which end."""


@frozen(kw_only=True)
class NetworkHistory:
    """Frames of one network, which has the same nodes and links in all of them."""

    names: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    """Places in `names`, the smaller one first."""
    columns: tuple[str, ...]
    frames: tuple[NetworkFrame, ...]
    best: int
    """The frame to show where only one can be shown."""
    link_words: Mapping[LinkState, str]
    flow_words: str
    notes: tuple[str, ...] = ()


def history_of(events: Iterable[TraceEvent], nodes: int) -> NetworkHistory:
    """The history of a network of so many nodes. Raises TraceError for one that is too large."""
    numbers = {peer_id(number): number for number in range(nodes)}
    changes: list[tuple[int, Peer, Change]] = []
    partial = meshes = False
    for event in events:
        partial |= isinstance(event.body, PartialPublishEvent)
        meshes |= isinstance(event.body, OpenedStream) and (event.body.protocol or "").startswith(MESH_STREAM)
        number = numbers.get(event.peer or b"")
        if number is None or event.at_ns is None or not isinstance(event.body, Change):
            continue
        if len(changes) >= MAX_CHANGES:
            raise TraceError(f"more than {MAX_CHANGES} changes in one run: too many for a picture")
        changes.append((event.at_ns, number, event.body))
    changes.sort(key=lambda each: each[0])
    bodies = {type(body) for _, _, body in changes}
    state = _NetworkState(
        numbers,
        has_mesh=GraftEvent in bodies,
        has_routes=RouteDisableEvent in bodies,
        has_topics=JoinEvent in bodies,
    )
    links = tuple(sorted({link for _, u, body in changes for link in state.link_of(u, body)}))
    frames, best = list[NetworkFrame](), 0
    for batch in _batches(changes):
        if state.published == 1 and any(isinstance(body, PublishMessage) for _, _, body in batch):
            best = max(0, len(frames) - 1)
        frames.append(state.frame(batch, links))
    notes = ["Partial messages are not followed."] if partial else []
    if meshes and not state.has_mesh:
        notes.append("No router of this network shows a mesh.")
    words = ROUTE_WORDS if state.has_routes else MESH_WORDS if state.has_mesh else PLAIN_WORDS
    return NetworkHistory(
        names=tuple(map(str, range(nodes))),
        links=links,
        columns=state.columns,
        frames=tuple(frames),
        best=best or len(frames) - 1,
        link_words=words,
        flow_words="the message first came over it, to the node at the arrow",
        notes=tuple(notes),
    )


def _batches(
    changes: Sequence[tuple[int, Peer, Change]],
) -> Iterator[list[tuple[int, Peer, Change]]]:
    """The changes of each frame: those of one instant, or where there are too many instants, of several.
    A publication begins a new one, so that the message before it is seen to the end."""
    instants = [list(group) for _, group in groupby(changes, key=lambda each: each[0])]
    publications = sum(_publishes(each) for each in instants)
    apart = publications <= MAX_FRAMES // 3
    size = 1.0
    if len(instants) > MAX_FRAMES:
        size = len(changes) / (MAX_FRAMES - (publications if apart else 0) - 1)
    batch: list[tuple[int, Peer, Change]] = []
    for each in instants:
        if batch and (len(batch) >= size or (apart and _publishes(each))):
            yield batch
            batch = []
        batch += each
    if batch:
        yield batch


def _publishes(changes: Iterable[tuple[int, Peer, Change]]) -> bool:
    return any(isinstance(body, PublishMessage) for _, _, body in changes)


@mutable
class _NetworkState:
    numbers: Mapping[bytes, Peer]
    has_mesh: bool
    has_routes: bool
    has_topics: bool
    open: set[tuple[Peer, Peer]] = field(factory=set)
    """(who, to whom): who has the connection open."""
    mesh: dict[tuple[Peer, Peer], set[str]] = field(factory=dict)
    disabled: dict[tuple[Peer, Peer], set[bytes]] = field(factory=dict)
    """(who, to whom) -> the sources from which it sends nothing there."""
    topics: dict[Peer, set[str]] = field(factory=dict)
    failed: set[Peer] = field(factory=set)
    names: dict[bytes, int] = field(factory=dict)
    """Message -> its number, in the order of publication."""
    message: bytes = b""
    topic: str = ""
    publisher: Peer = -1
    came_from: dict[Peer, Peer] = field(factory=dict)
    """Who has the message in view -> from whom it first came."""
    new: set[Peer] = field(factory=set)

    @property
    def published(self) -> int:
        return len(self.names)

    @property
    def columns(self) -> tuple[str, ...]:
        links = ("without disabled routes",) if self.has_routes else ("in a mesh",) if self.has_mesh else ()
        return ("have the message", "links", *(f"links {each}" for each in links))

    def link_of(self, number: Peer, body: Change) -> Iterator[tuple[Peer, Peer]]:
        """The link that a change opens."""
        other = self.numbers.get(body.peer or b"") if isinstance(body, OpenedStream) else None
        if other is not None:
            yield min(number, other), max(number, other)

    # -- changes -----------------------------------------------------------------------------------------

    def frame(
        self, batch: Sequence[tuple[int, Peer, Change]], links: Sequence[tuple[Peer, Peer]]
    ) -> NetworkFrame:
        """The changes take place; how the network is then."""
        before = [self._link(link) for link in links]
        self.new.clear()
        told = FrameTelling()
        for _, number, body in batch:
            self._take(number, body, told)
        after = tuple(self._link(link) for link in links)
        told.links(before, after, self.has_mesh, self.has_routes)
        nodes = tuple(map(self._node, self.numbers.values()))
        connected = [state for state in after if state != "closed"]
        counts = [str(len(connected))]
        counts += [str(connected.count("full"))] if self.has_mesh or self.has_routes else []
        due = sum(state not in ("outside", "away", "failed") for state in nodes)
        have = sum(state in ("publisher", "new", "has") for state in nodes)
        return NetworkFrame(
            at=f"{batch[-1][0] / NS_PER_S:.3f} s",
            says=told.text(self.names.get(self.message, 0)),
            counts=(f"{have} of {due}" if self.message else "no message yet", *counts),
            nodes=nodes,
            links=after,
            flows=tuple(map(self._flow, links)),
        )

    def _take(self, number: Peer, body: Change, told: FrameTelling) -> None:
        match body:
            case OpenedStream(peer=bytes(peer)):
                self.open.add((number, self.numbers.get(peer, -1)))
            case ClosedStream(peer=bytes(peer)):
                self._close(number, peer)
            case JoinEvent(topic=str(topic)):
                self.topics.setdefault(number, set()).add(topic)
                told.joined += 1
            case LeaveEvent(topic=str(topic)):
                self.topics.setdefault(number, set()).discard(topic)
                told.left += 1
            case GraftEvent(peer=bytes(peer), topic=str(topic)):
                self.mesh.setdefault((number, self.numbers.get(peer, -1)), set()).add(topic)
            case PruneEvent(peer=bytes(peer), topic=str(topic)):
                self.mesh.get((number, self.numbers.get(peer, -1)), set()).discard(topic)
            case RouteDisableEvent(source=bytes(source), target=bytes(target)):
                self.disabled.setdefault((number, self.numbers.get(target, -1)), set()).add(source)
            case RouteEnableEvent(source=bytes(source), target=bytes(target)):
                self.disabled.get((number, self.numbers.get(target, -1)), set()).discard(source)
            case PublishMessage(message_id=bytes(name)):
                self._publish(number, name, body.topic or "", told)
            case DeliverMessage(message_id=bytes(name)):
                self._deliver(number, name, body.received_from or b"", told)
            case RouterFailure():
                self.failed.add(number)
                told.failed.append(number)

    def _close(self, number: Peer, peer: bytes) -> None:
        """Who has left is in no mesh any more, and routes from and to it are gone."""
        other = self.numbers.get(peer, -1)
        for known in (self.mesh, self.disabled):
            known.pop((number, other), None)
        for (who, _), sources in self.disabled.items():
            if who == number:
                sources.discard(peer)
        self.open.discard((number, other))

    def _publish(self, number: Peer, name: bytes, topic: str, told: FrameTelling) -> None:
        if name in self.names:
            return
        self.names[name] = len(self.names) + 1
        self.message, self.topic, self.publisher = name, topic, number
        self.came_from = {}
        self.new.clear()
        told.got = 0
        told.published.append((self.names[name], number))

    def _deliver(self, number: Peer, name: bytes, sender: bytes, told: FrameTelling) -> None:
        if name != self.message:
            told.late += 1
        elif number != self.publisher and number not in self.came_from:
            self.came_from[number] = self.numbers.get(sender, -1)
            self.new.add(number)
            told.got += 1

    # -- how it is ---------------------------------------------------------------------------------------

    def _node(self, number: Peer) -> NodeState:
        if number in self.failed:
            return "failed"
        if number == self.publisher:
            return "publisher"
        if number in self.came_from:
            return "new" if number in self.new else "has"
        if not any(who == number for who, _ in self.open):
            return "away"
        joined = self.topics.get(number, set())
        outside = self.has_topics and (self.topic not in joined if self.message else not joined)
        return "outside" if outside else "lacks"

    def _link(self, link: tuple[Peer, Peer]) -> LinkState:
        there, back = link, (link[1], link[0])
        if there not in self.open and back not in self.open:
            return "closed"
        if self.has_routes:
            shut = bool(self.disabled.get(there)) + bool(self.disabled.get(back))
            return ("full", "half", "open")[shut]
        ends = bool(self.mesh.get(there)) + bool(self.mesh.get(back))
        return ("open", "half", "full")[ends]

    def _flow(self, link: tuple[Peer, Peer]) -> Flow:
        a, b = link
        if self.came_from.get(b) == a:
            return "forth"
        return "back" if self.came_from.get(a) == b else "none"


@mutable
class FrameTelling:
    """What happens from one frame to the next."""

    joined: int = 0
    left: int = 0
    failed: list[Peer] = field(factory=list)
    published: list[tuple[int, Peer]] = field(factory=list)
    got: int = 0
    late: int = 0
    changed: list[str] = field(factory=list)

    def links(
        self, before: Sequence[LinkState], after: Sequence[LinkState], has_mesh: bool, has_routes: bool
    ) -> None:
        """What becomes of links."""
        pairs = list(zip(before, after, strict=True))
        opened = sum(a == "closed" != b for a, b in pairs)
        closed = sum(b == "closed" != a for a, b in pairs)
        self.changed += [f"{_number(opened, 'connection')} opened"] if opened else []
        self.changed += [f"{_number(closed, 'connection')} closed"] if closed else []
        if has_mesh or has_routes:
            rank = {"closed": 0, "open": 0, "half": 1, "full": 2}
            # A connection that opens disables no route, and none is enabled by it.
            kept = [(a, b) for a, b in pairs if not has_routes or "closed" not in (a, b)]
            more = sum(rank[b] > rank[a] for a, b in kept)
            fewer = sum(rank[b] < rank[a] for a, b in kept)
            grew, shrank = (
                ("routes were enabled over", "routes were disabled over")
                if has_routes
                else ("the mesh grew on", "the mesh shrank on")
            )
            self.changed += [f"{grew} {_number(more, 'link')}"] if more else []
            self.changed += [f"{shrank} {_number(fewer, 'link')}"] if fewer else []

    def text(self, current: int) -> str:
        """In words."""
        words = [f"node {number} published message {name}" for name, number in self.published[-3:]]
        words = [f"{len(self.published) - 3} messages published", *words] if self.published[3:] else words
        words += [f"{_number(self.got, 'node')} got message {current}"] if self.got else []
        words += [f"earlier messages were delivered {_number(self.late, 'time')}"] if self.late else []
        words += [f"{_number(self.joined, 'subscription')} began"] if self.joined else []
        words += [f"{_number(self.left, 'subscription')} ended"] if self.left else []
        words += [f"node {number} failed" for number in self.failed]
        return "; ".join(words + self.changed) or "nothing that the picture shows"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
