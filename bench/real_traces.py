"""Real traces through the whole pipeline, and a page about what they say.

    python bench/real_traces.py docs/results     where the data is: $QUIDNUNC_DATA, or ../shared/data

The data are 72,000 deliveries that Whiteblock measured of go-libp2p in November 2019 (20 nodes, 3,600
messages) and the four lines of go's JSONTracer that are found verbatim in public.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quidnunc.reports.pages.plots import Line, line_plot, picture

ROOT = Path(__file__).parents[1]
DELIVERIES = "whiteblock/ba_series_9a.1_deliveries.csv.gz"
LINES = "real_trace_lines.ndjson"
PAGE, PLOT = "real-traces.md", "real-traces.svg"


def data_folder() -> Path | None:
    """Where the data is, or None."""
    for folder in (os.environ.get("QUIDNUNC_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / DELIVERIES).is_file():
            return Path(folder)
    return None


def main() -> int:
    data = data_folder()
    if data is None:
        print("the data is not at hand: set QUIDNUNC_DATA to the folder with whiteblock/", file=sys.stderr)
        return 2
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")
    with tempfile.TemporaryDirectory() as work:
        made = measure(data, Path(work))
    write_page(made, target)
    return 0


def measure(data: Path, work: Path) -> dict[str, Any]:
    """Both sources through the pipeline: their metrics, claims, and how long each message took."""
    from pyarrow import parquet

    from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
    from quidnunc.pipeline.lake.ingest import SourceOptions, ingest
    from quidnunc.pipeline.lake.run_folder import RunFolder

    made: dict[str, Any] = {}
    for name, path, asked in (
        ("deliveries", data / DELIVERIES, SourceOptions(clock="one")),
        ("lines", data / LINES, SourceOptions()),
    ):
        manifest, gold = ingest([path], RunFolder(work / name), asked, EmbeddedEngine())
        read = {part: _read(gold / f"{part}.json") for part in ("metrics", "claims", "violations")}
        made[name] = {"manifest": manifest, **read}
        if name == "deliveries":
            stats = parquet.read_table(gold / "message_stats", columns=["first_us", "last_us"])
            made["first_ms"], made["last_ms"] = (
                sorted(us / 1000 for us in stats[column].to_pylist() if us is not None)
                for column in ("first_us", "last_us")
            )
    return made


def _read(path: Path) -> Any:
    import json

    return json.loads(path.read_bytes())


def write_page(made: dict[str, Any], folder: Path) -> None:
    """The page and its plot."""
    (folder / PLOT).write_text(plot(made["first_ms"], made["last_ms"]), encoding="utf-8")
    (run,) = made["deliveries"]["metrics"]["runs"]
    lines = made["lines"]
    claims = made["deliveries"]["claims"]["claims"]
    decided = [c for c in claims if c["asked"]]
    rows = rows_of(run, made)
    text = [
        "<!-- Written by `make regenerate` (PARTS=real-traces). Change what writes it, not this page. -->",
        "# Real traces through the pipeline",
        "",
        "Made by `python bench/real_traces.py docs/results`, of data that is not in this repository: 72,000",
        "deliveries that Whiteblock measured of go-libp2p-pubsub in November 2019 (gossipsub-testing, series",
        "9a.1), and the only lines of go's JSONTracer that are found verbatim in public.",
        "",
        "## 72,000 deliveries",
        "",
        "| metric | value |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
        "",
        f"![How long messages took to their first and to their last peer]({PLOT})",
        "",
        "The publisher's own delivery stands for the publication: the time at which a load generator queued",
        "a message is in the data, and of no use. All nodes ran on one host, so that there is one clock.",
        "",
        "What is not measured, and why:",
        "",
        *(f"- {line}" for line in run["lacking"]),
        "",
        "| claim | verdict | applied | reason |",
        "|---|---|---:|---|",
        *(f"| {c['id']} | {c['verdict']} | {c['applied']:,} | {c['reason']} |" for c in decided),
        "",
        f"The trace is taken for {made['deliveries']['manifest']['completeness']}: "
        f"{made['deliveries']['manifest']['completeness_because']}.",
        "",
        "## The lines of go's JSONTracer",
        "",
        f"{lines['manifest']['records']} records, {lines['manifest']['bad_records']} bad. They are read "
        "whole, "
        "the field `length`",
        "of a fork of the tracer included, and are too few for any metric:",
        "",
        *(f"- {line}" for line in lines["metrics"]["runs"][0]["lacking"]),
        "",
    ]
    (folder / PAGE).write_text("\n".join(text), encoding="utf-8")


def rows_of(run: dict[str, Any], made: dict[str, Any]) -> list[tuple[str, object]]:
    """The table of metrics."""
    latency = run["latency_ms"]
    return [
        ("events", f"{run['events']:,}"),
        ("peers", run["observers"]),
        ("messages", f"{run['messages']:,}"),
        ("deliveries to others than the publisher", f"{run['deliveries']:,}"),
        (
            "delivered to each of the other peers",
            f"{run['deliveries'] / run['messages'] / (run['observers'] - 1):.4f}",
        ),
        (
            "latency from the publication, ms",
            ", ".join(f"{n} {latency[n]:.1f}" for n in ("p50", "p95", "p99", "max")),
        ),
        ("deliveries by hop", ", ".join(f"{h}: {n:,}" for h, n in run["deliveries_by_hop"].items())),
        (
            "time to the last peer, ms",
            f"median {quantile(made['last_ms'], 50):.1f}, p99 {quantile(made['last_ms'], 99):.1f}",
        ),
    ]


def quantile(ordered: Sequence[float], percent: int) -> float:
    """The nearest rank."""
    return ordered[-(-percent * len(ordered) // 100) - 1]


def plot(first_ms: Sequence[float], last_ms: Sequence[float]) -> str:
    """Two distributions as one SVG: the part of messages that had reached one other peer, and all of them."""
    parts = [percent / 100 for percent in range(1, 100)]
    lines = [
        Line(label, [quantile(values, percent) for percent in range(1, 100)], parts)
        for label, values in (
            ("reached one other peer", first_ms),
            ("reached all that it ever reached", last_ms),
        )
    ]
    return picture(line_plot(lines, "ms", "share of messages"), "How fast messages spread")


if __name__ == "__main__":
    raise SystemExit(main())
