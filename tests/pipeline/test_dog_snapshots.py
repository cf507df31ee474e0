"""Snapshots of CometBFT's DOG metrics, in texts written by the library that reads them and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.pipeline.dog_snapshots import DogSnapshot, read_snapshot, snapshot_of
from quidnunc.pipeline.trace_shapes import TraceError

prometheus = pytest.importorskip("prometheus_client", reason="snapshots need prometheus-client")


def exposed() -> str:
    registry = prometheus.CollectorRegistry()
    duplicates = prometheus.Counter(
        "cometbft_mempool_already_received_txs", "n", ["chain_id"], registry=registry
    )
    duplicates.labels("c").inc(12)
    prometheus.Gauge("cometbft_mempool_disabled_routes", "n", registry=registry).set(5)
    prometheus.Gauge("cometbft_mempool_redundancy", "n", registry=registry).set(1.25)
    sent = prometheus.Counter("cometbft_p2p_message_send_bytes", "n", ["message_type"], registry=registry)
    for kind, count in (("mempool_HaveTx", 40), ("mempool_ResetRoute", 6), ("mempool_Txs", 900)):
        sent.labels(kind).inc(count)
    return str(prometheus.generate_latest(registry).decode())


def test_all_that_a_node_tells_of_dog(tmp_path: Path) -> None:
    found = snapshot_of(exposed())
    assert found == DogSnapshot(
        already_received_txs=12,
        disabled_routes=5,
        redundancy=1.25,
        sent_bytes={"mempool_HaveTx": 40, "mempool_ResetRoute": 6, "mempool_Txs": 900},
    )
    path = tmp_path / "metrics.txt"
    path.write_text(exposed())
    assert read_snapshot(path) == found


def test_a_node_without_dog_says_nothing_of_it() -> None:
    found = snapshot_of(
        "# TYPE x gauge\nother_mempool_size 3\nxmempool_redundancy 4\nmempool_redundancy NaN\n"
    )
    assert found == DogSnapshot()


def test_peers_of_one_type_are_added_up() -> None:
    name = "tm_p2p_message_receive_bytes_total"
    text = f'{name}{{peer="a",message_type="T"}} 1\n{name}{{peer="b",message_type="T"}} 2\n'
    assert snapshot_of(text).received_bytes == {"T": 3}


@pytest.mark.parametrize("text", ["", "{{{", "a b c d e\n", '{"type":1}'])
def test_what_is_no_exposition_is_refused(text: str) -> None:
    with pytest.raises(TraceError, match="no metric in it|no exposition text"):
        snapshot_of(text)
