"""What the number of files costs: the same events in one file, in many at once, and in many that keep coming.

    python bench/files.py                                  a million events, ten thousand files
    python bench/files.py --messages 25                    ten million

Each figure is a command of its own, so that starting the interpreter counts, and metrics and claims too. The
engine is the embedded one. Memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from attrs import frozen

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.synthetic import CLEAN, Network, write_files  # noqa: E402


@frozen
class Cost:
    """Of some commands, one after the other."""

    wall_s: float = 0
    cpu_s: float = 0
    peak_mb: float = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s, max(self.peak_mb, other.peak_mb))


def started(source: Path, run: Path, *more: str) -> subprocess.Popen[str]:
    """`quidnunc ingest` as a process."""
    command = [sys.executable, "-m", "quidnunc", "ingest", str(source), "-o", str(run), "--clock", "one"]
    command += ["--engine", "duckdb", *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str], began: float) -> Cost:
    """What it has cost."""
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{process.args}: exit {os.waitstatus_to_exitcode(status)}: {said}")
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def ingested(source: Path, run: Path, *more: str) -> Cost:
    """One command, to its end."""
    began = time.monotonic()
    return ended(started(source, run, *more), began)


def portions(land: Path, growing: Path, parts: int) -> Iterator[int]:
    """The files of `land` come to `growing` in so many portions; how many are there then."""
    files = sorted(land.iterdir())
    growing.mkdir()
    there = 0
    for part in range(parts):
        some = files[part::parts]
        for path in some:
            os.link(path, growing / path.name)
        there += len(some)
        yield there


def followed(land: Path, work: Path, parts: int) -> Cost:
    """One process that takes each portion when it has come."""
    growing = work / "growing"
    process: subprocess.Popen[str] | None = None
    began = time.monotonic()
    for there in portions(land, growing, parts):
        process = process or started(growing, work / "run", "--follow", "0.1")
        assert process.stderr is not None
        for line in process.stderr:
            if f"; {there} files," in line:
                break
        else:
            raise SystemExit("the process that follows has ended")
        print(f"  {there} files taken, {time.monotonic() - began:.0f} s", file=sys.stderr)
    assert process is not None
    process.send_signal(signal.SIGINT)
    cost = ended(process, began)
    shutil.rmtree(growing)
    shutil.rmtree(work / "run")
    return cost


def repeated(land: Path, work: Path, parts: int) -> Cost:
    """A command for each portion; the last one makes metrics and claims."""
    cost = Cost()
    for there in portions(land, work / "growing", parts):
        last = [] if there == len(list(land.iterdir())) else ["--no-gold"]
        cost = cost.plus(ingested(work / "growing", work / "run", *last))
        print(f"  {there} files, {cost.wall_s:.0f} s", file=sys.stderr)
    return cost


def landed(work: Path, peers: int, messages: int, counts: tuple[int, ...]) -> int:
    """Write one network's events to folders of so many files each; returns how many events."""
    events: Any = Network(peers=peers, messages=messages, faults=CLEAN).make()
    for files in counts:
        write_files(events, work / f"land-{files}", files)
    return len(events["time"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=10_000, help="and so many peers")
    parser.add_argument("--messages", type=int, default=3)
    parser.add_argument("--adds", type=int, default=100, help="portions that come one by one; 0: none")
    parser.add_argument("--commands", type=int, default=10, help="the same with a command each; 0: none")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="quidnunc-files-"))
    found: list[tuple[str, Cost]] = []
    try:
        counts = (1, 10, 100, options.files)
        # In a process of its own: what starts others passes its own peak of memory on to them.
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            count = pool.submit(landed, work, options.files, options.messages, counts).result()
        for files in counts:
            found.append(
                (f"{files:,} files at once", ingested(work / f"land-{files}", work / f"run-{files}"))
            )
            shutil.rmtree(work / f"run-{files}")
            print(f"  {found[-1]}", file=sys.stderr)
        for parts, how, what in (
            (options.adds, followed, "taken by one process (`--follow`)"),
            (options.commands, repeated, "a command each (`--no-gold`)"),
        ):
            if parts:
                cost = how(work / f"land-{options.files}", work, parts)
                found.append((f"{parts} times {options.files // parts:,} files, {what}", cost))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{count:,} events, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end\n")
    print("| files | wall s | CPU s | us of CPU per event | times one file's | largest process, MiB |")
    print("|---|---:|---:|---:|---:|---:|")
    one = found[0][1].cpu_s
    for name, cost in found:
        each = f"{1e6 * cost.cpu_s / count:.1f} | {cost.cpu_s / one:.1f} | {cost.peak_mb:.0f}"
        print(f"| {name} | {cost.wall_s:.1f} | {cost.cpu_s:.1f} | {each} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
