"""Planted departures of our router's peer exchange, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.model.rpc import Peer


def _offers_to_negative(r: GossipsubRouter) -> None:
    exchange, prune = r.mesh.exchange, r.mesh._prune
    patch(exchange, "may_be_told", lambda peer: r.core.neighbours[peer].knows_backoff)

    def crowded_always(topic: str, peers: Iterable[Peer], *, crowded: bool = False) -> None:
        prune(topic, peers, crowded=True)

    patch(r.mesh, "_prune", crowded_always)


def _offers_the_pruned(r: GossipsubRouter) -> None:
    exchange, offered = r.mesh.exchange, r.mesh.exchange.offered_to

    def with_itself(peer: Peer, topic: str) -> list[Peer]:
        found = offered(peer, topic)
        return [*found, peer] if found else found

    patch(exchange, "offered_to", with_itself)


def _trusts(least: float) -> Edit:
    def edit(r: GossipsubRouter) -> None:
        patch(r.mesh.exchange, "is_trusted", lambda peer: r.core.score(peer) >= least)

    return edit


def _heeds_negative(r: GossipsubRouter) -> None:
    threshold = r.core.parameters.accept_px_threshold
    patch(r.mesh.exchange, "is_trusted", lambda p: r.core.score(p) < 0 or r.core.score(p) >= threshold)


_EDITS: Mapping[str, Edit] = {
    "px-to-negative": _offers_to_negative,
    "px-of-negative": put("mesh.exchange.may_be_named", lambda peer: True),
    "px-of-the-pruned": _offers_the_pruned,
    "px-from-negative": _heeds_negative,
    "px-from-anybody": _trusts(0),
    "px-never-dialled": put("mesh.exchange.on_offer", nothing),
    "px-record-unchecked": put("mesh.exchange.is_sound", lambda info: True),
}

PX_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
