"""What the number of files costs: the same events in one file, in many at once, and in many added bit by bit.

    python bench/files.py                                  a million events, ten thousand files
    python bench/files.py --messages 325 --adds 0          ten million, without the adding

Each figure is a command of its own, so that starting the interpreter counts. The engine is the embedded one.
Memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
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


def ingested(source: Path, run: Path) -> Cost:
    """Run `quidnunc ingest` to its end, gold included."""
    command = ["-m", "quidnunc", "ingest", source, "-o", run, "--clock", "one", "--engine", "duckdb"]
    began = time.monotonic()
    arguments = [sys.executable, *map(str, command)]
    null = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_WRONLY, 0) for descriptor in (1, 2)]
    pid = os.posix_spawn(sys.executable, arguments, os.environ, file_actions=null)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)}: exit {os.waitstatus_to_exitcode(status)}")
    return Cost(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def added(land: Path, work: Path, parts: int) -> Cost:
    """The files of `land` in so many portions, each ingested when it has come."""
    files = sorted(land.iterdir())
    growing = work / "growing"
    growing.mkdir()
    cost = Cost()
    for part in range(parts):
        for path in files[part::parts]:
            os.link(path, growing / path.name)
        cost = cost.plus(ingested(growing, work / "run"))
        print(f"  {part + 1} of {parts} portions, {cost.wall_s:.0f} s", file=sys.stderr)
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=10_000, help="and so many peers")
    parser.add_argument("--messages", type=int, default=3)
    parser.add_argument("--adds", type=int, default=100, help="portions that are added; 0: none")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="quidnunc-files-"))
    found: list[tuple[str, Cost]] = []
    try:
        events: Any = Network(peers=options.files, messages=options.messages, faults=CLEAN).make()
        count = len(events["time"])
        for files in (1, 10, 100, options.files):
            land = work / f"land-{files}"
            write_files(events, land, files)
            found.append((f"{files:,} files at once", ingested(land, work / f"run-{files}")))
            shutil.rmtree(work / f"run-{files}")
            print(f"  {found[-1]}", file=sys.stderr)
        if options.adds:
            cost = added(work / f"land-{options.files}", work, options.adds)
            found.append((f"{options.adds} times {options.files // options.adds:,} files added", cost))
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
