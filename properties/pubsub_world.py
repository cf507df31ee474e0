"""Small networks of pubsub routers as worlds that are searched (`quidnunc.properties.network_runs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from typing import Any

import attrs
from attrs import field, frozen

from quidnunc.model.parameters import Parameters
from quidnunc.model.router import BACKOFF_SWEEP_HEARTBEATS, Router
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol
from quidnunc.properties import network_runs
from quidnunc.properties.network_runs import Die, Memory
from quidnunc.properties.pubsub_network import Link, Move, Network, Setup, acted, drawn, opened, ways
from quidnunc.properties.pubsub_network_acts import Act, Kind, act_of, parts_of
from quidnunc.properties.pubsub_network_choices import Rpc

TOPIC = "t"
Look = Callable[[Memory, Move], Memory]
Found = network_runs.Found[Act]

WEIGHTS: Mapping[Kind, int] = {
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
}


@frozen
class World:
    """A network, and what may happen in it."""

    setups: tuple[Setup, ...]
    dials: tuple[Link, ...]
    """(who dialled, whom)"""
    attackers: frozenset[Peer] = frozenset()
    says: tuple[Rpc, ...] = ()
    """What an attacker may say to a router that it is connected with."""
    prelude: tuple[Act, ...] = ()
    """What has happened before; no part of a run."""
    kinds: frozenset[Kind] = frozenset()
    messages: tuple[str, ...] = ("m1",)
    origins: frozenset[Peer] = frozenset()
    """Where applications publish; nowhere given, everywhere."""
    judgements: tuple[str, ...] = ("accept",)
    scores: tuple[int, ...] = ()
    joins: tuple[str, ...] = ("",)
    """What may be said of partial messages with a Join."""

    def start(self) -> Network:
        network = opened(self.setups, self.dials, self.attackers)
        for act in self.prelude:
            network = acted(network, act).after
        return network

    def key(self, network: Network) -> object:
        return network_key(network)

    def resting(self, network: Network) -> bool:
        return network.quiet()

    def options(self, network: Network, draining: bool) -> Sequence[tuple[Act, int]]:
        found = possible(self, network)
        by_itself = ("deliver", "verdict")
        return [(a, WEIGHTS[a.kind]) for a in found if not draining or a.kind in by_itself]

    def moves(self, network: Network) -> Iterator[Move]:
        for act in possible(self, network):
            yield from ways(network, act)

    def drawn(self, network: Network, act: Act, die: Die) -> Move | None:
        return drawn(network, act, die)

    def move(self, network: Network, act: Act) -> Move:
        return acted(network, act)


def possible(world: World, network: Network) -> Iterator[Act]:
    """What can happen next, before its choices are made."""
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
    yield from _comings_and_goings(world, network)
    if "settle" in kinds and network.in_flight():
        yield Act("settle")


def _next(messages: Sequence[str], published: Set[str]) -> Sequence[str]:
    return [m for m in messages if m not in published][:1]


def _comings_and_goings(world: World, network: Network) -> Iterator[Act]:
    if "disconnect" in world.kinds:
        yield from (Act("disconnect", a, b) for a, b in world.dials if network.linked(a, b))
    if "connect" in world.kinds:
        yield from (Act("connect", a, b) for a, b in world.dials if not network.linked(a, b))
    if "say" in world.kinds:
        for each in sorted(world.attackers):
            beside = [i for i, r in sorted(network.nodes.items()) if each in r.peers]
            yield from (Act("say", each, i, parts=rpc) for i in beside for rpc in world.says)


# -- when two networks have the same future -----------------------------------------------------------------


def network_key(network: Network) -> object:
    """A network, hashable, with instants relative to now."""
    links = tuple(sorted((link, rpcs) for link, rpcs in network.links.items()))
    nodes = tuple(router_key(r) for _, r in sorted(network.nodes.items()))
    return nodes, links, tuple(sorted((i, got) for i, got in network.got.items()))


def router_key(r: Router) -> object:
    """A router, hashable, with instants relative to now; what has run out for good is left out."""
    now, p = r.now_ms, r.parameters
    swept_ms = BACKOFF_SWEEP_HEARTBEATS * p.heartbeat_interval_ms
    backoff = frozenset((k, max(-swept_ms, ends - now)) for k, ends in r.backoff.items())
    seen = frozenset((i, min(p.seen_ttl_ms, now - at)) for i, at in r.seen.items())
    fanout = frozenset(
        (t, f.peers, f.tentative, min(p.fanout_ttl_ms + 1, now - f.published_ms)) for t, f in r.fanout.items()
    )
    rest = (r.peers, r.topics, r.mesh, r.cached, r.windows, r.waiting, r.unwanted, r.served, r.heard)
    more = (r.scores, r.poor_for, r.own, r.groups, r.started, r.ledger)
    phase = (now - p.heartbeat_delay_ms) % p.heartbeat_interval_ms if now >= p.heartbeat_delay_ms else now
    return phase, backoff, seen, fanout, hashable(rest), hashable(more)


_PLAIN: frozenset[type] = frozenset({int, str, bool, frozenset, type(None)})


def hashable(value: object) -> object:
    """The same, of values that can be hashed."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, dict):
        return frozenset([(k, hashable(v)) for k, v in value.items()])
    if isinstance(value, tuple):
        return tuple([hashable(each) for each in value])
    names = _names(kind)  # type: ignore[arg-type]
    return kind.__name__, tuple([hashable(getattr(value, name)) for name in names])


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in attrs.fields(kind))


# -- places -------------------------------------------------------------------------------------------------

GRAPHS: Mapping[str, tuple[Link, ...]] = {
    "pair": ((1, 2),),
    "line": ((1, 2), (2, 3)),
    "ring": ((1, 2), (1, 3), (2, 3)),
    "star": ((1, 2), (1, 3), (1, 4)),
    "line of four": ((1, 2), (2, 3), (3, 4)),
    "clique of four": ((1, 2), (1, 3), (2, 3), (4, 1), (4, 2), (4, 3)),
    "clique of five": (
        (1, 2), (1, 3), (2, 3), (4, 1), (4, 2), (4, 3), (5, 1), (5, 2), (5, 3), (5, 4),
    ),
}  # fmt: skip

SMALL = Parameters(
    d=2,
    d_low=1,
    d_high=2,
    d_out=0,
    d_score=1,
    d_lazy=1,
    mcache_len=3,
    mcache_gossip=2,
    prune_backoff_s=3,
    unsubscribe_backoff_s=1,
    flood_publish=False,
)
"""As small as the meshes of such networks need: degrees of one and two, a backoff of three heartbeats."""


@frozen
class Place:
    """A small network and what may happen in it, for whatever protocol."""

    graph: str
    kinds: tuple[Kind, ...]
    text: str
    """What the table calls it, beside the graph."""
    parameters: Parameters = SMALL
    prelude: tuple[str, ...] = ("settle",)
    """Acts that have been done."""
    attackers: tuple[Peer, ...] = ()
    says: tuple[str, ...] = ()
    messages: int = 1
    origins: tuple[Peer, ...] = ()
    judgements: tuple[str, ...] = ("accept",)
    scores: tuple[int, ...] = ()
    joins: tuple[str, ...] = ("",)
    only: Mapping[Peer, Parameters] = field(factory=dict)
    """Nodes whose parameters are others."""

    @property
    def name(self) -> str:
        return f"{self.graph}, {self.text}"

    def world(self, protocol: Protocol) -> World:
        names = sorted({i for link in GRAPHS[self.graph] for i in link} - {*self.attackers})
        return World(
            tuple(Setup(i, protocol, self.only.get(i, self.parameters)) for i in names),
            GRAPHS[self.graph],
            frozenset(self.attackers),
            tuple(map(parts_of, self.says)),
            tuple(map(act_of, self.prelude)),
            frozenset(self.kinds),
            tuple(f"m{i}" for i in range(1, self.messages + 1)),
            frozenset(self.origins),
            self.judgements,
            self.scores,
            self.joins,
        )
