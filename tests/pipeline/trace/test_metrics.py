"""Metrics of a small network, against its closed forms: nothing is lost, and all links are alike."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.pipeline.trace.events import (
    DeliverMessage,
    DuplicateMessage,
    HeartbeatEvent,
    JoinEvent,
    LeaveEvent,
    PublishMessage,
    RunStart,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.metrics import RunMetrics, kinds_of, metrics_of, percentiles
from quidnunc.pipeline.trace.rpc import ControlMeta, IHaveMeta, MessageMeta, PartBytes, RpcMeta
from quidnunc.pipeline.trace.shapes import TraceError

LINK_MS = 10
Graph = Mapping[bytes, list[bytes]]


def name(peer: int) -> bytes:
    return b"peer%d" % peer


def graph_of(edges: list[tuple[int, int]]) -> Graph:
    found: dict[bytes, list[bytes]] = {}
    for a, b in {(min(each), max(each)) for each in edges}:
        found.setdefault(name(a), []).append(name(b))
        found.setdefault(name(b), []).append(name(a))
    return found


def flooded(graph: Graph, publisher: bytes, message: bytes, start_ms: int = 0) -> Iterator[TraceEvent]:
    """A message that everybody passes on to all but whom it came from, each link in LINK_MS."""
    ns = 1_000_000
    yield TraceEvent(PublishMessage(message_id=message, topic="t"), publisher, start_ms * ns)
    yield TraceEvent(DeliverMessage(message_id=message, received_from=publisher), publisher, start_ms * ns)
    seen = {publisher}
    waiting = deque((publisher, each, start_ms + LINK_MS) for each in graph[publisher])
    meta = RpcMeta(messages=(MessageMeta(message_id=message, topic="t"),))
    for each in graph[publisher]:
        yield TraceEvent(SentRpc(peer=each, meta=meta, length=100), publisher, start_ms * ns)
    while waiting:
        sender, peer, at_ms = waiting.popleft()
        kind = DuplicateMessage if peer in seen else DeliverMessage
        yield TraceEvent(kind(message_id=message, received_from=sender, topic="t"), peer, at_ms * ns)
        if peer not in seen:
            seen.add(peer)
            for each in graph[peer]:
                if each != sender:
                    yield TraceEvent(SentRpc(peer=each, meta=meta, length=100), peer, at_ms * ns)
                    waiting.append((peer, each, at_ms + LINK_MS))


def measured(graph: Graph, publishers: list[bytes]) -> RunMetrics:
    joins = [TraceEvent(JoinEvent(topic="t"), peer, 0) for peer in graph]
    events = [*joins]
    for at, publisher in enumerate(publishers):
        events += flooded(graph, publisher, b"m%d" % at, 1000 * at)
    (found,) = metrics_of(events)
    return found


RANDOM = random.Random(7)
EDGES = {
    "path": [(n, n + 1) for n in range(9)],
    "star": [(0, n) for n in range(1, 10)],
    "complete": [(a, b) for a in range(8) for b in range(a)],
    "random": [(n, RANDOM.randrange(n)) for n in range(1, 30)] + [(n, (n + 7) % 30) for n in range(0, 30, 2)],
}


@pytest.mark.parametrize("shape", EDGES)
def test_flooding_has_a_closed_form(shape: str) -> None:
    graph = graph_of(EDGES[shape])
    peers, links = len(graph), sum(map(len, graph.values())) // 2
    found = measured(graph, [name(0), name(peers - 1)])
    assert (found.messages, found.deliveries, found.delivery_ratio) == (2, 2 * (peers - 1), 1.0)
    # Each peer passes it on over all its links but one, and the publisher over all.
    copies = 2 * links - (peers - 1)
    assert found.sent == {"message": 2 * copies}
    assert found.bytes_sent == {"message": 200 * copies}
    assert found.copies == copies / (peers - 1)
    assert found.lacking == ()


@pytest.mark.parametrize("shape", EDGES)
def test_hops_and_latencies_are_those_of_shortest_paths(shape: str) -> None:
    networkx = pytest.importorskip("networkx", reason="the oracle of shortest paths is networkx")
    graph = graph_of(EDGES[shape])
    oracle = networkx.Graph([(name(a), name(b)) for a, b in EDGES[shape]])
    publishers = [name(0), name(3)]
    found = measured(graph, publishers)
    lengths = [networkx.single_source_shortest_path_length(oracle, p) for p in publishers]
    distances = sorted(d for each in lengths for d in each.values() if d)
    assert found.hops == {d: distances.count(d) for d in set(distances)}
    assert found.depth == {d: [max(e.values()) for e in lengths].count(d) for d in found.depth}
    assert sum(found.depth.values()) == 2
    assert found.latency_ms is not None
    rank = -(-50 * len(distances) // 100)
    assert found.latency_ms["p50"] == LINK_MS * distances[rank - 1]
    assert found.latency_ms["max"] == LINK_MS * distances[-1]


def test_what_is_lost_lowers_the_ratio_and_what_comes_twice_raises_the_copies() -> None:
    graph = graph_of(EDGES["star"])
    events = [TraceEvent(JoinEvent(topic="t"), peer, 0) for peer in graph]
    events += [e for e in flooded(graph, name(0), b"m") if e.peer != name(4)]
    (found,) = metrics_of(events)
    assert (found.deliveries, found.expected_deliveries, found.delivery_ratio) == (8, 9, 8 / 9)
    (twice,) = metrics_of([*events, TraceEvent(DeliverMessage(message_id=b"m"), name(1), 5)])
    assert (twice.deliveries, twice.duplicates, twice.copies) == (8, 1, 9 / 8)


@given(st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_files_of_peers_may_come_in_any_order(die: random.Random) -> None:
    """A tracer writes a file for each peer, in the order of its own clock; who had joined is a matter of
    times."""
    graph = graph_of(EDGES["star"])
    joined = {peer: at for at, peer in enumerate(graph)}
    events = [TraceEvent(JoinEvent(topic="t"), peer, at * 1_500_000_000) for peer, at in joined.items()]
    events += [
        TraceEvent(LeaveEvent(topic="t"), name(1), 6_100_000_000),
        TraceEvent(JoinEvent(topic="t"), name(1), 9_000_000_000),
    ]
    for at in range(12):
        events += flooded(graph, name(0), b"m%d" % at, 1000 * at)
    events.sort(key=lambda e: e.at_ns or 0)
    (in_time,) = metrics_of(events)
    assert in_time.expected_deliveries == sum(
        sum(
            1500 * since <= 1000 * at and not (peer == name(1) and 6100 < 1000 * at < 9000)
            for peer, since in joined.items()
        )
        - 1
        for at in range(12)
    )
    files = list(graph)
    die.shuffle(files)
    (by_file,) = metrics_of([e for peer in files for e in events if e.peer == peer])
    assert by_file == in_time


def test_without_times_who_had_joined_is_a_matter_of_the_order() -> None:
    events = [
        TraceEvent(JoinEvent(topic="t"), name(1)),
        TraceEvent(PublishMessage(message_id=b"m", topic="t"), name(0)),
        TraceEvent(JoinEvent(topic="t"), name(2)),
        TraceEvent(DeliverMessage(message_id=b"m"), name(1)),
        TraceEvent(DeliverMessage(message_id=b"m"), name(2)),
    ]
    (found,) = metrics_of(events)
    assert (found.expected_deliveries, found.delivery_ratio) == (1, 1.0)


def test_a_limit_on_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.pipeline.trace.members.MAX_CHANGES", 3)
    events = [TraceEvent(JoinEvent(topic="t"), name(n), n) for n in range(4)]
    with pytest.raises(TraceError, match="more than 3 JOINs"):
        list(metrics_of(events))


def test_what_a_trace_lacks_is_said_and_not_made_up() -> None:
    delivered = [TraceEvent(DeliverMessage(message_id=b"m"), name(n), n * 1_000_000) for n in (1, 2, 5)]
    (found,) = metrics_of(delivered)
    assert (found.delivery_ratio, found.copies, found.latency_from) == (None, None, "first")
    assert found.latency_ms == {"p50": 1.0, "p95": 4.0, "p99": 4.0, "max": 4.0}
    assert found.hops == {}
    assert [line.split(":")[0] for line in found.lacking] == ["no delivery_ratio", "hops", "no copies"]


def test_senders_in_a_circle_lead_nowhere() -> None:
    sides = [(name(1), name(2)), (name(2), name(3)), (name(3), name(1)), (name(4), name(1))]
    events = [TraceEvent(DeliverMessage(message_id=b"m", received_from=b), a, 1) for a, b in sides]
    (found,) = metrics_of(events)
    assert found.hops == {}
    assert "4 deliveries do not lead back" in " ".join(found.lacking)


def test_runs_are_measured_apart() -> None:
    graph = graph_of(EDGES["path"])
    events: list[TraceEvent] = []
    for run in ("a", "b"):
        events.append(TraceEvent(RunStart(name=run)))
        events.append(TraceEvent(HeartbeatEvent(), name(0), 0))
        events += flooded(graph, name(0), b"m")
    assert [(r.run, r.messages, r.deliveries) for r in metrics_of(events)] == [("a", 1, 9), ("b", 1, 9)]
    assert list(metrics_of([])) == []


def test_bytes_are_those_of_their_kind() -> None:
    both = RpcMeta(
        messages=(MessageMeta(message_id=b"m"),),
        control=ControlMeta(ihave=(IHaveMeta(topic="t", message_ids=(b"a", b"b")),)),
    )
    parts = (PartBytes(kind="message", bytes=60), PartBytes(kind="ihave", bytes=9))
    sent = [
        TraceEvent(SentRpc(peer=b"p", meta=both, length=69)),
        TraceEvent(SentRpc(peer=b"p", meta=both, length=69, parts=parts)),
        TraceEvent(SentRpc(peer=b"p", meta=RpcMeta(), length=2)),
    ]
    (found,) = metrics_of(sent)
    assert found.bytes_sent == {"mixed": 69, "message": 60, "ihave": 9, "empty": 2}
    assert found.sent == {"message": 2, "ihave": 4}
    assert kinds_of(None) == {}


def test_percentiles_are_nearest_ranks() -> None:
    assert percentiles([]) is None
    assert percentiles([3.0]) == {"p50": 3.0, "p95": 3.0, "p99": 3.0, "max": 3.0}
    hundred = [float(n) for n in range(1, 101)]
    assert percentiles(hundred) == {"p50": 50.0, "p95": 95.0, "p99": 99.0, "max": 100.0}
    assert percentiles([*hundred, 101.0]) == {"p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 101.0}
