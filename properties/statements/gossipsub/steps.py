"""What a step of a pubsub router was; statements are made of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar, cast

from quidnunc.model.events import Advance, Receive, Verdict
from quidnunc.model.rpc import IWant, Message, Peer
from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.network import network_after
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, PubsubNetwork, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory, SeededDie
from quidnunc.properties.networks.world import Look

P = TypeVar("P")


def received_parts(seen: RouterStep, kind: type[P]) -> list[P]:
    """Parts of that kind in the RPC of this step; none, where it is no RPC."""
    return [p for p in seen.event.parts if isinstance(p, kind)] if isinstance(seen.event, Receive) else []


def sender(seen: RouterStep) -> Peer:
    """Who sent the RPC of this step; 0, where it is no RPC."""
    return seen.event.peers[0] if isinstance(seen.event, Receive) else 0


def sent_parts(seen: RouterStep, kind: type[P]) -> list[tuple[Peer, P]]:
    """(to whom, what) of that kind was sent in this step."""
    return [(peer, part) for peer, part in seen.sent if isinstance(part, kind)]


def relayed_parts(seen: RouterStep) -> list[tuple[Peer, Message]]:
    """What was passed on in this step: not what was published, nor what was asked for."""
    if not isinstance(seen.event, Receive | Verdict):
        return []
    asked = {i for want in received_parts(seen, IWant) for i in want.ids}
    from_it = sender(seen)
    return [(peer, m) for peer, m in sent_parts(seen, Message) if not (peer == from_it and m.id in asked)]


def is_heartbeat(seen: RouterStep) -> bool:
    return isinstance(seen.event, Advance) and seen.after.heartbeats > seen.before.heartbeats


def always(says: Callable[[RouterStep], str]) -> Look:
    """A claim on each step alone: empty, or what is wrong with it."""

    def look(memory: Memory, move: PubsubMove) -> Memory:
        return next((BrokenClaim(why) for why in map(says, move.steps) if why), None)

    return look


Folded = frozenset[tuple[object, ...]]
Facts = set[tuple[object, ...]]


def remembering(follow: Callable[[set[tuple[object, ...]], RouterStep], str]) -> Look:
    """A claim on each step and facts of those before, which `follow` keeps."""

    def look(memory: Memory, move: PubsubMove) -> Memory:
        facts = set(cast("Folded", memory or frozenset()))
        for seen in move.steps:
            why = follow(facts, seen)
            if why:
                return BrokenClaim(why)
        return frozenset(facts)

    return look


def at_rest(says: Callable[[PubsubNetwork], str]) -> Look:
    """A claim on every state in which nothing moves: empty, or what is wrong with it."""

    def look(memory: Memory, move: PubsubMove) -> Memory:
        why = says(move.after) if move.after.quiet() else ""
        return BrokenClaim(why) if why else None

    return look


def played(network: PubsubNetwork, rounds: int) -> list[PubsubNetwork]:
    """The network after each of so many rounds."""
    die = SeededDie(random.Random(0))
    found = []
    for _ in range(rounds):
        network = network_after(
            network, Act("rounds", value=1), lambda name, options: die.pick(options)
        ).after
        found.append(network)
    return found


def joined(network: PubsubNetwork) -> list[Peer]:
    return [i for i, r in sorted(network.nodes.items()) if TOPIC in r.topics]


def holds(network: PubsubNetwork, a: Peer, b: Peer) -> bool:
    """Whether a has b in its mesh."""
    return b in network.nodes[a].mesh_of(TOPIC)


def published(move: PubsubMove) -> list[tuple[Peer, str]]:
    """(who, what) was published in this move."""
    act = move.act
    return [(act.node, act.id)] if act.kind == "publish" else []
