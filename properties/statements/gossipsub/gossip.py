"""Gossip: IHAVE, IWANT and the message cache."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.rpc import IHave, IWant, Message
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import RouterStep
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.steps import (
    is_heartbeat,
    received_parts,
    remembering,
    sender,
    sent_parts,
)


def advertised_is_served(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """What was advertised can be fetched until the next heartbeat of who did."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    return requested_is_served(facts, seen)


def requested_is_served(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """What was advertised can be fetched, however long that is on its way."""
    for peer, have in sent_parts(seen, IHave):
        facts |= {(seen.node, peer, i) for i in have.ids}
    by, sent = sender(seen), sent_parts(seen, Message)
    for i in (i for want in received_parts(seen, IWant) for i in want.ids):
        if (seen.node, by, i) in facts and not any(p == by and m.id == i for p, m in sent):
            return f"{name_of(seen.node)} does not serve {i}, which it advertised to {name_of(by)}"
        # It is owed once.
        facts.discard((seen.node, by, i))
    return ""


LOOKS: Mapping[str, Look] = {
    "gossip.advertised-is-served-at-once": remembering(advertised_is_served),
    "gossip.advertised-is-served-however-late": remembering(requested_is_served),
}
