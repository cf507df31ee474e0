"""What a file for each peer must not change: their order, their ends, and who published what another had."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from quidnunc.pipeline.lake.gold.build import GoldRequest, GoldResults, gold_of
from quidnunc.pipeline.lake.ingest import SourceOptions, manifest_of
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.trace.events import (
    Body,
    DeliverMessage,
    DuplicateMessage,
    GraftEvent,
    HeartbeatEvent,
    JoinEvent,
    PublishMessage,
    ReceivedRpc,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.files import read_trace
from quidnunc.pipeline.trace.metrics import metrics_of
from quidnunc.pipeline.trace.rpc import RpcMeta
from tests.helpers.trace_files import write_trace

pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.gold.witness import VIOLATIONS_JSON, write_witnesses
from tests.helpers.duck import Duck
from tests.helpers.networks import SETTINGS, silver_of

S = 1_000_000_000
MS = S // 1000
PEERS = ("alice", "bob", "carol", "dave")
Files = Mapping[str, Sequence[tuple[float, Body]]]
"""File -> what its peer (the name up to a dash) has to tell, and when in s."""


def land(folder: Path, files: Files) -> Path:
    for name, told in files.items():
        peer = name.partition("-")[0].encode()
        write_trace([TraceEvent(body, peer, round(at * S)) for at, body in told], folder / f"{name}.jsonl")
    return folder


def gold(folder: Path, root: Path) -> tuple[GoldResults, Duck]:
    duck = Duck(silver := silver_of(folder, root, SourceOptions(buckets=1)))
    wanted = GoldRequest(silver=silver.name, completeness="full", clock="one", settings=SETTINGS)
    return gold_of(duck, wanted), duck


# -- two publishers of one message --------------------------------------------------------------------------


def twice_published(first: str, second: str, later_s: float, *, published: bool = True) -> Files:
    """`first` publishes at 2 s, which is 20 ms from everybody; `second` the same, so much later."""
    files: dict[str, list[tuple[float, Body]]] = {peer: [(0.1, JoinEvent(topic="t"))] for peer in PEERS}

    def own(peer: str, at: float) -> None:
        if published:
            files[peer].append((at, PublishMessage(message_id=b"m", topic="t")))
        files[peer].append((at, DeliverMessage(message_id=b"m", topic="t", received_from=peer.encode())))

    def come(peer: str, at: float, sender: str, fresh: bool) -> None:
        kind = DeliverMessage if fresh else DuplicateMessage
        files[peer].append((at, kind(message_id=b"m", topic="t", received_from=sender.encode())))

    own(first, 2)
    if later_s < 0.02:
        own(second, 2 + later_s)
    for peer in PEERS:
        if peer != first:
            come(peer, 2.02, first, fresh=peer != second or later_s >= 0.02)
    if later_s >= 0.02:
        own(second, 2 + later_s)
    for peer in PEERS:
        if peer != second:
            # Some router forgot that it had it.
            come(peer, 2.04 + later_s, second, fresh=peer == first)
    return files


@pytest.mark.parametrize(("first", "second", "later_s"), [("alice", "dave", 0.01), ("dave", "alice", 3)])
def test_the_first_publication_counts_whatever_the_order_of_files(
    first: str, second: str, later_s: float, tmp_path: Path
) -> None:
    folder = land(tmp_path / "land", twice_published(first, second, later_s))
    (plain,) = (run.plain() for run in metrics_of(read_trace(folder).events()))
    reached = 3 if later_s == 3 else 2
    assert plain["latency_ms"] == dict.fromkeys(("p50", "p95", "p99", "max"), 20.0)
    assert (plain["messages"], plain["deliveries"], plain["deliveries_by_hop"]) == (
        1,
        reached,
        {"1": reached},
    )
    assert (plain["expected_deliveries"], plain["delivery_ratio"], plain["lacking"]) == (3, 1.0, [])
    (found,) = gold(folder, tmp_path / "run")[0].metrics
    assert {name: found[name] for name in plain} == plain


@pytest.mark.parametrize("seed", range(2))
def test_plain_files_and_folders_say_the_same_of_any_trace(seed: int, tmp_path: Path) -> None:
    """Publications and deliveries at random, so that each is early or late, own or not, once or again."""
    die = random.Random(seed)
    files: dict[str, list[tuple[float, Body]]] = {peer: [(0.1, JoinEvent(topic="t"))] for peer in PEERS}
    for peer in PEERS:
        for at in range(12):
            message = b"m%d" % die.randrange(3)
            sender = die.choice(PEERS).encode()
            body = die.choice(
                [
                    PublishMessage(message_id=message, topic="t"),
                    DeliverMessage(message_id=message, topic="t", received_from=sender),
                    DeliverMessage(message_id=message, topic="t", received_from=sender),
                ]
            )
            files[peer].append((1 + at + die.random(), body))
    folder = land(tmp_path / "land", files)
    (plain,) = (run.plain() for run in metrics_of(read_trace(folder).events()))
    (found,) = gold(folder, tmp_path / "run")[0].metrics
    latency = plain.pop("latency_ms")
    assert found["latency_ms"] == pytest.approx(latency, abs=0.001)
    assert {name: found[name] for name in plain} == plain
    events = list(read_trace(folder).events())
    die.shuffle(files_in_order := list(PEERS))
    (other,) = metrics_of(e for peer in files_in_order for e in events if e.peer == peer.encode())
    assert other.plain() == {**plain, "latency_ms": latency}


def test_without_publications_who_delivered_it_to_itself_first_is_the_publisher(tmp_path: Path) -> None:
    folder = land(tmp_path / "land", twice_published("dave", "alice", 3, published=False))
    (plain,) = (run.plain() for run in metrics_of(read_trace(folder).events()))
    assert (plain["deliveries"], plain["deliveries_by_hop"]) == (3, {"1": 3})
    (found,) = gold(folder, tmp_path / "run")[0].metrics
    assert {name: found[name] for name in plain} == plain


# -- a peer that died ---------------------------------------------------------------------------------------


def test_a_peer_that_is_silent_is_not_said_to_hold_a_link_nor_not_to(tmp_path: Path) -> None:
    """Ends of links in pairs: `a` holds `b` from 1 s on; how long it was seen to hold it alone."""
    pairs = (
        # a is seen to, b is seen from, b grafts as well, seconds
        (60.0, 0.5, True, 0.1),
        (60.0, 0.5, False, 58.0),
        (10.0, 0.5, False, 9.0),
        (1.0, 0.5, False, None),
        (60.0, 50.0, False, 9.0),
    )
    beats = [0.5, *map(float, range(2, 60))]
    files: dict[str, list[tuple[float, Body]]] = {}
    for at, (a_until_s, b_from_s, both, _) in enumerate(pairs):
        a, b = f"a{at}", f"b{at}"
        files[a] = [(1, GraftEvent(peer=b.encode(), topic="t"))]
        files[a] += [(s, HeartbeatEvent()) for s in beats if 1 < s <= a_until_s]
        files[b] = [(1.1, GraftEvent(peer=a.encode(), topic="t"))] if both else []
        files[b] += [(s, HeartbeatEvent()) for s in beats if s >= b_from_s]
    _, duck = gold(land(tmp_path / "land", files), tmp_path / "run")
    found = [row["us"] / 1_000_000 for row in duck.rows("SELECT us FROM one_sided ORDER BY us")]
    assert found == sorted(seconds for *_, seconds in pairs if seconds is not None)


# -- what is seen of a trace --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SentRpc, ReceivedRpc])
def test_rpcs_of_one_direction_are_no_whole_trace(kind: type, tmp_path: Path) -> None:
    """Else what was asked without an advertisement would fail, which was only not traced."""
    one = {"alice": [(1, kind(peer=b"bob", meta=RpcMeta())), (2, HeartbeatEvent())]}
    silver_of(land(tmp_path / "land", one), tmp_path / "run")
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert manifest["completeness"] == "filtered"
    assert manifest["completeness_because"] == "there are RPCs of one direction only"
    both = {**one, "bob": [(1, SentRpc(peer=b"alice")), (2, ReceivedRpc(peer=b"alice"))]}
    silver_of(land(tmp_path / "both", both), tmp_path / "whole")
    assert manifest_of(RunFolder(tmp_path / "whole"))["completeness"] == "full"


def test_a_violation_is_told_by_file_and_line(tmp_path: Path) -> None:
    """Two files of JSON and one of protobuf: the line of the one, the byte of the other."""
    twice = [(1.0, DeliverMessage(message_id=b"m", received_from=b"x"))] * 2
    beats = [(float(at), HeartbeatEvent()) for at in range(3)]
    folder = land(tmp_path / "land", {"alice": beats, "bob-9": beats, "bob-10": [*beats, *twice]})
    events = [TraceEvent(body, b"carol", 5) for _, body in twice]
    write_trace(events, folder / "carol.pb", "protobuf")
    made, _ = gold(folder, tmp_path / "run")
    silver = next((tmp_path / "run" / "silver").iterdir())
    write_witnesses(made.violations, made.runs, silver, tmp_path)
    told = json.loads((tmp_path / VIOLATIONS_JSON).read_bytes())
    size = (folder / "carol.pb").stat().st_size
    assert sorted((v["peer"], v["file"], v["position"], v["sequence"]) for v in told) == [
        ("bob", "bob-10.jsonl", 5, 10),
        ("carol", "carol.pb", size // 2, 12),
    ]
    assert "deliver.once" in {v["claim"] for v in told}
