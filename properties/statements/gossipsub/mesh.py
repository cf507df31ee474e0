"""Meshes: who is in them, how many, and who knows of whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from quidnunc.model.events import Join, Leave
from quidnunc.model.rpc import Graft, Message, Peer, Prune
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.choices import Rpc
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, PubsubNetwork, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.steps import (
    Folded,
    always,
    at_rest,
    holds,
    is_heartbeat,
    joined,
    played,
    received_parts,
    relayed_parts,
    remembering,
    sender,
    sent_parts,
)


def members_announced(seen: RouterStep) -> str:
    """Every member of the mesh has announced the topic."""
    strangers = seen.after.mesh_of(TOPIC) - seen.after.members(TOPIC)
    names = ",".join(map(name_of, sorted(strangers)))
    return f"{names} is in the mesh of {name_of(seen.node)} and has not announced {TOPIC}" if names else ""


def degree_is_capped(seen: RouterStep) -> str:
    """After a heartbeat the mesh has D_high members at most."""
    degree, cap = len(seen.after.mesh_of(TOPIC)), seen.after.parameters.d_high
    over = is_heartbeat(seen) and degree > cap
    return f"{name_of(seen.node)} has {degree} members after its heartbeat, D_high is {cap}" if over else ""


def graft_is_answered(seen: RouterStep) -> str:
    """A GRAFT in a joined topic ends in a member, or in one PRUNE."""
    if not received_parts(seen, Graft) or TOPIC not in seen.before.topics or received_parts(seen, Prune):
        return ""
    by = sender(seen)
    member, prunes = by in seen.after.mesh_of(TOPIC), [p for p, _ in sent_parts(seen, Prune) if p == by]
    if member == (len(prunes) == 0) and len(prunes) <= 1:
        return ""
    return f"{name_of(seen.node)} answers the GRAFT of {name_of(by)} with {len(prunes)} PRUNEs" + (
        ", and has it in its mesh" if member else ""
    )


def crossed_grafts(memory: Memory, move: PubsubMove) -> Memory:
    """Of two whose GRAFTs cross, each has the other when nothing moves, and no PRUNE is sent."""
    crossed = set(cast("Folded", memory or frozenset()))
    for seen in move.steps:
        for peer, _ in sent_parts(seen, Prune):
            if tuple(sorted((seen.node, peer))) in crossed:
                return BrokenClaim(
                    f"{name_of(seen.node)} prunes {name_of(peer)}, whose GRAFT crossed its own"
                )
    for a, b in move.after.links:
        if a < b and grafting(move.after.links[a, b]) and grafting(move.after.links[b, a]):
            crossed.add((a, b))
    if move.after.quiet():
        for a, b in cast("set[tuple[Peer, Peer]]", crossed):
            if not holds(move.after, a, b) or not holds(move.after, b, a):
                return BrokenClaim(f"GRAFTs of {name_of(a)} and {name_of(b)} crossed, and the link is lost")
        crossed.clear()
    return frozenset(crossed)


def grafting(rpcs: Iterable[Rpc]) -> bool:
    """Whether a GRAFT is among these."""
    return any(isinstance(part, Graft) for rpc in rpcs for part in rpc)


def pruned_gets_nothing(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """After a PRUNE nothing is relayed to its sender, until one of the two grafts."""
    for peer, m in relayed_parts(seen):
        if (seen.node, peer) in facts and m.topic == TOPIC:
            return f"{name_of(seen.node)} relays {m.id} to {name_of(peer)}, which has pruned it"
    by = sender(seen)
    facts -= {(seen.node, peer) for peer, _ in sent_parts(seen, Graft)}
    if received_parts(seen, Graft):
        facts.discard((seen.node, by))
    if received_parts(seen, Prune):
        facts.add((seen.node, by))
    return ""


def leave_is_complete(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """A Leave prunes each member once, and ends all that the mesh of the topic causes."""
    me = (seen.node,)
    if isinstance(seen.event, Leave):
        facts.add(me)
        pruned = sorted(peer for peer, _ in sent_parts(seen, Prune))
        members = sorted(seen.before.mesh_of(TOPIC))
        return "" if pruned == members else f"{name_of(seen.node)} leaves, and prunes not each member once"
    if isinstance(seen.event, Join):
        facts.discard(me)
    if me in facts:
        more = [*sent_parts(seen, Graft), *sent_parts(seen, Prune), *relayed_parts(seen)]
        # v1.0 answers a GRAFT in a topic that it is not in.
        answers = received_parts(seen, Graft) and "backs_off" not in seen.after.protocol.handlers
        if more and not answers:
            return f"{name_of(seen.node)} has left, and sends {name_of(more[0][0])} {_kind(more[0][1])}"
    return ""


def _kind(part: object) -> str:
    return f"message {part.id}" if isinstance(part, Message) else f"a {type(part).__name__.upper()}"


def mesh_is_of_joined_topics(seen: RouterStep) -> str:
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


def mesh_is_of_speakers(seen: RouterStep) -> str:
    """Members of a mesh are connected, speak gossipsub, and are not explicit."""
    r = seen.after
    for members in r.mesh.values():
        for peer in sorted(members):
            neighbour = r.peers.get(peer)
            if neighbour is None or neighbour.speaks_floodsub or r.is_explicit(peer) or peer == seen.node:
                return f"{name_of(seen.node)} has {name_of(peer)} in its mesh, which cannot be there"
    return ""


def links_are_mutual(network: PubsubNetwork) -> str:
    """Of two in the topic that are connected, each has the other in its mesh or neither has."""
    here = joined(network)
    for a in here:
        for b in here:
            if holds(network, a, b) and not holds(network, b, a):
                return f"{name_of(a)} has {name_of(b)} in its mesh, {name_of(b)} has not {name_of(a)}"
    return ""


def mutual_after(rounds: int) -> Look:
    """After so many rounds a link that one end held alone is held by both, or by neither."""

    def says(network: PubsubNetwork) -> str:
        if not links_are_mutual(network):
            return ""
        late = [links_are_mutual(each) for each in played(network, rounds)[rounds // 2 :]]
        return f"{late[-1]}, after each of rounds {rounds // 2} to {rounds}" if all(late) else ""

    return at_rest(says)


def subscriptions_are_known(network: PubsubNetwork) -> str:
    """Every neighbour knows what topics a router is in, unless it ignores it now."""
    for i, r in sorted(network.nodes.items()):
        for peer, neighbour in sorted(r.peers.items()):
            other = network.nodes.get(peer)
            if other is None or r.score(peer) < r.parameters.graylist_threshold:
                continue
            if neighbour.topics != other.topics:
                knows = "knows that" if neighbour.topics else "does not know that"
                is_in = "is in" if neighbour.topics <= other.topics else "is not in"
                return f"{name_of(i)} {knows} {name_of(peer)} {is_in} {TOPIC}"
    return ""


def converges(rounds: int) -> Look:
    """After so many rounds every mesh of those in the topic has D_low to D_high members, or all that it can.

    Broken where one router is out of bounds after each round of the second half.
    """

    def says(network: PubsubNetwork) -> str:
        here = joined(network)
        if len(here) < len(network.nodes) or not any(map(bool, _out_of_bounds(network).values())):
            return ""
        late = [_out_of_bounds(each) for each in played(network, rounds)[rounds // 2 :]]
        for i in here:
            if all(each[i] for each in late):
                return f"{late[-1][i]} after each of rounds {rounds // 2} to {rounds}"
        return ""

    return at_rest(says)


def _out_of_bounds(network: PubsubNetwork) -> Mapping[Peer, str]:
    found = {}
    for i in joined(network):
        r = network.nodes[i]
        p, degree = r.parameters, len(r.mesh_of(TOPIC))
        low = min(p.d_low, len(r.members(TOPIC)))
        wrong = not low <= degree <= p.d_high
        found[i] = f"{name_of(i)} has {degree} members, not {low} to {p.d_high}," if wrong else ""
    return found


LOOKS: Mapping[str, Look] = {
    "mesh.of-joined-topics": always(mesh_is_of_joined_topics),
    "mesh.of-connected-speakers": always(mesh_is_of_speakers),
    "mesh.members-announced-the-topic": always(members_announced),
    "mesh.graft-is-symmetric": at_rest(links_are_mutual),
    "mesh.one-sided-link-is-repaired": mutual_after(12),
    "mesh.crossing-grafts-agree": crossed_grafts,
    "mesh.graft-joins-or-is-pruned": always(graft_is_answered),
    "mesh.pruned-peer-gets-nothing": remembering(pruned_gets_nothing),
    "mesh.leave-prunes-each-member": remembering(leave_is_complete),
    "degree.at-most-d-high": always(degree_is_capped),
    "degree.clique-settles-in-bounds": converges(30),
    "subscriptions.known-to-all-neighbours": at_rest(subscriptions_are_known),
}
