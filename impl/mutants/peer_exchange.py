"""Planted departures of our router's peer exchange, by name."""

from __future__ import annotations

from collections.abc import Iterable

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.mutants.mesh import Edit, mutant, nothing, patch
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


_ROWS: tuple[tuple[str, str, Edit, str], ...] = (
    ("px-to-negative", "gs1.1/px.none-to-negative", _offers_to_negative,
     "Names others to a peer that it prunes for its negative score."),
    ("px-of-negative", "gs1.1/px.only-non-negative",
     lambda r: patch(r.mesh.exchange, "may_be_named", lambda peer: True),
     "Names peers with a negative score."),
    ("px-of-the-pruned", "gs1.1/px.offer", _offers_the_pruned, "Names the pruned peer to itself."),
    ("px-from-negative", "gs1.1/px.ignored-from-negative", _heeds_negative,
     "Dials whom a peer with a negative score names."),
    ("px-from-anybody", "gs1.1/px.accept-threshold", _trusts(0),
     "Dials whom a peer below AcceptPXThreshold names."),
    ("px-never-dialled", "gs1.1/px.accept-threshold",
     lambda r: patch(r.mesh.exchange, "on_offer", nothing), "Dials nobody that it is offered."),
    ("px-record-unchecked", "gs1.1/px.record-valid",
     lambda r: patch(r.mesh.exchange, "is_sound", lambda info: True),
     "Does not check signed records."),
)  # fmt: skip

PX_MUTANTS: tuple[Mutant, ...] = tuple(mutant(*row) for row in _ROWS)
