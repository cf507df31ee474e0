"""The neighbours of a node with a limit on peers: they come and go, because only then slots change hands."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.events import MEMPOOL as STREAM
from quidnunc.model.events import Advance, Commit, Connect, Disconnect, Event, Receive
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Tx
from quidnunc.properties.neighbours.mempool_acts import (
    MAX_PEERS,
    Act,
    MempoolNeighbours,
    arrive,
    commit,
    depart,
    duplicate,
    first_time,
    havetx,
    invalid,
    peer_of,
    raw,
    reconnect,
    resetroute,
    submit,
)
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name


def holder_leaves(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """One that has a slot, or may have one."""
    holding = sorted({p for known in view.slots.values() for p in known.all} & view.peers.keys())
    return [Disconnect((d.one_of(holding),))] if holding else []


def leave_and_send(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """Slots change hands while nothing shows it; then something comes, rather from one that waits."""
    leaving = holder_leaves(n, view, d)
    peer = peer_of(view, d)
    if not leaving or peer is None:
        return []
    return [*leaving, Receive((peer,), (Tx(n.new_tx()),))]


def empty_pool(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """Blocks take all there is, so that a slot passes on unseen; somebody new waits, too."""
    taken: list[Event] = [Commit(tx) for tx in view.pool]
    if taken and len(view.peers) < MAX_PEERS and d.chance(50):
        n.last_peer += 1
        taken.append(Connect((n.last_peer,), STREAM))
    return taken


def wait(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """Half a minute is how long the node in use waits for a slot at a time."""
    return [Advance(d.one_of((100, 30_000, 31_000)))]


ACTS: Mapping[str, Act] = by_name(
    *(arrive, depart, reconnect, submit, first_time, duplicate, invalid, commit, wait, raw),
    *(holder_leaves, leave_and_send, empty_pool, havetx, resetroute),
)


def draw_peer_limit_parameters(d: SeededDraws) -> DogParameters:
    """Limits of 0 to 3; about a third of the peers are persistent, and some unconditional."""
    return DogParameters(
        dog=False,
        max_persistent=d.one_of((0, 1, 1, 2)),
        max_non_persistent=d.one_of((1, 1, 2, 3, 0)),
        persistent_peers=frozenset(p for p in range(1, 25) if d.chance(35)),
        unconditional_peers=frozenset(p for p in range(1, 25) if d.chance(10)),
    )
