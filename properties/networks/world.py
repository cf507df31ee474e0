"""Small networks as worlds: how one begins, and what may happen in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.model.rpc import Peer
from quidnunc.properties.networks.acts import Act, Kind
from quidnunc.properties.networks.choices import Rpc
from quidnunc.properties.networks.network import (
    Link,
    Move,
    Network,
    NetworkFamily,
    NodeSetup,
    Transport,
    network_after,
    opened,
)
from quidnunc.properties.networks.runs import Memory

Look: TypeAlias = Callable[[Memory, Move[Any]], Memory]
"""One move on: what is remembered after it, or `BrokenClaim`."""


@frozen(kw_only=True)
class World:
    """A network, and what may happen in it."""

    family: NetworkFamily
    setups: tuple[NodeSetup, ...]
    dials: tuple[Link, ...]
    """(who dialled, whom)"""
    transport: Transport = Transport()
    attackers: frozenset[Peer] = frozenset()
    """Who says what it likes: in pubsub instead of a router, in a mempool besides what a node says."""
    says: tuple[Rpc, ...] = ()
    """What an attacker may say to a node that it is connected with."""
    prelude: tuple[Act, ...] = ()
    """What has happened before; no part of a run."""
    kinds: frozenset[Kind] = frozenset()
    messages: tuple[str, ...] = ("m1",)
    """Ids of messages that applications publish, or of transactions that users submit."""
    origins: frozenset[Peer] = frozenset()
    """Where they do; nowhere given, everywhere."""
    again: bool = False
    """Users may submit what a node has already."""
    judgements: tuple[str, ...] = ("accept",)
    scores: tuple[int, ...] = ()
    joins: tuple[str, ...] = ("",)
    """What may be said of partial messages with a Join."""
    wait_ms: int = 0
    leaves: int = 1
    """How many mempool nodes leave, at most."""

    def start(self) -> Network[Any]:
        network = opened(
            self.family, self.setups, self.dials, attackers=self.attackers, transport=self.transport
        )
        for act in self.prelude:
            network = network_after(network, act).after
        return network

    def move(self, network: Network[Any], act: Act) -> Move[Any]:
        return network_after(network, act)


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
