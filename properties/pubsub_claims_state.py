"""Claims on what a router of a network keeps, and on what it does with messages that it should not have."""

from __future__ import annotations

from quidnunc.model.events import Verdict
from quidnunc.model.rpc import IHave, Message
from quidnunc.properties.pubsub_claims import received, relayed, said
from quidnunc.properties.pubsub_network import Seen
from quidnunc.properties.pubsub_network_acts import name_of

Facts = set[tuple[object, ...]]


def mesh_is_of_joined_topics(seen: Seen) -> str:
    """There is a mesh of each joined topic and of no other, and a fanout of none of them."""
    r, me = seen.after, name_of(seen.node)
    if "graft" not in r.protocol.handlers:
        return ""
    if set(r.mesh) != set(r.topics):
        return f"{me} is in {_topics(r.topics)}, and has a mesh of {_topics(r.mesh)}"
    both = sorted(set(r.fanout) & set(r.mesh))
    return f"{me} has a mesh and a fanout of {both[0]}" if both else ""


def _topics(topics: object) -> str:
    assert isinstance(topics, frozenset | dict)
    return ", ".join(sorted(topics)) or "no topic"


def mesh_is_of_speakers(seen: Seen) -> str:
    """Members of a mesh are connected, speak gossipsub, and are not explicit."""
    r = seen.after
    for members in r.mesh.values():
        for peer in sorted(members):
            neighbour = r.peers.get(peer)
            if neighbour is None or neighbour.speaks_floodsub or r.is_explicit(peer) or peer == seen.node:
                return f"{name_of(seen.node)} has {name_of(peer)} in its mesh, which can not be there"
    return ""


def backoff_never_shortened(seen: Seen) -> str:
    """The end of a backoff never comes nearer."""
    for (_, peer), ends in seen.before.backoff.items():
        if seen.after.ends_backoff_ms("t", peer) < ends:
            return f"{name_of(seen.node)} shortens its backoff from {name_of(peer)}"
    return ""


def relayed_after_accept(facts: Facts, seen: Seen) -> str:
    """Where messages wait for a verdict, nothing is passed on before it is to accept."""
    if isinstance(seen.event, Verdict) and seen.event.judgement == "accept":
        facts.add((seen.node, seen.event.id))
    for _, m in relayed(seen):
        if (seen.node, m.id) not in facts:
            return f"{name_of(seen.node)} relays {m.id}, which it has not accepted"
    return ""


def rejected_is_buried(facts: Facts, seen: Seen) -> str:
    """What was rejected or ignored is neither delivered, sent nor advertised."""
    if isinstance(seen.event, Verdict) and seen.event.judgement != "accept":
        facts.add((seen.node, seen.event.id))
    sent = {m.id for _, m in said(seen, Message)} | {i for _, have in said(seen, IHave) for i in have.ids}
    for each in sorted({*sent, *seen.delivered}):
        if (seen.node, each) in facts:
            return f"{name_of(seen.node)} has dropped {each}, and passes it on"
    return ""


def dropped_outside_the_topic(seen: Seen) -> str:
    """A message in a topic that a router is not in has no effect there."""
    foreign = [m for m in received(seen, Message) if m.topic not in seen.before.topics]
    for m in foreign:
        if m.id in seen.delivered or any(n.id == m.id for _, n in said(seen, Message)):
            return f"{name_of(seen.node)} is not in {m.topic}, and takes {m.id}"
        if m.id in seen.after.seen and m.id not in seen.before.seen:
            return f"{name_of(seen.node)} is not in {m.topic}, and counts {m.id} as seen"
    return ""
