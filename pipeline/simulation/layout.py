"""Where the nodes of a network stand in a picture, by networkx."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from quidnunc.model.errors import install_words
from quidnunc.pipeline.simulation.scenario.values import ScenarioError

ITERATIONS = 120
MAX_RING = 10
"""Nodes that stand in a ring; more of them are spread out by their links."""


def demand_layout() -> Any:
    """networkx, which can lay nodes out. Raises ScenarioError where it cannot."""
    try:
        import_module("numpy")
        return import_module("networkx")
    except ImportError:
        raise ScenarioError(
            f"the picture of a network needs networkx and numpy: {install_words('trace')}"
        ) from None


def node_places(nodes: int, links: Iterable[tuple[int, int]]) -> list[tuple[float, float]]:
    """(x, y) of each node, both from 0 to 1; the same for the same network. Raises ScenarioError."""
    nx = demand_layout()
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(links)
    if nodes <= MAX_RING:
        found = nx.circular_layout(graph)
    else:
        found = nx.spring_layout(graph, seed=0, iterations=ITERATIONS)
    columns = [[float(found[node][axis]) for node in range(nodes)] for axis in (0, 1)]
    return list(zip(*map(_stretched, columns), strict=True))


def _stretched(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]
