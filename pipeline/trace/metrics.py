"""What a network's trace says of its messages: how many they reached, how soon, how far, and how often.

In plain Python, for traces that fit in memory. A run begins at each RUN event; without one the whole trace
is one run. Latencies compare clocks of several routers, so they mean something where the clocks agree (a
simulation's do).

The first publication of a message, in time, is the one that counts, whatever the order of files. Deliveries
to its publisher are not counted, nor is any delivery of a peer to itself. Who publishes what somebody had
published before is a receiver like the others: a copy that came to it first is a delivery, and its own
publication says that it has the message, not how soon or how far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen, mutable

from quidnunc.pipeline.trace.events import (
    DeliverMessage,
    DroppedRpc,
    DuplicateMessage,
    JoinEvent,
    LeaveEvent,
    PublishMessage,
    RejectMessage,
    RunStart,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.members import Members
from quidnunc.pipeline.trace.rpc import RpcMeta
from quidnunc.pipeline.trace.shapes import TraceError

NS_PER_MS = 1_000_000
MAX_MESSAGES = 1_000_000
MAX_DELIVERIES = 5_000_000
"""In one run; a larger trace needs the pipeline on Spark."""


@frozen(kw_only=True)
class RunMetrics:
    """Of one run. None where the trace lacks what a figure needs; `lacking` says what that is."""

    run: str
    events: int
    messages: int
    deliveries: int
    expected_deliveries: int | None
    delivery_ratio: float | None
    latency_ms: Mapping[str, float] | None
    """p50, p95, p99, max over all deliveries, each the nearest rank."""
    latency_from: str
    """`publish`, or `first` where the trace has no publication: from the first delivery of a message."""
    hops: Mapping[int, int]
    """How many deliveries were so many hops from their publisher."""
    depth: Mapping[int, int]
    """How many messages had their farthest delivery at so many hops."""
    duplicates: int
    rejected: int
    copies: float | None
    """Copies that arrived per delivery: 1 is none too many."""
    sent: Mapping[str, int]
    """How many items of each kind were sent, in RPCs."""
    bytes_sent: Mapping[str, int]
    """Bytes sent by kind of item. `mixed` are those of RPCs of several kinds that do not say more."""
    dropped_rpcs: int
    lacking: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON has it: `hops` is depth -> messages."""
        return {
            "run": self.run,
            "events": self.events,
            "messages": self.messages,
            "deliveries": self.deliveries,
            "expected_deliveries": self.expected_deliveries,
            "delivery_ratio": self.delivery_ratio,
            "latency_ms": None if self.latency_ms is None else dict(self.latency_ms),
            "latency_from": self.latency_from,
            "hops": {str(h): n for h, n in sorted(self.depth.items())},
            "deliveries_by_hop": {str(h): n for h, n in sorted(self.hops.items())},
            "duplicates": self.duplicates,
            "rejected": self.rejected,
            "copies": self.copies,
            "sent": dict(sorted(self.sent.items())),
            "bytes": dict(sorted(self.bytes_sent.items())),
            "dropped_rpcs": self.dropped_rpcs,
            "lacking": list(self.lacking),
        }


@mutable
class _Message:
    topic: str | None = None
    publisher: bytes | None = None
    published_ns: int | None = None
    published_at: int | None = None
    """The same, or where there is no time, the place in the trace."""
    own: dict[bytes, int] = field(factory=dict)
    """Who delivered it to itself: when."""
    published: set[bytes] = field(factory=set)
    arrived: dict[bytes, tuple[int | None, bytes | None]] = field(factory=dict)
    """Peer -> (when, from whom), of the first delivery."""
    again: Counter[bytes] = field(factory=Counter)
    """Peer -> how many deliveries more."""

    def settle(self) -> None:
        """Once all is told: the publisher, where no publication says it, and its deliveries left out."""
        if self.published_at is None and self.own:
            # A delivery to itself stands for a publication; go traces both.
            self.publisher = min(self.own, key=lambda peer: self.own[peer])
        if self.publisher is not None:
            self.arrived.pop(self.publisher, None)
            self.again.pop(self.publisher, None)


@mutable
class _RunMeasure:
    name: str = ""
    events: int = 0
    messages: dict[bytes, _Message] = field(factory=dict)
    members: Members = field(factory=Members)
    held: int = 0
    """Deliveries and publications in memory."""
    deliveries: int = 0
    repeats: int = 0
    """Deliveries of what had been delivered; known, as `deliveries` is, when the run is settled."""
    duplicates: int = 0
    rejected: int = 0
    dropped: int = 0
    sent: Counter[str] = field(factory=Counter)
    bytes_sent: Counter[str] = field(factory=Counter)
    sized: int = 0

    def take(self, event: TraceEvent) -> None:
        self.events += 1
        body, peer = event.body, event.peer
        at = self.events if event.at_ns is None else event.at_ns
        match body:
            case PublishMessage(message_id=bytes(name)):
                self._publish(name, body, event, at)
            case DeliverMessage(message_id=bytes(name)):
                self._deliver(name, body, event, at)
            case DuplicateMessage():
                self.duplicates += 1
            case RejectMessage():
                self.rejected += 1
            case JoinEvent(topic=str(topic)) if peer is not None:
                self.members.join(topic, peer, at)
            case LeaveEvent(topic=str(topic)) if peer is not None:
                self.members.leave(topic, peer, at)
            case SentRpc():
                self._send(body)
            case DroppedRpc():
                self.dropped += 1

    def _message(self, name: bytes) -> _Message:
        if name not in self.messages and len(self.messages) >= MAX_MESSAGES:
            raise TraceError(
                f"more than {MAX_MESSAGES} messages in one run: that is too much for this command"
            )
        return self.messages.setdefault(name, _Message())

    def _publish(self, name: bytes, body: PublishMessage, event: TraceEvent, at: int) -> None:
        message = self._message(name)
        if event.peer is not None:
            self._hold()
            message.published.add(event.peer)
        if message.published_at is None or at < message.published_at:
            message.topic, message.publisher = body.topic, event.peer
            message.published_ns, message.published_at = event.at_ns, at

    def _deliver(self, name: bytes, body: DeliverMessage, event: TraceEvent, at: int) -> None:
        message, peer = self._message(name), event.peer
        if peer is None:
            return
        if body.received_from == peer:
            self._hold()
            message.own.setdefault(peer, at)
        elif peer in message.arrived or peer in message.own:
            message.again[peer] += 1
        else:
            self._hold()
            message.arrived[peer] = (event.at_ns, body.received_from)

    def _hold(self) -> None:
        """One more that stays in memory until the end of the run."""
        if self.held >= MAX_DELIVERIES:
            raise TraceError(f"more than {MAX_DELIVERIES} deliveries in one run")
        self.held += 1

    def settle(self) -> None:
        """Once all is told: what is a delivery and what came again, whatever the order of files was."""
        for message in self.messages.values():
            message.settle()
        self.deliveries = sum(len(message.arrived) for message in self.messages.values())
        self.repeats = sum(message.again.total() for message in self.messages.values())

    def _send(self, body: SentRpc) -> None:
        kinds = kinds_of(body.meta)
        self.sent.update(kinds)
        if body.parts:
            for part in body.parts:
                self.bytes_sent[part.kind or "unknown"] += part.bytes or 0
        elif body.length is not None:
            self.bytes_sent[next(iter(kinds), "empty") if len(kinds) <= 1 else "mixed"] += body.length
        else:
            return
        self.sized += 1


def kinds_of(meta: RpcMeta | None) -> Counter[str]:
    """How many items of each kind an RPC carries; of ids, how many."""
    found: Counter[str] = Counter()
    if meta is None:
        return found
    found["message"] = len(meta.messages)
    found["subscription"] = len(meta.subscription)
    if meta.control is not None:
        control = meta.control
        found["ihave"] = sum(len(i.message_ids) for i in control.ihave)
        found["iwant"] = sum(len(i.message_ids) for i in control.iwant)
        found["idontwant"] = sum(len(i.message_ids) for i in control.idontwant)
        found["graft"], found["prune"] = len(control.graft), len(control.prune)
        found["extensions"] = len(control.extensions)
        found.update(each.name or "other" for each in control.others)
    found["partial"] = len(meta.partial)
    found["test_extension"] = meta.test_extension or 0
    found.update(m.kind or "mempool" for m in meta.mempool)
    return +found


@mutable
class MetricsMeter:
    """Measures one run while its events come; a trace in a file is for `metrics_of`."""

    name: str = ""
    from_ns: int = 0
    """What is before it does not count, nor what becomes later of messages from before."""
    _run: _RunMeasure = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._run = _RunMeasure(self.name)

    def take(self, event: TraceEvent) -> None:
        """One event. Raises TraceError for a run that is too large."""
        if not self.from_ns or self._counts(event):
            self._run.take(event)

    def _counts(self, event: TraceEvent) -> bool:
        if isinstance(event.body, JoinEvent | LeaveEvent):
            return True
        if event.at_ns is None or event.at_ns < self.from_ns:
            return False
        if isinstance(event.body, DeliverMessage | DuplicateMessage | RejectMessage):
            return event.body.message_id in self._run.messages
        return True

    def measured(self) -> RunMetrics:
        """What they come to."""
        return _measured(self._run)


def metrics_of(events: Iterable[TraceEvent]) -> Iterator[RunMetrics]:
    """The metrics of each run of a trace. Raises TraceError for a run that is too large."""
    run = _RunMeasure()
    for event in events:
        if isinstance(event.body, RunStart):
            if run.events:
                yield _measured(run)
            run = _RunMeasure(event.body.name or "")
        else:
            run.take(event)
    if run.events:
        yield _measured(run)


def _measured(run: _RunMeasure) -> RunMetrics:
    run.settle()
    duplicates = run.duplicates + run.repeats
    lacking = []
    expected, reached = _reached(run)
    if expected is None:
        lacking.append("no delivery_ratio: the trace has no JOIN before a publication")
    published = any(m.published_ns is not None for m in run.messages.values())
    latencies = sorted(_latencies(run, published))
    if not latencies:
        lacking.append("no latency_ms: no delivery with a time and a beginning")
    hops, depth, unknown = _hops(run)
    if unknown:
        lacking.append(f"hops: {unknown} deliveries do not lead back to their publisher")
    # A trace that holds no duplicate at all and no RPC may well be one that was never told of any.
    told = bool(duplicates or run.sent)
    if not told:
        lacking.append("no copies: the trace has neither duplicates nor RPCs")
    if run.sent and not run.sized:
        lacking.append("no bytes: no RPC says its length")
    return RunMetrics(
        run=run.name,
        events=run.events,
        messages=len(run.messages),
        deliveries=run.deliveries,
        expected_deliveries=expected,
        delivery_ratio=reached / expected if expected else None,
        latency_ms=percentiles(latencies),
        latency_from="publish" if published else "first",
        hops=hops,
        depth=depth,
        duplicates=duplicates,
        rejected=run.rejected,
        copies=(run.deliveries + duplicates) / run.deliveries if run.deliveries and told else None,
        sent=run.sent,
        bytes_sent=run.bytes_sent,
        dropped_rpcs=run.dropped,
        lacking=tuple(lacking),
    )


def _reached(run: _RunMeasure) -> tuple[int | None, int]:
    """How many had joined what was published when it was, its publisher aside, and how many of them it
    reached."""
    asked = [
        (m.topic, m.published_at, m)
        for m in run.messages.values()
        if m.topic is not None and m.published_at is not None and run.members.known_at(m.published_at)
    ]
    expected = reached = 0
    for message, members in run.members.at_each(asked):
        expected += len(members) - (message.publisher in members)
        has = message.arrived.keys() | message.own.keys() | message.published
        reached += sum(peer in members for peer in has if peer != message.publisher)
    return (expected if asked else None), reached


def _latencies(run: _RunMeasure, published: bool) -> Iterator[float]:
    for message in run.messages.values():
        times = [at for at, _ in message.arrived.values() if at is not None]
        start = message.published_ns if published else min(times, default=None)
        if start is not None:
            yield from ((at - start) / NS_PER_MS for at in times)


def percentiles(ordered: Sequence[float]) -> dict[str, float] | None:
    """p50, p95, p99 and max of an ordered sequence: the smallest value that so many are not above."""
    if not ordered:
        return None
    ranks = {f"p{p}": -(-p * len(ordered) // 100) for p in (50, 95, 99)}
    return {name: ordered[rank - 1] for name, rank in ranks.items()} | {"max": ordered[-1]}


def _hops(run: _RunMeasure) -> tuple[Counter[int], Counter[int], int]:
    """Deliveries by distance, messages by their farthest, and how many lead nowhere."""
    hops: Counter[int] = Counter()
    depth: Counter[int] = Counter()
    unknown = 0
    for message in run.messages.values():
        far: dict[bytes, int] = {message.publisher: 0} if message.publisher is not None else {}
        for peer in message.arrived:
            _trace_back(peer, message, far)
        found = [far[p] for p in message.arrived if far.get(p, -1) > 0]
        unknown += len(message.arrived) - len(found)
        hops.update(found)
        if found:
            depth[max(found)] += 1
    return hops, depth, unknown


def _trace_back(peer: bytes, message: _Message, far: dict[bytes, int]) -> None:
    """Note in `far` how far `peer` and all on its way are from the publisher; -1 for who leads nowhere."""
    way: list[bytes] = []
    at: bytes | None = peer
    walked: set[bytes] = set()
    while at is not None and at not in far and at not in walked:
        way.append(at)
        walked.add(at)
        at = message.arrived[at][1] if at in message.arrived else None
    base = far.get(at, -1) if at is not None else -1
    for each in reversed(way):
        base = base + 1 if base >= 0 else -1
        far[each] = base
