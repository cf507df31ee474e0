"""DOG's metrics of a CometBFT node, from what its Prometheus endpoint answered once.

CometBFT traces no events: these counters are all that a real node tells of DOG. Parsed by prometheus-client,
which is of an extra. Untested against files of a real node: the names are those of CometBFT's source.
"""

from __future__ import annotations

import importlib.util
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from quidnunc.pipeline.trace_shapes import TraceError

MAX_SNAPSHOT_BYTES = 16 << 20
MAX_SAMPLES = 100_000
GAUGES = {
    "mempool_already_received_txs": "already_received_txs",
    "mempool_disabled_routes": "disabled_routes",
    "mempool_redundancy": "redundancy",
}
TRAFFIC = {"p2p_message_send_bytes": "sent_bytes", "p2p_message_receive_bytes": "received_bytes"}


@frozen(kw_only=True)
class DogSnapshot:
    """What one node said. None where it has no such metric, as a node without DOG has not."""

    already_received_txs: float | None = None
    """Duplicates, since it started."""
    disabled_routes: float | None = None
    redundancy: float | None = None
    sent_bytes: Mapping[str, float] = field(factory=dict)
    """By type of message; HaveTx and ResetRoute are among them."""
    received_bytes: Mapping[str, float] = field(factory=dict)


def snapshot_of(text: str, *, where: str = "<text>") -> DogSnapshot:
    """The snapshot in an exposition text. Raises TraceError where it is none, or prometheus-client is
    missing."""
    if importlib.util.find_spec("prometheus_client") is None:
        raise TraceError("snapshots of Prometheus need prometheus-client: pip install 'quidnunc[trace]'")
    from prometheus_client.parser import text_string_to_metric_families

    if len(text) > MAX_SNAPSHOT_BYTES:
        raise TraceError(f"{where}: longer than {MAX_SNAPSHOT_BYTES} characters")
    gauges: dict[str, float] = {}
    traffic: dict[str, dict[str, float]] = {name: defaultdict(float) for name in TRAFFIC.values()}
    samples = 0
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                samples += 1
                if samples > MAX_SAMPLES:
                    raise TraceError(f"{where}: more than {MAX_SAMPLES} samples")
                _take(sample.name, sample.labels, float(sample.value), gauges, traffic)
    except (ValueError, KeyError, IndexError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"{where}: no exposition text of Prometheus: {error}") from None
    if not samples:
        raise TraceError(f"{where}: no metric in it")
    return DogSnapshot(
        **gauges, sent_bytes=dict(traffic["sent_bytes"]), received_bytes=dict(traffic["received_bytes"])
    )


def read_snapshot(path: Path) -> DogSnapshot:
    """The snapshot in a file. Raises TraceError."""
    if path.stat().st_size > MAX_SNAPSHOT_BYTES:
        raise TraceError(f"{path}: longer than {MAX_SNAPSHOT_BYTES} bytes")
    try:
        return snapshot_of(path.read_text(encoding="utf-8"), where=str(path))
    except UnicodeDecodeError:
        raise TraceError(f"{path}: not UTF-8") from None


def _take(
    name: str,
    labels: Mapping[str, str],
    value: float,
    gauges: dict[str, float],
    traffic: dict[str, dict[str, float]],
) -> None:
    """Note one sample. The namespace before a name is the operator's to choose (`cometbft` by default)."""
    if not math.isfinite(value):
        return
    for ending, attribute in GAUGES.items():
        if _named(name, ending):
            gauges[attribute] = gauges.get(attribute, 0.0) + value
    for ending, attribute in TRAFFIC.items():
        if _named(name, ending):
            traffic[attribute][labels.get("message_type", "")] += value


def _named(name: str, ending: str) -> bool:
    plain = name.removesuffix("_total")
    return plain == ending or plain.endswith(f"_{ending}")
