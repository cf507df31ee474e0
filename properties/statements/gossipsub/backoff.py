"""Backoff after a PRUNE, and peer exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from quidnunc.model.rpc import Graft, Prune
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    always,
    prunes,
    received_parts,
    remembering,
    sender,
    sent_parts,
)
from quidnunc.properties.statements.statement import Statement


def no_graft_in_backoff(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """Who has sent or received a PRUNE does not graft the other before its period is over."""
    return _grafted_too_early(facts, seen, [*received_parts(seen, Prune)])


def no_graft_in_heeded_backoff(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """The same of PRUNEs that their receiver takes in the topic."""
    heeded = received_parts(seen, Prune) if TOPIC in seen.before.topics else []
    return _grafted_too_early(facts, seen, heeded)


def _grafted_too_early(facts: set[tuple[object, ...]], seen: RouterStep, heard: Sequence[Prune]) -> str:
    now = seen.after.now_ms
    for peer, _ in sent_parts(seen, Graft):
        ends = [cast("int", fact[2]) for fact in facts if fact[:2] == (seen.node, peer)]
        if ends and now < max(ends):
            return f"{name_of(seen.node)} grafts {name_of(peer)}, {max(ends) - now} ms before a backoff ends"
    usual = seen.after.parameters.prune_backoff_s
    pruned = [*sent_parts(seen, Prune), *((sender(seen), prune) for prune in heard)]
    facts |= {(seen.node, peer, now + 1000 * (prune.backoff_s or usual)) for peer, prune in pruned}
    facts -= {fact for fact in facts if cast("int", fact[2]) <= now}
    return ""


def both_back_off(seen: RouterStep) -> str:
    """Who sends a PRUNE, and who receives one, backs off from the other."""
    pruned = [(peer, "sends") for peer, _ in sent_parts(seen, Prune)]
    pruned += [(sender(seen), "receives") for _ in received_parts(seen, Prune)]
    for peer, does in pruned:
        if peer in seen.after.peers and seen.after.ends_backoff_ms(TOPIC, peer) <= seen.after.now_ms:
            end = "to" if does == "sends" else "from"
            return f"{name_of(seen.node)} {does} a PRUNE {end} {name_of(peer)}, and keeps no backoff"
    return ""


def backoff_never_shortened(seen: RouterStep) -> str:
    """The end of a backoff never comes nearer."""
    for (_, peer), ends in seen.before.backoff.items():
        if seen.after.ends_backoff_ms("t", peer) < ends:
            return f"{name_of(seen.node)} shortens its backoff from {name_of(peer)}"
    return ""


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="backoff.no-graft-before-its-end",
        old_id="P26",
        says="Who has sent or received a PRUNE does not graft the other before its period is over.",
        revisions=since("gossipsub-1.1"),
        claims=("backoff.no-graft",),
        clauses=("gs1.1/backoff.both-ends",),
        look=remembering(no_graft_in_backoff),
        places=(places.PAIR_MESHED, places.RING_OF_ONE),
        reading="Also a PRUNE that arrives after its receiver has left, which v1.1 says nothing of.",
    ),
    Statement(
        id="backoff.no-graft-before-a-heeded-end",
        old_id="P26b",
        says="The same of each PRUNE that its receiver takes while it is in the topic.",
        revisions=since("gossipsub-1.1"),
        claims=("backoff.no-graft", "backoff.unsubscribe"),
        look=remembering(no_graft_in_heeded_backoff),
        places=(places.PAIR_MESHED, places.RING_OF_ONE),
        occasion=prunes,
    ),
    Statement(
        id="backoff.kept-by-both-ends",
        old_id="P27",
        says="Both ends of a PRUNE keep a backoff.",
        revisions=since("gossipsub-1.1"),
        claims=("backoff.no-graft",),
        clauses=("gs1.1/backoff.both-ends",),
        look=always(both_back_off),
        places=(places.PAIR_MESHED, places.NEAR_EXPLICIT),
    ),
    Statement(id="backoff.early-graft-extends-it", old_id="P28",
              says="A GRAFT inside the backoff gets a PRUNE, and the backoff is extended by a whole period.",
              revisions=since("gossipsub-1.1"), claims=("backoff.regraft-refused",)),
    Statement(
        id="backoff.never-shortened",
        old_id="P29",
        says="The end of a backoff never comes nearer.",
        revisions=since("gossipsub-1.1"),
        claims=("backoff.honoured",),
        look=always(backoff_never_shortened),
        places=(places.PAIR_MESHED, places.RING_OF_ONE),
        occasion=prunes,
    ),
    Statement(id="backoff.ends", old_id="P30", says="A backoff ends, and the peer can be grafted again.",
              revisions=since("gossipsub-1.1"), claims=("backoff.no-graft", "mesh.floor"),
              assumes="Heartbeats go on; twenty of them after its end it is gone for certain."),
    Statement(id="backoff.any-announced-period-ends", old_id="P31",
              says="Whatever backoff is announced is taken for its own length, and ends.",
              revisions=since("gossipsub-1.1"), claims=("backoff.honoured",),
              needs="z3: `quidnunc prove backoff-arithmetic`, over all of 64 bits"),
    Statement(id="backoff.announced-period-counts", old_id="P32",
              says="An announced period counts, be it longer or shorter than the router's own.",
              revisions=since("gossipsub-1.1"), claims=("backoff.honoured",)),
    Statement(
        id="backoff.period-is-announced",
        old_id="P33",
        says="A PRUNE to who knows the field has a backoff of a second or more, at a Leave the short one.",
        revisions=since("gossipsub-1.1"),
        claims=("backoff.announced", "backoff.unsubscribe"),
    ),
    Statement(
        id="peer-exchange.offered-peers",
        old_id="P34",
        says=(
            "Peers are offered in exchange to who scores zero or more; they do so too, are PrunePeers "
            "at most, and the pruned one is not among them."
        ),
        revisions=since("gossipsub-1.1"),
        claims=("px.offered", "px.none-to-negative", "px.only-non-negative"),
    ),
    Statement(
        id="peer-exchange.dialled-peers",
        old_id="P35",
        says="Whom a peer of AcceptPXThreshold or more offers in a sound record is dialled, nobody else.",
        revisions=since("gossipsub-1.1"),
        claims=("px.trusted-only", "px.not-from-negative", "px.records-checked"),
    ),
)  # fmt: skip
