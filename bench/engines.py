"""What the engines of the pipeline cost, in one table: the whole way from traces to gold, and gold alone.

    python bench/engines.py                     the real deliveries, and a million made-up events
    python bench/engines.py --messages 325      ten million

Each figure is a command of its own, so that starting the interpreter and the JVM counts. CPU seconds are
the user and system time of all its processes, those that it leaves behind included. Gold alone is `trace
metrics` with a setting that the run does not have yet.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.real_traces import DELIVERIES, data_folder  # noqa: E402
from bench.synthetic import Network, write_dog, write_files  # noqa: E402

ENGINES = ("spark", "duckdb")
SUBREAPER = 36
"""prctl(2): processes that lose their parent become children of this one."""
Figure = tuple[float, float]
"""Wall seconds, CPU seconds."""


def measured(*arguments: object) -> Figure:
    """Run a command of the kit to its end, and that of all that it started."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "quidnunc", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows_of(name: str, source: Path, work: Path) -> list[str]:
    """The lines of the table for one source."""
    found: dict[tuple[str, str], Figure] = {}
    for engine in ENGINES:
        run = work / f"{source.name}-{engine}"
        way = measured("ingest", source, "-o", run, "--clock", "one", "--engine", engine)
        gold = measured("trace", "metrics", run, "--set", "skew_ms=1", "--engine", engine)
        found |= {("whole way", engine): way, ("gold", engine): gold}
        print(f"  {name}, {engine}: {way}, {gold}", file=sys.stderr)
    lines = []
    for what in ("whole way", "gold"):
        (spark_wall, spark_cpu), (wall, cpu) = (found[what, engine] for engine in ENGINES)
        figures = f"{spark_cpu:.1f} | {cpu:.1f} | {spark_cpu / cpu:.1f} | {spark_wall:.1f} | {wall:.1f}"
        lines.append(f"| {name} | {what} | {figures} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peers", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=32)
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    work = Path(tempfile.mkdtemp(prefix="quidnunc-engines-"))
    lines = []
    try:
        data = data_folder()
        if data is None:
            print("the real deliveries are not at hand: set QUIDNUNC_DATA", file=sys.stderr)
        else:
            lines += rows_of("real deliveries", data / DELIVERIES, work)
        events = Network(peers=options.peers, messages=options.messages).make()
        count = len(events["time"])
        write_files(events, work / "land", 16)
        del events
        write_dog(work / "land" / "zdog.jsonl", peers=10, fault=True)
        lines += rows_of(f"{count:,} made-up events", work / "land", work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end\n")
    print("| source | what | CPU s, Spark | CPU s, DuckDB | ratio | wall s, Spark | wall s, DuckDB |")
    print("|---|---|---:|---:|---:|---:|---:|")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
