"""Simulated networks for tests: run one, and hold each of its nodes against the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quidnunc.pipeline.simulation.run import SimulationResult, record_simulation
from quidnunc.pipeline.simulation.scenario.file import scenario_of
from quidnunc.pipeline.simulation.scenario.values import Scenario
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import TraceRecord
from quidnunc.pipeline.trace.network_check import NodeKindReport, check_network


def scenario(**fields: Any) -> Scenario:
    """By the names of a file."""
    return scenario_of(fields, Path("test"))


def run(**fields: Any) -> tuple[SimulationResult, list[TraceEvent]]:
    """One run and all of its events, the RUN event first."""
    events: list[TraceEvent] = []
    return record_simulation(scenario(**fields), events.append), events


def judged(events: list[TraceEvent]) -> dict[tuple[str, str], NodeKindReport]:
    return check_network(TraceRecord(event, Path("test"), at) for at, event in enumerate(events))


def clean(events: list[TraceEvent]) -> int:
    """How many steps all nodes took beside the model; none of them departs."""
    reports = judged(events).values()
    found = [v for report in reports for v in report.violations]
    assert not found, found[:3]
    assert not sum(report.blurred for report in reports)
    return sum(report.steps for report in reports)
