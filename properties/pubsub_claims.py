"""Claims on what routers of a network do, step by step: folds over the moves of a run.

What a router is seen to do is judged from what it was told, and not from the rules by which it did it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, cast

from quidnunc.model.events import Advance, Join, Leave, Publish, Receive, Verdict
from quidnunc.model.rpc import Graft, IDontWant, IHave, IWant, Message, Partial, Peer, Prune
from quidnunc.properties.network_runs import Broken, Memory
from quidnunc.properties.pubsub_network import Move, Network, Seen
from quidnunc.properties.pubsub_network_acts import name_of
from quidnunc.properties.pubsub_network_choices import Rpc
from quidnunc.properties.pubsub_world import TOPIC, Look

P = TypeVar("P")


# -- what a step was ----------------------------------------------------------------------------------------


def received(seen: Seen, kind: type[P]) -> list[P]:
    """Parts of that kind in the RPC of this step; none, where it is no RPC."""
    return [p for p in seen.event.parts if isinstance(p, kind)] if isinstance(seen.event, Receive) else []


def sender(seen: Seen) -> Peer:
    """Who sent the RPC of this step; 0, where it is no RPC."""
    return seen.event.peers[0] if isinstance(seen.event, Receive) else 0


def said(seen: Seen, kind: type[P]) -> list[tuple[Peer, P]]:
    """(to whom, what) of that kind was sent in this step."""
    return [(peer, part) for peer, part in seen.sent if isinstance(part, kind)]


def relayed(seen: Seen) -> list[tuple[Peer, Message]]:
    """What was passed on in this step: not what was published, nor what was asked for."""
    if not isinstance(seen.event, Receive | Verdict):
        return []
    asked = {i for want in received(seen, IWant) for i in want.ids}
    from_it = sender(seen)
    return [(peer, m) for peer, m in said(seen, Message) if not (peer == from_it and m.id in asked)]


def is_heartbeat(seen: Seen) -> bool:
    return isinstance(seen.event, Advance) and seen.after.heartbeats > seen.before.heartbeats


def always(says: Callable[[Seen], str]) -> Look:
    """A claim on each step alone: empty, or what is wrong with it."""

    def look(memory: Memory, move: Move) -> Memory:
        return next((Broken(why) for why in map(says, move.steps) if why), None)

    return look


Folded = frozenset[tuple[object, ...]]


def remembering(follow: Callable[[set[tuple[object, ...]], Seen], str]) -> Look:
    """A claim on each step and facts of those before, which `follow` keeps."""

    def look(memory: Memory, move: Move) -> Memory:
        facts = set(cast("Folded", memory or frozenset()))
        for seen in move.steps:
            why = follow(facts, seen)
            if why:
                return Broken(why)
        return frozenset(facts)

    return look


# -- the mesh -----------------------------------------------------------------------------------------------


def members_announced(seen: Seen) -> str:
    """Every member of the mesh has announced the topic."""
    strangers = seen.after.mesh_of(TOPIC) - seen.after.members(TOPIC)
    names = ",".join(map(name_of, sorted(strangers)))
    return f"{names} is in the mesh of {name_of(seen.node)} and has not announced {TOPIC}" if names else ""


def degree_is_capped(seen: Seen) -> str:
    """After a heartbeat the mesh has D_high members at most."""
    degree, cap = len(seen.after.mesh_of(TOPIC)), seen.after.parameters.d_high
    over = is_heartbeat(seen) and degree > cap
    return f"{name_of(seen.node)} has {degree} members after its heartbeat, D_high is {cap}" if over else ""


def graft_is_answered(seen: Seen) -> str:
    """A GRAFT in a joined topic ends in a member, or in one PRUNE."""
    if not received(seen, Graft) or TOPIC not in seen.before.topics or received(seen, Prune):
        return ""
    by = sender(seen)
    member, prunes = by in seen.after.mesh_of(TOPIC), [p for p, _ in said(seen, Prune) if p == by]
    if member == (len(prunes) == 0) and len(prunes) <= 1:
        return ""
    return f"{name_of(seen.node)} answers the GRAFT of {name_of(by)} with {len(prunes)} PRUNEs" + (
        ", and has it in its mesh" if member else ""
    )


def crossed_grafts(memory: Memory, move: Move) -> Memory:
    """Of two whose GRAFTs cross, each has the other when nothing moves, and no PRUNE is sent."""
    crossed = set(cast("Folded", memory or frozenset()))
    for seen in move.steps:
        for peer, _ in said(seen, Prune):
            if tuple(sorted((seen.node, peer))) in crossed:
                return Broken(f"{name_of(seen.node)} prunes {name_of(peer)}, whose GRAFT crossed its own")
    for a, b in move.after.links:
        if a < b and grafting(move.after.links[a, b]) and grafting(move.after.links[b, a]):
            crossed.add((a, b))
    if move.after.quiet():
        for a, b in cast("set[tuple[Peer, Peer]]", crossed):
            if not holds(move.after, a, b) or not holds(move.after, b, a):
                return Broken(f"GRAFTs of {name_of(a)} and {name_of(b)} crossed, and the link is lost")
        crossed.clear()
    return frozenset(crossed)


def grafting(rpcs: Iterable[Rpc]) -> bool:
    """Whether a GRAFT is among these."""
    return any(isinstance(part, Graft) for rpc in rpcs for part in rpc)


def holds(network: Network, a: Peer, b: Peer) -> bool:
    """Whether a has b in its mesh."""
    return b in network.nodes[a].mesh_of(TOPIC)


def pruned_gets_nothing(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """After a PRUNE nothing is relayed to its sender, until one of the two grafts."""
    for peer, m in relayed(seen):
        if (seen.node, peer) in facts and m.topic == TOPIC:
            return f"{name_of(seen.node)} relays {m.id} to {name_of(peer)}, which has pruned it"
    by = sender(seen)
    facts -= {(seen.node, peer) for peer, _ in said(seen, Graft)}
    if received(seen, Graft):
        facts.discard((seen.node, by))
    if received(seen, Prune):
        facts.add((seen.node, by))
    return ""


def leave_is_complete(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """A Leave prunes each member once, and ends all that the mesh of the topic causes."""
    me = (seen.node,)
    if isinstance(seen.event, Leave):
        facts.add(me)
        pruned = sorted(peer for peer, _ in said(seen, Prune))
        members = sorted(seen.before.mesh_of(TOPIC))
        return "" if pruned == members else f"{name_of(seen.node)} leaves, and prunes not each member once"
    if isinstance(seen.event, Join):
        facts.discard(me)
    if me in facts:
        more = [*said(seen, Graft), *said(seen, Prune), *relayed(seen)]
        # v1.0 answers a GRAFT in a topic that it is not in.
        answers = received(seen, Graft) and "backs_off" not in seen.after.protocol.handlers
        if more and not answers:
            return f"{name_of(seen.node)} has left, and sends {name_of(more[0][0])} {_kind(more[0][1])}"
    return ""


def _kind(part: object) -> str:
    return f"message {part.id}" if isinstance(part, Message) else f"a {type(part).__name__.upper()}"


# -- backoff ------------------------------------------------------------------------------------------------


def no_graft_in_backoff(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """Who has sent or received a PRUNE does not graft the other before its period is over."""
    return _grafted_too_early(facts, seen, [*received(seen, Prune)])


def no_graft_in_heeded_backoff(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """The same of PRUNEs that their receiver takes in the topic."""
    heeded = received(seen, Prune) if TOPIC in seen.before.topics else []
    return _grafted_too_early(facts, seen, heeded)


def _grafted_too_early(facts: set[tuple[object, ...]], seen: Seen, heard: Sequence[Prune]) -> str:
    now = seen.after.now_ms
    for peer, _ in said(seen, Graft):
        ends = [cast("int", fact[2]) for fact in facts if fact[:2] == (seen.node, peer)]
        if ends and now < max(ends):
            return f"{name_of(seen.node)} grafts {name_of(peer)}, {max(ends) - now} ms before a backoff ends"
    usual = seen.after.parameters.prune_backoff_s
    pruned = [*said(seen, Prune), *((sender(seen), prune) for prune in heard)]
    facts |= {(seen.node, peer, now + 1000 * (prune.backoff_s or usual)) for peer, prune in pruned}
    facts -= {fact for fact in facts if cast("int", fact[2]) <= now}
    return ""


def both_back_off(seen: Seen) -> str:
    """Who sends a PRUNE, and who receives one, backs off from the other."""
    pruned = [(peer, "sends") for peer, _ in said(seen, Prune)]
    pruned += [(sender(seen), "receives") for _ in received(seen, Prune)]
    for peer, does in pruned:
        if peer in seen.after.peers and seen.after.ends_backoff_ms(TOPIC, peer) <= seen.after.now_ms:
            end = "to" if does == "sends" else "from"
            return f"{name_of(seen.node)} {does} a PRUNE {end} {name_of(peer)}, and keeps no backoff"
    return ""


def honest_do_not_back_off(memory: Memory, move: Move) -> Memory:
    """No router backs off from another router."""
    for i, r in sorted(move.after.nodes.items()):
        for (_, peer), ends in sorted(r.backoff.items()):
            if peer in move.after.nodes and ends > r.now_ms:
                return Broken(f"{name_of(i)} backs off from {name_of(peer)}")
    return None


def honest_not_negative(seen: Seen) -> str:
    """No router may hold another below zero."""
    r = seen.after
    for peer in sorted(r.peers):
        if r.bounds(peer).lo < 0:
            return f"{name_of(seen.node)} may hold {name_of(peer)}, which did as it should, below zero"
    return ""


# -- messages -----------------------------------------------------------------------------------------------


def delivered_once(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """An id reaches an application once."""
    for each in seen.delivered:
        if (seen.node, each) in facts:
            return f"{name_of(seen.node)} delivers {each} again"
        facts.add((seen.node, each))
    return ""


def forwarded_once(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """An id is sent to a peer once, but for what it asks for."""
    sends = relayed(seen) or (said(seen, Message) if isinstance(seen.event, Publish) else [])
    for peer, m in sends:
        if (seen.node, peer, m.id) in facts:
            return f"{name_of(seen.node)} sends {m.id} to {name_of(peer)} again"
        facts.add((seen.node, peer, m.id))
    return ""


def not_sent_back(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """No message goes to whom it came from first, or to its author."""
    for m in received(seen, Message):
        if not any(fact[:2] == (seen.node, m.id) for fact in facts):
            facts.add((seen.node, m.id, sender(seen)))
    for peer, m in relayed(seen):
        if (seen.node, m.id, peer) in facts or peer == m.author:
            return f"{name_of(seen.node)} sends {m.id} back to {name_of(peer)}"
    return ""


def advertised_is_served(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """What was advertised can be fetched until the next heartbeat of who did."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    for peer, have in said(seen, IHave):
        facts |= {(seen.node, peer, i) for i in have.ids}
    by, sent = sender(seen), said(seen, Message)
    for i in (i for want in received(seen, IWant) for i in want.ids):
        if (seen.node, by, i) in facts and not any(p == by and m.id == i for p, m in sent):
            return f"{name_of(seen.node)} does not serve {i}, which it advertised to {name_of(by)}"
        # It is owed once.
        facts.discard((seen.node, by, i))
    return ""


def requested_is_served(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """What was advertised can be fetched, however long that is on its way."""
    for peer, have in said(seen, IHave):
        facts |= {(seen.node, peer, i) for i in have.ids}
    by, sent = sender(seen), said(seen, Message)
    for i in (i for want in received(seen, IWant) for i in want.ids):
        if (seen.node, by, i) in facts and not any(p == by and m.id == i for p, m in sent):
            return f"{name_of(seen.node)} does not serve {i}, which it advertised to {name_of(by)}"
        facts.discard((seen.node, by, i))
    return ""


# -- IDONTWANT ----------------------------------------------------------------------------------------------


def _told(seen: Seen) -> Iterator[tuple[Peer, str]]:
    for peer, part in said(seen, IDontWant):
        yield from ((peer, i) for i in part.ids)


def unwanted_is_held(seen: Seen) -> str:
    """IDONTWANT names what its sender has received or published."""
    known = seen.before.seen.keys() | seen.after.seen.keys()
    known |= {m.id for m in received(seen, Message)}
    wrong = next(((peer, i) for peer, i in _told(seen) if i not in known), None)
    return f"{name_of(seen.node)} does not want {wrong[1]}, which it has not" if wrong else ""


def unwanted_said_to_mesh(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """IDONTWANT goes to the mesh, and not to whom the message came from."""
    facts |= {(seen.node, m.id, sender(seen)) for m in received(seen, Message)}
    for peer, i in _told(seen):
        if peer not in seen.before.mesh_of(TOPIC) | seen.after.mesh_of(TOPIC):
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, outside its mesh"
        if (seen.node, i, peer) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, which has just sent it"
    return ""


def unwanted_said_once(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """IDONTWANT is said once to a peer of an id."""
    for peer, i in _told(seen):
        if (seen.node, peer, i) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)} again"
        facts.add((seen.node, peer, i))
    return ""


def unwanted_said_at_once(seen: Seen) -> str:
    """At the first copy, the others of the mesh are told."""
    told = {peer for peer, _ in _told(seen)}
    for m in received(seen, Message):
        if m.flaw or m.id in seen.before.seen or m.id not in seen.after.seen:
            continue
        known = {p for p in seen.before.mesh_of(TOPIC) if seen.before.peers[p].knows_idontwant}
        silent = sorted(known - told - {sender(seen)})
        if silent:
            return f"{name_of(seen.node)} has {m.id} and does not tell {name_of(silent[0])}"
    return ""


def unwanted_is_spared(facts: set[tuple[object, ...]], seen: Seen) -> str:
    """Until the next heartbeat who said IDONTWANT is not relayed the message."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    for peer, m in relayed(seen):
        if (seen.node, peer, m.id) in facts:
            return f"{name_of(seen.node)} relays {m.id} to {name_of(peer)}, which said IDONTWANT"
    by = sender(seen)
    facts |= {(seen.node, by, i) for part in received(seen, IDontWant) for i in part.ids}
    return ""


# -- partial messages ---------------------------------------------------------------------------------------


def requester_gets_full(seen: Seen) -> str:
    """Who requests parts of somebody that can send none gets full messages."""
    r = seen.before
    sends = said(seen, Message)
    if not isinstance(seen.event, Publish) or r.own_flags(TOPIC).supports:
        return ""
    for peer in sorted(r.mesh_of(TOPIC)):
        if r.peers[peer].flags_in(TOPIC).requests and peer not in {p for p, _ in sends}:
            return f"{name_of(peer)} gets nothing of {name_of(seen.node)}, which can send no parts"
    return ""


def group_is_open(seen: Seen) -> str:
    """Who has started no group, and names one, has its partial message handed to the application."""
    for part in received(seen, Partial):
        if seen.before.started.get((part.topic, sender(seen)), 0) == 0 and part not in seen.handed:
            return f"{name_of(seen.node)} does not hand on {part.group}, the first of {name_of(sender(seen))}"
    return ""
