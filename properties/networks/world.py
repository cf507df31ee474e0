"""Small networks as worlds that are searched (`quidnunc.properties.networks.runs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    act_variants,
    drawn,
    network_after,
    opened,
)
from quidnunc.properties.networks.runs import Die, Memory, WorldSearchResult

Look: TypeAlias = Callable[[Memory, Move[Any]], Memory]
"""One move on: what is remembered after it, or `BrokenClaim`."""
Found: TypeAlias = WorldSearchResult[Act]


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

    def key(self, network: Network[Any]) -> object:
        return network.key()

    def resting(self, network: Network[Any]) -> bool:
        return network.quiet()

    def possible(self, network: Network[Any]) -> Iterator[Act]:
        """What can happen next, before its choices are made."""
        return self.family.possible(self, network)

    def options(self, network: Network[Any], draining: bool) -> Sequence[tuple[Act, int]]:
        weights, by_itself = self.family.weights, self.family.by_itself
        return [
            (act, weights[act.kind])
            for act in self.possible(network)
            if not draining or act.kind in by_itself
        ]

    def moves(self, network: Network[Any]) -> Iterator[Move[Any]]:
        for act in self.possible(network):
            yield from act_variants(network, act)

    def drawn(self, network: Network[Any], act: Act, die: Die) -> Move[Any] | None:
        return drawn(network, act, die)

    def move(self, network: Network[Any], act: Act) -> Move[Any]:
        return network_after(network, act)
