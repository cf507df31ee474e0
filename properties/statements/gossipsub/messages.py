"""Messages: whom they go to, what validation does, and who gets them in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from quidnunc.model.events import Publish, Verdict
from quidnunc.model.rpc import IHave, Message, Peer
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, PubsubNetwork, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look, connected
from quidnunc.properties.statements.gossipsub.steps import (
    Facts,
    always,
    holds,
    is_heartbeat,
    joined,
    played,
    published,
    received_parts,
    relayed_parts,
    remembering,
    sender,
    sent_parts,
)


def delivered_once(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """An id reaches an application once."""
    for each in seen.delivered:
        if (seen.node, each) in facts:
            return f"{name_of(seen.node)} delivers {each} again"
        facts.add((seen.node, each))
    return ""


def forwarded_once(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """An id is sent to a peer once, except for what it asks for."""
    sends = relayed_parts(seen) or (sent_parts(seen, Message) if isinstance(seen.event, Publish) else [])
    for peer, m in sends:
        if (seen.node, peer, m.id) in facts:
            return f"{name_of(seen.node)} sends {m.id} to {name_of(peer)} again"
        facts.add((seen.node, peer, m.id))
    return ""


def not_sent_back(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """No message goes to whom it came from first, or to its author."""
    for m in received_parts(seen, Message):
        if not any(fact[:2] == (seen.node, m.id) for fact in facts):
            facts.add((seen.node, m.id, sender(seen)))
    for peer, m in relayed_parts(seen):
        if (seen.node, m.id, peer) in facts or peer == m.author:
            return f"{name_of(seen.node)} sends {m.id} back to {name_of(peer)}"
    return ""


def relayed_after_accept(facts: Facts, seen: RouterStep) -> str:
    """Where messages wait for a verdict, nothing is passed on before it is to accept."""
    if isinstance(seen.event, Verdict) and seen.event.judgement == "accept":
        facts.add((seen.node, seen.event.id))
    for _, m in relayed_parts(seen):
        if (seen.node, m.id) not in facts:
            return f"{name_of(seen.node)} relays {m.id}, which it has not accepted"
    return ""


def rejected_is_buried(facts: Facts, seen: RouterStep) -> str:
    """What was rejected or ignored is neither delivered, sent nor advertised."""
    if isinstance(seen.event, Verdict) and seen.event.judgement != "accept":
        facts.add((seen.node, seen.event.id))
    sent = {m.id for _, m in sent_parts(seen, Message)} | {
        i for _, have in sent_parts(seen, IHave) for i in have.ids
    }
    for each in sorted({*sent, *seen.delivered}):
        if (seen.node, each) in facts:
            return f"{name_of(seen.node)} has dropped {each}, and passes it on"
    return ""


def dropped_outside_the_topic(seen: RouterStep) -> str:
    """A message in a topic that a router is not in has no effect there."""
    foreign = [m for m in received_parts(seen, Message) if m.topic not in seen.before.topics]
    for m in foreign:
        if m.id in seen.delivered or any(n.id == m.id for _, n in sent_parts(seen, Message)):
            return f"{name_of(seen.node)} is not in {m.topic}, and takes {m.id}"
        if m.id in seen.after.seen and m.id not in seen.before.seen:
            return f"{name_of(seen.node)} is not in {m.topic}, and counts {m.id} as seen"
    return ""


def over_the_mesh(memory: Memory, move: PubsubMove) -> Memory:
    """Where the mesh was one component, of mutual links, when a message was published, and has not changed
    since, all who are in it have the message when nothing moves."""
    ids = set(cast("frozenset[str]", memory or frozenset()))
    if _meshes(move.before) != _meshes(move.after):
        ids.clear()
    if published(move) and _mesh_connects(move.before):
        ids |= {i for _, i in published(move)}
    if not move.after.quiet():
        return frozenset(ids)
    wrong = _lacking(move.after, ids)
    return BrokenClaim(wrong) if wrong else None


def _meshes(network: PubsubNetwork) -> object:
    routers = [r for _, r in sorted(network.nodes.items())]
    return [(r.mesh_of(TOPIC), r.members(TOPIC)) for r in routers]


def _mesh_connects(network: PubsubNetwork) -> bool:
    """Of those in the topic; of routers without a mesh, who knows whom to be in it is as good."""
    here = joined(network)

    def linked(a: Peer, b: Peer) -> bool:
        r = network.nodes[a]
        return holds(network, a, b) if "graft" in r.protocol.handlers else b in r.members(TOPIC)

    return len(here) > 1 and connected(here, lambda a, b: linked(a, b) and linked(b, a))


def _lacking(network: PubsubNetwork, ids: Iterable[str]) -> str:
    for each in sorted(ids):
        for i in joined(network):
            if each not in network.got[i]:
                return f"{name_of(i)} never gets {each}"
    return ""


def over_the_topic(rounds: int) -> Look:
    """Who was in the topic when a message was published, and is known to be, in a network where those in the
    topic are connected, has the message after so many rounds."""

    def look(memory: Memory, move: PubsubMove) -> Memory:
        owed = set(cast("frozenset[tuple[Peer, str]]", memory or frozenset()))
        here = joined(move.before)
        if published(move) and connected(here, lambda a, b: _know_each_other(move.before, a, b)):
            ((by, message_id),) = published(move)
            owed |= {(i, message_id) for i in here if by in here}
        owed = {(i, m) for i, m in owed if i in joined(move.after) and m not in move.after.got[i]}
        if not owed or not move.after.quiet():
            return frozenset(owed)
        end = played(move.after, rounds)[-1]
        for i, m in sorted(owed):
            if m not in end.got[i]:
                return BrokenClaim(
                    f"{name_of(i)} has not got {m} after {rounds} rounds, and nobody offers it"
                )
        return frozenset()

    return look


def _know_each_other(network: PubsubNetwork, a: Peer, b: Peer) -> bool:
    return b in network.nodes[a].members(TOPIC) and a in network.nodes[b].members(TOPIC)


Owed: TypeAlias = tuple[Peer, Peer, str]
"""By whom, to whom, which message."""


def repaired_by_gossip(memory: Memory, move: PubsubMove) -> Memory:
    """Who lacks a message that a neighbour has is offered it by the mcache_gossip next heartbeats of that
    neighbour, as long as each draw falls on who can be drawn, and then has it when nothing moves."""
    facts = dict(cast("frozenset[tuple[Owed, int]]", memory or frozenset()))
    for seen in move.steps:
        me, r = seen.node, seen.after
        known = r.members(TOPIC)
        facts = {k: v for k, v in facts.items() if k[0] != me or k[1] in known}
        for key in [k for k in facts if k[0] == me and is_heartbeat(seen)]:
            offered = any(p == key[1] and key[2] in part.ids for p, part in sent_parts(seen, IHave))
            if offered or key[1] in r.mesh_of(TOPIC):
                facts[key] += 1
            else:
                # The draw has passed it over.
                del facts[key]
        new = [i for i in r.cached if i not in seen.before.cached]
        sent = {(p, m.id) for p, m in sent_parts(seen, Message)}
        outside = known - r.mesh_of(TOPIC)
        facts |= {(me, p, i): 0 for i in new for p in outside if (p, i) not in sent}
    return _offered_in_vain(facts, move)


def _offered_in_vain(facts: Mapping[Owed, int], move: PubsubMove) -> Memory:
    network = move.after
    left = {}
    for (by, to, i), heartbeats in sorted(facts.items()):
        other = network.nodes.get(to)
        if other is None or TOPIC not in other.topics or i in network.got[to]:
            continue
        windows = network.nodes[by].parameters.mcache_gossip
        if heartbeats >= windows and network.quiet():
            return BrokenClaim(
                f"{name_of(to)} has not got {i} after {heartbeats} heartbeats of {name_of(by)}"
            )
        left[by, to, i] = min(heartbeats, windows)
    return frozenset(left.items())


LOOKS: Mapping[str, Look] = {
    "messages.delivered-once": remembering(delivered_once),
    "messages.sent-once-to-a-peer": remembering(forwarded_once),
    "messages.not-sent-back": remembering(not_sent_back),
    "messages.outside-joined-topics-ignored": always(dropped_outside_the_topic),
    "validation.precedes-relay": remembering(relayed_after_accept),
    "validation.dropped-stays-dropped": remembering(rejected_is_buried),
    "delivery.over-a-connected-mesh": over_the_mesh,
    "delivery.in-a-connected-topic": over_the_topic(6),
    "delivery.in-a-connected-topic-by-flooding": over_the_topic(6),
    "delivery.repaired-by-gossip": repaired_by_gossip,
}
