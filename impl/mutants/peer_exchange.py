"""Planted departures of our router's peer exchange, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.model.rpc import Peer


def _offers_to_negative(r: GossipsubRouter) -> None:
    exchange, prune = r.mesh.exchange, r.mesh._prune
    patch(exchange, "may_be_told", lambda peer: r.core.neighbours[peer].knows_backoff)

    def crowded_always(topic: str, peers: Iterable[Peer], *, crowded: bool = False) -> None:
        prune(topic, peers, crowded=True)

    patch(r.mesh, "_prune", crowded_always)


def _offers_the_pruned(_: GossipsubRouter, offered: Usual, peer: Peer, topic: str) -> list[Peer]:
    found = offered(peer, topic)
    return [*found, peer] if found else found


def _heeds_negative(r: GossipsubRouter, usual: Usual, peer: Peer) -> bool:
    return r.core.score(peer) < 0 or r.core.score(peer) >= r.core.parameters.accept_px_threshold


_EDITS: Mapping[str, Edit] = {
    "px-to-negative": _offers_to_negative,
    "px-of-negative": put("mesh.exchange.may_be_named", lambda peer: True),
    "px-of-the-pruned": around("mesh.exchange.offered_to", _offers_the_pruned),
    "px-from-negative": around("mesh.exchange.is_trusted", _heeds_negative),
    "px-from-anybody": around("mesh.exchange.is_trusted", lambda r, usual, peer: r.core.score(peer) >= 0),
    "px-never-dialled": put("mesh.exchange.on_offer", nothing),
    "px-record-unchecked": put("mesh.exchange.is_sound", lambda info: True),
}

PX_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
