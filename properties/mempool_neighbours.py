"""All the neighbours, and the users, of one mempool node: Flood and DOG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import mutable

from quidnunc.impl.mempool_codec import MALFORMED_MEMPOOL
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Raw,
    Receive,
    Resume,
    Stall,
    Submit,
)
from quidnunc.model.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Message, Peer, ResetRoute, Tx
from quidnunc.properties.digits import Digits, weighted

MAX_PEERS = 12

WEIGHTS: Mapping[str, int] = {
    "arrive": 6,
    "depart": 2,
    "reconnect": 2,
    "submit": 5,
    "first_time": 10,
    "duplicate": 12,
    "havetx": 10,
    "resetroute": 5,
    "cut_then_send": 6,
    "commit": 3,
    "adjust": 7,
    "stalled_send": 2,
    "raw": 1,
    "wait": 1,
}


@mutable
class MempoolNeighbours:
    """The neighbours of one node. `view` is the model's state of it, read before each act."""

    protocol: str
    parameters: DogParameters
    capabilities: frozenset[str]
    weights: Mapping[str, int]
    view: Node | None = None
    last_peer: Peer = 0
    last_tx: int = 0

    def act(self, view: Node, d: Digits) -> list[Event]:
        """What happens next; never empty."""
        self.view = view
        for _ in range(4):
            events = ACTS[weighted(self.weights, d)](self, view, d)
            if events:
                return events
        return [Submit(self.new_tx())]

    def take_undeclared(self) -> list[Message]:
        """None: what a transaction is called is what it is."""
        return []

    def new_tx(self) -> str:
        self.last_tx += 1
        return f"x{self.last_tx}t"


Act: TypeAlias = Callable[[MempoolNeighbours, Node, Digits], list[Event]]


def _peer(view: Node, d: Digits) -> Peer | None:
    pool = sorted(view.peers)
    return d.one_of(pool) if pool else None


def _known(view: Node, d: Digits) -> str | None:
    """A transaction in the pool, rather one of the newest; sometimes one that has left it."""
    pool = list(view.pool) if d.chance(85) else sorted(view.cache)
    return pool[-1 - d.below(min(4, len(pool)))] if pool else None


def arrive(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    count = min(MAX_PEERS - len(view.peers), d.one_of((1, 1, 2, 3, 4)))
    if count <= 0:
        return []
    peers = tuple(range(n.last_peer + 1, n.last_peer + count + 1))
    n.last_peer += count
    return [Connect(peers, MEMPOOL, outbound=d.chance(50))]


def depart(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer = _peer(view, d)
    return [Disconnect((peer,))] if peer else []


def reconnect(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    gone = [p for p in range(1, n.last_peer + 1) if p not in view.peers]
    room = len(view.peers) < MAX_PEERS
    return [Connect((d.one_of(gone),), MEMPOOL)] if gone and room else []


def submit(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    known = _known(view, d)
    return [Submit(known if known and d.chance(30) else n.new_tx())]


def first_time(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer = _peer(view, d)
    return [Receive((peer,), (Tx(n.new_tx()),))] if peer else []


def duplicate(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer, tx = _peer(view, d), _known(view, d)
    if peer is None or tx is None:
        return []
    everybody = tuple(sorted(view.peers))
    return [Receive(everybody if d.chance(15) else (peer,), (Tx(tx),))]


def havetx(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer, tx = _peer(view, d), _known(view, d)
    return [Receive((peer,), (HaveTx(tx if tx and d.chance(90) else "nevertx"),))] if peer else []


def resetroute(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    cut = [p for p, sources in view.routes.items() if sources.all and p in view.peers]
    peer = d.one_of(sorted(cut)) if cut and d.chance(80) else _peer(view, d)
    return [Receive((peer,), (ResetRoute(),))] if peer else []


def cut_then_send(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    """A route is cut, and its source sends again."""
    source, target = _peer(view, d), _peer(view, d)
    if source is None or target is None or source == target:
        return []
    one, two = n.new_tx(), n.new_tx()
    events: list[Event] = [Receive((source,), (Tx(one),)), Receive((target,), (HaveTx(one),))]
    if d.chance(30):
        events.append(Receive((target,), (ResetRoute(),)))
    return [*events, Receive((source,), (Tx(two),))]


def commit(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    return [Commit(d.one_of(list(view.pool)))] if view.pool else []


def adjust(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    return [Adjust()] if n.protocol == "dog" else []


def stalled_send(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer, sender = _peer(view, d), _peer(view, d)
    if peer is None or sender is None or peer == sender:
        return []
    one = n.new_tx()
    events: list[Event] = [Stall((peer,)), Receive((sender,), (Tx(one),))]
    if d.chance(40):
        events.append(Receive((peer,), (Tx(one),)))
    return [*events, Resume((peer,))]


def raw(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    peer = _peer(view, d)
    return [Raw((peer,), d.one_of(sorted(MALFORMED_MEMPOOL))), Disconnect((peer,))] if peer else []


def wait(n: MempoolNeighbours, view: Node, d: Digits) -> list[Event]:
    return [Advance(d.one_of((100, 1000, 5000)))]


ACTS: Mapping[str, Act] = {
    f.__name__: f
    for f in (
        arrive,
        depart,
        reconnect,
        submit,
        first_time,
        duplicate,
        havetx,
        resetroute,
        cut_then_send,
        commit,
        adjust,
        stalled_send,
        raw,
        wait,
    )
}


def draw_mempool_parameters(d: Digits, protocol: str) -> DogParameters:
    return DogParameters(
        dog=protocol == "dog",
        target_redundancy=d.one_of((1.0, 1.0, 0.5, 0.1, 2.0)),
        delta_percent=d.one_of((10.0, 10.0, 20.0)),
    )


def draw_mempool_neighbours(
    d: Digits, protocol: str, capabilities: frozenset[str], *, steered: bool = True
) -> MempoolNeighbours:
    """The parameters and the neighbours of one run."""
    weights = WEIGHTS if steered else dict.fromkeys(WEIGHTS, 1)
    return MempoolNeighbours(protocol, draw_mempool_parameters(d, protocol), capabilities, weights)
