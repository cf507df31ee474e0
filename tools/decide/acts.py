"""What can happen next in a small network, and how often it should be drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Any

from attrs import frozen

from quidnunc.model.rpc import Peer
from quidnunc.properties.networks.acts import Act, Kind
from quidnunc.properties.networks.mempool import MempoolNetwork
from quidnunc.properties.networks.network import Move, Network, act_variants
from quidnunc.properties.networks.pubsub import PUBSUB, TOPIC, PubsubNetwork
from quidnunc.properties.networks.world import World

MAX_SAID = 3
"""Messages that wait for a node, above which an attacker says no more to it."""


@frozen
class FamilyActs:
    """What can happen in networks of one family."""

    possible: Callable[[World, Any], Iterator[Act]]
    """(world, network) -> what can happen next, before its choices are made."""
    weights: Mapping[Kind, int]
    """How often an act should be drawn."""
    by_itself: frozenset[Kind]
    """What goes on when nobody does anything any more."""


def options_of(world: World, network: Network[Any], draining: bool) -> Sequence[tuple[Act, int]]:
    """What can happen next, before its choices are made, and how often it should be drawn; what moves by
    itself alone, where the network is to come to rest."""
    acts = ACTS["pubsub" if world.family is PUBSUB else "mempool"]
    return [
        (act, acts.weights[act.kind])
        for act in acts.possible(world, network)
        if not draining or act.kind in acts.by_itself
    ]


def moves_of(world: World, network: Network[Any]) -> Iterator[Move[Any]]:
    """Every next move, choices made."""
    for act, _ in options_of(world, network, draining=False):
        yield from act_variants(network, act)


# -- mempools -----------------------------------------------------------------------------------------------


def _of_mempool(world: World, network: MempoolNetwork) -> Iterator[Act]:
    kinds = world.kinds
    for node in network.joined():
        honest = node not in world.attackers
        if "submit" in kinds and honest and (not world.origins or node in world.origins):
            yield from _submits(world, network, node)
        if "offer" in kinds and network.offered[node] < len(network.nodes[node].pool):
            yield Act("offer", node)
        senders = dict.fromkeys(sender for sender, _ in network.inbox[node])
        begun = [routine for at, routine in network.begun if at == node and routine not in (*senders, node)]
        if "deliver" in kinds:
            yield from (Act("deliver", sender, node) for sender in (*senders, *begun))
        if "begin" in kinds and network.transport.routines:
            yield from (Act("begin", sender, node) for sender in senders)
            yield Act("begin", node)
        if "commit" in kinds:
            yield from (Act("commit", node, id=tx) for tx in network.nodes[node].pool)
        if "adjust" in kinds and honest:
            yield Act("adjust", node)
        if "notice" in kinds:
            yield from (Act("notice", node, peer) for peer in network.gone_from(node))
        if "wait" in kinds and any(each.of is not None for each in network.nodes[node].wanted.values()):
            yield Act("wait", node, value=world.wait_ms)
    yield from _joining_and_leaving(world, network)
    for a, b in world.dials:
        if "connect" in kinds and not network.linked(a, b):
            yield Act("connect", a, b)
        if "disconnect" in kinds and network.linked(a, b):
            yield Act("disconnect", a, b)
    for attacker in sorted(world.attackers):
        for peer in network.nodes[attacker].peers:
            if len(network.inbox[peer]) < MAX_SAID:
                yield from (Act("say", attacker, peer, parts=rpc) for rpc in world.says)


def _submits(world: World, network: MempoolNetwork, node: Peer) -> Iterator[Act]:
    known = frozenset[str]().union(*(n.cache for n in network.nodes.values()))
    new = [tx for tx in world.messages if tx not in known][:1]
    for tx in (*new, *sorted(known)):
        if tx in world.messages and (world.again or tx not in network.nodes[node].cache):
            yield Act("submit", node, id=tx)


def _joining_and_leaving(world: World, network: MempoolNetwork) -> Iterator[Act]:
    joined = network.joined()
    away = [node for node in network.nodes if node not in joined]
    if "leave" in world.kinds and len(joined) > 1 and len(away) < world.leaves:
        yield from (Act("leave", node) for node in joined if node not in world.attackers)
    if "join" in world.kinds:
        for node in away:
            sizes = range(1, len(joined) + 1)
            yield from (
                Act("join", node, peers=each) for size in sizes for each in combinations(joined, size)
            )


# -- pubsub -------------------------------------------------------------------------------------------------


def _of_pubsub(world: World, network: PubsubNetwork) -> Iterator[Act]:
    kinds = world.kinds
    yield from (Act("deliver", a, b) for (a, b), rpcs in sorted(network.links.items()) if rpcs)
    for i, r in sorted(network.nodes.items()):
        if "verdict" in kinds:
            yield from (Act("verdict", i, id=m, word=w) for m in r.waiting for w in world.judgements)
        if "join" in kinds and TOPIC not in r.topics:
            yield from (Act("join", i, topic=TOPIC, word=word) for word in world.joins)
        if "leave" in kinds and TOPIC in r.topics:
            yield Act("leave", i, topic=TOPIC)
        if "publish" in kinds and (i in world.origins or not world.origins):
            published = frozenset[str]().union(*network.got.values())
            yield from (Act("publish", i, id=m, topic=TOPIC) for m in _next(world.messages, published))
        if "heartbeat" in kinds:
            yield Act("heartbeat", i)
        if "score" in kinds:
            yield from (
                Act("score", i, p, value=v) for p in sorted(r.peers) for v in world.scores if r.score(p) != v
            )
    yield from _connecting(world, network)
    if "settle" in kinds and network.in_flight():
        yield Act("settle")


def _next(messages: Sequence[str], published: Set[str]) -> Sequence[str]:
    return [m for m in messages if m not in published][:1]


def _connecting(world: World, network: PubsubNetwork) -> Iterator[Act]:
    if "disconnect" in world.kinds:
        yield from (Act("disconnect", a, b) for a, b in world.dials if network.linked(a, b))
    if "connect" in world.kinds:
        yield from (Act("connect", a, b) for a, b in world.dials if not network.linked(a, b))
    if "say" in world.kinds:
        for each in sorted(world.attackers):
            beside = [i for i, r in sorted(network.nodes.items()) if each in r.peers]
            yield from (Act("say", each, i, parts=rpc) for i in beside for rpc in world.says)


ACTS: Mapping[str, FamilyActs] = {
    "mempool": FamilyActs(
        _of_mempool,
        {
            "submit": 2,
            "offer": 6,
            "deliver": 6,
            "adjust": 1,
            "leave": 1,
            "notice": 3,
            "join": 1,
            "wait": 1,
            "say": 2,
            "commit": 1,
            "begin": 2,
            "connect": 2,
            "disconnect": 1,
        },
        frozenset({"offer", "deliver"}),
    ),
    "pubsub": FamilyActs(
        _of_pubsub,
        {
            "join": 2,
            "leave": 1,
            "publish": 2,
            "verdict": 3,
            "score": 1,
            "deliver": 6,
            "heartbeat": 2,
            "connect": 1,
            "disconnect": 1,
            "say": 2,
            "settle": 1,
        },
        frozenset({"deliver", "verdict"}),
    ),
}
