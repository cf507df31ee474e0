"""A simulated run on disk: its trace, the scenario as it was run, and a summary; there when it is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from gzip import GzipFile
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from quidnunc.impl.wire.keys import peer_id
from quidnunc.pipeline.folder_lock import locked_folder
from quidnunc.pipeline.simulation.plan import plan
from quidnunc.pipeline.simulation.scenario.file import plain_of, scenario_text
from quidnunc.pipeline.simulation.scenario.values import Scenario, ScenarioError
from quidnunc.pipeline.simulation.simulator import NetworkSimulation, Progress, SimulationOutcome
from quidnunc.pipeline.trace.carriers import gzip_stream
from quidnunc.pipeline.trace.events import RunStart, TraceEvent
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.metrics import MetricsMeter, RunMetrics
from quidnunc.pipeline.trace.network import manifest_of

TRACE = "trace.jsonl.gz"
SUMMARY = "summary.json"
SCENARIOS = frozenset({"scenario.yaml", "scenario.json"})
WRITTEN = SCENARIOS | {TRACE, SUMMARY}
"""What is in the directory of a run; one that holds more is somebody else's."""
SCHEMA = 1
NS_PER_S = 1_000_000_000


@frozen(kw_only=True)
class SimulationResult:
    """What one run came to."""

    scenario: Scenario
    outcome: SimulationOutcome
    metrics: RunMetrics

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "schema": SCHEMA,
            "name": self.scenario.name,
            "seed": self.scenario.seed,
            "outcome": asdict(self.outcome),
            "metrics": self.metrics.plain(),
        }


def ignore_progress(now_s: float, end_s: float, events: int) -> None:
    """No word on how far it is."""


def run_simulation(scenario: Scenario, progress: Progress = ignore_progress) -> SimulationResult:
    """Run a scenario and measure it; its events are not kept.

    Raises ScenarioError for what no such network can do, AdapterError for a router that breaks.
    """
    meter = _meter(scenario)
    return _run(scenario, meter, meter.take, progress)


def record_simulation(
    scenario: Scenario, sink: Callable[[TraceEvent], None], progress: Progress = ignore_progress
) -> SimulationResult:
    """Run a scenario, with every event of it to `sink`, the RUN event first. Raises as `simulated`."""
    meter = _meter(scenario)

    def take(event: TraceEvent) -> None:
        meter.take(event)
        sink(event)

    return _run(scenario, meter, take, progress, sink)


def _meter(scenario: Scenario) -> MetricsMeter:
    return MetricsMeter(scenario.name, round(scenario.measure_from_s * NS_PER_S))


def _run(
    scenario: Scenario,
    meter: MetricsMeter,
    take: Callable[[TraceEvent], None],
    progress: Progress,
    head: Callable[[TraceEvent], None] | None = None,
) -> SimulationResult:
    network = NetworkSimulation(scenario, take, progress)
    if head is not None:
        manifest = json.dumps(manifest_of(network.nodes, plain_of(scenario)), sort_keys=True)
        head(TraceEvent(RunStart(name=scenario.name, manifest=manifest), peer_id(0), 0))
    outcome = network.run(plan)
    return SimulationResult(scenario=scenario, outcome=outcome, metrics=meter.measured())


def write_run(
    scenario: Scenario, run: Path, progress: Progress = ignore_progress, *, replace: bool = False
) -> SimulationResult:
    """Run a scenario into the directory `run`, which appears when it is whole. A run of the same scenario
    that is there gives way, with `replace` one of any scenario.

    Raises ScenarioError where something else is in its place, or another process writes there.
    """
    run = run.resolve()
    told = None if replace else scenario_text(scenario)
    demand_place(run, told)
    part = run.with_name(run.name + ".part")
    with locked_folder(part, ScenarioError):
        # A killed process may have left some of these.
        for name in WRITTEN:
            (part / name).unlink(missing_ok=True)
        try:
            with (part / TRACE).open("wb") as raw, gzip_stream(raw) as stream:
                result = record_simulation(scenario, _writer(stream), progress)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        suffix = "json" if scenario.script else "yaml"
        (part / f"scenario.{suffix}").write_text(scenario_text(scenario), encoding="utf-8")
        (part / SUMMARY).write_text(json.dumps(result.plain(), indent=1) + "\n", encoding="utf-8")
        demand_place(run, told)
        if run.exists():
            shutil.rmtree(run)
        os.replace(part, run)
    return result


def demand_place(run: Path, told: str | None = None) -> None:
    """Raises ScenarioError where `run` is something that must not be replaced: but a run of the scenario of
    which the text is `told`, or if that is None any run."""
    if not run.exists():
        return
    found = {each.name for each in run.iterdir()} if run.is_dir() else set()
    if not {TRACE, SUMMARY} <= found <= WRITTEN:
        raise ScenarioError(f"{run}: is there already, and is no simulated run; name another place with -o")
    had = {(run / name).read_text(encoding="utf-8", errors="replace") for name in found & SCENARIOS}
    if told is not None and told not in had:
        raise ScenarioError(
            f"{run}: has a run of another scenario; name another place with -o, or say --replace"
        )


def _writer(stream: GzipFile) -> Callable[[TraceEvent], None]:
    def write(event: TraceEvent) -> None:
        stream.write(line_of(event).encode() + b"\n")

    return write
