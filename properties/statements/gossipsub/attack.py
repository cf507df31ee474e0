"""What one attacker can do, and what no peer may bring about; what honest peers do to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol, Rule
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


def telling_before_the_signature(protocol: Protocol) -> Protocol:
    """IDONTWANT is said of a copy before its signature is looked at."""
    plain = next(each for each in protocol["message"].rules if each.name == "flawed")

    def told(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
        dropped = cast("Step[Router] | None", plain.step(r, m, choose))
        if dropped is None or m.part.id in r.seen:
            return dropped
        return run(r, "announce", m, choose)

    return protocol.with_rule("flawed", Rule("flawed", plain.clause, told))


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
    "attack.idontwant-before-signature": telling_before_the_signature,
}
"""Statements that are looked at in a protocol edited so."""
