"""Gossip: IHAVE, IWANT and the message cache; IDONTWANT, and what older versions are not told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quidnunc.model.rpc import IDontWant, IHave, IWant, Message, Peer
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, RouterStep
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.messages import over_the_mesh
from quidnunc.properties.statements.gossipsub.steps import (
    always,
    is_heartbeat,
    received_parts,
    relayed_parts,
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


# -- IDONTWANT --------------------------------------------------------------------------------------------


def _told(seen: RouterStep) -> Iterator[tuple[Peer, str]]:
    for peer, part in sent_parts(seen, IDontWant):
        yield from ((peer, i) for i in part.ids)


def unwanted_is_held(seen: RouterStep) -> str:
    """IDONTWANT names what its sender has received or published."""
    known = seen.before.seen.keys() | seen.after.seen.keys()
    known |= {m.id for m in received_parts(seen, Message)}
    wrong = next(((peer, i) for peer, i in _told(seen) if i not in known), None)
    return f"{name_of(seen.node)} does not want {wrong[1]}, which it has not" if wrong else ""


def unwanted_said_to_mesh(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """IDONTWANT goes to the mesh, and not to whom the message came from."""
    facts |= {(seen.node, m.id, sender(seen)) for m in received_parts(seen, Message)}
    for peer, i in _told(seen):
        if peer not in seen.before.mesh_of(TOPIC) | seen.after.mesh_of(TOPIC):
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, outside its mesh"
        if (seen.node, i, peer) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, which has just sent it"
    return ""


def unwanted_said_once(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """IDONTWANT is said once to a peer of an id."""
    for peer, i in _told(seen):
        if (seen.node, peer, i) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)} again"
        facts.add((seen.node, peer, i))
    return ""


def unwanted_said_at_once(seen: RouterStep) -> str:
    """At the first copy, the others of the mesh are told."""
    told = {peer for peer, _ in _told(seen)}
    for m in received_parts(seen, Message):
        if m.flaw or m.id in seen.before.seen or m.id not in seen.after.seen:
            continue
        known = {p for p in seen.before.mesh_of(TOPIC) if seen.before.peers[p].knows_idontwant}
        silent = sorted(known - told - {sender(seen)})
        if silent:
            return f"{name_of(seen.node)} has {m.id} and does not tell {name_of(silent[0])}"
    return ""


def unwanted_is_spared(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """Until the next heartbeat who said IDONTWANT is not relayed the message."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    for peer, m in relayed_parts(seen):
        if (seen.node, peer, m.id) in facts:
            return f"{name_of(seen.node)} relays {m.id} to {name_of(peer)}, which said IDONTWANT"
    by = sender(seen)
    facts |= {(seen.node, by, i) for part in received_parts(seen, IDontWant) for i in part.ids}
    return ""


LOOKS: Mapping[str, Look] = {
    "gossip.advertised-is-served-at-once": remembering(advertised_is_served),
    "gossip.advertised-is-served-however-late": remembering(requested_is_served),
    "idontwant.names-received-messages": always(unwanted_is_held),
    "idontwant.sent-to-the-mesh": remembering(unwanted_said_to_mesh),
    "idontwant.sent-once": remembering(unwanted_said_once),
    "idontwant.sent-at-first-copy": always(unwanted_said_at_once),
    "idontwant.suppresses-relay": remembering(unwanted_is_spared),
    "idontwant.costs-nobody-a-message": over_the_mesh,
}
