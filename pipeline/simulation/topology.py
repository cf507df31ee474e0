"""Who is connected to whom: graphs of networkx and of files, as edges of which the first node dials."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from attrs import frozen

from quidnunc.pipeline.simulation.scenario.file import require
from quidnunc.pipeline.simulation.scenario.values import MAX_MS, ScenarioError, Topology
from quidnunc.properties.bounded import shortened

MAX_EDGES = 1_000_000
TRIES = 100
"""Graphs that are drawn until one is connected."""


@frozen
class Edge:
    """One connection. `latency_ms` is one way and the same both ways; None: as the links say."""

    dialler: int
    other: int
    latency_ms: float | None = None


def edges_of(topology: Topology, nodes: int, seed: int) -> tuple[Edge, ...]:
    """The edges among `nodes` nodes, in order; the same for the same seed. Raises ScenarioError."""
    die = Random(f"{seed}/topology")
    if topology.kind == "none" or nodes == 1:
        return ()
    if topology.kind == "edges":
        latencies = topology.latencies_ms or (None,) * len(topology.edges)
        pairs = zip(topology.edges, latencies, strict=True)
        return _checked((Edge(a, b, ms) for (a, b), ms in pairs), nodes, "topology.edges")
    if topology.kind == "file":
        return _checked(_of_file(Path(topology.path)), nodes, topology.path)
    expected = _expected_edges(topology, nodes)
    if expected > MAX_EDGES:
        raise ScenarioError(
            f"topology: {topology.kind} with {nodes} nodes has some {expected:.0f} edges, at most "
            f"{MAX_EDGES}; take fewer nodes, or lower degree or probability"
        )
    nx = require("networkx")
    for _ in range(TRIES):
        graph = _drawn(nx, topology, nodes, die.getrandbits(32))
        if not topology.connected or nx.is_connected(graph):
            # Else the lower number would always dial, and who accepts most would be the last ones.
            ends = [(a, b) if die.random() < 0.5 else (b, a) for a, b in sorted(map(sorted, graph.edges()))]
            # Who comes first takes a slot where slots are few, and that must not be the lower numbers either.
            die.shuffle(ends)
            return _checked((Edge(a, b) for a, b in ends), nodes, f"topology {topology.kind}")
    raise ScenarioError(
        f"topology: {TRIES} {topology.kind} graphs with {nodes} nodes were all disconnected; raise `degree` "
        "or `probability`, or write `connected: false`"
    )


def _expected_edges(t: Topology, nodes: int) -> float:
    """About how many edges a graph will have, before it is made."""
    pairs = nodes * (nodes - 1) / 2
    of_kind = {
        "complete": pairs,
        "erdos-renyi": pairs * t.probability,
        "random-regular": nodes * t.degree / 2,
        "small-world": nodes * t.degree / 2,
        "barabasi-albert": nodes * t.degree,
    }
    return of_kind.get(t.kind, nodes)


def _drawn(nx: Any, t: Topology, nodes: int, seed: int) -> Any:
    try:
        match t.kind:
            case "random-regular":
                return nx.random_regular_graph(t.degree, nodes, seed=seed)
            case "erdos-renyi":
                return nx.gnp_random_graph(nodes, t.probability, seed=seed)
            case "small-world":
                return nx.watts_strogatz_graph(nodes, t.degree, t.probability, seed=seed)
            case "barabasi-albert":
                return nx.barabasi_albert_graph(nodes, t.degree, seed=seed)
            case "line":
                return nx.path_graph(nodes)
            case "ring":
                return nx.cycle_graph(nodes)
            case "star":
                return nx.star_graph(nodes - 1)
            case _:
                return nx.complete_graph(nodes)
    except nx.NetworkXError as error:
        if t.degree >= nodes:
            raise ScenarioError(
                f"topology.degree is {t.degree}, and {nodes} nodes allow at most {nodes - 1}: "
                f"--set topology.degree={nodes - 1}"
            ) from None
        raise ScenarioError(f"topology.degree: {t.degree} with {nodes} nodes: {error}") from None


def _of_file(path: Path) -> list[Edge]:
    """An edge list, or GraphML where the name says so; numbers of nodes count from 0."""
    nx = require("networkx")
    try:
        if path.suffix == ".graphml":
            graph = nx.read_graphml(path, node_type=int)
        else:
            graph = nx.read_edgelist(path, nodetype=int, data=(("latency_ms", float),))
    except OSError as error:
        raise ScenarioError(f"topology.path: {path}: {error.strerror}") from None
    except Exception as error:
        raise ScenarioError(
            f"topology.path: {path} is neither an edge list of node numbers nor GraphML: "
            f"{shortened(str(error))}"
        ) from None
    found = []
    for a, b, given in graph.edges(data=True):
        latency_ms = given.get("latency_ms")
        if latency_ms is not None and not (isinstance(latency_ms, int | float) and 0 <= latency_ms <= MAX_MS):
            raise ScenarioError(
                f"topology.path: {path}: latency_ms of {a}-{b} is {shortened(repr(latency_ms))}"
            )
        found.append(Edge(a, b, None if latency_ms is None else float(latency_ms)))
    return found


def _checked(edges: Iterable[Edge], nodes: int, where: str) -> tuple[Edge, ...]:
    found: dict[frozenset[int], Edge] = {}
    for edge in edges:
        ends = (edge.dialler, edge.other)
        if not all(0 <= end < nodes for end in ends):
            named = shortened(f"edge {ends[0]}-{ends[1]}")
            raise ScenarioError(f"{where}: {named}, and nodes are 0 to {nodes - 1}")
        if ends[0] == ends[1]:
            raise ScenarioError(f"{where}: node {ends[0]} cannot be connected to itself")
        found.setdefault(frozenset(ends), edge)
        if len(found) > MAX_EDGES:
            raise ScenarioError(f"{where}: more than {MAX_EDGES} edges")
    return tuple(found.values())
