"""Whatever bytes come: no crash, no growth, and a refusal closes its own stream and nothing else.

2,000 frames as it is; `QUIDNUNC_FRAMES=100000 pytest tests/impl/test_robust.py` for the long run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.impl.gossipsub import (
    cache as gossipsub_cache,
)
from quidnunc.impl.gossipsub import (
    gossip as gossipsub_gossip,
)
from quidnunc.impl.gossipsub import (
    mesh as gossipsub_mesh,
)
from quidnunc.impl.gossipsub import (
    outbox as gossipsub_outbox,
)
from quidnunc.impl.gossipsub import (
    relay as gossipsub_relay,
)
from quidnunc.impl.gossipsub.core import MAX_TOPICS_PER_PEER
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.seam import Reply
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import frame, varint
from quidnunc.impl.wire.malformed import MALFORMED
from quidnunc.model.rpc import (
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Prune,
    Subscribe,
    Unsubscribe,
)
from tests.helpers.neighbourhood import STREAMS, Hood

FRAMES = int(os.environ.get("QUIDNUNC_FRAMES", "2000"))
PEERS = 12
WORLDS: tuple[dict[str, Any], ...] = (
    {},
    {"signature_policy": "StrictNoSign", "message_id": "content"},
    {"validation": "manual", "explicit_peers": frozenset({1})},
)


class Storm:
    """Sends bytes of every kind from twelve peers, and sees to it that nothing but their streams suffers."""

    def __init__(self, protocol: str, world: dict[str, Any], seed: int) -> None:
        self.die = Random(seed)
        self.hood = Hood(protocol=protocol, seed=seed, **world)
        assert isinstance(self.hood.driver, PubsubDriver)
        self.router: GossipsubRouter = self.hood.driver.router
        self.messages = 0
        self.closed = 0
        for peer in range(1, PEERS + 1):
            self.arrive(peer)
        self.check(self.hood.driver.join("t1"), 0)
        self.hood.driver.stall(2)
        self.mutations: tuple[Callable[[bytes], bytes], ...] = (
            self.intact, self.flipped, self.cut, self.doubled, self.spliced, self.swollen, self.noise,
            self.kind, self.unframed,
        )  # fmt: skip

    def arrive(self, peer: Peer) -> None:
        streams = STREAMS[self.hood.protocol]
        self.hood.driver.connect(peer, self.die.choice(streams), self.die.random() < 0.3)
        self.hood.driver.rpc(peer, self.hood.codec.encode([Subscribe("t1")], sender=peer))

    # -- bytes --

    def rpc(self) -> bytes:
        parts = [self.part() for _ in range(self.die.choice((0, 1, 1, 2, 5)))]
        return self.hood.codec.encode(parts, sender=1)

    def part(self) -> Part:
        topic = self.die.choice(("t1", "t1", "t2", "", "x" * 2000, f"n{self.die.randrange(10**6)}"))
        ids = tuple(f"m{self.die.randrange(1, 2 + self.messages)}" for _ in range(self.die.choice((0, 1, 3))))
        self.messages += 1
        return self.die.choice((
            Subscribe(topic), Unsubscribe(topic), Graft(topic), IHave(topic, ids), IWant(ids), IDontWant(ids),
            Prune(topic, self.die.choice((None, 0, 9, 2**64 - 1))), Message(f"o{self.messages}", topic, 3),
        ))  # fmt: skip

    def intact(self, rpc: bytes) -> bytes:
        return frame(rpc)

    def flipped(self, rpc: bytes) -> bytes:
        bent = bytearray(rpc or b"\0")
        for _ in range(self.die.choice((1, 1, 4))):
            bent[self.die.randrange(len(bent))] ^= 1 << self.die.randrange(8)
        return frame(bytes(bent))

    def cut(self, rpc: bytes) -> bytes:
        return frame(rpc[: self.die.randrange(len(rpc) + 1)])

    def doubled(self, rpc: bytes) -> bytes:
        return frame(rpc * self.die.choice((2, 30)))

    def spliced(self, rpc: bytes) -> bytes:
        other, at = self.rpc(), self.die.randrange(len(rpc) + 1)
        return frame(rpc[:at] + other[self.die.randrange(len(other) + 1) :])

    def swollen(self, rpc: bytes) -> bytes:
        """Lengths that lie, tags of any number and type, groups in groups."""
        field = varint(self.die.randrange(1 << 34) << 3 | self.die.randrange(8))
        return frame(
            rpc
            + field
            + varint(self.die.choice((0, 1, 1 << 31, 1 << 63)))
            + b"\x1b" * self.die.choice((0, 200))
        )

    def noise(self, rpc: bytes) -> bytes:
        return frame(self.die.randbytes(self.die.choice((1, 8, 300))))

    def kind(self, rpc: bytes) -> bytes:
        return MALFORMED[self.die.choice(sorted(MALFORMED))]()

    def unframed(self, rpc: bytes) -> bytes:
        return rpc + self.die.randbytes(2)

    # -- checks --

    def step(self) -> None:
        driver = self.hood.driver
        peer = self.die.randrange(1, PEERS + 1)
        self.check(driver.raw(peer, self.die.choice(self.mutations)(self.rpc())), peer)
        if self.die.random() < 0.05:
            self.check(driver.advance(self.die.choice((100, 1000, 5000))), 0)
        if self.die.random() < 0.02:
            self.check(driver.join("t2") if self.die.random() < 0.5 else driver.leave("t2"), 0)

    def check(self, reply: Reply, speaker: Peer) -> None:
        assert not reply.crashed, reply.crashed
        assert set(reply.closed) <= {speaker}, "somebody else's stream was closed"
        for _, _, data in reply.out:
            assert wire.RPC.FromString(data).IsInitialized()
        for peer in reply.closed:
            self.closed += 1
            self.hood.driver.disconnect(peer)
            self.arrive(peer)
        assert set(self.router.core.neighbours) == set(range(1, PEERS + 1))

    def check_bounds(self) -> None:
        router = self.router
        for neighbour in router.core.neighbours.values():
            assert len(neighbour.topics) <= MAX_TOPICS_PER_PEER
        assert len(router.core._in_topic) <= PEERS * MAX_TOPICS_PER_PEER
        assert len(router.mesh.backoff_ends_ms) <= min(gossipsub_mesh.MAX_BACKOFFS, 2 * PEERS)
        assert set(router.mesh.of) == router.core.joined <= {"t1", "t2"}
        assert all(len(ids) <= gossipsub_gossip.MAX_UNWANTED_IDS for ids in router.gossip.unwanted.values())
        assert len(router.gossip.seen) <= gossipsub_cache.MAX_SEEN
        assert len(router.relay.waiting) <= gossipsub_relay.MAX_WAITING
        assert router.outbox.queued(2) <= gossipsub_outbox.MAX_QUEUED_RPCS
        assert router.outbox._pending == {} == router.outbox._urgent

    def check_nothing_stays(self) -> None:
        """Everybody leaves, and after the longest backoff a router keeps, nothing of them is left."""
        router = self.router
        for peer in range(1, PEERS + 1):
            self.hood.driver.disconnect(peer)
        self.hood.advance(20_000)
        assert router.core._in_topic == {} == router.core.neighbours
        assert all(not members for members in router.mesh.of.values())
        assert router.gossip.unwanted == {} == router.gossip.heard
        assert len(router.gossip.seen) == len(router.gossip.cache) == 0
        assert router.outbox._queues == {}
        endless = [end for end in router.mesh.backoff_ends_ms.values() if end < 10**9]
        assert endless == [], "what is left was announced to be endless"


@pytest.mark.parametrize("protocol", STREAMS)
def test_no_bytes_do_harm(protocol: str) -> None:
    share = -(-FRAMES // (len(STREAMS) * len(WORLDS)))
    for seed, world in enumerate(WORLDS):
        storm = Storm(protocol, world, seed)
        for number in range(share):
            storm.step()
            if number % 50 == 0:
                storm.check_bounds()
        assert storm.closed > share // 20, "a storm that is never refused is no storm"
        storm.check_bounds()
        storm.check_nothing_stays()


@settings(max_examples=150, deadline=None)
@given(chunks=st.lists(st.binary(max_size=60), max_size=8))
def test_any_bytes_in_any_portions(chunks: list[bytes]) -> None:
    hood = Hood()
    hood.connect(1, 2)
    hood.join()
    for chunk in chunks:
        reply = hood.driver.raw(1, chunk)
        assert not reply.crashed and set(reply.closed) <= {1}
    hood.say(2, Message("m1", "t1", 2))
    assert hood.delivered() == ["m1"]


def test_an_unfinished_frame_is_held_within_its_limit() -> None:
    hood = Hood()
    hood.connect(1)
    assert isinstance(hood.driver, PubsubDriver)
    content = bytes((4 << 20) - 100)
    stream = frame(varint(99 << 3 | 2) + varint(len(content)) + content)
    for at in range(0, len(stream), 64 << 10):
        assert hood.driver.raw(1, stream[at : at + (64 << 10)]).closed == ()
        assert hood.driver.router.core.neighbours[1].decoder.held_bytes < len(stream)
    assert hood.driver.router.core.neighbours[1].decoder.held_bytes == 0, "it was complete at last"
    assert hood.driver.raw(1, varint((4 << 20) + 1)).closed == (1,)
