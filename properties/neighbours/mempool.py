"""The neighbours of one mempool node, by protocol; those of Flood and DOG are here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from quidnunc.model.events import Adjust, Advance, Connect, Disconnect, Event, Receive, Resume, Stall
from quidnunc.model.mempool.dog.variants import VARIANTS
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, Tx
from quidnunc.properties.neighbours import cat as cat_neighbours
from quidnunc.properties.neighbours import peer_limit as peer_limit_neighbours
from quidnunc.properties.neighbours.edges import STALLED, STALLS_TWICE, beside
from quidnunc.properties.neighbours.mempool_acts import (
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
from quidnunc.properties.neighbours.weights import WEIGHTS, by_name


def cut_then_send(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """A route is cut, and its source sends again."""
    source, target = peer_of(view, d), peer_of(view, d)
    if source is None or target is None or source == target:
        return []
    one, two = n.new_tx(), n.new_tx()
    events: list[Event] = [Receive((source,), (Tx(one),)), Receive((target,), (HaveTx(one),))]
    if d.chance(30):
        events.append(Receive((target,), (ResetRoute(),)))
    return [*events, Receive((source,), (Tx(two),))]


def adjust(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    return [Adjust()] if speaks_dog(n.protocol) else []


def stalled_send(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """A peer stops reading, and more is due to it. It reads again, now and then to stop once more; or it is
    gone before that, and comes back."""
    peer, sender = peer_of(view, d), peer_of(view, d)
    if peer is None or sender is None or peer == sender or "stall" not in n.capabilities:
        return []
    one = n.new_tx()
    events: list[Event] = [Stall((peer,)), Receive((sender,), (Tx(one),))]
    if d.chance(40):
        events.append(Receive((peer,), (Tx(one),)))
    own = beside(d, STALLED)
    if own.chance(25):
        # It is gone before it reads again, and comes back.
        back = Connect((peer,), n.stream(own), outbound=own.chance(50))
        return [*events, Disconnect((peer,)), back, Receive((sender,), (Tx(n.new_tx()),))]
    return _stalls_twice(n, peer, sender, one) if own.chance(STALLS_TWICE) else [*events, Resume((peer,))]


def _stalls_twice(n: MempoolNeighbours, peer: Peer, sender: Peer, tx: str) -> list[Event]:
    """What waits for a peer is sent, it stops reading again, and more is due to it."""
    sent = Receive((sender,), (Tx(tx),))
    # Where all that came since are duplicates, HaveTx is allowed again, and one waits for the peer.
    before: list[Event] = [sent, Adjust(), sent, Adjust()] if speaks_dog(n.protocol) else [sent]
    stalled: list[Event] = [
        Stall((peer,)),
        Receive((peer,), (Tx(tx),)),
        Receive((sender,), (Tx(n.new_tx()),)),
    ]
    again: list[Event] = [Stall((peer,)), Receive((sender,), (Tx(n.new_tx()),))]
    return [*before, *stalled, Resume((peer,)), *again, Resume((peer,))]


def wait(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    return [Advance(d.one_of((100, 1000, 5000)))]


ACTS: Mapping[str, Act] = by_name(
    *(arrive, depart, reconnect, submit, first_time, duplicate, invalid, commit, wait, raw),
    *(havetx, resetroute, cut_then_send, adjust, stalled_send),
)


OTHER_ACTS: Mapping[str, Mapping[str, Act]] = {
    "cat-classic": cat_neighbours.ACTS,
    "cat": cat_neighbours.ACTS,
    "peer-limit": peer_limit_neighbours.ACTS,
}
"""Of protocols that are not DOG's."""

DRAWN: Mapping[str, Callable[[SeededDraws], DogParameters]] = {
    "cat-classic": cat_neighbours.draw_cat_parameters,
    "cat": cat_neighbours.draw_current_parameters,
    "peer-limit": peer_limit_neighbours.draw_peer_limit_parameters,
    "dog-go": lambda d: draw_go_parameters(d),
    "dog-quint": lambda d: draw_quint_parameters(d),
    "dog-quint-run": lambda d: draw_quint_parameters(d),
}


def speaks_dog(protocol: str) -> bool:
    return protocol == "dog" or protocol in VARIANTS


def draw_go_parameters(d: SeededDraws) -> DogParameters:
    """A pool that is full makes a difference to the Go node alone."""
    drawn = draw_mempool_parameters(d, "dog")
    return evolve(drawn, pool_size=3) if d.chance(25) else drawn


def draw_quint_parameters(d: SeededDraws) -> DogParameters:
    """The Quint files know integers alone."""
    drawn = draw_mempool_parameters(d, "dog")
    return evolve(drawn, target_redundancy=max(1.0, drawn.target_redundancy))


def draw_mempool_parameters(d: SeededDraws, protocol: str) -> DogParameters:
    return DogParameters(
        dog=speaks_dog(protocol),
        target_redundancy=d.one_of((1.0, 1.0, 0.5, 0.1, 2.0)),
        delta_percent=d.one_of((10.0, 10.0, 20.0)),
    )


def draw_mempool_neighbours(
    d: SeededDraws, protocol: str, capabilities: frozenset[str], *, steered: bool = True
) -> MempoolNeighbours:
    """The parameters and the neighbours of one run, whichever mempool protocol it is."""
    acts, table = OTHER_ACTS.get(protocol, ACTS), WEIGHTS.get(protocol, WEIGHTS["mempool"])
    weights = table if steered else dict.fromkeys(table, 1)
    parameters = DRAWN[protocol](d) if protocol in DRAWN else draw_mempool_parameters(d, protocol)
    return MempoolNeighbours(protocol, parameters, capabilities, weights, acts)
