"""Backoff after a PRUNE, and peer exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from quidnunc.model.rpc import Graft, Prune
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, RouterStep
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.steps import (
    always,
    received_parts,
    remembering,
    sender,
    sent_parts,
)


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


LOOKS: Mapping[str, Look] = {
    "backoff.no-graft-before-its-end": remembering(no_graft_in_backoff),
    "backoff.no-graft-before-a-heeded-end": remembering(no_graft_in_heeded_backoff),
    "backoff.kept-by-both-ends": always(both_back_off),
    "backoff.never-shortened": always(backoff_never_shortened),
}
