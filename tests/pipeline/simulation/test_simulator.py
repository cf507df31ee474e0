"""Simulated networks, held against closed forms, shortest paths and the model."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest

from quidnunc.impl.seam import AdapterError
from quidnunc.impl.wire.keys import peer_id
from quidnunc.pipeline.simulation.scenario.values import ScenarioError
from quidnunc.pipeline.simulation.simulator import NetworkSimulation
from quidnunc.pipeline.trace.events import (
    ClosedStream,
    DeliverMessage,
    GraftEvent,
    HeartbeatEvent,
    OpenedStream,
    PublishMessage,
    RouterFailure,
    SentRpc,
    TraceEvent,
    ValidationEvent,
)
from quidnunc.pipeline.trace.json_lines import line_of
from tests.helpers.interop_scripts import (
    partial_messages,
    partial_messages_chain,
    partial_messages_fanout,
    subnet_blob,
)
from tests.helpers.py_libp2p_node import needs_libp2p
from tests.helpers.simulated import clean, judged, run, scenario

TOPOLOGIES: tuple[dict[str, Any], ...] = (
    {"kind": "random-regular", "degree": 6},
    {"kind": "erdos-renyi", "probability": 0.2},
    {"kind": "small-world", "degree": 4, "probability": 0.3},
    {"kind": "barabasi-albert", "degree": 3},
    {"kind": "line"},
    {"kind": "ring"},
    {"kind": "star"},
    {"kind": "complete"},
)
UNIFORM = {"latency": {"kind": "uniform", "low_ms": 1, "high_ms": 60}}
BOTH_WAYS = 2


def of(kind: type, events: list[TraceEvent]) -> list[TraceEvent]:
    return [event for event in events if isinstance(event.body, kind)]


# -- oracles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda t: t["kind"])
def test_floodsub_arrives_first_by_the_shortest_path(topology: dict[str, Any]) -> None:
    fields = {
        "nodes": [{"count": 24, "protocol": "floodsub"}],
        "topology": topology,
        "links": UNIFORM,
        "traffic": [{"count": 4, "publishers": "round-robin"}],
    }
    result, events = run(**fields)
    network = NetworkSimulation(scenario(**fields), lambda event: None)
    graph = nx.Graph()
    for edge in network.edges:
        graph.add_edge(edge.dialler, edge.other, us=network.wires.latency_us(edge.dialler, edge.other))
    (nodes,) = {tuple(peer_id(n) for n in graph)}
    published = {e.body.message_id: e for e in of(PublishMessage, events)}
    assert len(published) == 4 and result.metrics.delivery_ratio == 1
    for message, first in published.items():
        source = nodes.index(first.peer) if first.peer in nodes else -1
        shortest = nx.single_source_dijkstra_path_length(graph, list(graph)[source], weight="us")
        arrived = {
            e.peer: (e.at_ns - first.at_ns) // 1000
            for e in of(DeliverMessage, events)
            if e.body.message_id == message
        }
        assert arrived == {peer_id(n): us for n, us in shortest.items() if peer_id(n) != first.peer}


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=lambda t: t["kind"])
def test_floods_copies_have_a_closed_form(topology: dict[str, Any]) -> None:
    """2E - (N - 1) copies of each transaction: one over each edge of the tree, two over each other one."""
    result, events = run(
        nodes=[{"count": 24, "protocol": "flood"}],
        topology=topology,
        links={**UNIFORM, "jitter_ms": 20},
        traffic=[{"count": 5}],
    )
    edges = result.outcome.connections
    assert result.metrics.sent == {"txs": 5 * (BOTH_WAYS * edges - 23)}
    assert result.metrics.delivery_ratio == 1 and clean(events) > 0


def test_a_message_takes_as_long_as_its_bytes_and_its_validation() -> None:
    line = {"nodes": [{"count": 4, "protocol": "floodsub"}], "topology": {"kind": "line"}}
    traffic = [{"count": 1, "publishers": [0], "size_bytes": 10_000}]
    _, plain = run(**line, traffic=traffic, links={"latency": {"ms": 10}})
    _, slow = run(
        **line,
        traffic=traffic,
        links={"latency": {"ms": 10}, "bandwidth_mbit": 1},
        validation={"delay_ms": 7},
    )

    def took_us(events: list[TraceEvent]) -> list[int]:
        (start,) = of(PublishMessage, events)
        return [(e.at_ns - start.at_ns) // 1000 for e in of(DeliverMessage, events)]

    assert took_us(plain) == [10_000, 20_000, 30_000]
    sizes = {e.body.length for e in of(SentRpc, slow) if e.body.meta.messages}
    (size,) = sizes
    # Each hop: a microsecond a bit, ten milliseconds under way, seven in the application, which judges it
    # before it is delivered and sent on.
    hop_us = 8 * size + 10_000 + 7_000
    assert took_us(slow) == [hop_us, 2 * hop_us, 3 * hop_us]
    assert len(of(ValidationEvent, slow)) == 3 and clean(slow) > 0


# -- what a run is ------------------------------------------------------------------------------------------

ALL_AT_ONCE: dict[str, Any] = {
    "nodes": [
        {"count": 6, "protocol": "floodsub"},
        {"count": 6, "protocol": "gossipsub-1.0"},
        {"count": 6, "protocol": "gossipsub-1.1"},
        {"count": 6, "protocol": "gossipsub-1.2"},
        {"count": 6, "protocol": "gossipsub-1.3"},
    ],
    "topology": {"degree": 7},
    "links": {**UNIFORM, "jitter_ms": 10, "loss": 0.02, "bandwidth_mbit": 20},
    "validation": {"delay_ms": 5, "jitter_ms": 10},
    "churn": {"nodes": 0.3, "up_s": 6},
    "traffic": [{"count": 12, "size_bytes": 2000}],
}


def test_every_version_in_one_network_keeps_to_the_model() -> None:
    """Loss, jitter, churn, bandwidth and validation at once; each node replayed."""
    result, events = run(**ALL_AT_ONCE)
    assert result.outcome.lost_rpcs > 30 and len(of(ClosedStream, events)) > 50
    assert result.outcome.connections > 110 and clean(events) > 4000


def test_a_scenario_and_its_seed_fix_every_byte() -> None:
    first, again, other = (
        [line_of(e) for e in run(**ALL_AT_ONCE, seed=seed, duration_s=7)[1]] for seed in (3, 3, 4)
    )
    assert first == again != other and len(first) > 1500


@pytest.mark.parametrize(
    "protocol", ["dog", "dog-adr", "dog-go", "cat", "cat-classic", "peer-limit", "dog-proposed"]
)
def test_mempools_keep_to_the_model(protocol: str) -> None:
    limited = {"dog": {"dog": False, "max_non_persistent": 2}} if protocol == "peer-limit" else {}
    result, events = run(
        nodes=[{"count": 12, "protocol": protocol, **limited}],
        topology={"degree": 5},
        links={**UNIFORM, "jitter_ms": 5},
        traffic=[{"count": 25, "every_s": 0.1}],
    )
    assert clean(events) > 500
    copies = result.metrics.copies
    assert copies is not None
    if protocol.startswith("cat"):
        # The classic one pushes what users bring, beside what is asked for.
        assert result.metrics.delivery_ratio == 1 and copies < 1.5
    else:
        assert 1 < copies < (5 * 12 - 11) / 11


def test_dog_disables_routes_and_flood_does_not() -> None:
    fields = {"topology": {"degree": 6}, "traffic": [{"count": 150, "every_s": 0.1}]}
    sent = {
        name: run(nodes=[{"count": 16, "protocol": name}], **fields)[0].metrics.sent
        for name in ("dog", "flood")
    }
    assert sent["dog"]["haveTx"] > 50 and "haveTx" not in sent["flood"]
    assert sent["dog"]["txs"] < 0.8 * sent["flood"]["txs"]


def test_meshes_are_told_as_they_change() -> None:
    result, events = run(nodes=[{"count": 20}], topology={"degree": 8}, duration_s=4.0)
    # Before the first message everybody has found a mesh, and everybody's heart has beaten each second.
    grafted = Counter(e.peer for e in of(GraftEvent, events))
    assert len(grafted) == 20 and min(grafted.values()) >= 4
    assert Counter(e.peer for e in of(HeartbeatEvent, events)).total() == 80
    for peer in grafted:
        beats = [e.at_ns for e in of(HeartbeatEvent, events) if e.peer == peer]
        assert {b - a for a, b in pairwise(beats)} == {1_000_000_000}
    # Not all at once.
    assert len({e.at_ns for e in of(HeartbeatEvent, events)}) > 60


def test_heartbeats_that_are_given_and_not_drawn() -> None:
    nodes = [{"count": 2, "parameters": {"heartbeat_delay_ms": delay_ms}} for delay_ms in (0, 40, 700)]
    _, events = run(nodes=nodes, topology={"degree": 3}, heartbeats="given", mixed=False, duration_s=3.0)
    firsts = {e.peer: e.at_ns // 1_000_000 for e in reversed(of(HeartbeatEvent, events))}
    assert [firsts[peer_id(n)] for n in range(6)] == [1, 1, 40, 40, 700, 700]
    assert clean(events) > 50


def test_what_is_before_a_network_has_settled_is_not_measured() -> None:
    fields = {"nodes": [{"count": 6, "protocol": "flood"}], "topology": {"degree": 3}}
    whole, events = run(**fields, traffic=[{"count": 4}])
    late, same = run(**fields, traffic=[{"count": 4}], measure_from_s=6.5)
    assert same[1:] == events[1:]
    assert (whole.metrics.messages, late.metrics.messages) == (4, 2)
    assert late.metrics.deliveries == 2 * 5 and late.metrics.delivery_ratio == 1
    copies = 2 * 9 - 5
    assert (whole.metrics.sent, late.metrics.sent) == ({"txs": 4 * copies}, {"txs": 2 * copies})


def test_who_comes_back_is_dialled_again() -> None:
    _, events = run(
        nodes=[{"count": 10}],
        topology={"kind": "complete"},
        churn={"nodes": 0.5, "up_s": 3, "down_s": 1},
        duration_s=20.0,
    )
    opened = Counter(e.peer for e in of(OpenedStream, events))
    closed = Counter(e.peer for e in of(ClosedStream, events))
    assert all(opened[peer] > 9 and closed[peer] for peer in opened)
    assert clean(events) > 500


# -- other routers ------------------------------------------------------------------------------------------


@needs_libp2p
def test_ten_of_ours_and_ten_of_py_libp2p_in_one_network() -> None:
    result, events = run(
        nodes=[{"count": 10}, {"count": 10, "router": "py-libp2p"}],
        topology={"degree": 6},
        links=UNIFORM,
        traffic=[{"count": 8, "size_bytes": 3000}],
    )
    assert result.metrics.delivery_ratio == 1 and not result.outcome.failed
    by_router = {router: report for (_, router), report in judged(events).items()}
    ours, theirs = by_router["ours"], by_router["py-libp2p"]
    assert ours.nodes == theirs.nodes == 10
    assert not ours.violations and ours.steps > 1000
    # What it is known for, and nothing else, by name.
    assert all(not cause.startswith("unexplained") for _, cause in theirs.causes), theirs.violations
    assert theirs.steps > 1000


def test_a_node_in_a_process_of_its_own_does_the_same() -> None:
    """Ours behind the other binding of the seam: every event is the same."""
    fields = {"topology": {"kind": "complete"}, "traffic": [{"count": 2}], "mixed": False, "duration_s": 7.0}
    _, events = run(nodes=[{"count": 4}], **fields)
    sidecar = f"exec:{sys.executable} -m quidnunc.impl.sidecar_host ours"
    _, mixed = run(nodes=[{"count": 3}, {"count": 1, "router": sidecar}], **fields)
    assert mixed[1:] == events[1:] and len(mixed) > 100


@pytest.mark.parametrize(
    ("mutant", "protocol", "clause"),
    [
        ("ours:echo", "gossipsub-1.2", "floodsub/relay.not-back"),
        ("ours:gossip-to-mesh", "gossipsub-1.2", "gs1.0/gossip"),
        ("ours:fill-past-d", "gossipsub-1.1", "gs1.0/heartbeat.fill"),
    ],
)
def test_a_byzantine_node_is_found_and_nobody_else(mutant: str, protocol: str, clause: str) -> None:
    _, events = run(
        nodes=[{"count": 15, "protocol": protocol}, {"count": 2, "protocol": protocol, "router": mutant}],
        topology={"degree": 10},
        traffic=[{"count": 6}],
    )
    reports = judged(events)
    assert not reports[protocol, "ours"].violations
    assert any(found.startswith(clause) for found, _ in reports[protocol, mutant].causes)


def test_a_router_that_fails_is_gone_and_said_to_be() -> None:
    failing = {"count": 1, "router": "python:tests.helpers.failing_router:open_it"}
    result, events = run(
        nodes=[{"count": 5}, failing], topology={"kind": "complete"}, traffic=[{"count": 3}], mixed=False
    )
    assert result.outcome.failed == {5: "RuntimeError: enough"}
    assert [e.peer for e in of(RouterFailure, events)] == [peer_id(5)]
    # The others lose it, and go on.
    assert len([e for e in of(ClosedStream, events) if e.body.peer == peer_id(5)]) == 5
    after = [e for e in of(DeliverMessage, events) if e.peer != peer_id(5)]
    assert len(after) == 3 * 4


# -- gossipsub-interop --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "groups"),
    [
        (partial_messages(2, 1), 1),
        (partial_messages(12, 2), 1),
        (partial_messages_chain(6, groups=6), 6),
        (partial_messages_fanout(12, 3), 1),
    ],
    ids=["two", "mesh", "chain", "fanout"],
)
def test_partial_messages_of_gossipsub_interop(script: list[dict[str, Any]], groups: int) -> None:
    """Everybody ends with every part, which is what gossipsub-interop looks for; and keeps to the model."""
    result, events = run(script=script)
    assert set(result.outcome.complete_groups.values()) == {groups}
    assert len(result.outcome.complete_groups) == result.outcome.nodes
    assert clean(events) > 100


def test_full_messages_of_gossipsub_interop() -> None:
    result, events = run(script=subnet_blob(8, 1))
    assert result.metrics.delivery_ratio == 1 and result.metrics.messages == 3
    # Each hop has 20 ms under way and 5 ms of thinking.
    assert result.metrics.latency_ms is not None and result.metrics.latency_ms["p50"] == 25
    assert clean(events) > 500


# -- what cannot be run ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"nodes": [{"router": "ourss"}]}, "no router 'ourss'"),
        (
            {"nodes": [{"count": 2}, {"count": 2, "protocol": "dog"}], "topology": {"kind": "complete"}},
            "have no stream in common",
        ),
        (
            {"nodes": [{}, {"parameters": {"message_id": "origin"}}], "topology": {"kind": "line"}},
            "all need one message_id and one signature_policy",
        ),
        ({"nodes": [{}], "topics": [{"partial": True}]}, "has no partial messages; give it the protocol"),
        (
            {"nodes": [{}], "traffic": [{"publishers": [3]}]},
            "publishers: node 3, and nodes are 0 to 0",
        ),
        (
            {"nodes": [{}], "script": [{"type": "submit"}]},
            r"submit at node 0 \(gossipsub-1.2\): pubsub nodes publish",
        ),
        (
            {"nodes": [{"router": "python:tests.helpers.failing_router:open_stranger"}]},
            "does not say 'identity', so it would sign as node 0",
        ),
    ],
)
def test_what_cannot_be_run(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        run(**fields)


def test_a_mutant_of_another_protocol() -> None:
    with pytest.raises(AdapterError, match="backoff-not-told differs from gossipsub-1.1 on"):
        run(nodes=[{"protocol": "gossipsub-1.0", "router": "ours:backoff-not-told"}])
