"""From landing to silver under bad luck: hostile files, the same file twice, and a kill in every stage."""

from __future__ import annotations

import gzip
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
from quidnunc.pipeline.lake.gold.build import make_gold
from quidnunc.pipeline.lake.gold.witness import peer_text
from quidnunc.pipeline.lake.ingest import SourceOptions, find, gold_wanted, ingest, manifest_of, to_silver
from quidnunc.pipeline.lake.run_folder import RunFolder, is_run
from quidnunc.pipeline.trace.events import HeartbeatEvent, JoinEvent, OpenedStream, RunStart, TraceEvent
from quidnunc.pipeline.trace.shapes import TraceError
from tests.conftest import Command
from tests.helpers.trace_files import write_trace

parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from tests.helpers.networks import ASKED, Landing, land, left_out_of, silver_of

BEAT = TraceEvent(HeartbeatEvent(), b"a", 5)


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True, files=2)


NO_TRACE = (
    "starts with 50 41 52 31 00 00 00 00 00 00 00 00, which is no line of JSON, delimited protobuf or gzip "
    "stream of go-libp2p-pubsub's trace"
)


def rows_in(silver: Path) -> list[tuple[Any, ...]]:
    """Everything in a silver but its numbering."""
    tables = [parquet.read_table(file) for file in sorted(silver.glob("bucket-*.parquet"))]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


# -- hostile files ------------------------------------------------------------------------------------------


def test_bad_files_beside_good_ones_are_counted_and_said(landing: Landing, tmp_path: Path) -> None:
    folder = tmp_path / "land"
    shutil.copytree(landing.folder, folder)
    good = sorted(folder.iterdir())[0]
    data = good.read_bytes()
    (folder / "cut.pb").write_bytes(data[: len(data) // 2 + 7])
    (folder / "corrupt.pb.gz").write_bytes(gzip.compress(data)[:-20] + b"\x00" * 20)
    (folder / "schema.parquet").write_bytes(b"PAR1" + bytes(50))
    (folder / "empty").write_bytes(b"")
    (folder / "twin.pb").write_bytes(data)
    (folder / "current").write_bytes(data[:50])
    silver = silver_of(folder, tmp_path / "run")
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    entries = {e["name"]: e for e in manifest["files"]}
    records = entries[good.name]["records"]
    assert 0 < entries["cut.pb"]["records"] < records and entries["cut.pb"]["bad"] == 1
    # What is damaged may be read as empty records, up to the checksum.
    assert records - 9 < entries["corrupt.pb.gz"]["records"] < records and entries["corrupt.pb.gz"]["lost"]
    assert left_out_of(tmp_path / "run") == {
        "current": ("unfinished", "its name says that it is still written"),
        "empty": ("unfinished", "empty so far"),
        "schema.parquet": ("unreadable", NO_TRACE),
        "twin.pb": ("duplicate", f"the same as {good.name}"),
    }
    assert not manifest["complete"]
    assert manifest["records"] == sum(e["records"] for e in entries.values())
    # The events of the cut file are there twice.
    assert manifest["completeness"] == "disordered" and "records" in manifest["completeness_because"]
    assert len({row[2] for row in rows_in(silver)}) == manifest["records"]


def test_old_and_new_names_are_one(tmp_path: Path) -> None:
    events = [BEAT, TraceEvent(OpenedStream(peer=b"b", protocol="/x"), b"a", 6)]
    write_trace(events, tmp_path / "new" / "trace.jsonl", names="new")
    write_trace(events, tmp_path / "old" / "trace.jsonl", names="old")
    assert "addPeer" in (tmp_path / "old" / "trace.jsonl").read_text(encoding="utf-8")
    new, old = (
        rows_in(silver_of(tmp_path / n, tmp_path / f"run-{n}", SourceOptions(buckets=1)))
        for n in ("new", "old")
    )
    assert new == old != []


def test_a_clock_that_steps_back_does_not_change_the_order(tmp_path: Path) -> None:
    times = [50, 40, None, 60, 10]
    write_trace(
        [TraceEvent(JoinEvent(topic="t"), b"a", at) for at in times], tmp_path / "land" / "trace.jsonl"
    )
    rows = rows_in(silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1)))
    assert [row[4] for row in rows] == times
    assert manifest_of(RunFolder(tmp_path / "run"))["clock_steps_back"] == 2


@pytest.mark.parametrize(
    ("step_ms", "said", "completeness"),
    [(999, None, "full"), (1000, None, "disordered"), (1000, "full", "full"), (1000, "sampled", "sampled")],
)
def test_a_clock_that_steps_far_back_tells_of_a_trace_that_is_not_in_order(
    tmp_path: Path, step_ms: int, said: Any, completeness: str
) -> None:
    times = [5_000_000_000, 9_000_000_000, 9_000_000_000 - step_ms * 1_000_000]
    write_trace([TraceEvent(HeartbeatEvent(), b"a", at) for at in times], tmp_path / "land" / "trace.jsonl")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1, completeness=said))
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert (manifest["completeness"], manifest["clock_steps_back"]) == (completeness, 1)


def test_errors_say_what_and_where(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(TraceError, match="empty: no trace event could be read; there is no file"):
        silver_of(empty, tmp_path / "run")
    header = "n,col1_peer,col2_peer,msg_uuid,t_recv_ns\n"
    for text, said in (
        (header, "the file has no rows"),
        (header.replace("msg_", ""), "a table of deliveries without the column msg_uuid"),
    ):
        (tmp_path / "header.csv").write_text(text, encoding="utf-8")
        with pytest.raises(TraceError, match=f"no trace event could be read; .*{said}"):
            silver_of(tmp_path / "header.csv", tmp_path / "run")
    (empty / "only").write_bytes(b"\x00\x01\x02")
    with pytest.raises(
        TraceError, match=r"no trace event could be read; .*only: unreadable: starts with 00 01 02"
    ):
        silver_of(empty, tmp_path / "run")
    with pytest.raises(TraceError, match="no such file"):
        silver_of(tmp_path / "nowhere", tmp_path / "run")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(TraceError, match="loop: a link that leads to itself"):
        ingest([tmp_path / "loop"], RunFolder(tmp_path / "run"), SourceOptions(), EmbeddedEngine())
    write_trace([BEAT], tmp_path / "land" / "a.jsonl")
    with pytest.raises(TraceError, match="is not empty and no run of this kit"):
        silver_of(tmp_path / "land", tmp_path / "land")
    silver_of(tmp_path / "land", tmp_path / "good")
    assert is_run(tmp_path / "good") and not is_run(tmp_path / "land")
    write_trace([BEAT, BEAT], tmp_path / "land" / "a.jsonl")
    with pytest.raises(TraceError, match=r"a\.jsonl: ingested before with other bytes"):
        silver_of(tmp_path / "land", tmp_path / "good")
    (tmp_path / "good" / "manifest.json").write_text('{"schema": 99}', encoding="utf-8")
    with pytest.raises(TraceError, match="expected a manifest of schema"):
        silver_of(tmp_path / "land", tmp_path / "good")


def test_two_processes_do_not_write_to_one_run(tmp_path: Path) -> None:
    with RunFolder(tmp_path).locked(), pytest.raises(TraceError, match="another process is ingesting"):
        with RunFolder(tmp_path).locked():
            pytest.fail("both had the lock")


def test_asked_again_nothing_is_made_again(landing: Landing, tmp_path: Path) -> None:
    first = silver_of(landing.folder, tmp_path / "run")
    before = {
        p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*") if p.is_file() and p.name != ".lock"
    }
    assert silver_of(landing.folder, tmp_path / "run") == first
    after = {
        p: p.stat().st_mtime_ns for p in (tmp_path / "run").rglob("*") if p.is_file() and p.name != ".lock"
    }
    assert after == before


def test_a_table_that_is_lost_or_cut_is_told_and_made_anew(landing: Landing, tmp_path: Path) -> None:
    """Mutant: the figures are of the tables that are left, and to ingest again mends nothing."""
    folder = tmp_path / "run"
    silver = silver_of(landing.folder, folder)
    run, before = RunFolder(folder), rows_in(silver)
    lost, cut = sorted(silver.glob("bucket-*.parquet"))[:2]
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:-9])
    with pytest.raises(TraceError, match=r"bucket-00000.* and 1 more: missing, or cannot be read"):
        make_gold(run, gold_wanted(run), EmbeddedEngine().queries)
    assert rows_in(silver_of(landing.folder, folder)) == before


@pytest.mark.parametrize(
    ("peer", "at_ns", "because"),
    [(None, 5, "1 event names no peer"), (b"a", None, "1 event has no time")],
)
def test_an_event_that_does_not_say_who_or_when_is_a_sign_of_loss(
    tmp_path: Path, peer: bytes | None, at_ns: int | None, because: str
) -> None:
    """Mutant: such a trace is full, and a router is told that it never agreed on what is missing."""
    events = [TraceEvent(JoinEvent(topic="t"), b"a", 9), TraceEvent(JoinEvent(topic="u"), peer, at_ns)]
    write_trace(events, tmp_path / "land" / "trace.jsonl")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert (manifest["completeness"], manifest["completeness_because"]) == ("lossy", because)


def test_a_lost_manifest_is_restored_from_what_is_there(landing: Landing, tmp_path: Path) -> None:
    silver = silver_of(landing.folder, tmp_path / "run")
    before = manifest_of(RunFolder(tmp_path / "run"))
    (tmp_path / "run" / "manifest.json").unlink()
    assert is_run(tmp_path / "run") and RunFolder(tmp_path / "run").read_manifest() == before
    (tmp_path / "run" / "manifest.json").unlink()
    assert silver_of(landing.folder, tmp_path / "run") == silver
    assert manifest_of(RunFolder(tmp_path / "run")) == before


def test_a_name_of_a_peer_takes_no_square_of_its_length() -> None:
    began = time.process_time()
    assert peer_text(b"\xff" * (1 << 20)) == "ff" * (1 << 20)
    assert time.process_time() - began < 1
    assert peer_text(bytes([0, 1, 57])) == "16Q"


# -- kill -9 ------------------------------------------------------------------------------------------------

STAGES = {
    "bronze, a batch half written": ("quidnunc.pipeline.lake.bronze.build._Writer.close", 1),
    "bronze, between files": ("quidnunc.pipeline.lake.bronze.build._FileCounts.entry", 2),
    "pieces, half written": ("quidnunc.pipeline.lake.silver.pieces._write_ids", 1),
    "ids merged": ("quidnunc.pipeline.lake.silver.build._merge_ids", 1),
    "silver, between buckets": ("quidnunc.pipeline.lake.silver.build.bucket_file", 3),
    "silver, before its place": ("quidnunc.pipeline.lake.silver.build._finish", 1),
    "manifest": ("quidnunc.pipeline.lake.run_folder.RunFolder.write_manifest", 1),
    "sweep": ("quidnunc.pipeline.lake.ingest._sweep", 1),
    "gold, in the middle": ("quidnunc.pipeline.lake.engines.embedded.DuckQueries.group", 1),
    "gold, before its place": ("quidnunc.pipeline.lake.gold.build.write_json", 2),
}
"""What is called where the process dies, and at which call."""


def killed_at(place: str, call: int, folder: Path, root: Path) -> None:
    """Ingest, in a process of its own, and die by SIGKILL at a call."""
    patch = pytest.MonkeyPatch()
    module, _, name = place.rpartition(".")
    real: Callable[..., Any] = _named(place)
    calls = [0]

    def deadly(*arguments: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    patch.setattr(place, deadly)
    everything(folder, root)


def _named(place: str) -> Any:
    parts = place.split(".")
    found: Any = importlib.import_module(".".join(parts[:3]))
    for name in parts[3:]:
        found = getattr(found, name)
    return found


def everything(folder: Path, root: Path) -> tuple[list[Any], Any, Any]:
    """Ingest all of it, gold by DuckDB: rows of silver, the manifest, what gold says."""
    rows = rows_in(silver_of(folder, root))
    run = RunFolder(root)
    gold = make_gold(run, gold_wanted(run), EmbeddedEngine().queries)
    said = {path.name: path.read_bytes() for path in gold.iterdir() if path.suffix == ".json"}
    return rows, json.loads((root / "manifest.json").read_bytes()), said


@pytest.fixture(scope="module")
def whole(landing: Landing, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], Any, Any]:
    """What an ingest gives that nobody killed."""
    return everything(landing.folder, tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize("stage", STAGES)
def test_killed_and_taken_up_nothing_is_lost_or_counted_twice(
    landing: Landing, tmp_path: Path, stage: str, whole: tuple[list[Any], Any, Any]
) -> None:
    root = tmp_path / "run"
    fork = multiprocessing.get_context("fork")
    process = fork.Process(target=killed_at, args=(*STAGES[stage], landing.folder, root))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the stage was not met"
    assert everything(landing.folder, root) == whole


def test_found_and_made_are_told_apart(landing: Landing, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    found = find([landing.folder], run)
    assert len(found.fresh) == 3 and not found.left_out
    to_silver(run, found, ASKED, EmbeddedEngine().tasks)
    assert not find([landing.folder], run).fresh


# -- what a file is called, and what was said of it before --------------------------------------------------


def test_peers_may_call_their_files_alike(tmp_path: Path) -> None:
    """A directory for each peer, and in each a trace.jsonl; one more peer comes later."""
    run = RunFolder(tmp_path / "run")
    sources = []
    for at, peer in enumerate(("alice", "bob", "carol")):
        sources.append(tmp_path / peer / "trace.jsonl")
        write_trace([TraceEvent(HeartbeatEvent(), peer.encode(), n) for n in range(at + 1)], sources[-1])
    for some, names in (
        (sources[:2], ["trace.jsonl", "bob/trace.jsonl"]),
        (sources[:2], ["trace.jsonl", "bob/trace.jsonl"]),
        ([sources[2]], ["trace.jsonl", "bob/trace.jsonl", "carol/trace.jsonl"]),
    ):
        found = find(some, run)
        assert not found.left_out
        to_silver(run, found, SourceOptions(buckets=1), EmbeddedEngine().tasks)
        assert [e["name"] for e in manifest_of(run)["files"]] == names
    assert manifest_of(run)["records"] == 6
    # One that changed is refused all the same, and the same bytes elsewhere are the same.
    write_trace([BEAT], sources[1])
    with pytest.raises(TraceError, match=r"bob/trace\.jsonl: ingested before with other bytes"):
        find([sources[1]], run)
    again = tmp_path / "dave" / "trace.jsonl"
    again.parent.mkdir()
    shutil.copy(sources[0], again)
    found = find([again], run)
    assert not found.fresh and [str(each) for each in found.left_out] == [
        f"{again}: duplicate: the same as trace.jsonl"
    ]


def test_rotated_files_are_taken_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (9, 10, 100):
        joined = TraceEvent(JoinEvent(topic="t"), b"bob", number)
        write_trace([joined], tmp_path / "land" / f"bob-{number}.jsonl")
    rows = rows_in(silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1)))
    assert [row[4] for row in rows] == [9, 10, 100]
    assert manifest_of(RunFolder(tmp_path / "run"))["clock_steps_back"] == 0
    # What comes later is put behind; that it was earlier is said.
    write_trace([TraceEvent(JoinEvent(topic="t"), b"bob", 50)], tmp_path / "land" / "bob-50.jsonl")
    rows = rows_in(silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1)))
    assert [row[4] for row in rows] == [9, 10, 100, 50]
    assert manifest_of(RunFolder(tmp_path / "run"))["clock_steps_back"] == 1


def test_what_was_set_stays_set_when_the_folder_grows(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    for number, changes in enumerate((("skew_ms=5", "prune_backoff_s=60"), (), ("skew_ms=7",))):
        write_trace([TraceEvent(HeartbeatEvent(), b"a", number)], tmp_path / "land" / f"{number}.jsonl")
        silver_of(tmp_path / "land", run.root, SourceOptions(buckets=1, changes=changes))
    settings = gold_wanted(run).settings
    assert (settings.skew_ms, settings.prune_backoff_s) == (7, 60.0)


@pytest.mark.parametrize(
    ("at_ns", "heard", "completeness"),
    [
        (5_000_000_001, "t", "disordered"),
        (5_000_000_001, "u", "full"),
        (5_000_000_002, "t", "full"),
        (5_000_000_000, "t", "full"),
    ],
)
def test_an_event_that_is_there_twice_is_told_and_not_held_against_a_router(
    tmp_path: Path, at_ns: int, heard: str, completeness: str
) -> None:
    """As where two files of a peer overlap. A clock of milliseconds has one time for several events."""
    first_ns = at_ns if at_ns % 1_000_000 == 0 else 5_000_000_001
    bodies = [(JoinEvent(topic="t"), first_ns), (JoinEvent(topic=heard), at_ns), (HeartbeatEvent(), at_ns)]
    events = [TraceEvent(body, b"a", at) for body, at in bodies]
    write_trace(events, tmp_path / "land" / "trace.jsonl")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert manifest["completeness"] == completeness, manifest["completeness_because"]
    assert ("there twice" in manifest["completeness_because"]) == (completeness == "disordered")


@pytest.mark.parametrize(
    ("back", "forth", "completeness"),
    [(9, 0, "disordered"), (5, 45, "disordered"), (5, 46, "full"), (4, 0, "full")],
)
def test_many_small_steps_back_of_one_clock_tell_of_a_trace_that_is_not_in_order(
    tmp_path: Path, quidnunc: Command, back: int, forth: int, completeness: str
) -> None:
    """As one that is written backwards. Another clock, which is right, does not hide it."""
    odd = [5_000_000_001 - 1000 * at for at in range(back + 1)]
    odd += [odd[-1] + 1000 * at + 500 for at in range(1, forth + 1)]
    events = [TraceEvent(HeartbeatEvent(), b"a", at) for at in odd]
    events += [TraceEvent(HeartbeatEvent(), b"b", 5_000_000_001 + 1000 * at) for at in range(500)]
    write_trace(events, tmp_path / "land" / "trace.jsonl")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert manifest["completeness"] == completeness, manifest["completeness_because"]
    checked = quidnunc("trace", "check", tmp_path / "run", "--engine", "duckdb")
    share = f"of the changes of a node's clock {100 * back // (back + forth)} % are steps back"
    assert (share in checked.out) == (completeness == "disordered")


@pytest.mark.parametrize(
    ("first_ns", "said"),
    [
        (1_700_000_000_000_000_000, ""),
        (1_700_000_000_000_000, "9 events lie in January 1970: are their times nanoseconds?"),
        (1_700_000_000_000, "9 events lie in January 1970: are their times nanoseconds?"),
        (1_700_000_000, "9 events lie in January 1970: are their times nanoseconds?"),
        (-1_700_000_000_000_000_000, "9 events have times before 1970: "),
        (0, ""),
    ],
)
def test_times_of_another_unit_are_told(tmp_path: Path, quidnunc: Command, first_ns: int, said: str) -> None:
    """A clock that begins at 0 is a simulation's."""
    source, run = tmp_path / "trace.jsonl", tmp_path / "run"
    write_trace([TraceEvent(HeartbeatEvent(), b"a", first_ns + 1000 * at) for at in range(9)], source)
    for words in (
        ("ingest", source, "-o", run, "--engine", "duckdb"),
        ("trace", "metrics", source),
        ("trace", "metrics", run),
        ("trace", "check", run),
    ):
        told, plain = quidnunc(*words), quidnunc(*words, "--json")
        assert len([line for line in told.err.splitlines() if "warning: " in line]) == bool(said)
        assert said in told.err
        assert [line[: len(said)] for line in plain.data["warnings"]] == [said] * bool(said)


def test_a_run_of_this_kit_may_begin_when_it_likes(tmp_path: Path, quidnunc: Command) -> None:
    source = tmp_path / "trace.jsonl"
    start = TraceEvent(RunStart(name="one", manifest="{}"), b"a", 5)
    write_trace([start, TraceEvent(HeartbeatEvent(), b"a", 7)], source)
    made = quidnunc("ingest", source, "-o", tmp_path / "run", "--engine", "duckdb", "--json")
    assert made.data["warnings"] == quidnunc("trace", "metrics", source, "--json").data["warnings"] == []
