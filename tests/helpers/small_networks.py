"""Small networks of model nodes, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import Kind, acts_of
from quidnunc.properties.networks.network import Network, NodeSetup, Transport, network_after, opened
from quidnunc.properties.networks.places import FAMILIES
from quidnunc.properties.networks.world import World


def setups_of(
    protocol: Protocol, links: Iterable[tuple[int, int]], parameters: Any = None
) -> tuple[NodeSetup, ...]:
    """A node of the protocol at each end of a link."""
    return tuple(NodeSetup(i, protocol, parameters) for i in sorted({i for link in links for i in link}))


def network_of(
    protocol: Protocol, links: Iterable[tuple[int, int]], acts: str = "", **transport: Any
) -> Network[Any]:
    """A network of nodes of one protocol, after these acts."""
    links = [*links]
    setups = setups_of(protocol, links)
    network = opened(FAMILIES[protocol.family], setups, links, transport=Transport(**transport))
    for act in acts_of(acts):
        network = network_after(network, act).after
    return network


def world_of(protocol: Protocol, links: Iterable[tuple[int, int]], kinds: Iterable[Kind]) -> World:
    """A world of two transactions or messages."""
    links = tuple(links)
    return World(
        family=FAMILIES[protocol.family],
        setups=setups_of(protocol, links),
        dials=links,
        kinds=frozenset(kinds),
        messages=("t1", "t2"),
    )
