"""Some of our routers wired to each other, byte by byte, in virtual time, with the bitmap application."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from random import Random
from typing import Literal

from attrs import define, field

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import FrameDecoder
from quidnunc.model.events import MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from tests.helpers.bitmap_app import BitmapApp, make_part

TOPIC = "blocks"
GROUP = b"block-1"
Kind = Literal["requests", "supports", "full"]


def parameters() -> Parameters:
    return Parameters(
        signature_policy="StrictNoSign", message_id="content", test_extension=False, flood_publish=False
    )


@define(eq=False)
class Node:
    """One router, and the application on it; a full-only one has no parts, but takes the whole."""

    number: int
    kind: Kind
    router: GossipsubRouter
    app: BitmapApp | None
    full: list[bytes] = field(factory=list)

    def has_all(self) -> bool:
        return bool(self.full) or (self.app is not None and self.app.is_complete(GROUP))


class Network:
    """Nodes by number, from 1. Frames are delivered in the order in which they were sent."""

    def __init__(
        self, reading: str, kinds: Iterable[Kind], *, length: int, seed: int = 1, republish: bool = False
    ) -> None:
        self.length = length
        self.nodes: dict[int, Node] = {}
        self.links: set[tuple[int, int]] = set()
        self.sent: Counter[str] = Counter()
        self.full_to_requesters: list[tuple[int, int]] = []
        """(from, to) of full messages from a node that can send parts to one that requests them."""
        self._readers: dict[tuple[int, int], FrameDecoder] = {}
        for number, kind in enumerate(kinds, 1):
            router = GossipsubRouter(parameters(), protocol=reading, seed=seed * 1000 + number)
            app = None
            if kind != "full":
                # To be published when the router has done with what is in hand.
                app = BitmapApp(router.partial, TOPIC, length=length, requests=kind == "requests")
            node = self.nodes[number] = Node(number, kind, router, app)
            if app is not None and republish:
                app.on_whole = lambda group, data, node=node: node.router.relay.publish(TOPIC, data)  # type: ignore[misc]
            router.join(TOPIC, requests=kind == "requests", supports=kind == "supports")

    def connect(self, a: int, b: int) -> None:
        if a != b and (a, b) not in self.links and (b, a) not in self.links:
            self.links.add((a, b))
            self.nodes[a].router.connect(b, MESHSUB_1_3, outbound=True)
            self.nodes[b].router.connect(a, MESHSUB_1_3, outbound=False)
            self.settle()

    def connect_at_random(self, degree: int, seed: int) -> None:
        """A ring, so that everybody is reached, and random links up to about `degree` for each."""
        die, numbers = Random(seed), sorted(self.nodes)
        for a, b in zip(numbers, [*numbers[1:], numbers[0]], strict=True):
            self.connect(a, b)
        while len(self.links) < degree * len(numbers) // 2:
            self.connect(*die.sample(numbers, 2))

    def settle(self) -> None:
        """Deliver frames until nobody has any more to send."""
        waiting: deque[tuple[int, int, bytes]] = deque()
        for _ in range(100_000):
            for node in self.nodes.values():
                node.router.outbox.flush()
                effects = node.router.take()
                waiting.extend((node.number, peer, data) for peer, data in effects.frames)
                for _, data in effects.delivered:
                    self._take_full(node, data)
            if not waiting:
                return
            for _ in range(len(waiting)):
                source, target, data = waiting.popleft()
                self._watch(source, target, data)
                self.nodes[target].router.receive(source, data)
        raise AssertionError("the network never comes to rest")

    def _take_full(self, node: Node, data: bytes) -> None:
        node.full.append(data)
        if node.app is not None:
            node.app.take_whole(data)

    def _watch(self, source: int, target: int, data: bytes) -> None:
        decoder = self._readers.setdefault((source, target), FrameDecoder())
        for payload in decoder.feed(data)[0]:
            rpc = wire.RPC.FromString(payload)
            self.sent["full"] += len(rpc.publish)
            self.sent["partial"] += rpc.HasField("partial")
            if rpc.publish and self.nodes[source].kind != "full" and self.nodes[target].kind == "requests":
                self.full_to_requesters.append((source, target))

    def advance(self, heartbeats: int) -> None:
        for _ in range(heartbeats):
            for node in self.nodes.values():
                node.router.advance(1000)
            self.settle()

    def parts(self) -> list[tuple[int, bytes]]:
        return [(k, make_part(GROUP, k, b"cell %04d of the block" % k)) for k in range(self.length)]

    def give(self, number: int, indices: Iterable[int]) -> None:
        """The application of a node comes by some parts, and publishes."""
        app = self.nodes[number].app
        assert app is not None
        every = self.parts()
        app.add(GROUP, [every[k] for k in indices])
        app.publish(GROUP)
        self.settle()

    def publish_whole(self, number: int) -> None:
        """A node publishes the whole as an ordinary message; it is not told of its own."""
        data = bytes((len(GROUP),)) + GROUP + b"".join(part for _, part in self.parts())
        node = self.nodes[number]
        node.router.publish(TOPIC, data)
        node.full.append(data)
        self.settle()

    def lacking(self) -> list[int]:
        return [number for number, node in self.nodes.items() if not node.has_all()]
