"""quidnunc ingest: turn traces of any size into tables, metrics and violations."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quidnunc.output import UsageError, count, print_json, shell_line, show
from quidnunc.trace_run import incomplete, opened_engine, tell

if TYPE_CHECKING:
    from quidnunc.pipeline.lake.ingest import Follow


def run(options: argparse.Namespace) -> int:
    from quidnunc.impl.seam import AdapterError
    from quidnunc.pipeline.lake.engines.seam import EngineMissing
    from quidnunc.pipeline.lake.gold.claims import TraceSettings
    from quidnunc.pipeline.lake.spark_session import in_a_line
    from quidnunc.pipeline.trace.shapes import TraceError

    if options.buckets is not None and not 1 <= options.buckets <= 10_000:
        raise UsageError(f"--buckets must be from 1 to 10000, got {options.buckets}")
    if options.follow is not None and not 0.1 <= options.follow <= 86_400:
        raise UsageError(f"--follow must be from 0.1 to 86400 seconds, got {options.follow:g}")
    try:
        # What is no setting is refused before an engine is started.
        TraceSettings().changed(options.set)
        manifest, folder = _ingest(options)
    except (TraceError, EngineMissing) as error:
        raise UsageError(str(error)) from None
    except Exception as error:
        raise AdapterError(in_a_line(error)) from None
    return _report(options, manifest, folder)


def _bytes_in(sources: list[Path]) -> int:
    files = [f for s in sources for f in (s.iterdir() if s.is_dir() else [s])]
    return sum(f.stat().st_size for f in files if f.is_file())


def _ingest(options: argparse.Namespace) -> tuple[dict[str, Any], Path]:
    from quidnunc.pipeline.lake.ingest import SourceOptions, ingest
    from quidnunc.pipeline.lake.run_folder import RunFolder

    asked = SourceOptions(
        completeness=options.completeness,
        clock=options.clock,
        buckets=options.buckets,
        changes=tuple(options.set),
    )
    with opened_engine(options, _bytes_in(options.sources)) as engine:
        with _until_interrupted(options.follow) as follow:
            run = RunFolder(options.output)
            return ingest(options.sources, run, asked, engine, gold=not options.no_gold, follow=follow)


@contextmanager
def _until_interrupted(every_s: float | None) -> Iterator[Follow | None]:
    """The first interrupt ends the following, a second one all of it."""
    from quidnunc.pipeline.lake.ingest import Follow

    if every_s is None:
        yield None
        return
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupted(number: int, frame: object) -> None:
        stop.set()
        tell("stopping: what is there is taken in; interrupt again to leave at once")
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, interrupted)
    try:
        tell(f"following every {every_s:g} s; interrupt to stop")
        yield Follow(every_s, stop, tell)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(options: argparse.Namespace, manifest: dict[str, Any], folder: Path) -> int:
    why = incomplete(manifest)
    code = 3 if why else 0
    if options.json:
        print_json({"run": str(options.output), "gold": str(folder), **manifest})
        return code
    from quidnunc.pipeline.lake.ingest import names_of
    from quidnunc.pipeline.trace.files import INCOMPLETE

    files = manifest["files"]
    counts = (
        f"{count(manifest['records'], 'record')} in {count(len(files), 'file')}, "
        f"{count(manifest['buckets'], 'bucket')}"
    )
    show(f"{options.output}: {counts}")
    show(f"  completeness: {manifest['completeness']} ({manifest['completeness_because']})")
    for line in names_of(manifest, "duplicate", *INCOMPLETE):
        show(f"  {line}", file=sys.stderr)
    if ignored := names_of(manifest, "ignored"):
        show(f"  {count(len(ignored), 'entry', 'entries')} ignored; --json says why", file=sys.stderr)
    if manifest["bad_records"]:
        show(
            f"  {count(manifest['bad_records'], 'bad record')} put aside, "
            f"{count(manifest['lost_bytes'], 'byte')} lost; "
            f"the first: {manifest['first_bad']}",
            file=sys.stderr,
        )
    for line in manifest["warnings"]:
        tell(f"  warning: {line}")
    if manifest["clock_steps_back"]:
        often = count(manifest["clock_steps_back"], "time")
        tell(
            f"  clocks step back {often}: are the files of each peer in order? Files of a directory are read "
            "in the order of their names"
        )
    run = shell_line(options.output)
    show(f"next: quidnunc trace metrics {run}; quidnunc trace check {run}")
    if code:
        show(f"exit 3: incomplete: {why}")
    return code
