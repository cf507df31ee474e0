"""Bytes under way: order, latency, jitter, loss and bandwidth."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.pipeline.simulation.links import NetworkLinks
from quidnunc.pipeline.simulation.scenario.values import Latency, LinkConditions, ScenarioError
from quidnunc.pipeline.simulation.topology import Edge


def wires(links: LinkConditions, nodes: int = 4, seed: int = 1) -> NetworkLinks:
    return NetworkLinks(links, nodes, seed)


def test_a_constant_latency() -> None:
    some = wires(LinkConditions(latency=Latency(ms=12.5)))
    assert some.arrival_us(0, 1, 100, 1000) == 13_500
    assert some.arrival_us(1, 0, 100, 2000) == 14_500


def test_a_uniform_latency_is_drawn_once_for_a_pair() -> None:
    some, same = (
        wires(LinkConditions(latency=Latency(kind="uniform", low_ms=5, high_ms=50)), 30) for _ in range(2)
    )
    drawn = {(a, b): some.latency_us(a, b) for a in range(30) for b in range(30) if a != b}
    assert all(5_000 <= us <= 50_000 for us in drawn.values()) and len(set(drawn.values())) > 400
    assert all(us == drawn[b, a] for (a, b), us in drawn.items())
    # Whoever is asked about first.
    assert all(same.latency_us(a, b) == drawn[a, b] for a, b in reversed(list(drawn)))


def test_a_matrix_between_regions(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("from,x,y\nx,1,70\ny,80,2\n")
    for latency in (
        Latency(kind="matrix", path=str(path)),
        Latency(kind="matrix", matrix=((1, 70), (80, 2))),
    ):
        some = wires(LinkConditions(latency=latency))
        assert [some.latency_us(0, n) for n in (2, 1)] == [1000, 70_000]
        assert [some.latency_us(1, n) for n in (0, 3)] == [80_000, 2000]
    bare = tmp_path / "b.csv"
    bare.write_text("x,y\n1,70\n80,2\n")
    assert wires(LinkConditions(latency=Latency(kind="matrix", path=str(bare)))).latency_us(1, 0) == 80_000


def test_regions_by_weight() -> None:
    latency = Latency(kind="matrix", matrix=((1, 2), (3, 4)), regions="random", weights=(1, 0))
    assert {wires(LinkConditions(latency=latency), 9).latency_us(0, n) for n in range(1, 9)} == {1000}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"matrix": ((1, 2),)}, "a latency matrix is square"),
        ({"matrix": ((-1.0,),)}, "a latency is from 0 to 1000000 ms"),
        ({"path": "no.csv"}, r"no\.csv"),
        ({"matrix": ((1, 2), (3, 4)), "regions": "random", "weights": (1,)}, "1 weights for 2 regions"),
    ],
)
def test_matrices_that_are_none(given: dict[str, object], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        wires(LinkConditions(latency=Latency(kind="matrix", **given)))


def test_an_edge_can_say_its_own() -> None:
    some = wires(LinkConditions())
    some.tie(Edge(0, 1, 3.5))
    assert (some.latency_us(1, 0), some.latency_us(0, 2)) == (3500, 20_000)


def test_jitter_keeps_the_order_of_a_stream() -> None:
    some = wires(LinkConditions(latency=Latency(ms=10), jitter_ms=30))
    arrivals = [some.arrival_us(0, 1, 10, 100 * k) for k in range(300)]
    assert arrivals == sorted(arrivals) and len(set(arrivals)) > 10
    assert all(10_000 + 100 * k <= us <= 40_000 + 100 * k + 30_000 for k, us in enumerate(arrivals))


def test_loss_is_a_share() -> None:
    some = wires(LinkConditions(loss=0.3))
    lost = sum(some.arrival_us(0, 1, 10, k) is None for k in range(4000))
    assert lost == some.lost and 1100 < lost < 1300
    assert wires(LinkConditions(loss=1.0)).arrival_us(0, 1, 10, 0) is None


def test_bandwidth_is_shared_by_all_that_a_node_sends() -> None:
    some = wires(LinkConditions(latency=Latency(ms=0), bandwidth_mbit=8))
    # A byte takes a microsecond.
    assert [some.arrival_us(0, n, 1000, 0) for n in (1, 2, 3)] == [1000, 2000, 3000]
    assert some.arrival_us(0, 1, 500, 10_000) == 10_500
    assert some.arrival_us(1, 0, 1000, 0) == 1000
