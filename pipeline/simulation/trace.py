"""What happens to the nodes of a simulated network and what they do, as trace events.

One request to a driver is one event of its node, and so is each RPC, delivery and dial that it answers
with. What is neither, duplicates, meshes and routes, is told after it: a seam has no word for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, TypeAlias

from attrs import define, evolve, field

from quidnunc.impl.seam import Delivery, PartialCall, Reply
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.simulation.nodes import SimulatedNode
from quidnunc.pipeline.simulation.wire import RpcReader, RpcView, WirePayload
from quidnunc.pipeline.trace.events import (
    BackoffEvent,
    Body,
    ClosedStream,
    DeliverMessage,
    DialEvent,
    DuplicateMessage,
    GraftEvent,
    PartialCallEvent,
    PartialDeliveryEvent,
    PruneEvent,
    ReceivedRpc,
    RedundancyEvent,
    RejectMessage,
    RouteDisableEvent,
    RouteEnableEvent,
    RouterFailure,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.rpc import PartialMeta, RpcMeta

Sink: TypeAlias = Callable[[TraceEvent], None]
NS_PER_US = 1000
REDUNDANCY = "mempool.redundancy"


@define(eq=False)
class Tracer:
    """Writes the events of one network to `sink`. `now_us` is the network's time."""

    sink: Sink
    views: RpcReader
    now_us: int = 0
    events: int = 0
    _ids: dict[tuple[str, bytes], bytes] = field(factory=dict)
    """Topic and hash of the data -> id."""

    def tell(self, node: SimulatedNode, body: Body) -> None:
        self.events += 1
        self.sink(TraceEvent(body, peer_id(node.number), self.now_us * NS_PER_US))

    def knows(self, carried: WirePayload) -> None:
        """From now on an application that is handed this data is handed this message."""
        self._ids.setdefault((carried.topic, carried.data), carried.id)

    # -- RPCs --------------------------------------------------------------------------------------------

    def received(self, node: SimulatedNode, peer: Peer, data: bytes, view: RpcView) -> None:
        """An RPC came."""
        meta = _meta(view, peer in node.heard)
        node.heard.add(peer)
        for each in view.carried:
            self.knows(each)
        self.tell(node, ReceivedRpc(peer=peer_id(peer), meta=meta, length=len(data), parts=view.parts))

    def sent(self, node: SimulatedNode, peer: Peer, data: bytes) -> RpcView:
        """An RPC was handed to the connection; what it says."""
        view = self.views.of(node.language, data)
        meta = _meta(view, peer in node.greeted)
        node.greeted.add(peer)
        for each in view.carried:
            self.knows(each)
        self.tell(node, SentRpc(peer=peer_id(peer), meta=meta, length=len(data), parts=view.parts))
        return view

    # -- messages ----------------------------------------------------------------------------------------

    def arrivals(self, node: SimulatedNode, peer: Peer, view: RpcView, reply: Reply) -> list[WirePayload]:
        """Say of each message of an RPC what became of it; those that wait for a verdict are returned."""
        waiting: list[WirePayload] = []
        handed = {self._ids.get((d.topic, sha256(d.data).digest())) for d in reply.delivered}
        for each in view.carried:
            known = each.id in node.first
            if not node.family.has_topics and not known:
                # A mempool hands nothing to anybody: what is new to it is delivered.
                node.first[each.id] = (peer, each)
                self._deliver(node, peer, each)
            elif each.id in handed:
                handed.discard(each.id)
                node.first[each.id] = (peer, each)
            elif known:
                self.tell(
                    node,
                    DuplicateMessage(message_id=each.id, received_from=peer_id(peer), topic=each.topic),
                )
            elif self._waits(node, each):
                node.first[each.id] = (peer, each)
                waiting.append(each)
            else:
                reason = each.flaw or ("not delivered" if each.topic in node.joined else "not subscribed")
                self.tell(
                    node,
                    RejectMessage(
                        message_id=each.id, received_from=peer_id(peer), reason=reason, topic=each.topic
                    ),
                )
        return waiting

    def _waits(self, node: SimulatedNode, each: WirePayload) -> bool:
        manual = node.family.is_judged_late(node.config.parameters)
        return manual and not each.flaw and each.topic in node.joined

    def delivered(self, node: SimulatedNode, delivery: Delivery) -> None:
        """The application was handed a message."""
        key = (delivery.topic, sha256(delivery.data).digest())
        name = self._ids.get(key)
        peer, each = node.first.get(name or b"", (node.number, None))
        if each is None:
            # It was handed what nobody has sent it: the trace names that by its data.
            each = WirePayload(id=key[1], topic=delivery.topic, data=key[1], size=len(delivery.data))
        self._deliver(node, peer, each)

    def _deliver(self, node: SimulatedNode, peer: Peer, each: WirePayload) -> None:
        self.tell(
            node,
            DeliverMessage(
                message_id=each.id,
                topic=each.topic,
                received_from=peer_id(peer),
                size=each.size,
                author=each.author,
                flaw=each.flaw,
            ),
        )

    # -- answers -----------------------------------------------------------------------------------------

    def did(self, node: SimulatedNode, reply: Reply) -> list[RpcView]:
        """Everything in an answer; the views of what was sent, in order."""
        views = [self.sent(node, peer, data) for peer, _, data in reply.out]
        for call in reply.partial:
            self.tell(node, _asked(call))
        for delivery in reply.delivered:
            self.delivered(node, delivery)
        for peer in reply.dials:
            self.tell(node, DialEvent(peer=peer_id(peer)))
        for peer in reply.closed:
            self.tell(node, ClosedStream(peer=peer_id(peer), by_router=True))
        if reply.crashed and not node.failed:
            self.tell(node, RouterFailure(text=reply.crashed))
        return views

    def look(self, node: SimulatedNode, *, silent: bool = False) -> None:
        """Tell how mesh, backoffs and routes have changed, where the driver shows them.

        `silent`: peers that left are in no mesh any more, of which no tracer speaks.
        """
        if "state" not in node.driver.hello.capabilities:
            return
        state: dict[str, Any] = node.driver.state().state
        if node.family.has_topics:
            self._mesh(node, state.get("mesh") or {}, silent)
            self._backoffs(node, state.get("backoff_ends_ms") or ())
        else:
            self._routes(node, state.get("routes") or (), silent)

    def _mesh(self, node: SimulatedNode, shown: dict[str, Iterable[Peer]], silent: bool) -> None:
        now = {topic: frozenset(peers) for topic, peers in shown.items()}
        for topic in sorted({*now, *node.mesh}) if not silent else ():
            before, after = node.mesh.get(topic, frozenset()), now.get(topic, frozenset())
            for peer in sorted(before - after):
                self.tell(node, PruneEvent(peer=peer_id(peer), topic=topic))
            for peer in sorted(after - before):
                self.tell(node, GraftEvent(peer=peer_id(peer), topic=topic))
        node.mesh = now

    def _backoffs(self, node: SimulatedNode, shown: Iterable[Any]) -> None:
        now = {(topic, peer): ends_ms for topic, peer, ends_ms in shown}
        for key, ends_ms in now.items():
            if node.backoffs.get(key) != ends_ms:
                self.tell(node, BackoffEvent(peer=peer_id(key[1]), topic=key[0], until_ms=ends_ms))
        node.backoffs = now

    def _routes(self, node: SimulatedNode, shown: Iterable[Any], silent: bool) -> None:
        now = frozenset((source, target) for source, target in shown)
        for source, target in sorted(now - node.routes):
            self.tell(node, RouteDisableEvent(source=peer_id(source), target=peer_id(target)))
        for source, target in sorted(node.routes - now) if not silent else ():
            self.tell(node, RouteEnableEvent(source=peer_id(source), target=peer_id(target)))
        node.routes = now

    def redundancy(self, node: SimulatedNode) -> None:
        """What DOG's controller has measured, where the driver shows it."""
        if "state" not in node.driver.hello.capabilities:
            return
        shown: Any = node.driver.state().state.get("metrics")
        if isinstance(shown, dict) and REDUNDANCY in shown:
            self.tell(node, RedundancyEvent(value=float(shown[REDUNDANCY])))


def _meta(view: RpcView, told: bool) -> RpcMeta | None:
    """What an RPC says, with extensions marked that come after another RPC on the same stream."""
    meta = view.meta
    if not view.greets or not told or meta is None or meta.control is None:
        return meta
    late = tuple(evolve(each, late=True) for each in meta.control.extensions)
    return evolve(meta, control=evolve(meta.control, extensions=late))


def _asked(call: PartialCall) -> Body:
    if call.kind == "hand":
        return PartialDeliveryEvent(
            peer=peer_id(call.peer),
            partial=PartialMeta(
                topic=call.topic, group=call.group, payload=call.payload, metadata=call.metadata
            ),
        )
    return PartialCallEvent(
        kind=call.kind,
        topic=call.topic,
        group=call.group,
        peer=peer_id(call.peer),
        state=(call.state or b"") if call.kind == "offer" else None,
        requests=call.requests if call.kind == "offer" else None,
    )
