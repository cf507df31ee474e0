"""Our mempool reactor: CometBFT's Flood, and DOG on top of it. No I/O, clock or thread.

Each method does one thing that a clause speaks of, so that a mutant can replace just that. Readings where the
documents differ: those of the DOG specification, repaired where it deadlocks or names a dead peer (a
ResetRoute with nothing to free, a HaveTx whose first sender is gone, a ResetRoute to the peer just lost).
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Set
from random import Random
from typing import Literal

from google.protobuf.message import DecodeError

from quidnunc.impl.mempool.dog.metrics import DogMetrics
from quidnunc.impl.mempool.dog.redundancy import RedundancyController
from quidnunc.impl.mempool.dog.routes import NOBODY, RouteTable
from quidnunc.impl.mempool.peer_limit import PeerSlots
from quidnunc.impl.mempool.pool import MAX_SENDERS, PoolEntry, TransactionPool
from quidnunc.impl.wire import mempool_pb2
from quidnunc.impl.wire.mempool_codec import CONTROL_CHANNEL, TX_CHANNEL
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import INVALID_TX, Peer

MAX_WAITING_CONTROLS = 1000
"""Control messages kept for a peer that does not read; sending one more fails."""

RESET_ROUTE = mempool_pb2.Message(reset_route=mempool_pb2.ResetRoute()).SerializeToString()

Kind = Literal["txs", "have_tx", "reset_route"]
CHANNEL_OF: dict[Kind, int] = {"txs": TX_CHANNEL, "have_tx": CONTROL_CHANNEL, "reset_route": CONTROL_CHANNEL}


def _have_tx(key: bytes) -> bytes:
    return mempool_pb2.Message(have_tx=mempool_pb2.HaveTx(tx_key=key)).SerializeToString()


CONTROL_BYTES = len(_have_tx(bytes(32)))
"""The largest message that the control channel takes: one HaveTx."""

TXS_OVERHEAD_BYTES = 32


class ReactorPeer:
    """What the node keeps of one connected peer."""

    __slots__ = ("controls", "has_control_channel", "stalled_at")

    def __init__(self, has_control_channel: bool = True) -> None:
        self.has_control_channel = has_control_channel
        self.stalled_at: int | None = None
        """The pool's end when the peer stopped reading; None while it reads."""
        self.controls: deque[bytes] = deque()
        """Control messages that wait for it to read again."""


class DogReactor:
    """The mempool of one node. What it sends and whom it closes gather in `out` and `closed`."""

    def __init__(self, parameters: DogParameters, *, dog: bool, seed: int) -> None:
        self.parameters = parameters
        self.dog = dog
        self.random = Random(seed)
        self.links: dict[Peer, ReactorPeer] = {}
        self.pool = TransactionPool(parameters.pool_size, parameters.cache_size, parameters.max_pool_bytes)
        self.routes = RouteTable(self.random)
        self.redundancy = RedundancyController(parameters)
        self.slots = PeerSlots(parameters)
        self.metrics = DogMetrics()
        self.out: list[tuple[Peer, int, bytes]] = []
        self.closed: list[Peer] = []
        self._txs_bytes = parameters.max_tx_bytes + TXS_OVERHEAD_BYTES
        self._handlers: dict[Kind, Callable[[Peer, mempool_pb2.Message], bool]] = {
            "txs": self._on_txs,
            "have_tx": self._on_have_tx,
            "reset_route": self._on_reset_route,
        }

    @property
    def peers(self) -> Collection[Peer]:
        return self.links.keys()

    # Peers.

    def connect(self, peer: Peer, *, with_dog: bool = True) -> None:
        """A new peer is offered the whole pool, from the front. One without DOG has no control channel."""
        self.links[peer] = ReactorPeer(with_dog)
        if self.slots.enter(peer):
            self.catch_up(peer)

    def catch_up(self, peer: Peer) -> None:
        self.offer(self.pool, peer)

    def lose(self, peer: Peer) -> None:
        """The peer is gone: its routes in both directions go with it, and the controller runs at once."""
        del self.links[peer]
        if self.dog:
            self.routes.forget_source(peer)
            self.routes.forget_target(peer)
            self.metrics.disabled_routes = len(self.routes.pairs())
            self.adjust_after_loss(peer)
        waited = self.slots.leave(peer)
        if waited is not None:
            self.catch_up(waited)

    def adjust_after_loss(self, peer: Peer) -> None:
        # `peer` has left `links`, so that its ResetRoute cannot go to the one who is not there to read it.
        self.adjust()

    def stall(self, peer: Peer) -> None:
        link = self.links[peer]
        if link.stalled_at is None:
            link.stalled_at = self.pool.end

    def resume(self, peer: Peer) -> None:
        """Controls have the higher priority; then each entry since, decided now and not when it came."""
        link = self.links[peer]
        if link.stalled_at is None:
            return
        since, link.stalled_at = link.stalled_at, None
        for data in link.controls:
            self.send(peer, CONTROL_CHANNEL, data)
        link.controls.clear()
        self.offer((entry for entry in self.pool if entry.position >= since), peer)

    # Transactions in.

    def admit(self, tx: bytes, source: Peer | None) -> None:
        """A transaction from a peer, or from a user where `source` is None."""
        if len(tx) > self.parameters.max_tx_bytes:
            return
        key = hashlib.sha256(tx).digest()
        if self.pool.known(key):
            self.pool.touch(key)
            self.again(key, source)
        elif not self.is_valid(tx):
            self.refuse(key)
        elif not self.pool.full:
            self.pool.touch(key)
            self.first_time(self.pool.add(key, tx), source)

    def is_valid(self, tx: bytes) -> bool:
        """What the application says of it: here, by how it begins."""
        return not tx.startswith(INVALID_TX.encode())

    def refuse(self, key: bytes) -> None:
        """It counts, and is known from now on, but is nowhere to be had."""
        self.redundancy.count_first_time()
        self.pool.touch(key)

    def first_time(self, entry: PoolEntry, source: Peer | None) -> None:
        self.redundancy.count_first_time()
        if source is not None:
            entry.senders[source] = None
        self.forward(entry)

    def again(self, key: bytes, source: Peer | None) -> None:
        """A copy of what is known: remember who has it; it may be answered."""
        self.metrics.already_received_txs += 1
        entry = self.pool.get(key)
        if entry is not None and source is not None and len(entry.senders) < MAX_SENDERS:
            entry.senders.setdefault(source)
        self.redundancy.count_duplicate(source)
        if not self.dog or source is None or not self.understands_dog(source):
            return
        if not self.redundancy.blocked and self.say_have_tx(source, key):
            self.redundancy.block()

    def understands_dog(self, peer: Peer) -> bool:
        """Mixed networks: who does not have DOG is not sent its messages."""
        return self.links[peer].has_control_channel

    def say_have_tx(self, source: Peer, key: bytes) -> bool:
        """Tell the sender of a duplicate that it was one; whether the message could be sent."""
        return self.send_control(source, _have_tx(key))

    def commit(self, tx: bytes) -> bool:
        """A block took `tx`: it leaves the pool and stays in the cache. Whether it was in the pool."""
        return self.pool.remove(hashlib.sha256(tx).digest())

    # Transactions out.

    def first_sender(self, entry: PoolEntry) -> Peer | None:
        return next(iter(entry.senders), None)

    def cut_off(self, entry: PoolEntry) -> Set[Peer]:
        """Those to whom the route from the entry's first sender is disabled; none for our own."""
        first = self.first_sender(entry)
        return self.routes.targets(first) if self.dog and first is not None else NOBODY

    def who_has(self, entry: PoolEntry) -> Set[Peer]:
        return entry.senders.keys()

    def forward(self, entry: PoolEntry) -> None:
        """Send to all who read now; the others' turn comes when they read again."""
        senders, cut = self.who_has(entry), self.cut_off(entry)
        for peer, link in self.links.items():
            if link.stalled_at is None and self.slots.holds(peer) and peer not in senders and peer not in cut:
                self.send(peer, TX_CHANNEL, entry.wire)

    def offer(self, entries: Iterable[PoolEntry], peer: Peer) -> None:
        for entry in entries if self.slots.holds(peer) else ():
            if peer not in self.who_has(entry) and peer not in self.cut_off(entry):
                self.send(peer, TX_CHANNEL, entry.wire)

    def send(self, peer: Peer, channel: int, data: bytes) -> None:
        self.metrics.sent(data)
        self.out.append((peer, channel, data))

    def send_control(self, peer: Peer, data: bytes) -> bool:
        link = self.links[peer]
        if link.stalled_at is None:
            self.send(peer, CONTROL_CHANNEL, data)
            return True
        if len(link.controls) >= MAX_WAITING_CONTROLS:
            return False
        link.controls.append(data)
        return True

    # Controls.

    def have_tx(self, peer: Peer, key: bytes) -> None:
        """`peer` had it already: what came first from the same sender goes to it no more."""
        entry = self.pool.get(key)
        first = self.first_sender(entry) if entry is not None else None
        if first is not None and self.is_there(first):
            self.routes.disable(first, peer)

    def is_there(self, source: Peer) -> bool:
        return source in self.links

    def reset_route(self, peer: Peer) -> None:
        """`peer` gets too little: one more route to it is used again, for what is decided from now on."""
        self.routes.free_one(peer)

    def adjust(self) -> None:
        """The controller's turn: too little calls for one route more, too much for one HaveTx more."""
        if not self.dog:
            return
        level = self.redundancy.level()
        if level != "idle":
            self.metrics.redundancy = float(self.redundancy.ratio())
        if level == "low":
            self.on_low()
        elif level == "high":
            self.redundancy.unblock()
        self.redundancy.restart()

    def on_low(self) -> None:
        self.ask_for_route()

    def ask_for_route(self) -> None:
        able = tuple(filter(self.understands_dog, self.links))
        if able:
            self.send_control(self.random.choice(able), RESET_ROUTE)

    def advance(self, ms: int) -> None:
        """The timer of the controller is the harness's."""

    def state(self) -> dict[str, object]:
        """`pool` and `senders` by key in hexadecimal and pool order, `routes`, counters, metrics."""
        return {
            "peers": sorted(self.links),
            "pool": [entry.key.hex() for entry in self.pool],
            "senders": {entry.key.hex(): list(entry.senders) for entry in self.pool},
            "routes": [list(pair) for pair in self.routes.pairs()],
            "first_time": self.redundancy.first_time,
            "duplicates": self.redundancy.duplicates,
            "blocked": self.redundancy.blocked,
            "metrics": self.metrics.named(),
        }

    # Messages in.

    def receive(self, peer: Peer, channel: int, data: bytes) -> None:
        """One message; one that cannot be of that channel closes the connection."""
        self.metrics.received(data)
        if not self.understands(peer, channel, data):
            self.closed.append(peer)
            self.lose(peer)

    def understands(self, peer: Peer, channel: int, data: bytes) -> bool:
        """Handle the message, or say that it is none."""
        if len(data) > (self._txs_bytes if channel == TX_CHANNEL else CONTROL_BYTES):
            return False
        try:
            message = mempool_pb2.Message.FromString(data)
        except DecodeError:
            return False
        kind = message.WhichOneof("sum")
        return kind is not None and CHANNEL_OF[kind] == channel and self._handlers[kind](peer, message)

    def _on_txs(self, peer: Peer, message: mempool_pb2.Message) -> bool:
        for tx in message.txs.txs:
            self.admit(tx, peer)
        return True

    def _on_have_tx(self, peer: Peer, message: mempool_pb2.Message) -> bool:
        if not self.dog:
            return True
        key = message.have_tx.tx_key
        if len(key) != 32:
            return False
        self.have_tx(peer, key)
        self.metrics.disabled_routes = len(self.routes.pairs())
        return True

    def _on_reset_route(self, peer: Peer, message: mempool_pb2.Message) -> bool:
        if self.dog:
            self.reset_route(peer)
            self.metrics.disabled_routes = len(self.routes.pairs())
        return True
