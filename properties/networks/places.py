"""Small networks that are searched: graphs, and what may happen there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from quidnunc.model.parameters import Parameters
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.mempool import MEMPOOL
from quidnunc.properties.networks.network import Link, NetworkFamily, Transport
from quidnunc.properties.networks.pubsub import PUBSUB

FAMILIES: Mapping[str, NetworkFamily] = {"pubsub": PUBSUB, "mempool": MEMPOOL}
KITE: tuple[Link, ...] = ((1, 2), (2, 3), (2, 4), (3, 4))
RING_OF_FIVE: tuple[Link, ...] = ((1, 2), (2, 3), (3, 4), (4, 5), (1, 5))
PAIRS = 8


def with_pairs(graph: tuple[Link, ...], at: int, pairs: int) -> tuple[Link, ...]:
    """The graph, grown by pairs of nodes: both of a pair are linked to each other and to the node `at`."""
    first = 1 + max(node for link in graph for node in link)
    added = range(first, first + 2 * pairs, 2)
    return (*graph, *(link for i in added for link in ((at, i), (at, i + 1), (i, i + 1))))


GRAPHS: Mapping[str, tuple[Link, ...]] = {
    "pair": ((1, 2),),
    "line": ((1, 2), (2, 3)),
    "ring": ((1, 2), (1, 3), (2, 3)),
    "star": ((1, 2), (1, 3), (1, 4)),
    "line of four": ((1, 2), (2, 3), (3, 4)),
    "ring of four": ((1, 2), (2, 3), (3, 4), (1, 4)),
    "ring of five": RING_OF_FIVE,
    "kite": KITE,
    "kite with eight pairs": with_pairs(KITE, 3, PAIRS),
    "ring of five with eight pairs": with_pairs(RING_OF_FIVE, 3, PAIRS),
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
