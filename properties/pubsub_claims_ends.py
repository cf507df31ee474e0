"""Claims on what the runs of a network come to: when nothing moves, and after rounds of heartbeats.

A *round* is: everything arrives, what waits is accepted, each router has its heartbeat, everything arrives.
In rounds the choices are drawn, from one seed, so that whoever can be chosen is chosen again and again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, cast

from quidnunc.model.rpc import IHave, Message, Peer
from quidnunc.properties.network_runs import Broken, Memory, Seeded
from quidnunc.properties.pubsub_claims import holds, is_heartbeat, said
from quidnunc.properties.pubsub_network import Move, Network, acted
from quidnunc.properties.pubsub_network_acts import Act, name_of
from quidnunc.properties.pubsub_world import TOPIC, Look


def at_rest(says: Callable[[Network], str]) -> Look:
    """A claim on every state in which nothing moves: empty, or what is wrong with it."""

    def look(memory: Memory, move: Move) -> Memory:
        why = says(move.after) if move.after.quiet() else ""
        return Broken(why) if why else None

    return look


def played(network: Network, rounds: int) -> list[Network]:
    """The network after each of so many rounds."""
    die = Seeded(random.Random(0))
    found = []
    for _ in range(rounds):
        network = acted(network, Act("rounds", value=1), lambda name, options: die.pick(options)).after
        found.append(network)
    return found


def joined(network: Network) -> list[Peer]:
    return [i for i, r in sorted(network.nodes.items()) if TOPIC in r.topics]


# -- links and subscriptions --------------------------------------------------------------------------------


def links_are_mutual(network: Network) -> str:
    """Of two in the topic that are connected, each has the other in its mesh or neither has."""
    here = joined(network)
    for a in here:
        for b in here:
            if holds(network, a, b) and not holds(network, b, a):
                return f"{name_of(a)} has {name_of(b)} in its mesh, {name_of(b)} has not {name_of(a)}"
    return ""


def mutual_after(rounds: int) -> Look:
    """After so many rounds a link that one end held alone is held by both, or by neither."""

    def says(network: Network) -> str:
        if not links_are_mutual(network):
            return ""
        late = [links_are_mutual(each) for each in played(network, rounds)[rounds // 2 :]]
        return f"{late[-1]}, after each of rounds {rounds // 2} to {rounds}" if all(late) else ""

    return at_rest(says)


def subscriptions_are_known(network: Network) -> str:
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


# -- degrees ------------------------------------------------------------------------------------------------


def converges(rounds: int) -> Look:
    """After so many rounds every mesh of those in the topic has D_low to D_high members, or all that it can.

    Broken where one router is out of bounds after each round of the second half.
    """

    def says(network: Network) -> str:
        here = joined(network)
        if len(here) < len(network.nodes) or not any(map(bool, _out_of_bounds(network).values())):
            return ""
        late = [_out_of_bounds(each) for each in played(network, rounds)[rounds // 2 :]]
        for i in here:
            if all(each[i] for each in late):
                return f"{late[-1][i]} after each of rounds {rounds // 2} to {rounds}"
        return ""

    return at_rest(says)


def _out_of_bounds(network: Network) -> Mapping[Peer, str]:
    found = {}
    for i in joined(network):
        r = network.nodes[i]
        p, degree = r.parameters, len(r.mesh_of(TOPIC))
        low = min(p.d_low, len(r.members(TOPIC)))
        wrong = not low <= degree <= p.d_high
        found[i] = f"{name_of(i)} has {degree} members, not {low} to {p.d_high}," if wrong else ""
    return found


# -- delivery -----------------------------------------------------------------------------------------------


def connected(nodes: Iterable[Peer], joined_by: Callable[[Peer, Peer], bool]) -> bool:
    """Whether these nodes are one component."""
    left = [*nodes]
    reached = set(left[:1])
    waiting = left[:1]
    while waiting:
        a = waiting.pop()
        for b in left:
            if b not in reached and joined_by(a, b):
                reached.add(b)
                waiting.append(b)
    return len(reached) == len(left)


def published(move: Move) -> list[tuple[Peer, str]]:
    """(who, what) was published in this move."""
    act = move.act
    return [(act.node, act.id)] if act.kind == "publish" else []


def over_the_mesh(memory: Memory, move: Move) -> Memory:
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
    return Broken(wrong) if wrong else None


def _meshes(network: Network) -> object:
    routers = [r for _, r in sorted(network.nodes.items())]
    return [(r.mesh_of(TOPIC), r.members(TOPIC)) for r in routers]


def _mesh_connects(network: Network) -> bool:
    """Of those in the topic; of routers without a mesh, who knows whom to be in it is as good."""
    here = joined(network)

    def linked(a: Peer, b: Peer) -> bool:
        r = network.nodes[a]
        return holds(network, a, b) if "graft" in r.protocol.handlers else b in r.members(TOPIC)

    return len(here) > 1 and connected(here, lambda a, b: linked(a, b) and linked(b, a))


def _lacking(network: Network, ids: Iterable[str]) -> str:
    for each in sorted(ids):
        for i in joined(network):
            if each not in network.got[i]:
                return f"{name_of(i)} never gets {each}"
    return ""


def over_the_topic(rounds: int) -> Look:
    """Who was in the topic when a message was published, and is known to be, in a network where those in the
    topic are connected, has the message after so many rounds."""

    def look(memory: Memory, move: Move) -> Memory:
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
                return Broken(f"{name_of(i)} has not got {m} after {rounds} rounds, and nobody offers it")
        return frozenset()

    return look


def _know_each_other(network: Network, a: Peer, b: Peer) -> bool:
    return b in network.nodes[a].members(TOPIC) and a in network.nodes[b].members(TOPIC)


Owed: TypeAlias = tuple[Peer, Peer, str]
"""By whom, to whom, which message."""


def repaired_by_gossip(memory: Memory, move: Move) -> Memory:
    """Who lacks a message that a neighbour has is offered it by the mcache_gossip next heartbeats of that
    neighbour, as long as each draw falls on who can be drawn, and then has it when nothing moves."""
    facts = dict(cast("frozenset[tuple[Owed, int]]", memory or frozenset()))
    for seen in move.steps:
        me, r = seen.node, seen.after
        known = r.members(TOPIC)
        facts = {k: v for k, v in facts.items() if k[0] != me or k[1] in known}
        for key in [k for k in facts if k[0] == me and is_heartbeat(seen)]:
            offered = any(p == key[1] and key[2] in part.ids for p, part in said(seen, IHave))
            if offered or key[1] in r.mesh_of(TOPIC):
                facts[key] += 1
            else:
                # The draw has passed it over.
                del facts[key]
        new = [i for i in r.cached if i not in seen.before.cached]
        sent = {(p, m.id) for p, m in said(seen, Message)}
        outside = known - r.mesh_of(TOPIC)
        facts |= {(me, p, i): 0 for i in new for p in outside if (p, i) not in sent}
    return _offered_in_vain(facts, move)


def _offered_in_vain(facts: Mapping[Owed, int], move: Move) -> Memory:
    network = move.after
    left = {}
    for (by, to, i), heartbeats in sorted(facts.items()):
        other = network.nodes.get(to)
        if other is None or TOPIC not in other.topics or i in network.got[to]:
            continue
        windows = network.nodes[by].parameters.mcache_gossip
        if heartbeats >= windows and network.quiet():
            return Broken(f"{name_of(to)} has not got {i} after {heartbeats} heartbeats of {name_of(by)}")
        left[by, to, i] = min(heartbeats, windows)
    return frozenset(left.items())
