"""What one attacker can do, and what no peer may bring about; what honest peers do to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quidnunc.model.edits.ambiguities import reading_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import PubsubMove, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.messages import over_the_mesh
from quidnunc.properties.statements.gossipsub.partial import group_is_open
from quidnunc.properties.statements.gossipsub.steps import always


def honest_do_not_back_off(memory: Memory, move: PubsubMove) -> Memory:
    """No router backs off from another router."""
    for i, r in sorted(move.after.nodes.items()):
        for (_, peer), ends in sorted(r.backoff.items()):
            if peer in move.after.nodes and ends > r.now_ms:
                return BrokenClaim(f"{name_of(i)} backs off from {name_of(peer)}")
    return None


def honest_not_negative(seen: RouterStep) -> str:
    """No router may hold another below zero."""
    r = seen.after
    for peer in sorted(r.peers):
        if r.bounds(peer).lo < 0:
            return f"{name_of(seen.node)} may hold {name_of(peer)}, which did as it should, below zero"
    return ""


LOOKS: Mapping[str, Look] = {
    "attack.bad-copy-does-not-block-good": over_the_mesh,
    "attack.forged-copies-do-not-stop-delivery": over_the_mesh,
    "attack.idontwant-before-signature": over_the_mesh,
    "attack.honest-routers-do-not-back-off": honest_do_not_back_off,
    "attack.groups-cannot-be-used-up": always(group_is_open),
    "scores.races-cost-nothing": always(honest_not_negative),
}
EDITS: Mapping[str, Callable[[Protocol], Protocol]] = {
    "attack.idontwant-before-signature": reading_named("idontwant-before-signature").change,
}
"""Statements that are looked at in a protocol edited so."""
