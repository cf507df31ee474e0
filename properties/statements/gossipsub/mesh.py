"""Meshes: who is in them, how many, and who knows of whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from quidnunc.model.events import Connect, Disconnect, Join, Leave
from quidnunc.model.rpc import Graft, Message, Peer, Prune
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.choices import Rpc
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, PubsubNetwork, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    AT_REST,
    ROUNDS,
    Folded,
    always,
    at_rest,
    grafts,
    holds,
    is_heartbeat,
    joined,
    played,
    prunes,
    received_parts,
    relayed_parts,
    remembering,
    sender,
    sent_parts,
)
from quidnunc.properties.statements.statement import Run, Statement


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


def breaks(move: PubsubMove) -> bool:
    """A connection of somebody in the topic breaks or opens."""
    of_links = any(isinstance(seen.event, Connect | Disconnect) for seen in move.steps)
    return of_links and bool(joined(move.after))


def crosses(move: PubsubMove) -> bool:
    """Two GRAFTs are on their way to meet."""
    links = move.after.links
    return any(grafting(links[a, b]) and grafting(links[b, a]) for a, b in links)


_LEAVES_IN_FLIGHT: Run = (
    "join B t",
    "leave B t",
    "deliver B>A",
    "join A t",
    "join B t",
    "deliver B>A",
    "deliver A>B",
    "deliver B>A",
    "settle",
)

STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="mesh.of-joined-topics",
        old_id="P01",
        says="A router has a mesh of each topic that it is in and of no other, and a fanout of none of them.",
        revisions=since("gossipsub-1.0"),
        claims=("join.fills", "leave.prunes", "fanout.kept"),
        look=always(mesh_is_of_joined_topics),
        places=(places.COMING,),
    ),
    Statement(
        id="mesh.of-connected-speakers",
        old_id="P02",
        says="Members of a mesh are connected, speak gossipsub, and are not explicit nor the router itself.",
        revisions=since("gossipsub-1.0"),
        claims=("mesh.members", "explicit.outside-mesh"),
        look=always(mesh_is_of_speakers),
        places=(places.CHURN, places.CHURN_OF_THREE),
        occasion=breaks,
    ),
    Statement(
        id="mesh.members-announced-the-topic",
        old_id="P03",
        says="Every member of a mesh has announced the topic.",
        revisions=since("gossipsub-1.0"),
        clauses=("gs1.0/mesh.members",),
        look=always(members_announced),
        places=(places.FOREIGN,),
        reading="No revision says that a GRAFT counts only after a subscription.",
    ),
    Statement(
        id="mesh.graft-is-symmetric",
        old_id="P04",
        says="At rest, of two in the topic each has the other in its mesh, or neither.",
        revisions=since("gossipsub-1.0"),
        claims=("mesh.mutual", "backoff.waited-out"),
        clauses=("gs1.0/mesh.mutual",),
        look=at_rest(links_are_mutual),
        places=(places.PAIR, places.PAIR_MESHED),
        occasion=grafts,
        assumes=AT_REST,
        reading="`quidnunc prove mesh-link*` decides views of it for every N.",
    ),
    Statement(
        id="mesh.one-sided-link-is-repaired",
        old_id="P04b",
        says="A link that one end holds alone is repaired in the end.",
        revisions=since("gossipsub-1.0"),
        clauses=("gs1.0/mesh.mutual",),
        look=mutual_after(12),
        places=(places.PAIR, places.PAIR_MESHED, places.RING_OF_TWO),
        occasion=grafts,
        rounds=True,
        assumes=f"{ROUNDS} Twelve of them; nobody joins or leaves any more.",
        tried=tuple((place, _LEAVES_IN_FLIGHT) for place in (places.PAIR_MESHED, places.PAIR)),
    ),
    Statement(
        id="mesh.crossing-grafts-agree",
        old_id="P05",
        says="Where both ends of a link graft at once, each has the other, and no PRUNE is sent.",
        revisions=since("gossipsub-1.0"),
        claims=("graft.idempotent",),
        look=crossed_grafts,
        places=(places.CROSSING,),
        occasion=crosses,
        assumes=f"{AT_REST} Nobody leaves, and D_high leaves room.",
    ),
    Statement(id="mesh.negative-score-is-dropped", old_id="P13",
              says="After a heartbeat no member has a score that was negative when it began.",
              revisions=since("gossipsub-1.1"), claims=("score.negative-out",)),
    Statement(id="mesh.negative-score-is-not-grafted", old_id="P14",
              says="Nobody with a negative score is grafted.", revisions=since("gossipsub-1.1"),
              claims=("score.negative-not-in",)),
    Statement(
        id="mesh.graft-joins-or-is-pruned",
        old_id="P15",
        says="A GRAFT for a joined topic ends in a member, or in one PRUNE back.",
        revisions=since("gossipsub-1.0"),
        claims=("graft.accepted", "graft.idempotent"),
        look=always(graft_is_answered),
        places=(places.PAIR, places.RING_OF_ONE),
        occasion=grafts,
    ),
    Statement(id="mesh.graft-for-unknown-topic", old_id="P16",
              says="A GRAFT for a topic that the router is not in: from v1.1 on silence, in v1.0 one PRUNE.",
              revisions=since("gossipsub-1.0"), claims=("graft.unknown-topic",)),
    Statement(
        id="mesh.pruned-peer-gets-nothing",
        old_id="P18",
        says="After a PRUNE nothing is relayed to its sender, until one of the two grafts.",
        revisions=since("gossipsub-1.0"),
        claims=("prune.effective",),
        look=remembering(pruned_gets_nothing),
        places=(places.SPREADING,),
        occasion=prunes,
    ),
    Statement(
        id="mesh.leave-prunes-each-member",
        old_id="P19",
        says="A Leave prunes each member once, and ends the traffic of that mesh.",
        revisions=since("gossipsub-1.0"),
        claims=("leave.prunes",),
        clauses=("gs1.0/leave.prune-each",),
        look=remembering(leave_is_complete),
        places=(places.LEAVING,),
        reading="Also what a validator accepts after the Leave.",
    ),
    Statement(id="mesh.join-grafts-at-most-d", old_id="P20",
              says="A Join grafts D peers at most, each once, and members of the topic alone.",
              revisions=since("gossipsub-1.0"), claims=("join.fills",)),
    Statement(id="mesh.clique-is-connected", old_id="P24",
              says="In a static clique the mesh is connected in the end, as a rule.",
              revisions=since("gossipsub-1.0"),
              needs="a simulation (`quidnunc simulate`): it is a statement of probability"),
    Statement(id="mesh.without-the-router-itself", old_id="P25", says="No router is a peer of itself.",
              revisions=since("gossipsub-1.0"), claims=("mesh.members",),
              reading="A connection to oneself is no event of the vocabulary."),
    Statement(
        id="degree.at-most-d-high",
        old_id="P06",
        says="After a heartbeat a mesh has D_high members at most.",
        revisions=since("gossipsub-1.0"),
        claims=("mesh.ceiling",),
        clauses=("gs1.1/outbound.fill",),
        look=always(degree_is_capped),
        places=(places.QUOTAS,),
        reading="Whatever the heartbeat does; the cut alone keeps it.",
    ),
    Statement(id="degree.cut-leaves-d", old_id="P07", says="Where a heartbeat cuts, it cuts to D.",
              revisions=since("gossipsub-1.0"), claims=("mesh.ceiling",)),
    Statement(id="degree.filled-to-d", old_id="P08",
              says="Below D_low a heartbeat grafts what is missing to D, as far as there are candidates.",
              revisions=since("gossipsub-1.0"), claims=("mesh.floor",)),
    Statement(
        id="degree.stable-within-bounds",
        old_id="P09",
        says="Between the bounds, and with the quota of outbound members met, a heartbeat changes nothing.",
        revisions=since("gossipsub-1.0"),
        claims=("mesh.no-churn",),
    ),
    Statement(id="degree.cut-keeps-outbound", old_id="P10",
              says="A cut keeps D_out outbound members, if there were as many.",
              revisions=since("gossipsub-1.1"), claims=("outbound.quota-kept",)),
    Statement(id="degree.outbound-quota-is-filled", old_id="P11",
              says="A mesh of D_low or more that lacks outbound members grafts the missing ones.",
              revisions=since("gossipsub-1.1"), claims=("outbound.quota-filled",)),
    Statement(id="degree.cut-keeps-best-scores", old_id="P12",
              says="A cut keeps the D_score best, unless the outbound quota needs their room.",
              revisions=since("gossipsub-1.1"), claims=("score.best-kept",)),
    Statement(id="degree.full-mesh-refuses-inbound", old_id="P17",
              says="At D_high a GRAFT over an inbound connection is refused, over an outbound one accepted.",
              revisions=since("gossipsub-1.1"), claims=("outbound.inbound-refused",)),
    Statement(
        id="degree.clique-settles-in-bounds",
        old_id="P23",
        says="In a static clique every mesh has D_low to D_high members in the end.",
        revisions=since("gossipsub-1.0"),
        clauses=("gs1.1/outbound.inbound-refused",),
        look=converges(30),
        places=(places.NEWCOMER, places.CLIQUE),
        occasion=grafts,
        rounds=True,
        assumes=f"{ROUNDS} Thirty of them; all are honest, in the topic, and score zero.",
    ),
    Statement(id="subscriptions.first-rpc-names-all", old_id="P21",
              says="The first RPC to a new peer names every topic that the router is in.",
              revisions=since("floodsub"), claims=("hello.complete",)),
    Statement(
        id="subscriptions.known-to-all-neighbours",
        old_id="P22",
        says="At rest every neighbour knows what topics a router is in.",
        revisions=since("floodsub"),
        claims=("subscription.announced", "subscription.followed"),
        clauses=("gs1.1/threshold.graylist",),
        look=at_rest(subscriptions_are_known),
        places=(places.CHURN, places.PAIR_SCORED),
        assumes=f"{AT_REST} A neighbour that graylists the router now is not asked.",
    ),
)  # fmt: skip
