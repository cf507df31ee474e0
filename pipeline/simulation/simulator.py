"""A network of real routers on one simulated clock: bytes on the wire, every event in the trace.

Time is in whole microseconds since the start, and what happens at one instant happens in the order in which
it was planned, so that a scenario and its seed fix a run to the byte. Every node is a driver behind the seam.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

from attrs import define, field, frozen

from quidnunc.impl.seam import Driver, Reply
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.simulation.apps import SimulatedApplications
from quidnunc.pipeline.simulation.links import US_PER_MS, NetworkLinks
from quidnunc.pipeline.simulation.nodes import SimulatedConnection, SimulatedNode, common_stream, open_nodes
from quidnunc.pipeline.simulation.scenario.values import Scenario, ScenarioError
from quidnunc.pipeline.simulation.topology import Edge, edges_of
from quidnunc.pipeline.simulation.trace import Sink, Tracer
from quidnunc.pipeline.simulation.wire import RpcReader
from quidnunc.pipeline.trace.events import Body, ClosedStream, HeartbeatEvent, OpenedStream, TimeAdvance

US_PER_S = 1_000_000
PROGRESS_EVERY = 2000
"""Happenings between two words on how far it is."""
MAX_ROUNDS = 64
"""How often one answer of a router may lead its application to ask again."""

Happening: TypeAlias = Callable[..., None]
Progress: TypeAlias = Callable[[float, float, int], None]
"""(seconds simulated, seconds in all, events so far)."""


@frozen(kw_only=True)
class SimulationOutcome:
    """How a run ended. The rest is in its trace."""

    nodes: int
    connections: int
    """Made in all, those after a return included."""
    events: int
    requests: int
    """To drivers."""
    messages: int
    unsent: int
    """Messages that were planned and not published: nobody was there to do it, or the run was over."""
    lost_rpcs: int
    failed: dict[int, str]
    """Node -> the words of its router, where that failed."""
    complete_groups: dict[int, int]
    """Node -> groups of partial messages of which it has all parts, in networks that have any."""
    simulated_s: float


@define(eq=False)
class NetworkSimulation:
    """One run. Make it, `run` it, and take what it writes from `sink`."""

    scenario: Scenario
    sink: Sink
    progress: Progress = lambda now_s, end_s, events: None
    nodes: list[SimulatedNode] = field(init=False)
    edges: tuple[Edge, ...] = field(init=False)
    wires: NetworkLinks = field(init=False)
    trace: Tracer = field(init=False)
    now_us: int = 0
    requests: Counter[str] = field(factory=Counter)
    connections: int = 0
    emitted: int = 0
    """Messages of the scenario's traffic that were published."""
    apps: SimulatedApplications = field(init=False)
    _queue: list[tuple[int, int, Happening, tuple[Any, ...]]] = field(factory=list)
    _planned: int = 0
    _wakes: set[tuple[Peer, int]] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        scenario = self.scenario
        self.edges = edges_of(scenario.topology, scenario.node_count, scenario.seed)
        self.wires = NetworkLinks(scenario.links, scenario.node_count, scenario.seed)
        self.nodes = open_nodes(scenario)
        self.trace = Tracer(self.sink, _views(self.nodes))
        self.apps = SimulatedApplications(self)

    # -- time --------------------------------------------------------------------------------------------

    def at(self, us: int, happening: Happening, *arguments: Any) -> None:
        """Plan something for an instant; after all that is planned for it already."""
        self._planned += 1
        heapq.heappush(self._queue, (max(us, self.now_us), self._planned, happening, arguments))

    def run(self, plan: Callable[[NetworkSimulation], None]) -> SimulationOutcome:
        """Everything that `plan` puts on the clock, up to the end of the scenario. Closes the drivers."""
        end_us = round(self.scenario.end_s * US_PER_S)
        done = 0
        try:
            plan(self)
            while self._queue and self._queue[0][0] <= end_us:
                self.now_us, _, happening, arguments = heapq.heappop(self._queue)
                self.trace.now_us = self.now_us
                happening(*arguments)
                done += 1
                if done % PROGRESS_EVERY == 0:
                    self.progress(self.now_us / US_PER_S, end_us / US_PER_S, self.trace.events)
        finally:
            for node in self.nodes:
                node.driver.close()
        return self._outcome()

    def _outcome(self) -> SimulationOutcome:
        return SimulationOutcome(
            nodes=len(self.nodes),
            connections=self.connections,
            events=self.trace.events,
            requests=sum(self.requests.values()),
            messages=self.apps.messages,
            unsent=sum(traffic.count for traffic in self.scenario.traffic) - self.emitted,
            lost_rpcs=self.wires.lost,
            failed={node.number: node.failed for node in self.nodes if node.failed},
            complete_groups={n: len(p.complete) for n, p in sorted(self.apps.parts.items())},
            simulated_s=self.scenario.end_s,
        )

    # -- requests ----------------------------------------------------------------------------------------

    def ask(self, node: SimulatedNode, kind: str, request: Callable[[Driver], Reply]) -> Reply:
        """One request, whose answer is not in the trace yet."""
        self.requests[kind] += 1
        return node.ask(request)

    def do(
        self,
        node: SimulatedNode,
        body: Body,
        kind: str,
        request: Callable[[Driver], Reply],
        *,
        unsettled: bool = False,
    ) -> Reply:
        """One request and all that it leads to; `body` is the event in the trace."""
        self.trace.tell(node, body)
        reply = self.ask(node, kind, request)
        self.answer(node, reply, unsettled=unsettled)
        return reply

    def wake(self, node: SimulatedNode) -> None:
        """Let a node's clock catch up; each heartbeat on the way is an event of its own."""
        if node.failed:
            return
        for beat, ms in node.slices(self.now_us // US_PER_MS):
            reply = self.ask(node, "advance", _advancing(ms))
            if beat:
                self.trace.tell(node, HeartbeatEvent())
            elif reply != Reply(t_ms=reply.t_ms):
                self.trace.tell(node, TimeAdvance(ms=ms))
            self.answer(node, reply)

    def beat(self, node: SimulatedNode) -> None:
        """A heartbeat is due; the next one is planned."""
        self.wake(node)
        if node.beat_ms is not None and not node.failed:
            self.at(node.beat_ms * US_PER_MS, self.beat, node)

    def answer(self, node: SimulatedNode, reply: Reply, *, unsettled: bool = False) -> None:
        """What an answer leads to: RPCs leave, peers are dialled, applications think."""
        views = self.trace.did(node, reply)
        for (peer, channel, data), view in zip(reply.out, views, strict=True):
            unsettled = unsettled or view.unsettling
            self._send(node, peer, channel, data)
            if view.wants and node.patience_ms is not None:
                self._wake_at(node, node.clock_ms + node.patience_ms)
        if unsettled:
            self.trace.look(node)
        for peer in reply.closed:
            self.part(node.number, peer)
        for peer in reply.dials:
            self.at(self.now_us + self.wires.latency_us(node.number, peer), self.connect, node.number, peer)
        if reply.crashed and not node.failed:
            self._fail(node, reply.crashed)
        elif reply.partial:
            self.apps.heed(node, reply.partial)

    def _wake_at(self, node: SimulatedNode, ms: int) -> None:
        if (node.number, ms) not in self._wakes:
            self._wakes.add((node.number, ms))
            self.at(ms * US_PER_MS, self._woken, node, ms)

    def _woken(self, node: SimulatedNode, ms: int) -> None:
        self._wakes.discard((node.number, ms))
        self.wake(node)

    def _fail(self, node: SimulatedNode, words: str) -> None:
        """The host is gone, and with it its connections."""
        node.failed = words
        for peer in list(node.links):
            self.part(node.number, peer)

    def _send(self, node: SimulatedNode, peer: Peer, channel: int, data: bytes) -> None:
        link = node.links.get(peer)
        if link is None:
            return
        arrival_us = self.wires.arrival_us(node.number, peer, len(data), self.now_us)
        if arrival_us is not None:
            self.at(arrival_us, self._arrive, link, node.number, peer, channel, data)

    def _arrive(
        self, link: SimulatedConnection, sender: Peer, receiver: Peer, channel: int, data: bytes
    ) -> None:
        node = self.nodes[receiver]
        if node.links.get(sender) is not link or not node.is_alive:
            return
        self.wake(node)
        view = self.trace.views.of(node.language, data)
        self.trace.received(node, sender, data, view)
        reply = self.ask(node, "rpc", lambda driver: driver.rpc(sender, data, channel))
        for each in self.trace.arrivals(node, sender, view, reply):
            self.apps.think(node, each)
        self.answer(node, reply, unsettled=view.unsettling)

    # -- connections -------------------------------------------------------------------------------------

    def connect(self, dialler: Peer, other: Peer) -> None:
        """Both ends at one instant, where both are there and nothing connects them yet."""
        if not (0 <= other < len(self.nodes)) or dialler == other:
            return
        a, b = self.nodes[dialler], self.nodes[other]
        if other in a.links or dialler in b.links or not (a.is_alive and b.is_alive):
            return
        stream = common_stream(a, b)
        if stream is None:
            raise ScenarioError(
                f"topology: nodes {dialler} ({a.group.protocol}) and {other} ({b.group.protocol}) have no "
                "stream in common; leave out that edge, or give them protocols of one kind"
            )
        link = SimulatedConnection(dialler, other, stream)
        self.connections += 1
        for node, peer in ((a, b), (b, a)):
            node.links[peer.number] = link
            node.greeted.discard(peer.number)
            node.heard.discard(peer.number)
        for node, number, outbound in ((a, other, True), (b, dialler, False)):
            self.wake(node)
            opened = OpenedStream(peer=peer_id(number), protocol=stream, outbound=outbound)
            self.do(node, opened, "connect", _connecting(number, stream, outbound))

    def part(self, one: Peer, other: Peer) -> None:
        """`one` drops the connection; the other end hears of it when its bytes would have come."""
        node = self.nodes[one]
        link = node.links.get(other)
        if link is None:
            return
        self._lose(node, other)
        way_us = self.wires.latency_us(one, other)
        self.at(self.now_us + way_us, self._notice, link, other, one)

    def _notice(self, link: SimulatedConnection, node: Peer, peer: Peer) -> None:
        if self.nodes[node].links.get(peer) is link:
            self.wake(self.nodes[node])
            self._lose(self.nodes[node], peer)

    def _lose(self, node: SimulatedNode, peer: Peer) -> None:
        del node.links[peer]
        if node.failed:
            return
        closed = ClosedStream(peer=peer_id(peer))
        self.do(node, closed, "disconnect", lambda driver: driver.disconnect(peer))
        self.trace.look(node, silent=True)

    def leave_network(self, number: Peer) -> None:
        node = self.nodes[number]
        self.wake(node)
        for peer in list(node.links):
            self.part(number, peer)
        node.is_up = False

    def enter_network(self, number: Peer, neighbours: Iterable[Peer]) -> None:
        """Back again: it dials whom it was connected to, those that are up."""
        self.nodes[number].is_up = True
        for peer in neighbours:
            self.connect(number, peer)


def _advancing(ms: int) -> Callable[[Driver], Reply]:
    return lambda driver: driver.advance(ms)


def _connecting(peer: Peer, stream: str, outbound: bool) -> Callable[[Driver], Reply]:
    return lambda driver: driver.connect(peer, stream, outbound)


def _views(nodes: Iterable[SimulatedNode]) -> RpcReader:
    """Raises ScenarioError where nodes of pubsub do not agree on ids and signatures."""
    agreed: dict[tuple[str, str], Peer] = {}
    for node in nodes:
        if node.family.has_topics:
            parameters: Any = node.config.parameters
            agreed.setdefault((parameters.message_id, parameters.signature_policy), node.number)
    if len(agreed) > 1:
        said = "; ".join(f"node {n}: {i}, {p}" for (i, p), n in sorted(agreed.items(), key=str))
        raise ScenarioError(
            f"nodes: all need one message_id and one signature_policy, or they would not understand each "
            f"other ({said})"
        )
    for message_id, policy in agreed:
        return RpcReader(message_id=cast("Any", message_id), policy=cast("Any", policy))
    return RpcReader()
