"""What the applications of a simulated network do: they join, publish, judge, and own parts of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Protocol, cast

from attrs import define, field

from quidnunc.impl.seam import Driver, PartialCall, PartialDriver, Reply
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.simulation.links import US_PER_MS
from quidnunc.pipeline.simulation.nodes import SimulatedNode
from quidnunc.pipeline.simulation.partial import NodeGroups
from quidnunc.pipeline.simulation.scenario.values import Scenario
from quidnunc.pipeline.simulation.trace import Tracer
from quidnunc.pipeline.simulation.wire import TX_TOPIC, WirePayload, carried_tx
from quidnunc.pipeline.trace.events import (
    Body,
    JoinEvent,
    LeaveEvent,
    MempoolEvent,
    PartialDecisionEvent,
    PartialPublishEvent,
    PublishMessage,
    ValidationEvent,
)


class ApplicationNetwork(Protocol):
    """What applications need of the network that they are on."""

    scenario: Scenario
    nodes: list[SimulatedNode]
    trace: Tracer
    now_us: int

    def wake(self, node: SimulatedNode) -> None: ...

    def at(self, us: int, happening: Callable[..., None], *arguments: Any) -> None: ...

    def ask(self, node: SimulatedNode, kind: str, request: Callable[[Driver], Reply]) -> Reply: ...

    def answer(self, node: SimulatedNode, reply: Reply) -> None: ...

    def do(
        self,
        node: SimulatedNode,
        body: Body,
        kind: str,
        request: Callable[[Driver], Reply],
        *,
        unsettled: bool = False,
    ) -> Reply: ...


@define(eq=False)
class SimulatedApplications:
    """Of all nodes of one network. Who is down or has failed does nothing."""

    network: ApplicationNetwork
    messages: int = 0
    delays_us: dict[tuple[Peer, str], int] = field(factory=dict)
    """Node and topic -> how long its application thinks, where that is not as the scenario says."""
    parts: dict[Peer, NodeGroups] = field(factory=dict)
    _die: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._die = Random(f"{self.network.scenario.seed}/applications")

    def join(self, number: Peer, topic: str, partial: bool = False) -> None:
        node = self.network.nodes[number]
        if not node.family.has_topics or topic in node.joined or node.failed:
            return
        self.network.wake(node)
        node.joined.add(topic)
        flags = True if partial else None
        joined = JoinEvent(topic=topic, requests_partial=flags, supports_partial=flags)

        def request(driver: Driver) -> Reply:
            if partial:
                return cast("PartialDriver", driver).join_partial(topic, True, True)
            return driver.join(topic)

        self.network.do(node, joined, "join", request, unsettled=True)

    def takes_transactions(self, node: SimulatedNode) -> None:
        """A mempool is where every transaction is to come: for a trace, that it has joined."""
        node.joined.add(TX_TOPIC)
        self.network.trace.tell(node, JoinEvent(topic=TX_TOPIC))

    def leave(self, number: Peer, topic: str) -> None:
        node = self.network.nodes[number]
        if topic not in node.joined or node.failed:
            return
        self.network.wake(node)
        node.joined.discard(topic)
        left = LeaveEvent(topic=topic)
        self.network.do(node, left, "leave", lambda driver: driver.leave(topic), unsettled=True)

    def publish(self, number: Peer, topic: str, data: bytes) -> None:
        """A message of a pubsub node's application; a transaction of a mempool's user."""
        node = self.network.nodes[number]
        if not node.is_alive:
            return
        self.network.wake(node)
        self.messages += 1
        if not node.family.has_topics:
            self._submit(node, data)
            return
        reply = self.network.ask(node, "publish", lambda driver: driver.publish(topic, data))
        node.published += 1
        own = self._own(node, topic, data, reply)
        self.network.trace.knows(own)
        node.first[own.id] = (number, own)
        self.network.trace.tell(
            node, PublishMessage(message_id=own.id, topic=topic, size=own.size, author=own.author)
        )
        self.network.answer(node, reply)

    def _own(self, node: SimulatedNode, topic: str, data: bytes, reply: Reply) -> WirePayload:
        """The message as it was sent; where nobody was there to be sent it, as it would have been."""
        made = self.network.trace.views.made(node.number, node.published, topic, data)
        for _, _, sent in reply.out:
            for each in self.network.trace.views.of(node.language, sent).carried:
                if (each.topic, each.data) == (made.topic, made.data):
                    return each
        return made

    def _submit(self, node: SimulatedNode, tx: bytes) -> None:
        made = carried_tx(tx)
        node.first[made.id] = (node.number, made)
        self.network.trace.tell(node, PublishMessage(message_id=made.id, topic=TX_TOPIC, size=made.size))
        submitted = MempoolEvent(act="submit", tx=made.id)
        self.network.do(node, submitted, "submit", lambda driver: driver.submit(tx))

    def think(self, node: SimulatedNode, each: WirePayload) -> None:
        """A message waits for a verdict."""
        network = self.network
        network.at(network.now_us + self._thinking_us(node, each.topic), self._judge, node, each)

    def _thinking_us(self, node: SimulatedNode, topic: str) -> int:
        asked = self.delays_us.get((node.number, topic))
        if asked is not None:
            return asked
        validation = self.network.scenario.validation
        ms = validation.delay_ms + self._die.random() * validation.jitter_ms
        return round(ms * US_PER_MS)

    def _judge(self, node: SimulatedNode, each: WirePayload) -> None:
        """The application finds a message good."""
        if node.failed:
            return
        self.network.wake(node)
        judged = ValidationEvent(message_id=each.id, judgement="accept")
        self.network.do(node, judged, "verdict", lambda driver: driver.verdict(each.id, "accept"))

    def adjust(self, node: SimulatedNode, every_us: int) -> None:
        """The timer of DOG's controller."""
        if not node.failed:
            self.network.wake(node)
            self.network.do(node, MempoolEvent(act="adjust"), "adjust", lambda driver: driver.adjust())
            self.network.trace.redundancy(node)
            self.network.at(self.network.now_us + every_us, self.adjust, node, every_us)

    # -- partial messages --------------------------------------------------------------------------------

    def parts_of(self, number: Peer) -> NodeGroups:
        return self.parts.setdefault(number, NodeGroups())

    def heed(self, node: SimulatedNode, calls: Iterable[PartialCall]) -> None:
        """What peers sent goes to the application, which then publishes what it has."""
        parts = self.parts_of(node.number)
        groups: dict[tuple[str, bytes], None] = {}
        for call in calls:
            if call.kind == "hand":
                parts.take(call)
            elif call.kind == "gossip":
                parts.of(call.topic, call.group).gossip.add(call.peer)
            else:
                continue
            groups[call.topic, call.group] = None
        for topic, group in groups:
            self.publish_partial(node.number, topic, group)

    def publish_partial(self, number: Peer, topic: str, group: bytes, to: Iterable[Peer] = ()) -> None:
        """Ask whom there is to tell, and tell them."""
        node, parts = self.network.nodes[number], self.parts_of(number)
        if not node.is_alive:
            return
        self.network.wake(node)
        offers = self._tell_parts(node, topic, group, ())
        decisions = parts.decide(topic, group, offers, node.links, to)
        if decisions:
            self._tell_parts(node, topic, group, decisions)

    def _tell_parts(self, node: SimulatedNode, topic: str, group: bytes, decisions: Any) -> list[PartialCall]:
        decided = tuple(
            PartialDecisionEvent(
                peer=peer_id(d.peer), payload=d.payload, metadata=d.metadata, next=d.next_state
            )
            for d in decisions
        )
        published = PartialPublishEvent(topic=topic, group=group, decisions=decided)
        reply = self.network.do(
            node,
            published,
            "publish_partial",
            lambda driver: cast("PartialDriver", driver).publish_partial(topic, group, decisions),
        )
        return [call for call in reply.partial if call.kind == "offer"]
