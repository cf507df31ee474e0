"""The neighbours, and the users, of one mempool node, and what every mempool protocol has them do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import mutable

from quidnunc.impl.wire.cat_codec import MALFORMED_CAT
from quidnunc.impl.wire.mempool_codec import MALFORMED_MEMPOOL
from quidnunc.model.events import MEMPOOL, Commit, Connect, Disconnect, Event, Raw, Receive, Submit
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.mempool.cat.rules import SHORT_KEY
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import INVALID_TX, HaveTx, Message, Peer, ResetRoute, SeenTx, Tx
from quidnunc.properties.neighbours.edges import MIXED, beside
from quidnunc.properties.neighbours.seeded_draws import SeededDraws, weighted_name

MAX_PEERS = 12

Act: TypeAlias = Callable[["MempoolNeighbours", Node, SeededDraws], list[Event]]


@mutable
class MempoolNeighbours:
    """The neighbours of one node. `view` is the model's state of it, read before each act."""

    protocol: str
    parameters: DogParameters
    capabilities: frozenset[str]
    weights: Mapping[str, int]
    acts: Mapping[str, Act]
    view: Node | None = None
    last_peer: Peer = 0
    last_tx: int = 0

    def act(self, view: Node, d: SeededDraws) -> list[Event]:
        """What happens next; never empty."""
        self.view = view
        for _ in range(4):
            events = self.acts[weighted_name(self.weights, d)](self, view, d)
            if events:
                return events
        return [Submit(self.new_tx())]

    def take_undeclared(self) -> list[Message]:
        """None: what a transaction is called is what it is."""
        return []

    def stream(self, d: SeededDraws) -> str:
        """The connection of a new peer: now and then one without DOG, in a run in which there may be some."""
        there = family_of(protocol_named(self.protocol)).streams(self.protocol)
        mixed = "peers-without-dog" in self.capabilities and self.parameters.dog and len(there) > 1
        return d.one_of(there) if mixed and d.chance(25) else MEMPOOL

    def new_tx(self) -> str:
        self.last_tx += 1
        return f"x{self.last_tx}t"


def peer_of(view: Node, d: SeededDraws) -> Peer | None:
    pool = sorted(view.peers)
    return d.one_of(pool) if pool else None


def known_of(view: Node, d: SeededDraws) -> str | None:
    """A transaction in the pool, rather one of the newest; sometimes one that has left it."""
    pool = list(view.pool) if d.chance(85) else sorted(view.cache)
    return pool[-1 - d.below(min(4, len(pool)))] if pool else None


def arrive(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    count = min(MAX_PEERS - len(view.peers), d.one_of((1, 1, 2, 3, 4)))
    if count <= 0:
        return []
    peers = tuple(range(n.last_peer + 1, n.last_peer + count + 1))
    n.last_peer += count
    outbound = d.chance(50)
    return [Connect(peers, n.stream(beside(d, MIXED)), outbound=outbound)]


def depart(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer = peer_of(view, d)
    return [Disconnect((peer,))] if peer else []


def reconnect(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    gone = [p for p in range(1, n.last_peer + 1) if p not in view.peers]
    if not gone or len(view.peers) >= MAX_PEERS:
        return []
    peer = d.one_of(gone)
    # What it sends shows whether its routes of before are forgotten.
    sent = [Receive((peer,), (Tx(n.new_tx()),))] if d.chance(50) else []
    return [Connect((peer,), n.stream(beside(d, MIXED))), *sent]


def submit(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    known = known_of(view, d)
    return [Submit(known if known and d.chance(30) else n.new_tx())]


def first_time(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer = peer_of(view, d)
    return [Receive((peer,), (Tx(n.new_tx()),))] if peer else []


def duplicate(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer, tx = peer_of(view, d), known_of(view, d)
    if peer is None or tx is None:
        return []
    everybody = tuple(sorted(view.peers))
    return [Receive(everybody if d.chance(15) else (peer,), (Tx(tx),))]


def invalid(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """What the application refuses: from a user, or from one peer and then another."""
    n.last_tx += 1
    tx = f"{INVALID_TX}{n.last_tx}t"
    if d.chance(20):
        return [Submit(tx)]
    one, two = peer_of(view, d), peer_of(view, d)
    if one is None or two is None:
        return []
    parts = (SeenTx(tx), Tx(tx)) if n.protocol == "cat" else (Tx(tx),)
    again = SeenTx(tx) if n.protocol in ("cat", "cat-classic") else Tx(tx)
    return [Receive((one,), parts), *([Receive((two,), (again,))] if d.chance(50) else [])]


def commit(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    return [Commit(d.one_of(list(view.pool)))] if view.pool else []


def raw(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer = peer_of(view, d)
    if peer is None or "raw" not in n.capabilities:
        return []
    return [Raw((peer,), d.one_of(_kinds_of(n.protocol))), Disconnect((peer,))]


def _kinds_of(protocol: str) -> list[str]:
    """What the classic version makes of two transactions in a message no text says. The other one has
    transactions on the channel of its control messages, so that there they are nothing wrong."""
    if protocol == "cat":
        return sorted(MALFORMED_CAT.keys() - {"txs-on-control"})
    return sorted(MALFORMED_MEMPOOL) + ([SHORT_KEY] if protocol == "cat-classic" else [])


def havetx(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer, tx = peer_of(view, d), known_of(view, d)
    return [Receive((peer,), (HaveTx(tx if tx and d.chance(90) else "nevertx"),))] if peer else []


def resetroute(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    cut = [p for p, sources in view.routes.items() if sources.all and p in view.peers]
    peer = d.one_of(sorted(cut)) if cut and d.chance(80) else peer_of(view, d)
    return [Receive((peer,), (ResetRoute(),))] if peer else []
