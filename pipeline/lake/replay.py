"""The model itself beside every peer of a run, from the buckets of silver: one bucket is one worker's task.

It needs what only our own traces have: a RUN event of `quidnunc simulate`, which says how each node was
opened,
and the times of heartbeats. Rules, claims and explanations are those of every other check; choices are read
off what a peer did. A bucket is judged by itself, so an edit that accounts for a departure is looked for in
each, and counted over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from attrs import frozen

from quidnunc.pipeline.lake.engines.seam import TaskRunner
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.lake.silver.events import events_of_bucket
from quidnunc.pipeline.lake.silver.parts import bucket_files, buckets_in
from quidnunc.pipeline.trace.events import RunStart
from quidnunc.pipeline.trace.files import TraceRecord, not_read
from quidnunc.pipeline.trace.network import is_of_network
from quidnunc.pipeline.trace.network_check import NodeKindReport, check_network
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.lazy import parquet

Reports: TypeAlias = dict[tuple[str, str], NodeKindReport]
"""By protocol and router."""


@frozen(kw_only=True)
class ReplayBucketRequest:
    """One bucket of a run, and the lines of the run's RUN events by their number."""

    bucket: tuple[Path, ...]
    """Its files."""
    starts: dict[int, str]


def replay(run: RunFolder, runner: TaskRunner) -> Reports:
    """Judge every peer of every run in a folder. Raises TraceError for runs that cannot be replayed."""
    manifest = run.read_manifest()
    if manifest["bad_records"]:
        raise TraceError(
            f"{run.root}: {not_read(manifest['bad_records'], 0)}, and a peer with one missing cannot be "
            "judged"
        )
    silver = run.silver(manifest["silver"])
    buckets = buckets_in(silver)
    starts = _starts(bucket_files(silver))
    if not starts:
        raise TraceError(
            f"{run.root}: the replay of a peer needs a RUN event that says how it was opened, as `quidnunc "
            "simulate` writes; this trace has none"
        )
    asked = [ReplayBucketRequest(bucket=bucket, starts=starts) for bucket in buckets]
    merged: Reports = {}
    for reports in runner(replay_bucket, asked, "peers beside the model"):
        for key, report in reports.items():
            merged[key] = report if key not in merged else _together(merged[key], report)
    return merged


def _starts(files: Sequence[Path]) -> dict[int, str]:
    found: dict[int, str] = {}
    for file in files:
        table = parquet.read_table(file, columns=["run", "more"], filters=[("type", "=", 100)])
        found |= {row["run"]: row["more"] for row in table.to_pylist()}
    return found


def replay_bucket(asked: ReplayBucketRequest) -> Reports:
    """The peers of one bucket."""
    reports = check_network(_records(asked))
    for report in reports.values():
        # What was played is for whoever shrinks it, in the process that played it.
        report.departed.clear()
    # Peers of other buckets are nodes of the run too, and have nothing to tell here.
    return reports


def _records(asked: ReplayBucketRequest) -> Iterator[TraceRecord]:
    """The events of a bucket, a run at a time, each begun by its RUN event."""
    from quidnunc.pipeline.trace.json_lines import event_of_line

    path = asked.bucket[0]
    by_run: dict[int, list[TraceRecord]] = {}
    for run, sequence, event in events_of_bucket(asked.bucket):
        if not isinstance(event.body, RunStart):
            by_run.setdefault(run, []).append(TraceRecord(event, path, sequence))
    for run in sorted(asked.starts):
        start = event_of_line(asked.starts[run].encode())
        if not is_of_network(start):
            raise TraceError(
                f"{path}: run {run} is not of `quidnunc simulate`, and says not how peers were opened"
            )
        yield TraceRecord(start, path, 0)
        yield from by_run.get(run, ())


def _together(one: NodeKindReport, other: NodeKindReport) -> NodeKindReport:
    one.steps += other.steps
    one.blurred += other.blurred
    one.left_out += other.left_out
    one.applied.update(other.applied)
    one.violations += other.violations
    one.causes.update(other.causes)
    known = {quirk.name for quirk in one.quirks}
    one.quirks += [quirk for quirk in other.quirks if quirk.name not in known]
    return one
