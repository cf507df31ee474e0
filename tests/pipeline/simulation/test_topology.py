"""Graphs of scenarios, held against networkx."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from quidnunc.pipeline.simulation.scenario.values import ScenarioError, Topology
from quidnunc.pipeline.simulation.topology import Edge, edges_of


def graph(topology: Topology, nodes: int, seed: int = 1) -> nx.Graph:
    made = nx.Graph()
    made.add_nodes_from(range(nodes))
    made.add_edges_from((e.dialler, e.other) for e in edges_of(topology, nodes, seed))
    return made


@pytest.mark.parametrize(
    ("kind", "like"),
    [
        ("line", nx.path_graph(9)),
        ("ring", nx.cycle_graph(9)),
        ("star", nx.star_graph(8)),
        ("complete", nx.complete_graph(9)),
    ],
)
def test_fixed_graphs(kind: str, like: nx.Graph) -> None:
    assert nx.utils.graphs_equal(graph(Topology(kind=kind), 9), like)


def test_drawn_graphs() -> None:
    regular = graph(Topology(kind="random-regular", degree=6), 40)
    assert set(dict(regular.degree).values()) == {6}
    attached = graph(Topology(kind="barabasi-albert", degree=3), 40)
    assert attached.number_of_edges() == 3 * (40 - 3)
    world = graph(Topology(kind="small-world", degree=4, probability=0.3), 40)
    assert world.number_of_edges() == 80 and world.edges != nx.watts_strogatz_graph(40, 4, 0).edges
    drawn = graph(Topology(kind="erdos-renyi", probability=0.2), 40)
    assert 100 < drawn.number_of_edges() < 215
    for each in (regular, attached, world, drawn):
        assert nx.is_connected(each)


def test_the_seed_decides() -> None:
    topology = Topology(degree=4)
    assert edges_of(topology, 20, 1) == edges_of(topology, 20, 1) != edges_of(topology, 20, 2)
    # Neither end is always the one who dials.
    dialled = [edge.dialler < edge.other for edge in edges_of(topology, 20, 1)]
    assert True in dialled and False in dialled


def test_a_graph_that_falls_apart() -> None:
    sparse = Topology(kind="erdos-renyi", probability=0.01)
    with pytest.raises(ScenarioError, match="were all disconnected; raise `degree` or `probability`"):
        edges_of(sparse, 40, 1)
    loose = Topology(kind="erdos-renyi", probability=0.01, connected=False)
    assert not nx.is_connected(graph(loose, 40))


def test_files(tmp_path: Path) -> None:
    listed = tmp_path / "a.edges"
    listed.write_text("0 1\n1 2 12.5\n")
    assert edges_of(Topology(kind="file", path=str(listed)), 3, 0) == (Edge(0, 1), Edge(1, 2, 12.5))
    drawn = tmp_path / "a.graphml"
    made = nx.Graph()
    made.add_edge(0, 2, latency_ms=7.0)
    nx.write_graphml(made, drawn)
    assert edges_of(Topology(kind="file", path=str(drawn)), 3, 0) == (Edge(0, 2, 7.0),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 x\n", "neither an edge list of node numbers"),
        ("0 9\n", "edge 0-9, and nodes are 0 to 2"),
        ("1 1\n", "node 1 cannot be connected to itself"),
        ("0 1 -3\n", "latency_ms of 0-1 is -3"),
    ],
)
def test_files_that_are_none(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.edges"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=says):
        edges_of(Topology(kind="file", path=str(path)), 3, 0)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ScenarioError, match="No such file"):
        edges_of(Topology(kind="file", path="no.edges"), 3, 0)
    with pytest.raises(ScenarioError, match=r"topology\.degree is 9, and 4 nodes allow at most 3"):
        edges_of(Topology(degree=9), 4, 0)
    assert edges_of(Topology(kind="none"), 4, 0) == ()
    assert edges_of(Topology(kind="edges", edges=((0, 1), (1, 0))), 2, 0) == (Edge(0, 1),)
