"""How fast the pipeline is, and whether it finds what was planted: ten million made-up events, start to end.

    python bench/pipeline.py                       ten million events (1.5 GB in a temporary folder)
    python bench/pipeline.py --messages 8          some two hundred thousand

CPU seconds are those of the whole tree of processes, the JVM and Python workers included. DuckDB runs the
same queries as Spark, and Polars the heaviest of them, where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
# Workers of Spark import `bench.monitor` as well.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


from bench import monitor  # noqa: E402
from bench.monitor import BucketMonitor  # noqa: E402
from bench.synthetic import CLEAN, Faults, Network, peer_id, write_dog, write_files  # noqa: E402
from quidnunc.pipeline.lake.bronze.build import make_bronze  # noqa: E402
from quidnunc.pipeline.lake.engines.spark import SparkEngine  # noqa: E402
from quidnunc.pipeline.lake.gold.build import CLAIMS_FILE, gold_of, make_gold  # noqa: E402
from quidnunc.pipeline.lake.gold.claims import TraceSettings  # noqa: E402
from quidnunc.pipeline.lake.gold.witness import VIOLATIONS_JSON, peer_text  # noqa: E402
from quidnunc.pipeline.lake.ingest import SourceOptions, find, gold_wanted, to_silver  # noqa: E402
from quidnunc.pipeline.lake.replay import replay  # noqa: E402
from quidnunc.pipeline.lake.run_folder import RunFolder  # noqa: E402
from quidnunc.pipeline.lake.spark_session import spark_session  # noqa: E402
from quidnunc.pipeline.simulation.run import write_run  # noqa: E402
from tests.helpers.simulated import scenario  # noqa: E402

SETTINGS = TraceSettings(prune_backoff_s=60, idontwant_window_ms=3000)
TICK = os.sysconf("SC_CLK_TCK")
Row = tuple[str, float, float, str]


def tree() -> dict[int, tuple[float, int]]:
    """CPU seconds and resident bytes of this process and all below it."""
    parents: dict[int, int] = {}
    found: dict[int, tuple[float, int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        number = int(path.name)
        parents[number] = int(fields[1])
        seconds = sum(map(int, fields[11:15])) / TICK
        found[number] = (seconds, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    below = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in below} - below:
        below |= more
    return {number: found[number] for number in below}


def cpu_s() -> float:
    return sum(seconds for seconds, _ in tree().values())


@contextmanager
def measured(rows: list[Row], what: str, events: int = 0) -> Iterator[None]:
    """Note wall and CPU seconds of what is done within, and events for each CPU second."""
    wall, cpu = time.monotonic(), cpu_s()
    yield
    wall, cpu = time.monotonic() - wall, cpu_s() - cpu
    rate = f"{events / cpu / 1000:,.0f} k events/CPU-s" if events and cpu else ""
    rows.append((what, wall, cpu, rate))
    memory = sum(bytes for _, bytes in tree().values()) / 2**30
    print(
        f"  {what}: {wall:.1f} s wall, {cpu:.1f} s CPU, {rate or '-'}; now {memory:.1f} GiB", file=sys.stderr
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--peers", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=325)
    parser.add_argument("--clean", action="store_true", help="the same without faults")
    parser.add_argument("--keep", type=Path, help="folder for the data (default: a temporary one)")
    parser.add_argument("--memory", default="2500m", help="of the JVM")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="quidnunc-bench-"))
    try:
        rows = _bench(options, folder)
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n| what | wall s | CPU s | rate |\n|---|---:|---:|---|")
    for what, wall, cpu, rate in rows:
        print(f"| {what} | {wall:.1f} | {cpu:.1f} | {rate} |")
    return 0


def _bench(options: argparse.Namespace, folder: Path) -> list[Row]:
    rows: list[Row] = []
    faults = CLEAN if options.clean else Faults()
    network = Network(peers=options.peers, messages=options.messages, faults=faults)
    with measured(rows, "making the data"):
        events = network.make()
        count = len(events["time"])
        size = write_files(events, folder / "land", 16)
        del events
    place = write_dog(folder / "land" / "zdog.jsonl", peers=10, fault=not options.clean)
    expected = [*network.expected, *([place] if place else [])]
    print(f"  {count:,} events, {size / 2**20:,.0f} MiB", file=sys.stderr)
    with measured(rows, "Spark's start"):
        session = spark_session(memory=options.memory)
        session.range(10).count()
    run = RunFolder(folder / "run")
    asked = SourceOptions(clock="one", settings=SETTINGS)
    engine = SparkEngine(session)
    runner = engine.tasks
    with run.locked():
        found = find([folder / "land"], run)
        with measured(rows, "delimited protobuf to bronze", count):
            runner(_Bronze(str(run.root)), found.fresh, "bronze")
        with measured(rows, "bronze to silver", count):
            manifest = to_silver(run, found, asked, runner)
        silver = run.silver(manifest["silver"])
        wanted = gold_wanted(run)
        with measured(rows, "silver to gold: all metrics and relational claims, Spark", count):
            gold = make_gold(run, wanted, engine.queries)
    _judge(gold, expected)
    buckets = [str(path) for path in sorted(silver.glob("bucket-*.parquet"))]
    with measured(rows, "a watch of single peers, from bucket files", count):
        watched = runner(BucketMonitor(SETTINGS), buckets, "watch")
    _agree(gold, [v.claim for each in watched for v in each.violations])
    _others(rows, silver, wanted, gold, count)
    _model(rows, folder, runner)
    return rows


def _agree(gold: Path, seen: list[str]) -> None:
    found = [v["claim"] for v in json.loads((gold / VIOLATIONS_JSON).read_bytes())]
    same = sorted(seen) == sorted(claim for claim in found if claim in monitor.CLAIMS)
    print(f"the watch finds the same as the queries: {same}, {len(seen)} violations")


def _model(rows: list[Row], folder: Path, runner: Any) -> None:
    """The whole model beside every peer, of a small simulated network: what one event of it costs."""
    write_run(
        scenario(nodes=[{"count": 40}], topology={"degree": 8}, traffic=[{"count": 20}]), folder / "sim"
    )
    run = RunFolder(folder / "simulated")
    with run.locked():
        manifest = to_silver(run, find([folder / "sim"], run), SourceOptions(buckets=4), runner)
    with measured(rows, "the whole model beside each peer", manifest["records"]):
        reports = replay(run, runner)
    steps, causes = (sum(getattr(r, n) for r in reports.values()) for n in ("steps", "nodes"))
    print(f"the model: {manifest['records']:,} events, {steps:,} steps of {causes} peers")


class _Bronze:
    """`make_bronze` of one file for a run, as a worker is sent it."""

    def __init__(self, root: str) -> None:
        self.root = root

    def __call__(self, file: Any) -> Any:
        return make_bronze([file], RunFolder(self.root))


def _judge(gold: Path, expected: list[tuple[str, int, int]]) -> None:
    """Every planted fault is found at its peer, and nothing else is."""
    found = sorted((v["claim"], v["peer"]) for v in json.loads((gold / VIOLATIONS_JSON).read_bytes()))
    wanted = sorted((claim, peer_text(peer_id(peer))) for claim, peer, _ in expected)
    counts: dict[str, int] = {}
    for claim, _ in wanted:
        counts[claim] = counts.get(claim, 0) + 1
    print(f"planted: {counts or 'nothing'}")
    if found != wanted:
        missing = [w for w in wanted if w not in found]
        invented = [f for f in found if f not in wanted]
        raise SystemExit(
            f"NOT as planted: missing {missing[:5]}, invented {invented[:5]}, {len(found)} found"
        )
    print(f"found:   the same {len(found)}, each at its peer, and no other")
    for claim in json.loads((gold / CLAIMS_FILE).read_bytes())["claims"]:
        applied = f"{claim['applied']:,}"
        print(f"  {claim['id']}: {claim['verdict']}, applied {applied}, violations {claim['violations']}")


def _others(rows: list[Row], silver: Path, wanted: Any, gold: Path, count: int) -> None:
    """What other engines take for the same."""
    try:
        import duckdb  # noqa: F401
    except ImportError:
        print("duckdb is not installed: no comparison")
        return
    from tests.helpers.duck import Duck

    duck = Duck(silver)
    with measured(rows, "silver to gold: the same queries, DuckDB", count):
        told = gold_of(duck, wanted)
    same = json.loads((gold / CLAIMS_FILE).read_bytes())["claims"] == told.claims
    print(f"DuckDB says the same of every claim: {same}")
    duck.forget()
    try:
        import polars
    except ImportError:
        print("polars is not installed: no comparison")
        return
    with measured(rows, "`edges` alone, Polars streaming", count):
        print(f"  {_polars_edges(polars, silver):,} pairs of neighbours and messages")


def _polars_edges(polars: Any, silver: Path) -> int:
    """The heaviest of the queries as Polars has it."""
    c = polars.col
    lazy = polars.scan_parquet(str(silver / "bucket-*.parquet"))
    said: dict[str, Callable[[], Any]] = {
        "sent_last": lambda: c("seq").filter((c("type") == 7) & c("kind").is_in([1, 11])).max(),
        "delivered": lambda: c("seq").filter(c("type") == 3).min(),
        "idontwant_in": lambda: c("seq").filter((c("type") == 6) & (c("kind") == 4)).min(),
        "ihave_in": lambda: c("seq").filter((c("type") == 6) & (c("kind") == 2)).min(),
        "iwant_out": lambda: c("seq").filter((c("type") == 7) & (c("kind") == 3)).min(),
    }
    wanted = (
        c("message").is_not_null()
        & c("remote").is_not_null()
        & (((c("type") == 3) & (c("remote") != c("peer"))) | c("type").is_in([6, 7]))
    )
    grouped = lazy.filter(wanted).group_by("run", "peer", "remote", "message")
    found = grouped.agg(**{name: make() for name, make in said.items()})
    return int(found.collect(engine="streaming").height)


if __name__ == "__main__":
    raise SystemExit(main())
