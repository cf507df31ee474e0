"""Small networks that are searched: graphs, and what may happen there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from quidnunc.model.machine import family_of
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import Kind, act_of, parts_of
from quidnunc.properties.networks.mempool import MEMPOOL
from quidnunc.properties.networks.network import Link, NetworkFamily, NodeSetup, Transport
from quidnunc.properties.networks.pubsub import PUBSUB
from quidnunc.properties.networks.world import World

FAMILIES: Mapping[str, NetworkFamily] = {"pubsub": PUBSUB, "mempool": MEMPOOL}
GRAPHS: Mapping[str, tuple[Link, ...]] = {
    "pair": ((1, 2),),
    "line": ((1, 2), (2, 3)),
    "ring": ((1, 2), (1, 3), (2, 3)),
    "star": ((1, 2), (1, 3), (1, 4)),
    "line of four": ((1, 2), (2, 3), (3, 4)),
    "ring of four": ((1, 2), (2, 3), (3, 4), (1, 4)),
    "ring of five": ((1, 2), (2, 3), (3, 4), (4, 5), (1, 5)),
    "kite": ((1, 2), (2, 3), (2, 4), (3, 4)),
    "diamond": ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4)),
    "mesh of four": ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)),
    "clique of four": ((1, 2), (1, 3), (2, 3), (4, 1), (4, 2), (4, 3)),
    "clique of five": ((1, 2), (1, 3), (2, 3), (4, 1), (4, 2), (4, 3), (5, 1), (5, 2), (5, 3), (5, 4)),
}  # fmt: skip
"""(who dialled, whom): a router of pubsub tells the two apart."""

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
class Revision:
    """A reading of the documents, and the network that it goes with."""

    name: str
    protocol: Protocol = field(eq=False)
    parameters: Any = None
    """Of its nodes, where a place does not say others; None for the usual ones."""
    transport: Transport = Transport()


@frozen
class Place:
    """A small network and what may happen in it, of whatever revision."""

    graph: str
    kinds: tuple[Kind, ...]
    text: str
    """What the table calls it, beside the graph."""
    parameters: Any = None
    """Of its nodes; None for those of the revision."""
    changes: Mapping[str, Any] = field(factory=dict)
    """Parameters, by name, that are others here."""
    prelude: tuple[str, ...] = ()
    """Acts that have been done."""
    attackers: tuple[Peer, ...] = ()
    says: tuple[str, ...] = ()
    """What attackers may say."""
    messages: int = 1
    origins: tuple[Peer, ...] = ()
    again: bool = False
    judgements: tuple[str, ...] = ("accept",)
    scores: tuple[int, ...] = ()
    joins: tuple[str, ...] = ("",)
    wait_ms: int = 0

    @property
    def name(self) -> str:
        return f"{self.graph}, {self.text}"

    def world(self, revision: Revision) -> World:
        protocol, family = revision.protocol, FAMILIES[revision.protocol.family]
        parameters = self.parameters or revision.parameters or family_of(protocol).parameters()
        parameters = evolve(parameters, **self.changes)
        names = {i for link in GRAPHS[self.graph] for i in link}
        nodes = sorted(names if family.attackers_are_nodes else names - {*self.attackers})
        return World(
            family=family,
            setups=tuple(NodeSetup(i, protocol, parameters) for i in nodes),
            dials=GRAPHS[self.graph],
            transport=revision.transport,
            attackers=frozenset(self.attackers),
            says=tuple(map(parts_of, self.says)),
            prelude=tuple(map(act_of, self.prelude)),
            kinds=frozenset(self.kinds),
            messages=tuple(f"{family.letter}{i}" for i in range(1, self.messages + 1)),
            origins=frozenset(self.origins),
            again=self.again,
            judgements=self.judgements,
            scores=self.scores,
            joins=self.joins,
            wait_ms=self.wait_ms,
        )
