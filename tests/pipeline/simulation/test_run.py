"""A run on disk: whole or not there, whoever else writes, and whatever ends the process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quidnunc.pipeline.simulation.run import TRACE, write_run
from quidnunc.pipeline.simulation.scenario.file import scenario_text
from quidnunc.pipeline.simulation.scenario.values import Scenario, ScenarioError
from quidnunc.pipeline.trace.files import read_trace
from tests.helpers.simulated import scenario

SMALL = scenario(nodes=[{"count": 3}], topology={"degree": 2}, traffic=[{"count": 2}], seed=1)
OTHER = scenario(nodes=[{"count": 4}], topology={"degree": 2}, traffic=[{"count": 2}], seed=2)


def test_two_processes_do_not_write_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first is under way; the first is not mixed with it."""
    problems: list[str] = []

    def meanwhile(written: Scenario) -> str:
        problems.append("asked")
        # First to see what is there, then to write it.
        if len(problems) == 2:
            with pytest.raises(ScenarioError, match="another process is writing to it"):
                write_run(OTHER, tmp_path / "run")
        return scenario_text(written)

    monkeypatch.setattr("quidnunc.pipeline.simulation.run.scenario_text", meanwhile)
    write_run(SMALL, tmp_path / "run")
    assert problems and json.loads((tmp_path / "run" / "summary.json").read_bytes())["seed"] == 1
    alone = tmp_path / "alone"
    write_run(SMALL, alone)
    assert (tmp_path / "run" / TRACE).read_bytes() == (alone / TRACE).read_bytes()
    # Afterwards it may be written anew.
    write_run(SMALL, tmp_path / "run")
    with pytest.raises(ScenarioError, match="has a run of another scenario; .* --replace"):
        write_run(OTHER, tmp_path / "run")
    write_run(OTHER, tmp_path / "run", replace=True)
    assert not (tmp_path / "run.part").exists() and len(list(read_trace(tmp_path / "run"))) > 10


def test_what_a_killed_run_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "run.part").mkdir()
    (tmp_path / "run.part" / "scenario.json").write_text("old")
    write_run(SMALL, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {TRACE, "summary.json", "scenario.yaml"}


def test_sigterm_leaves_nothing_half_made(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(json.dumps({"nodes": [{"count": 30}], "traffic": [{"count": 20_000}]}))
    command = [sys.executable, "-m", "quidnunc", "simulate", "s.yaml", "-o", "run"]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while child.poll() is None and not (tmp_path / "run.part" / TRACE).exists():
        os.sched_yield()
    child.send_signal(signal.SIGTERM)
    _, told = child.communicate(timeout=30)
    assert (child.returncode, told) == (143, "quidnunc: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]
