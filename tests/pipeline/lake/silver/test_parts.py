"""Parts of a silver: few, each row written a few times, and whoever reads sees one silver."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quidnunc.pipeline.lake.engines.seam import in_this_process
from quidnunc.pipeline.lake.ingest import SourceOptions, find, manifest_of, portions, to_silver
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.lake.silver import parts as parts_module
from quidnunc.pipeline.lake.silver.parts import (
    FAN,
    SMALL_RECORDS,
    SilverPart,
    bucket_files,
    buckets_in,
    merge_plan,
)
from quidnunc.pipeline.trace.events import HeartbeatEvent, TraceEvent
from tests.helpers.trace_files import write_trace

pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.silver.events import events_of_bucket
from tests.helpers.networks import Landing, land, silver_of

FULL = SMALL_RECORDS * FAN**4


@given(st.lists(st.integers(0, FULL), min_size=1, max_size=300))
def test_parts_stay_in_their_order_and_none_is_lost(sizes: list[int]) -> None:
    parts: list[SilverPart] = []
    for number, records in enumerate(sizes):
        plan = merge_plan(parts, SilverPart(number, records), FULL)
        assert list(plan.kept + plan.merged) == parts
        assert plan.made.records == records + sum(p.records for p in plan.merged)
        assert plan.made.first == (plan.merged[0].first if plan.merged else number)
        assert all(part.records < FULL for part in plan.merged)
        parts = [*plan.kept, plan.made]
    assert sum(p.records for p in parts) == sum(sizes)


@pytest.mark.parametrize("records", [100, 5_000, SMALL_RECORDS, 3 * SMALL_RECORDS])
def test_parts_are_few_and_a_row_is_written_a_few_times(records: int) -> None:
    parts: list[SilverPart] = []
    written = 0
    for number in range(1000):
        plan = merge_plan(parts, SilverPart(number, records), FULL)
        parts = [*plan.kept, plan.made]
        written += plan.made.records
        assert len(parts) <= 4 * FAN
    # log8(1000) is 3.3. Parts that count as small are merged again with every seven that come.
    assert written <= (5 + SMALL_RECORDS // (records * FAN)) * 1000 * records


def test_a_full_part_is_never_written_again() -> None:
    parts: list[SilverPart] = []
    for number in range(100):
        plan = merge_plan(parts, SilverPart(number, FULL), FULL)
        parts = [*plan.kept, plan.made]
    assert len(parts) == 100


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True, files=12)


def test_merged_parts_say_what_one_does(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files one by one, merged over and over, also where links cannot be made."""
    at_once = silver_of(landing.folder, tmp_path / "once")
    monkeypatch.setattr(parts_module, "FAN", 3)
    monkeypatch.setattr(parts_module, "SMALL_RECORDS", 50)
    link = os.link

    def now_and_then(source: Path, target: Path) -> None:
        if "bucket-00001" in source.name:
            raise OSError("no links here")
        link(source, target)

    monkeypatch.setattr(os, "link", now_and_then)
    growing = tmp_path / "growing"
    growing.mkdir()
    counts = []
    for path in sorted(landing.folder.iterdir()):
        (growing / path.name).write_bytes(path.read_bytes())
        grown = silver_of(growing, tmp_path / "run")
        counts.append(len(json.loads((grown / "silver.json").read_bytes())["parts"]))
    assert max(counts) > counts[-1] > 1, "some were merged, and some were not"
    one, several = (
        [list(events_of_bucket(files)) for files in buckets_in(silver)] for silver in (at_once, grown)
    )
    assert one == several and sum(map(len, one)) > 1000


def test_a_clock_that_steps_back_between_parts_is_counted_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for number, times in enumerate([(5, 9), (8, 7), (20, 30), (1, 2)]):
        beats = [TraceEvent(HeartbeatEvent(), b"a", at) for at in times]
        write_trace(beats, tmp_path / "land" / f"{number}.jsonl")
        silver_of(tmp_path / "land", run, SourceOptions(buckets=2))
    assert manifest_of(RunFolder(run))["clock_steps_back"] == 3


def test_what_is_too_much_at_once_is_taken_in_portions(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who is stopped in between is told that files are missing."""
    files = list(landing.folder.iterdir())
    size = sum(path.stat().st_size for path in files)
    monkeypatch.setattr("quidnunc.pipeline.lake.ingest.PORTION_BYTES", size // 3)
    run = RunFolder(tmp_path / "run")
    complete = []
    with run.locked():
        for portion in portions(find([landing.folder], run)):
            manifest = to_silver(run, portion, SourceOptions(buckets=2), in_this_process)
            complete.append(manifest["complete"])
    assert len(complete) > 2 and complete == [False] * (len(complete) - 1) + [True]
    assert not manifest["left_out"] and len(manifest["files"]) == len(files)
    at_once = silver_of(landing.folder, tmp_path / "once", SourceOptions(buckets=2))
    assert run.silver(manifest["silver"]).name == at_once.name
    assert len(bucket_files(run.silver(manifest["silver"]))) > len(bucket_files(at_once))
