"""Directories as strangers leave them: each entry is taken, or the manifest says why not."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.ingest import SourceOptions, find, manifest_of
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.trace.events import HeartbeatEvent, TraceEvent
from quidnunc.pipeline.trace.shapes import TraceError
from tests.conftest import Command
from tests.helpers.networks import left_out_of, silver_of
from tests.helpers.trace_files import write_trace

pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
NAMES = ("a b.pb", "a%20b.pb", "_left.pb", "x#1.pb", "x%.pb", "x[1].pb", "x{a,b}.pb", "ünïcode.pb", "old.pb")
WEEKS_S = 30 * 86_400


def beat(number: int, path: Path, carrier: Any = "json") -> None:
    """A trace of one event, which no other has."""
    write_trace([TraceEvent(HeartbeatEvent(), b"p", number)], path, carrier)


def test_no_file_of_a_directory_is_lost_in_silence(spark: Any, tmp_path: Path, quidnunc: Command) -> None:
    """Names that are patterns or parts of URLs elsewhere, a file a month older than the others, one that was
    empty, and one that is still written; in a directory and a run that are called alike."""
    folder, root = tmp_path / "land [1]{a,b}#%20?*", tmp_path / "run [1]{a,b}#%20?*"
    for number, name in enumerate(NAMES):
        beat(number, folder / name)
    os.utime(folder / "old.pb", (0, (folder / "x%.pb").stat().st_mtime - WEEKS_S))
    (folder / "late.pb").touch()
    (folder / "current").write_text("{")
    asked = ("ingest", folder, "-o", root, "--buckets", "1")
    first = quidnunc(*asked, "--json")
    assert first.code == 3, first.err
    assert first.data["records"] == len(NAMES) and not first.data["complete"]
    assert {f["name"] for f in first.data["files"]} == set(NAMES)
    assert left_out_of(root) == {
        "late.pb": ("unfinished", "empty so far"),
        "current": ("unfinished", "its name says that it is still written"),
    }
    assert (
        first.data["completeness"] == "lossy"
        and "2 files are unfinished" in first.data["completeness_because"]
    )
    beat(99, folder / "aside.tmp")
    (folder / "aside.tmp").rename(folder / "late.pb")
    (folder / "current").rename(folder / "done.jsonl")
    beat(100, folder / "done.jsonl")
    second = quidnunc(*asked)
    assert second.code == 0, second.err
    assert manifest_of(RunFolder(root))["records"] == len(NAMES) + 2 and left_out_of(root) == {}


def test_every_kind_of_entry_is_accounted_for(tmp_path: Path) -> None:
    folder = tmp_path / "land"
    beat(1, folder / "good.jsonl")
    beat(2, folder / "deeper" / "inside.jsonl")
    beat(3, folder / ".rsync.x8s7")
    beat(1, folder / "twin.jsonl")
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(folder / "socket"))
    (folder / "dangling").symlink_to("nowhere")
    (folder / "again").symlink_to("good.jsonl")
    (folder / "loop").symlink_to("loop")
    (folder / "gone.pb.side.jsonl").write_text("{}")
    (folder / ".rsync.x8s7.side.jsonl").touch()
    (folder / "summary.json").write_text("{}")
    (folder / ".gitkeep").touch()
    (folder / "notes.txt").write_text("not a trace")
    (folder / "page.parquet").write_bytes(b"PAR1" + bytes(9))
    (Path(os.fsdecode(bytes(folder) + b"/\xff\x1b[2Jnoise"))).write_bytes(b"PAR1")
    silver_of(folder, tmp_path / "run", SourceOptions(buckets=1))
    states = {name: why[0] for name, why in left_out_of(tmp_path / "run").items()}
    assert states == {
        **dict.fromkeys(("deeper", "fifo", "socket", "summary.json", ".gitkeep"), "ignored"),
        ".rsync.x8s7.side.jsonl": "ignored",
        **dict.fromkeys((".rsync.x8s7", "gone.pb.side.jsonl"), "unfinished"),
        **dict.fromkeys(
            ("dangling", "loop", "notes.txt", "page.parquet", "\udcff\x1b[2Jnoise"), "unreadable"
        ),
        **dict.fromkeys(("good.jsonl", "twin.jsonl"), "duplicate"),
    }
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    taken = {f["name"] for f in manifest["files"]}
    assert len(states) + len(taken) == len(list(folder.iterdir())), "an entry is nowhere"
    assert not manifest["complete"]


def test_what_is_shown_of_a_name_is_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/land/\xff\x1b[2J\n.jsonl"))
    beat(1, path)
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    assert [f["name"] for f in manifest_of(RunFolder(tmp_path / "run"))["files"]] == [
        r"\udcff\x1b[2J\n.jsonl"
    ]


def test_a_file_is_read_again_only_if_size_or_time_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat(1, tmp_path / "land" / "a.jsonl")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    with monkeypatch.context() as patch:
        patch.setattr("quidnunc.pipeline.lake.landing.digest_of", lambda path: pytest.fail("it was read"))
        assert find([tmp_path / "land"], RunFolder(tmp_path / "run")).fresh == []
    os.utime(tmp_path / "land" / "a.jsonl", (1, 1))
    assert find([tmp_path / "land"], RunFolder(tmp_path / "run")).fresh == []
    beat(2, tmp_path / "land" / "a.jsonl")
    with pytest.raises(TraceError, match="ingested before with other bytes"):
        find([tmp_path / "land"], RunFolder(tmp_path / "run"))


@pytest.mark.parametrize("field", ["type", "Type"])
def test_a_first_line_that_is_nested_too_deep_costs_its_file_alone(tmp_path: Path, field: str) -> None:
    """Mutant: looking for Hermes's lines ends the whole ingest with a RecursionError."""
    beat(1, tmp_path / "land" / "a.jsonl")
    (tmp_path / "land" / "b.jsonl").write_text(f'{{"{field}":0,"a":' + "[" * 1200 + "]" * 1200 + "}\n")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    manifest = manifest_of(RunFolder(tmp_path / "run"))
    assert (manifest["records"], manifest["bad_records"]) == (1, 1)
    assert "nested too deep" in str(manifest["files"])


def test_what_was_left_out_elsewhere_stays_said(tmp_path: Path) -> None:
    for name in ("one", "two"):
        beat(ord(name[0]), tmp_path / name / "a.jsonl")
        (tmp_path / name / "current").write_text("{")
        silver_of(tmp_path / name, tmp_path / "run", SourceOptions(buckets=1))
    places = set(manifest_of(RunFolder(tmp_path / "run"))["left_out"])
    assert places == {str(tmp_path / name / "current") for name in ("one", "two")}
    (tmp_path / "one" / "current").unlink()
    silver_of(tmp_path / "one", tmp_path / "run", SourceOptions(buckets=1))
    assert set(manifest_of(RunFolder(tmp_path / "run"))["left_out"]) == {str(tmp_path / "two" / "current")}


def test_a_file_that_was_renamed_and_then_edited_is_refused(tmp_path: Path) -> None:
    """It would be counted twice: as it was under its old name, and as it is."""
    folder = tmp_path / "land"
    for number in (1, 2):
        beat(number, folder / f"{number}.jsonl")
    silver_of(folder, tmp_path / "run", SourceOptions(buckets=1))
    (folder / "1.jsonl").rename(folder / "moved.jsonl")
    silver_of(folder, tmp_path / "run", SourceOptions(buckets=1))
    assert left_out_of(tmp_path / "run") == {"moved.jsonl": ("duplicate", "the same as 1.jsonl")}
    beat(3, folder / "moved.jsonl")
    with pytest.raises(TraceError, match=r"moved\.jsonl: ingested before with other bytes"):
        find([folder], RunFolder(tmp_path / "run"))
    beat(2, folder / "moved.jsonl")
    assert not find([folder], RunFolder(tmp_path / "run")).fresh


def test_a_directory_leads_nowhere_else(tmp_path: Path, quidnunc: Command) -> None:
    """What a link leads to out of it is not read, and the run says that it lacks it; named, it is taken."""
    beat(1, tmp_path / "land" / "a.jsonl")
    beat(2, tmp_path / "elsewhere" / "b.jsonl")
    (tmp_path / "land" / "passwd.json").symlink_to("/etc/passwd")
    (tmp_path / "land" / "b.jsonl").symlink_to("../elsewhere/b.jsonl")
    asked = (
        "ingest",
        tmp_path / "land",
        "-o",
        tmp_path / "run",
        "--engine",
        "duckdb",
        "--no-gold",
        "--buckets",
        "1",
    )
    ran = quidnunc(*asked)
    assert ran.code == 3 and "root:" not in ran.err and "72 6f 6f 74" not in ran.err
    out = left_out_of(tmp_path / "run")
    assert {name: why[0] for name, why in out.items()} == {
        "passwd.json": "unreadable",
        "b.jsonl": "unreadable",
    }
    assert all("a link out of the directory" in why[1] for why in out.values())
    quidnunc("ingest", tmp_path / "land" / "b.jsonl", *asked[2:])
    assert manifest_of(RunFolder(tmp_path / "run"))["records"] == 2


def test_a_device_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(TraceError, match=f"{path}: is no regular file"):
            find([path], RunFolder(tmp_path / "run"))
