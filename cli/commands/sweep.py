"""quidnunc sweep: run many simulations or searches, on all cores or on Spark."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from quidnunc.output import (
    UsageError,
    clear_progress,
    given_options,
    print_json,
    progress_line,
    repeat_command,
    table,
    write_text,
)

if TYPE_CHECKING:
    from quidnunc.pipeline.sweep.executors import SweepExecutor
    from quidnunc.pipeline.sweep.run import SweepResult

SHOWN = (
    "delivery_ratio",
    "copies_per_node",
    "latency_p50_ms",
    "latency_p99_ms",
    "bytes_per_message_and_node",
)


def run(options: argparse.Namespace) -> int:
    from quidnunc.impl.seam import AdapterError
    from quidnunc.pipeline.lake.engines.seam import EngineMissing
    from quidnunc.pipeline.simulation.scenario.values import ScenarioError
    from quidnunc.pipeline.sweep.file import load_sweep
    from quidnunc.pipeline.sweep.run import carry_out
    from quidnunc.properties.sources import SIMULATED, digest_of_sources

    try:
        plan = load_sweep(options.sweep, digest_of_sources(SIMULATED), allow_exec=options.allow_exec)
        carried = carry_out(
            plan, options.output, _executor(options), earlier=options.earlier, progress=progress_line()
        )
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    except EngineMissing as error:
        raise AdapterError(str(error)) from None
    finally:
        clear_progress()
    if options.report is not None:
        _report(options, carried)
    if options.json:
        print_json(
            {
                **carried.summary,
                "coverage": carried.coverage["protocols"],
                "done": carried.done,
                "had": carried.had,
                "interrupted": carried.interrupt is not None,
            }
        )
    else:
        _print(options, carried)
    if carried.interrupt is not None:
        raise carried.interrupt
    return _status(carried)


def _report(options: argparse.Namespace, carried: SweepResult) -> None:
    from quidnunc.reports.pages.sweep_page import sweep_page

    write_text(options.report, sweep_page(carried.summary, _again(options).removeprefix("again: ")))
    print(f"wrote {options.report}", file=sys.stderr)


def _executor(options: argparse.Namespace) -> SweepExecutor:
    from quidnunc.pipeline.lake.spark_session import why_not
    from quidnunc.pipeline.sweep.executors import LocalExecutor, SparkExecutor

    if options.workers is not None and options.workers < 1:
        raise UsageError(f"--workers must be 1 or more, got {options.workers}")
    if options.master and options.engine in ("local", "duckdb"):
        raise UsageError("--master needs --engine spark")
    lacking = why_not() if options.engine == "auto" else None
    if options.engine == "auto":
        said = f"local (no Spark: {lacking})" if lacking else "spark (pyspark and Java are here)"
        print(f"engine: {said}", file=sys.stderr)
    if options.engine == "spark" or options.engine == "auto" and lacking is None:
        return SparkExecutor(options.master)
    return LocalExecutor(options.workers)


def _status(carried: SweepResult) -> int:
    """As `simulate --check` and `check` have it: what was never tested is no pass."""
    claims = [claim for each in carried.summary["check"] for claim in each["claims"]]
    if carried.summary["root_causes"] or any(claim["verdict"] == "fails" for claim in claims):
        return 1
    if carried.summary["broken"]:
        return 4
    return 3 if any(each["claims"]["never"] for each in carried.coverage["protocols"].values()) else 0


def _print(options: argparse.Namespace, carried: SweepResult) -> None:
    summary = carried.summary
    jobs = summary["jobs"]
    done = f"{jobs['done']} of {jobs['planned']} jobs, {carried.done} of them now"
    print(f"sweep {summary['name']}: {done}, in {options.output}")
    if not summary["complete"]:
        print("interrupted: the figures are of what was done; repeat the command to go on")
    if summary["simulate"]:
        print()
        rows = [_row(point) for point in summary["simulate"]]
        print(table(("point", "runs", *SHOWN), rows))
        if any("±" in str(cell) for row in rows for cell in row):
            print("±: half of the 95 % interval of the mean over the runs (Student's t)")
    for each in summary["check"]:
        verdicts = sorted({claim["verdict"] for claim in each["claims"]})
        counts = ", ".join(f"{sum(c['verdict'] == v for c in each['claims'])} {v}" for v in verdicts)
        what = f"{each['protocol']} against {each['against']}"
        print(f"\n{what}: {each['runs']} runs, {each['steps']} steps: {counts}")
    for cause in summary["root_causes"]:
        place = options.output / "cases" / cause["case"]
        print(f"\n{cause['against']} ({cause['protocol']}) departs from {cause['clause']}: {cause['quirk']}")
        print(f"  in {cause['runs']} runs: {place}")
    for words in summary["broken"][:5]:
        print(f"broken: {words}")
    for protocol, found in carried.coverage["protocols"].items():
        shares = ", ".join(
            f"{found[k]['applied']} of {found[k]['all']} {k}" for k in ("clauses", "rules", "claims")
        )
        print(f"\ncoverage of {protocol}: {shares}")
        if found["claims"]["never"]:
            print(f"not checked, never applied: {', '.join(found['claims']['never'])}")
    print(_again(options))


def _again(options: argparse.Namespace) -> str:
    engine = [] if options.engine == "local" else ["--engine", options.engine]
    earlier = [word for folder in options.earlier for word in ("--with", folder)]
    named = [*engine, *given_options(options, "workers", "master", "allow_exec", "report"), *earlier]
    return repeat_command("sweep", options.sweep, "-o", options.output, *named)


def _row(point: dict[str, Any]) -> tuple[object, ...]:
    named = ", ".join(f"{name}={_short(value)}" for name, value in point["point"].items()) or "(as it is)"
    return (named, point["runs"], *(_spread(point["figures"].get(name)) for name in SHOWN))


def _short(value: object) -> str:
    return str(value.get("kind", "...")) if isinstance(value, dict) else str(value)


def _spread(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "-"
    # Of two values the interval is wider than most figures can be.
    interval = "" if figure["ci95"] is None or figure["n"] < 3 else f" ± {figure['ci95']:.2g}"
    return f"{figure['mean']:.4g}{interval}"
