"""Acts of peer exchange: members prune the router and name others, and those that it dials connect."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.events import Connect, Event, Receive, Score
from quidnunc.model.rpc import Graft, Prune, RecordKind, Subscribe
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.neighbours.edges import OFFERED, beside
from quidnunc.properties.neighbours.neighbourhood import MAX_PEERS, Act, Neighbours
from quidnunc.properties.neighbours.rare import newcomers
from quidnunc.properties.neighbours.score_acts import FARTHEST, edge
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name

KINDS: tuple[RecordKind, ...] = ("signed", "signed", "signed", "", "forged", "foreign")
BEYOND = 3
"""So many more may be offered than are taken."""


def offer_peers(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A member prunes the router and names others, now and then one that is connected, or that was offered
    before; its score may be at the edge of what is heeded."""
    topics = [t for t in sorted(n.view.topics) if n.view.mesh_of(t)]
    room = max(0, MAX_PEERS - n.last_peer - 1)
    if not topics or not room:
        return []
    topic = d.one_of(topics)
    peer = d.one_of(sorted(n.view.mesh_of(topic)))
    count = min(room, d.one_of((1, 2, n.parameters.prune_peers + BEYOND)))
    offered = newcomers(n, count) or ((peer,) if d.chance(50) else ())
    if not offered:
        return []
    own, known = beside(d, OFFERED), sorted(n.view.peers.keys() | n.view.ledger.sought)
    if own.chance(35):
        offered = tuple(dict.fromkeys((own.one_of(known), *offered)))
    events: list[Event] = [Receive((peer,), (Prune(topic, 2, offered, d.one_of(KINDS)),))]
    if d.chance(75):
        threshold = d.one_of((0, round(n.parameters.accept_px_threshold)))
        value = edge(n.view, peer, threshold, above=d.chance(60)) + d.one_of((0, 0, 1))
        if abs(value) <= FARTHEST:
            events.insert(0, Score((peer,), value))
    return events


def take_up(n: Neighbours, d: SeededDraws) -> list[Event]:
    """One that was offered is connected to."""
    waiting = sorted(n.view.ledger.sought - n.view.peers.keys())
    if not waiting or len(n.view.peers) >= MAX_PEERS:
        return []
    peer, topic = d.one_of(waiting), n.topic(d)
    connect = Connect((peer,), STREAM_PROTOCOLS[n.protocol][0], outbound=True)
    return [connect, Receive((peer,), (Subscribe(topic), Graft(topic)))]


EXCHANGING: Mapping[str, Act] = by_name(offer_peers, take_up)
