"""Silver: rows by columns are the rows of single events; buckets are whole, sorted, and grow."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quidnunc.pipeline.lake.ingest import SourceOptions
from quidnunc.pipeline.lake.silver.rows import rows_of
from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, RowKind, SilverRow
from quidnunc.pipeline.trace.events import DroppedRpc, HeartbeatEvent, RunStart, SentRpc, TraceEvent
from quidnunc.pipeline.trace.proto import bytes_of
from quidnunc.pipeline.trace.rpc import ControlMeta, IWantMeta, MempoolMeta, MessageMeta, PartBytes, RpcMeta
from tests.helpers.trace_files import write_trace
from tests.helpers.trace_values import events

numpy = pytest.importorskip("numpy", reason="pip install '.[spark]'")
pyarrow = pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.bronze.build import BronzeEntry
from quidnunc.pipeline.lake.bronze.schema import GO, decode
from quidnunc.pipeline.lake.silver.build import buckets_for
from quidnunc.pipeline.lake.silver.columns import IdTables, piece_of
from quidnunc.pipeline.lake.silver.parts import bucket_files, buckets_in, read_ids
from tests.helpers.networks import ASKED, Landing, land, silver_of

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def by_columns(written: list[TraceEvent]) -> list[SilverRow]:
    """The rows of some events of go's schema, made in columns, in the order of the events."""
    ids = IdTables()
    tables = []
    for kind in GO:
        places = [at for at, event in enumerate(written) if event.type == kind]
        if places:
            block = decode([bytes_of(written[at]) for at in places])
            block = block.append_column("record", pyarrow.array(places, pyarrow.int64()))
            block = block.append_column("ours", pyarrow.nulls(len(places), pyarrow.string()))
            tables.append(piece_of(kind, block, ids, numpy.zeros(0)))
    read = [row for table in tables for row in read_rows(table, {t: list(v) for t, v in ids.tables.items()})]
    return [row for _, row in sorted(read, key=lambda pair: pair[0])]


def read_rows(table: Any, ids: dict[str, list[Any]]) -> list[tuple[tuple[int, int], SilverRow]]:
    """((seq, item), row) of a table of silver, its numbers read back."""
    found = []
    for plain in table.to_pylist():
        place = (plain.pop("seq"), plain.pop("item"))
        del plain["run"]
        for name in IDS:
            number = plain[name]
            plain[name] = None if number is None or number < 0 else ids[TABLE_OF[name]][number]
        found.append((place, SilverRow(**plain)))
    return found


@given(st.lists(events(go=True), min_size=1, max_size=6))
@QUICK
def test_columns_say_what_single_events_do(written: list[TraceEvent]) -> None:
    assert by_columns(written) == [row for event in written for row in rows_of(event)]


@given(st.lists(events(go=False), min_size=1, max_size=6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_event_is_in_silver_with_all_that_it_says(written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder:
        write_trace(written, Path(folder) / "land" / "trace.jsonl")
        silver = silver_of(Path(folder) / "land", Path(folder) / "run", SourceOptions(buckets=2))
        rows = sorted(whole(silver), key=lambda pair: pair[0])
    expected = [
        ((seq, item), row) for seq, event in enumerate(written) for item, row in enumerate(rows_of(event))
    ]
    assert rows == expected


def whole(silver: Path) -> list[tuple[tuple[int, int], SilverRow]]:
    """All rows of a silver, checked to be in the order of their bucket."""
    ids = read_ids(silver)
    found = []
    for file in sorted(silver.glob("bucket-*.parquet")):
        table = parquet.read_table(file)
        peers = [
            (-1 if p is None else p, s, i)
            for p, s, i in zip(*(table[n].to_pylist() for n in ("peer", "seq", "item")), strict=True)
        ]
        assert peers == sorted(peers)
        found += read_rows(table, ids)
    return found


def rows_by_bucket(silver: Path) -> list[list[dict[str, Any]]]:
    """The rows of each bucket in their order, whatever parts they are in."""
    found = []
    for files in buckets_in(silver):
        rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
        found.append(
            sorted(rows, key=lambda r: (-1 if r["peer"] is None else r["peer"], r["seq"], r["item"]))
        )
    return found


def test_bytes_go_to_the_first_row_of_their_kind() -> None:
    meta = RpcMeta(
        messages=(MessageMeta(message_id=b"m"), MessageMeta(message_id=b"n")),
        control=ControlMeta(iwant=(IWantMeta(message_ids=(b"x",)),)),
    )
    parts = (
        PartBytes(kind="message", bytes=70),
        PartBytes(kind="iwant", bytes=9),
        PartBytes(kind="odd", bytes=1),
    )
    rows = rows_of(TraceEvent(SentRpc(peer=b"p", meta=meta, parts=parts)))
    said = [(r.kind, r.message, r.wire) for r in rows]
    assert said == [(1, b"m", 70), (1, b"n", None), (3, b"x", 9), (18, None, 1)]
    mixed = rows_of(TraceEvent(DroppedRpc(peer=b"p", meta=meta, length=88)))
    assert [(r.kind, r.wire) for r in mixed] == [(1, None), (1, None), (3, None), (17, 88)]
    alone = rows_of(
        TraceEvent(SentRpc(peer=b"p", meta=RpcMeta(mempool=(MempoolMeta(kind="txs", tx=b"t"),)), length=5))
    )
    assert [(r.kind, r.message, r.wire) for r in alone] == [(RowKind.TXS, b"t", 5)]
    assert [(r.kind, r.wire) for r in rows_of(TraceEvent(SentRpc(peer=b"p", length=2)))] == [
        (RowKind.EVENT, 2)
    ]


def test_runs_are_counted_over_files(tmp_path: Path) -> None:
    start, beat = TraceEvent(RunStart(name="r"), b"a", 1), TraceEvent(HeartbeatEvent(), b"a", 2)
    write_trace([beat, start, beat], tmp_path / "land" / "a.jsonl")
    write_trace([beat, start, beat, beat], tmp_path / "land" / "b.jsonl")
    silver = silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    (bucket,) = bucket_files(silver)
    assert parquet.read_table(bucket)["run"].to_pylist() == [0, 1, 1, 1, 2, 2, 2]


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True)


def test_what_comes_later_changes_nothing_of_what_was_there(landing: Landing, tmp_path: Path) -> None:
    """A folder that grew says what the same files say at once: its ids and order too, as they came by
    name."""
    at_once = silver_of(landing.folder, tmp_path / "once")
    growing = tmp_path / "growing"
    growing.mkdir()
    for path in sorted(landing.folder.iterdir()):
        (growing / path.name).write_bytes(path.read_bytes())
        grown = silver_of(growing, tmp_path / "run")
    assert grown.name == at_once.name
    assert [path.name for path in (tmp_path / "run" / "silver").iterdir()] == [grown.name]
    assert len(bucket_files(grown)) > len(bucket_files(at_once))
    assert rows_by_bucket(grown) == rows_by_bucket(at_once)
    assert read_ids(grown) == read_ids(at_once)
    described = [json.loads((each / "silver.json").read_bytes()) for each in (grown, at_once)]
    assert len(described[0].pop("parts")) > len(described[1].pop("parts")) == 1
    assert described[0] == described[1]


def test_buckets_do_not_depend_on_what_else_there_is(landing: Landing, tmp_path: Path) -> None:
    """Rows of a peer are in one bucket, and all buckets together have every row once."""
    few = whole(silver_of(landing.folder, tmp_path / "few", attrs.evolve(ASKED, buckets=2)))
    many = whole(silver_of(landing.folder, tmp_path / "many", attrs.evolve(ASKED, buckets=7)))
    assert len(few) > 5000
    assert sorted(few, key=lambda pair: pair[0]) == sorted(many, key=lambda pair: pair[0])


def test_a_first_portion_has_buckets_for_the_whole() -> None:
    entry = BronzeEntry(
        key="", digest="", name="", kind="json", records=30_000_000, bad=0, runs=0, problem="", types={}
    )
    assert [buckets_for([entry], share) for share in (1.0, 0.1, 1e-6)] == [15, 150, 10_000]
    assert buckets_for([attrs.evolve(entry, records=1)]) == 8
