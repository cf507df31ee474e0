"""Acts for the suite's search beside those of the neighbours: occasions at which one rule shows.

Each is a few events that lead up to what random acts seldom add up to, and returns nothing where it cannot
be had. What comes of it is judged as anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quidnunc.model.events import (
    FLOODSUB,
    MEMPOOL,
    Adjust,
    Commit,
    Connect,
    Disconnect,
    Event,
    Publish,
    Receive,
    Resume,
    Score,
    Stall,
    Submit,
)
from quidnunc.model.rpc import ROUTER, Graft, HaveTx, IDontWant, Part, Peer, ResetRoute, Subscribe, Tx
from quidnunc.properties.neighbours import mempool as mempool_neighbours
from quidnunc.properties.neighbours.acts import ACTS
from quidnunc.properties.neighbours.mempool_acts import Act
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS, by_name


def _says(peer: Peer, *parts: Part) -> Event:
    return Receive((peer,), parts)


# -- pubsub -----------------------------------------------------------------------------------------------


def score(n: Any, d: SeededDraws) -> list[Event]:
    """Somebody's score, or that of a whole mesh, falls below one more threshold, or rises."""
    topic = n.topic(d)
    everybody = sorted(n.view.mesh_of(topic) | n.view.fanout_of(topic).all) or sorted(n.view.peers)
    if not everybody:
        return []
    peer = n.peer(d) if d.chance(30) else d.one_of(everybody)
    who = tuple(everybody) if d.chance(25) else (peer,)
    return [Score(who, d.one_of((-50, -30, -15, -1, 0, 4)))]


def hated(n: Any, d: SeededDraws) -> list[Event]:
    """Somebody to whom a message goes falls below a threshold just before it comes."""
    topic = n.topic(d)
    targets = sorted(n.view.mesh_of(topic))
    events: list[Event] = []
    if d.chance(50):
        n.last_peer += 1
        targets = [n.last_peer]
        events = [Connect((n.last_peer,), FLOODSUB), _says(n.last_peer, Subscribe(topic))]
    if not targets:
        return []
    low = d.one_of(targets)
    others = [p for p in sorted(n.view.peers) if p != low]
    if not others:
        return []
    sender = d.one_of(others)
    value = d.one_of((-50, -30, -15))
    return [*events, Score((low,), value), _says(sender, n.new_message(d, topic, sender))]


def forgiven(n: Any, d: SeededDraws) -> list[Event]:
    """A peer of a fanout falls below the publish threshold for one heartbeat, and is in order again."""
    topics = sorted(t for t in n.view.fanout if n.view.fanout_of(t).all)
    if not topics:
        return []
    topic = d.one_of(topics)
    low = d.one_of(sorted(n.view.fanout_of(topic).all))
    again = Publish(n.new_message(d, topic, ROUTER))
    return [Score((low,), -30), n.to_heartbeat(n.view), Score((low,), 0), again]


def come_back(n: Any, d: SeededDraws) -> list[Event]:
    """Somebody is gone and back, before what it said of a message has grown old; then the message comes."""
    topic = n.topic(d)
    mesh = sorted(n.view.mesh_of(topic))
    if len(mesh) < 2:
        return []
    at = d.below(len(mesh))
    peer, sender = mesh[at], mesh[at - 1]
    soon = n.new_message(d, topic, sender)
    back: tuple[Part, ...] = (Subscribe(topic), Graft(topic)) if d.chance(80) else (Subscribe(topic),)
    return [
        _says(peer, IDontWant((soon.id,))),
        Disconnect((peer,)),
        Connect((peer,), n.view.peers[peer].protocol),
        _says(peer, *back),
        _says(sender, soon),
    ]


PUBSUB_OCCASIONS: Mapping[str, Callable[[Any, SeededDraws], list[Event]]] = {
    f.__name__: f for f in (hated, forgiven, come_back)
}
PUBSUB_ACTS: Mapping[str, Callable[[Any, SeededDraws], list[Event]]] = {
    **ACTS,
    "score": score,
    **PUBSUB_OCCASIONS,
}


# -- mempool ----------------------------------------------------------------------------------------------


def stall(n: Any, view: Any, d: SeededDraws) -> list[Event]:
    """A peer stops reading, or reads again."""
    if not view.peers:
        return []
    peer = d.one_of(sorted(view.peers))
    return [Resume((peer,)) if view.peers[peer].stalled else Stall((peer,))]


def two_routes(n: Any, view: Any, d: SeededDraws) -> list[Event]:
    """Two routes to one peer are cut and one is enabled again; then both of their sources send."""
    if not mempool_neighbours.speaks_dog(n.protocol) or len(view.peers) < 3:
        return []
    peers = sorted(view.peers)
    at = d.below(len(peers))
    target, one, two = (peers[(at + k) % len(peers)] for k in range(3))
    cut, also, first, second = (n.new_tx() for _ in range(4))
    return [
        _says(one, Tx(cut)),
        _says(target, HaveTx(cut)),
        _says(two, Tx(also)),
        _says(target, HaveTx(also)),
        _says(target, ResetRoute()),
        _says(one, Tx(first)),
        _says(two, Tx(second)),
    ]


def quiet_answer(n: Any, view: Any, d: SeededDraws) -> list[Event]:
    """Whether a committed duplicate was answered cannot be seen, for its sender does not read; then comes
    one of the pool."""
    if not mempool_neighbours.speaks_dog(n.protocol) or len(view.peers) < 2:
        return []
    peer, other = sorted(view.peers)[:2]
    gone, pooled = n.new_tx(), n.new_tx()
    return [
        Submit(gone),
        Submit(pooled),
        Commit(gone),
        Stall((peer,)),
        _says(peer, Tx(gone)),
        _says(other, Tx(pooled)),
    ]


def lost_reset(n: Any, view: Any, d: SeededDraws) -> list[Event]:
    """A ResetRoute waits for a peer that does not read, and is lost with it."""
    if not mempool_neighbours.speaks_dog(n.protocol) or not view.peers:
        return []
    peer = d.one_of(sorted(view.peers))
    back: list[Event] = [Disconnect((peer,)), Connect((peer,), MEMPOOL), Resume((peer,))]
    return [Submit(n.new_tx()), Stall((peer,)), Adjust(), *back]


MEMPOOL_ACTS: Mapping[str, Act] = {
    **mempool_neighbours.ACTS,
    **by_name(stall, two_routes, quiet_answer, lost_reset),
}
MEMPOOL_WEIGHTS: Mapping[str, int] = {
    **WEIGHTS["mempool"],
    "stall": 8,
    "commit": 6,
    "raw": 0,
    "two_routes": 3,
    "quiet_answer": 3,
    "lost_reset": 3,
}
