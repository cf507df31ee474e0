"""One job of a campaign, done: what any executor calls, and what stands in its result.

A result holds nothing of when and where it was made.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from quidnunc.impl.seam import AdapterError
from quidnunc.pipeline.simulation.run import ignore_progress, record_simulation, run_simulation
from quidnunc.pipeline.simulation.scenario.file import scenario_of, scenario_text
from quidnunc.pipeline.simulation.scenario.values import Scenario, ScenarioError
from quidnunc.pipeline.simulation.shrink import case_of, smaller_network
from quidnunc.pipeline.sweep.file import Job, Result
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import TraceRecord
from quidnunc.pipeline.trace.network_check import NodeKindReport, check_network
from quidnunc.pipeline.trace.shapes import TraceError


def do_job(job: Job) -> Result:
    """The result of one job: plain values, the same wherever it is done."""
    if job["kind"] == "simulate":
        return _simulate(job)
    return _check(job)


def _simulate(job: Job) -> Result:
    try:
        scenario: Scenario = scenario_of(job["scenario"], Path("scenario"))
        if not job["check"]:
            run = run_simulation(scenario)
            return {"kind": "simulate", **_told(run.plain())}
        events: list[TraceEvent] = []
        run = record_simulation(scenario, events.append, ignore_progress)
        records = (TraceRecord(event, Path("run"), at) for at, event in enumerate(events))
        reports = check_network(records)
    except (ScenarioError, AdapterError, TraceError) as error:
        return {"kind": "simulate", "broken": str(error)}
    failures = [each for report in reports.values() for each in _failures(scenario, report)]
    applied: dict[str, Counter[str]] = {}
    for report in reports.values():
        applied.setdefault(report.protocol, Counter()).update(report.applied)
    return {
        "kind": "simulate",
        **_told(run.plain()),
        "steps": sum(report.steps for report in reports.values()),
        "applied": {name: dict(sorted(counts.items())) for name, counts in sorted(applied.items())},
        "failures": failures,
    }


def _told(plain: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": plain["outcome"], "metrics": plain["metrics"]}


def _failures(scenario: Scenario, report: NodeKindReport) -> list[dict[str, Any]]:
    found = []
    for judged in report.departed:
        first = next(v for v in report.violations if v.node == judged.node.number)
        text = case_of(judged)
        form = "case"
        if text is None:
            smaller = smaller_network(scenario, judged, lambda progress: None)
            text, form = scenario_text(smaller), "json" if smaller.script else "yaml"
        found.append(
            {
                "protocol": report.protocol,
                "against": report.router,
                "clause": first.clause,
                "cause": first.cause,
                "witness": first.witness,
                "nodes": report.causes[first.key],
                "form": form,
                "text": text,
            }
        )
    return found


def _check(job: Job) -> Result:
    from quidnunc.properties.search.batch import BatchRequest, run_batch

    # The batch has a process of its own, which must find the package where this one did.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    request = BatchRequest(
        protocol=job["protocol"],
        against=job["against"],
        seed=job["seed"],
        runs=job["runs"],
        quirks=tuple(job["quirks"]),
    )
    answer = run_batch(request)
    return {"kind": "check", "answer": answer}
