"""Bronze: every record of a file is there or in quarantine, however the file was read."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quidnunc.pipeline.lake.bronze.build import BAD, BronzeEntry, make_bronze
from quidnunc.pipeline.lake.bronze.events import blocks_in, run_starts
from quidnunc.pipeline.lake.landing import landing_file, records_of
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.trace.carriers import Carrier
from quidnunc.pipeline.trace.events import (
    TYPE_OF_NUMBER,
    DeliverMessage,
    GraftEvent,
    HeartbeatEvent,
    JoinEvent,
    RunStart,
    TraceEvent,
)
from quidnunc.pipeline.trace.json_lines import event_of_line
from quidnunc.pipeline.trace.proto import event_of_bytes, go_form
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire
from tests.helpers.trace_files import write_trace
from tests.helpers.trace_values import events

pyarrow = pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.bronze import schema as bronze_schema

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEVERAL = [
    TraceEvent(JoinEvent(topic="t"), b"a", 5),
    TraceEvent(DeliverMessage(message_id=b"m", topic="t", received_from=b"b"), b"a", None),
    TraceEvent(GraftEvent(peer=b"b"), b"a", 7),
]


def bronze_of(path: Path, root: Path) -> tuple[BronzeEntry, list[dict[str, Any]], list[dict[str, Any]]]:
    """Entry, events and quarantine of one landing file."""
    run = RunFolder(root)
    (entry,) = make_bronze([landing_file(path)], run)
    folder = run.bronze(entry.key)
    good = rows_of_bronze(folder)
    bad = parquet.read_table(folder / BAD).to_pylist() if (folder / BAD).exists() else []
    return entry, good, bad


def rows_of_bronze(folder: Path) -> list[dict[str, Any]]:
    """All rows in the order of the landing file; of each type all have that body and no other column."""
    rows = []
    for file in folder.glob("events-*.parquet"):
        read = parquet.read_table(file).to_pylist()
        kinds = {TYPE_OF_NUMBER[row["type"]] for row in read}
        if file.stem == "events-OURS":
            assert all(kind.ours for kind in kinds)
        else:
            (kind,) = kinds
            assert file.stem == f"events-{kind.enum}"
            assert all(row[kind.field] is not None for row in read)
        rows += read
    return sorted(rows, key=lambda row: int(row["record"]))


def event_of_row(row: dict[str, Any]) -> TraceEvent:
    """The event that a row of bronze holds, by a way of its own."""
    if row["ours"] is not None:
        return event_of_line(row["ours"].encode())
    made = Wire()
    fill(made, {name: row[name] for name in bronze_schema.schema_of().names if name in row})
    return event_of_bytes(made.SerializeToString())


def fill(message: Any, plain: dict[str, Any]) -> None:
    for name, value in plain.items():
        if isinstance(value, dict):
            getattr(message, name).SetInParent()
            fill(getattr(message, name), value)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, dict):
                    fill(getattr(message, name).add(), each)
                else:
                    getattr(message, name).append(each)
        elif value is not None:
            setattr(message, name, value)


@pytest.mark.parametrize("carrier", ["json", "protobuf", "batches"])
@given(st.lists(events(go=False), min_size=1, max_size=6))
@QUICK
def test_nothing_is_lost(carrier: Carrier, written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_trace(written, path, carrier)
        entry, good, bad = bronze_of(path, Path(folder) / "run")
        assert [event_of_row(row) for row in good] == written
        assert (entry.records, entry.bad, bad) == (len(written), 0, [])
        assert [row["record"] for row in good] == list(range(len(written)))
        assert {row["file"] for row in good} == {"trace"}


@given(st.lists(events(go=True), max_size=5))
@QUICK
def test_the_columns_of_both_decoders_are_equal(written: list[TraceEvent]) -> None:
    pytest.importorskip("ptars", reason="pip install '.[spark]'")
    from quidnunc.pipeline.trace.proto import bytes_of

    frames = [bytes_of(event) for event in written]
    assert bronze_schema.decode(frames).equals(bronze_schema.decode_slowly(frames))
    with pytest.raises(ValueError, match="."):
        bronze_schema.decode([*frames, b"\xff"])


DAMAGE = st.tuples(st.integers(0, 200), st.sampled_from(["cut", "flip", "insert"]), st.integers(0, 255))


@pytest.mark.parametrize("carrier", ["protobuf", "batches"])
@pytest.mark.parametrize("compressed", [False, True])
@given(st.lists(events(go=True), min_size=1, max_size=5), DAMAGE)
@example(SEVERAL, (1000, "insert", 8))
@QUICK
def test_blocks_are_read_as_single_records_are(
    carrier: Carrier, compressed: bool, written: list[TraceEvent], damage: tuple[int, str, int]
) -> None:
    """Whatever is broken: the same events, and the same places of what is none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_trace(written, path, carrier)
        data = path.read_bytes()
        if carrier == "batches" and not compressed:
            data = gzip.decompress(data)
        data = damaged(data, *damage)
        path.write_bytes(gzip.compress(data, mtime=0) if compressed and carrier == "protobuf" else data)
        file = landing_file(path)
        if file.kind != carrier:
            return
        assert file.fast
        entry, good, bad = bronze_of(path, Path(folder) / "run")
        found = list(records_of(file))
        assert [event_of_row(r) for r in good] == [f.event for f in found if f.event is not None]
        assert [r["position"] for r in good] == [f.position for f in found if f.event is not None]
        assert [r["position"] for r in bad] == [f.position for f in found if f.event is None]
        assert entry.bad == len(bad)


def damaged(data: bytes, at: int, how: str, byte: int) -> bytes:
    """Cut off, one byte changed, or one put in."""
    at = min(at, len(data))
    if how == "cut":
        return data[:at]
    rest = data[at + 1 :] if how == "flip" else data[at:]
    return data[:at] + bytes([byte]) + rest


def test_bad_records_are_kept_with_their_place_and_how_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    good = Wire(type=9, join=Wire.Joined(topic="t")).SerializeToString()
    none = Wire(type=3).SerializeToString()
    path.write_bytes(b"".join(bytes([len(d)]) + d for d in (good, none, good)) + b"\x50abc")
    entry, rows, bad = bronze_of(path, tmp_path / "run")
    assert (entry.records, entry.bad, entry.types) == (2, 2, {"9": 2})
    assert [(b["position"], b["raw"]) for b in bad] == [
        (len(good) + 1, none),
        (path.stat().st_size - 4, b"\x50abc"),
    ]
    assert "DELIVER_MESSAGE" in bad[0]["problem"] and "cut off" in bad[1]["problem"]
    assert entry.problem.startswith(f"trace.pb:{len(good) + 1}: ")


def test_a_limit_on_what_quarantine_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.pipeline.lake.bronze.build.MAX_BAD_KEPT", 3)
    path = tmp_path / "trace.jsonl"
    path.write_text("{}\n" * 10 + '{"type":101,"heartbeat":{}}\n', encoding="utf-8")
    entry, rows, bad = bronze_of(path, tmp_path / "run")
    assert (entry.records, entry.bad, len(bad)) == (1, 10, 3)
    assert event_of_row(rows[0]) == TraceEvent(HeartbeatEvent())


@pytest.mark.parametrize("group", [1, 3, 10])
@given(st.lists(events(go=False), min_size=4, max_size=20))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_events_are_read_type_by_type_in_the_order_of_the_file(group: int, written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("quidnunc.pipeline.lake.bronze.events.ROW_GROUP", group)
        patch.setattr("quidnunc.pipeline.lake.bronze.build.BATCH", 4)
        path = Path(folder) / "trace"
        write_trace(written, path)
        run = RunFolder(Path(folder) / "run")
        bronze = run.bronze(make_bronze([landing_file(path)], run)[0].key)
        blocks = list(blocks_in(bronze, 3))
        assert all(0 < block.num_rows <= 3 for _, block in blocks)
        found = [(kind, record) for kind, block in blocks for record in block["record"].to_pylist()]
        kinds = [None if event.type.ours else event.type for event in written]
        assert sorted(record for _, record in found) == list(range(len(written)))
        assert all(kinds[record] == kind for kind, record in found)
        assert found == sorted(found, key=lambda f: (f[0].number if f[0] else 99, f[1]))
        starts = [at for at, event in enumerate(written) if isinstance(event.body, RunStart)]
        assert run_starts(bronze).tolist() == starts


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("table.parquet", b"PAR1\x15\x04"),
        ("noise", bytes(range(200, 256))),
        ("cut.gz", gzip.compress(b"x" * 99, mtime=0)[:15]),
    ],
)
def test_a_file_of_another_kind_is_one_bad_record(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    entry, rows, bad = bronze_of(tmp_path / name, tmp_path / "run")
    assert (entry.records, entry.bad, rows) == (0, 1, [])
    assert bad[0]["position"] == 0 and bad[0]["problem"]


def test_what_was_made_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_trace(SEVERAL, tmp_path / "trace.jsonl")
    first, _, _ = bronze_of(tmp_path / "trace.jsonl", tmp_path / "run")
    monkeypatch.setattr(
        "quidnunc.pipeline.lake.bronze.build.records_of", lambda file: pytest.fail("it was read again")
    )
    assert bronze_of(tmp_path / "trace.jsonl", tmp_path / "run")[0] == first


def test_reduced_events_stay_whole_beside_gos_columns(tmp_path: Path) -> None:
    event = TraceEvent(DeliverMessage(message_id=b"m", topic="t", size=77), b"a", 1)
    write_trace([event], tmp_path / "trace.jsonl")
    _, (row,), _ = bronze_of(tmp_path / "trace.jsonl", tmp_path / "run")
    assert row["deliverMessage"] == {"messageID": b"m", "topic": "t", "receivedFrom": None}
    assert event_of_row(row) == event != go_form(event)
