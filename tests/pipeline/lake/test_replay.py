"""The model beside every peer, from silver: as `trace check` has it of the trace itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings

from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
from quidnunc.pipeline.lake.ingest import SourceOptions
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.lake.silver.rows import rows_of
from quidnunc.pipeline.simulation.run import write_run
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import read_trace
from quidnunc.pipeline.trace.network_check import check_network
from quidnunc.pipeline.trace.shapes import TraceError
from tests.conftest import Command
from tests.helpers.simulated import scenario
from tests.helpers.trace_values import events

pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.replay import replay
from quidnunc.pipeline.lake.silver.events import event_of_rows
from tests.helpers.networks import land, silver_of

ECHO: dict[str, Any] = {
    "nodes": [{"count": 5}, {"count": 1, "router": "ours:echo"}],
    "topology": {"degree": 4},
    "traffic": [{"count": 2}],
}


@given(events(go=False))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_say_of_their_event_what_it_said(event: TraceEvent) -> None:
    rows = rows_of(event)
    again = event_of_rows([attrs.asdict(row) for row in rows])
    assert rows_of(again) == rows
    assert rows[0].more is None or again == event


def test_every_peer_is_judged_as_it_is_of_the_trace(tmp_path: Path) -> None:
    write_run(scenario(**ECHO), tmp_path / "land")
    of_trace = check_network(read_trace(tmp_path / "land"))
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=3))
    of_silver = replay(RunFolder(tmp_path / "run"), EmbeddedEngine().tasks)
    assert of_silver.keys() == of_trace.keys() and len(of_trace) == 2
    for key, report in of_trace.items():
        found = of_silver[key]
        assert (found.nodes, found.steps, found.applied) == (report.nodes, report.steps, report.applied)
        assert found.causes == report.causes
        assert [(v.claim.id, v.verdict, v.applied) for v in found.verdicts()] == [
            (v.claim.id, v.verdict, v.applied) for v in report.verdicts()
        ]
    assert any(report.causes for report in of_silver.values()), "the echo was not heard"


def test_a_trace_that_says_not_how_its_peers_were_opened_is_not_replayed(tmp_path: Path) -> None:
    silver_of(land(tmp_path / "land", faulty=False).folder, tmp_path / "run")
    with pytest.raises(TraceError, match="needs a RUN event"):
        replay(RunFolder(tmp_path / "run"), EmbeddedEngine().tasks)


def test_the_command_says_what_the_replay_finds(quidnunc: Command, tmp_path: Path) -> None:
    write_run(scenario(**ECHO), tmp_path / "land")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=2))
    found = quidnunc("trace", "check", tmp_path / "run", "--replay", "--json")
    assert found.code == 1, found.err
    failing = {c["id"] for c in found.data["claims"] if c["verdict"] == "fails"}
    assert "relay.not-back" in failing and len({v["peer"] for v in found.data["violations"]}) == 1
    told = quidnunc("trace", "check", tmp_path / "run", "--replay", "--claims", "relay.*")
    assert told.code == 1 and "exit 1: fails: relay.not-back" in told.out
    assert quidnunc("trace", "check", tmp_path / "land", "--replay").code == 2


def test_a_must_that_never_applied_is_said_by_the_exit_status(quidnunc: Command, tmp_path: Path) -> None:
    write_run(scenario(nodes=[{"count": 3}], topology={"degree": 2}, traffic=[]), tmp_path / "land")
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=2))
    plain = quidnunc("trace", "check", tmp_path / "land")
    replayed = quidnunc("trace", "check", tmp_path / "run", "--replay")
    assert (plain.code, replayed.code) == (3, 3), replayed.out
    assert "exit 3: could not be decided: " in replayed.out
    assert quidnunc("trace", "check", tmp_path / "run", "--replay", "--json").code == 3
