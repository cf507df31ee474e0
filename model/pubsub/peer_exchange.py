"""Peer exchange: who may be offered with a PRUNE, and who may be dialled. gossipsub v1.1.

"PRUNE Backoff and Peer Exchange" and "Score Thresholds". It is off where `prune_peers` is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from quidnunc.model.choices import Choose
from quidnunc.model.events import Dialled
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.pubsub.scores import events as scores_events
from quidnunc.model.pubsub.scores.counting import QUIET
from quidnunc.model.rpc import ROUTER, Peer, Prune
from quidnunc.model.rules import Exclusion, rule
from quidnunc.model.score_interval import interval
from quidnunc.model.values import evolve

Pruned: TypeAlias = tuple[str, Peer]
"""A topic, and who is pruned there."""


# -- offering -----------------------------------------------------------------------------------------------


def pool(r: Router, topic: str, peer: Peer) -> tuple[Peer, ...]:
    """Whom a PRUNE to `peer` may list."""
    offered = r.protocol.handlers.get("offered")
    if not r.parameters.prune_peers or not isinstance(offered, Exclusion):
        return ()
    return tuple(sorted(offered(r, (topic, peer), QUIET).all))


@rule(
    "gs1.1/px.offer",
    lacking="Offers none of the peers in the topic with a PRUNE.",
    when="it looks up the peers that it can offer with a PRUNE",
)
def members(r: Router, what: Pruned) -> frozenset[Peer]:
    """Peers of the topic. That any is listed, and how many, is free."""
    return r.members(what[0])


@rule(
    "gs1.1/px.offer",
    lacking="Offers a pruned peer itself among the peers to dial.",
    when="it leaves the pruned peer out of the peers that it offers",
)
def the_pruned(r: Router, what: Pruned, peer: Peer) -> bool:
    """Nobody has to be told of itself."""
    return peer == what[1]


@rule(
    "gs1.1/px.none-to-negative",
    lacking="Offers peers to a pruned peer whose score is negative.",
    when="it checks whether the pruned peer's score is negative before it offers peers",
)
def from_the_negative(r: Router, what: Pruned, peer: Peer) -> bool | None:
    """Nobody is named to a peer with a negative score."""
    return r.below(what[1], 0)


@rule(
    "gs1.1/px.only-non-negative",
    lacking="Offers peers whose score is negative with a PRUNE.",
    when="it checks whether the score of a peer to offer with a PRUNE is negative",
)
def named_below_zero(r: Router, what: Pruned, peer: Peer) -> bool | None:
    """No peer with a negative score is named."""
    return r.below(peer, 0)


# -- being offered ------------------------------------------------------------------------------------------


@rule(
    "gs1.1/px.record-optional",
    lacking="Ignores the peers that a PRUNE offers.",
    when="it reads the peers that a PRUNE offers",
)
def heed_offer(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """Asked before the sender leaves the mesh; by which of its scores, before or after, is not said."""
    handler = r.protocol.handlers.get("exchange")
    if not p.part.peers or not r.parameters.prune_peers or handler is None:
        return None
    return cast("Step[Router] | None", handler(r, p, choose))


@rule(
    "gs1.1/px.ignored-from-negative",
    lacking="Heeds peers offered by a peer whose score is negative.",
    when="it disregards peers offered by a peer with a negative score",
)
def offered_by_negative(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """What a peer with a negative score offers is ignored; it is free where the score may be either."""
    return Step(r) if _is_negative(r, p) is True else None


@rule(
    "gs1.1/px.accept-threshold",
    lacking="Heeds peers offered by a peer below AcceptPXThreshold.",
    when="it disregards peers offered by a peer below AcceptPXThreshold",
)
def offered_by_untrusted(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """What a peer below AcceptPXThreshold offers is ignored; at the threshold it is free."""
    return Step(r) if _is_short(r, p) is True else None


@rule(
    "gs1.1/px.record-valid",
    lacking="Dials offered peers whose signed record is not valid.",
    when="it checks the signed records of the peers that a PRUNE offers",
)
def unsound_records(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """A record that does not verify, or is another peer's, leads nowhere."""
    return Step(r) if p.part.records in ("forged", "foreign") else None


@rule(
    "gs1.1/px.accept-threshold",
    lacking="Does not dial the peers that a PRUNE offers.",
    when="it dials the peers that a PRUNE offers",
)
def dial_offered(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router]:
    """Those offered with a record by a member above the threshold are dialled.

    Free is whether one is whose offer comes at the threshold, from outside the mesh, without a record, among
    more than we take (which of them the text does not say), or again.
    """
    free = _is_short(r, p) is None or _is_negative(r, p) is None or p.peer not in r.mesh_of(p.part.topic)
    free = free or p.part.records != "signed" or len(p.part.peers) > r.parameters.prune_peers
    sought = set(r.ledger.sought)
    permits = []
    for peer in p.part.peers:
        if peer in r.peers or peer <= ROUTER:
            continue
        must = not free and peer not in sought
        permits.append(Permit(Dialled(peer), must, "gs1.1/px.accept-threshold"))
        sought.add(peer)
    return Step(evolve(r, ledger=evolve(r.ledger, sought=frozenset(sought))), tuple(permits))


def _is_negative(r: Router, p: ReceivedPart[Prune]) -> bool | None:
    return _before_and_after(r, p, lambda r: r.below(p.peer, 0))


def _is_short(r: Router, p: ReceivedPart[Prune]) -> bool | None:
    return _before_and_after(r, p, lambda r: _short_of(r, p.peer))


def _before_and_after(
    r: Router, p: ReceivedPart[Prune], asked: Callable[[Router], bool | None]
) -> bool | None:
    """What is said of the sender while it is in the mesh and once it has left it; None where they differ.

    Earlier PRUNEs of the same RPC count already, or not yet.
    """
    before = asked(r)
    if r.parameters.scores is None:
        return before
    left = r.with_mesh(p.part.topic, r.mesh_of(p.part.topic) - {p.peer})
    later = {asked(scores_events.count(each, "tally", r)) for each in (r, left)}
    return before if later == {before} else None


def _short_of(r: Router, peer: Peer) -> bool | None:
    """Whether its score is below AcceptPXThreshold; None at it, because the prose asks for more."""
    threshold = r.parameters.accept_px_threshold
    if r.parameters.scores is None:
        score = r.score(peer)
        return True if score < threshold else None if score == threshold else False
    known, edge = r.bounds(peer), interval(threshold)
    return False if known.lo > edge.hi else True if known.below(edge) else None
