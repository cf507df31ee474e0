"""Campaigns: what a file spreads out to, and that it makes no difference where, and how often interrupted, it
is carried out.

Here is a tenth of the simulations that `make campaign` has, and one batch of its property tests:
QUIDNUNC_NIGHTLY=1 makes it 200 simulations and 10,000 runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from quidnunc.__main__ import main
from quidnunc.pipeline.folder_lock import locked_folder
from quidnunc.pipeline.simulation.scenario.values import ScenarioError
from quidnunc.pipeline.sweep.executors import (
    InProcessExecutor,
    LocalExecutor,
    Named,
    SparkExecutor,
    SweepExecutor,
    portions,
)
from quidnunc.pipeline.sweep.file import Result, SweepPlan, batches, load_sweep
from quidnunc.pipeline.sweep.run import carry_out
from quidnunc.pipeline.sweep.store import SweepStore
from quidnunc.pipeline.sweep.summary import SeedSpread
from tests.helpers.interrupts import hear_interrupts

NIGHTLY = bool(os.environ.get("QUIDNUNC_NIGHTLY"))
SEEDS, RUNS, BATCH = (50, 10_000, 100) if NIGHTLY else (5, 10, 10)

SWEEP = f"""
name: campaign
simulate:
  - scenario: {{nodes: [{{count: 6}}], topology: {{degree: 3}}, traffic: [{{count: 2}}]}}
    vary: {{"nodes.0.parameters.flood_publish": [true, false], links.loss: [0, 0.1]}}
    seeds: {SEEDS}
  - scenario: {{nodes: [{{count: 5}}, {{count: 1, router: "ours:echo"}}], topology: {{degree: 3}},
                traffic: [{{count: 2}}]}}
    seeds: [3]
    check: true
check:
  - {{protocol: flood, against: ours, runs: {RUNS}, batch: {BATCH}}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> SweepPlan:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP)
    return load_sweep(path)


def tree(folder: Path) -> dict[str, bytes]:
    """Everything that a campaign leaves."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- what a file says ---------------------------------------------------------------------------------------


def test_values_are_combined_and_points_are_not(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    (tmp_path / "e").write_text("0 1")
    (tmp_path / "net.yaml").write_text("nodes: [{count: 3}, {count: 4}]\ntopology: {kind: file, path: e}")
    path.write_text(
        "simulate: {scenario: net.yaml, vary: {links.loss: [0, 0.1, 0.2]}, seeds: [7, 8],"
        " points: [{nodes.0.count: 1, nodes.1.count: 2}, {name: x}]}"
    )
    jobs = load_sweep(path).simulations
    assert len(jobs) == 2 * 3 * 2
    assert jobs[0]["point"] == {"nodes.0.count": 1, "nodes.1.count": 2, "links.loss": 0}
    assert [job["seed"] for job in jobs[:4]] == [7, 8, 7, 8]
    assert [g.get("count") for g in jobs[0]["scenario"]["nodes"]] == [None, 2]
    assert jobs[0]["scenario"]["topology"]["path"] == str(tmp_path / "e")
    assert json.loads(json.dumps(jobs)) == list(jobs)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: a", "a sweep needs `simulate` or `check`"),
        ("simulate: {seeds: 3}", "scenario: expected the path"),
        ("simulate: {scenario: {nodes: [{}]}, seeds: 0}", "seeds: expected how many"),
        ("simulate: {scenario: {nodes: [{}]}, vary: {seed: 3}}", "vary: expected fields with lists"),
        ("simulate: {scenario: no.yaml}", r"no\.yaml: No such file"),
        ("simulate: {scenario: {nodes: [{}]}, vary: {links.los: [1]}}", r"links\.los: no such field"),
        ("simulate: {scenario: {nodes: [{}]}, vary: {1: [2]}}", "expected the name of a field"),
        ("simulate: {scenario: {nodes: [{}]}, points: [{-1: 2}]}", "name of a field, .* got -1"),
        pytest.param("- " * 1500 + "a", "cannot be read: |not YAML: |expected fields with names", id="deep"),
        ("check: {protocol: dogg}", "protocol: no 'dogg'"),
        ("check: {runs: 0}", "runs must be 1 or more"),
        ("chek: []", r"chek: no such field \(did you mean check"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=says):
        load_sweep(path)


def test_property_tests_go_in_rounds(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("check: {runs: 1950, batch: 100, seed: 2}")
    (checks,) = load_sweep(path).checks
    rounds = batches(checks, 0)
    assert [len(jobs) for jobs in rounds] == [16, 4]
    assert sum(job["runs"] for jobs in rounds for job in jobs) == 1950
    seeds = {job["seed"] for jobs in rounds for job in jobs}
    assert len(seeds) == 20 and min(seeds) == 2_000_006


def test_portions_take_a_second_and_mix_neighbours() -> None:
    jobs: list[Named] = [(str(k), {}) for k in range(1000)]
    many = portions(jobs, 0.01)
    assert {len(p) for p in many} <= {99, 100} and len(many) <= 12
    assert [name for name, _ in many[0]][:2] == ["0", str(len(many))]
    assert len(portions(jobs, 5.0)) == 1000
    assert portions([], 1) == [] and portions(jobs[:1], 1) == [[jobs[0]]]


def test_a_spread_is_students() -> None:
    assert SeedSpread.of([4.0]) == SeedSpread(1, 4.0, None, None, (4.0,))
    assert "values" not in SeedSpread.of([1.0] * 30).plain()
    spread = SeedSpread.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (spread.n, spread.mean) == (5, 3.0)
    assert spread.sd == pytest.approx(1.5811388) and spread.ci95 == pytest.approx(1.9632, abs=1e-3)


# -- executors ----------------------------------------------------------------------------------------------


def check_spread(summary: dict[str, Any]) -> None:
    assert len(summary["simulate"]) == 5 and not summary["broken"]
    assert [p["runs"] for p in summary["simulate"]] == [SEEDS] * 4 + [1]
    flooded, relayed = (summary["simulate"][k]["figures"]["copies_per_node"]["mean"] for k in (0, 2))
    assert flooded >= relayed and all(
        p["figures"]["delivery_ratio"]["mean"] > 0.5 for p in summary["simulate"]
    )
    assert summary["check"][0]["runs"] == RUNS
    (cause,) = summary["root_causes"]
    assert (cause["against"], cause["clause"]) == ("ours:echo", "floodsub/relay.not-back")


def test_processes_and_spark_come_to_the_same(plan: SweepPlan, tmp_path: Path, spark: Any) -> None:
    folders = {}
    for name, executor in {"processes": LocalExecutor(2), "spark": SparkExecutor()}.items():
        carried = carry_out(plan, tmp_path / name, executor)
        folders[name] = tree(tmp_path / name)
        assert carried.done == 4 * SEEDS + 1 + RUNS // BATCH and not carried.had
    assert folders["processes"] == folders["spark"]
    check_spread(json.loads(folders["spark"]["summary.json"]))


@frozen
class Stopping:
    """An executor that gives some results and is then interrupted."""

    results: int

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]:
        for _, each in zip(range(self.results), InProcessExecutor().run(jobs), strict=False):
            yield each
        raise KeyboardInterrupt


def test_what_was_interrupted_goes_on(plan: SweepPlan, tmp_path: Path) -> None:
    plan = evolve(plan, simulations=plan.simulations[::3], checks=plan.checks if NIGHTLY else ())
    carry_out(plan, tmp_path / "whole", InProcessExecutor())
    done = 0
    for executor in (Stopping(1), Stopping(2), InProcessExecutor()):
        carried = carry_out(plan, tmp_path / "parts", executor)
        if carried.interrupt is not None:
            done = len(list((tmp_path / "parts" / "results").iterdir()))
            assert sum(point["runs"] for point in carried.summary["simulate"]) == done
    assert done == 3 == carried.had and carried.done >= len(plan.simulations) - 3
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")
    # And once more there is nothing to do.
    assert carry_out(plan, tmp_path / "parts", Stopping(0)).done == 0


def test_what_was_killed_goes_on(tmp_path: Path) -> None:
    """A process that is killed at any instant leaves whole results, and what is missing is done."""
    path = tmp_path / "s.yaml"
    network = "{nodes: [{count: 12}], topology: {degree: 5}, traffic: [{count: 25}]}"
    path.write_text(f"simulate: {{scenario: {network}, seeds: 6}}")
    command = ["sweep", str(path), "-o", str(tmp_path / "a"), "--workers", "1"]
    program = [sys.executable, "-m", "quidnunc", *command]
    child = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    results = tmp_path / "a" / "results"
    while child.poll() is None and len(list(results.glob("*.json"))) < 2:
        try:
            child.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    child.send_signal(signal.SIGKILL)
    child.wait()
    left = len(list(results.glob("*.json")))
    assert 2 <= left < 6
    assert main(command) == 0
    assert main(["sweep", str(path), "-o", str(tmp_path / "b"), "--workers", "1"]) == 0
    ours, fresh = tree(tmp_path / "a"), tree(tmp_path / "b")
    assert {k: v for k, v in ours.items() if not k.endswith(".part")} == fresh


LONG = {"nodes": [{"count": 30}], "traffic": [{"count": 20_000}]}
"""A simulation that takes minutes."""


def started(folder: Path, sweep: dict[str, Any]) -> subprocess.Popen[str]:
    """A sweep in processes of its own, whose first result is there."""
    (folder / "s.yaml").write_text(json.dumps(sweep))
    command = ["sweep", str(folder / "s.yaml"), "-o", str(folder / "a"), "--workers", "2"]
    child = subprocess.Popen(
        [sys.executable, "-m", "quidnunc", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    while child.poll() is None and not list((folder / "a" / "results").glob("*.json")):
        try:
            child.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    return child


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_what_was_found_and_ends_the_processes(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """Ctrl-C goes to every process of the terminal, SIGTERM to one; what is under way would take minutes."""
    echo = {
        "nodes": [{"count": 5}, {"count": 1, "router": "ours:echo"}],
        "topology": {"degree": 3},
        "traffic": [{"count": 2}],
    }
    sweep = {"simulate": [{"scenario": echo, "check": True}, {"scenario": LONG, "seeds": 2}]}
    child = started(tmp_path, sweep)
    os.killpg(child.pid, number) if number == signal.SIGINT else child.send_signal(number)
    # Its processes have the same stderr, so this waits for all of them.
    out, told = child.communicate(timeout=60)
    assert child.returncode == status and told.endswith("quidnunc: interrupted\n"), told
    assert "Traceback" not in told
    summary = json.loads((tmp_path / "a" / "summary.json").read_bytes())
    assert [cause["against"] for cause in summary["root_causes"]] == ["ours:echo"]
    assert list((tmp_path / "a" / "cases").iterdir()) and "departs from floodsub/relay.not-back" in out


def test_processes_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    small = {"nodes": [{"count": 9}], "traffic": [{"count": 1}]}
    child = started(tmp_path, {"simulate": [{"scenario": s} for s in (small, LONG, LONG)]})
    child.kill()
    # They have its stderr: this waits for all of them.
    child.communicate(timeout=20)
    assert child.returncode == -signal.SIGKILL


def test_two_sweeps_do_not_write_to_one_folder(tmp_path: Path, plan: SweepPlan) -> None:
    with locked_folder(tmp_path / "a", ScenarioError):
        with pytest.raises(ScenarioError, match="a: another process is writing to it"):
            carry_out(plan, tmp_path / "a", InProcessExecutor())


# -- what is kept -------------------------------------------------------------------------------------------


def carried_by(executor: SweepExecutor, text: str, tmp_path: Path, name: str, **more: Any) -> Any:
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    return carry_out(load_sweep(path), tmp_path / name, executor, **more)


def test_coverage_is_merged_with_earlier_campaigns(tmp_path: Path) -> None:
    flood = carried_by(InProcessExecutor(), "check: {protocol: flood, runs: 5, batch: 5}", tmp_path, "flood")
    network = "simulate: {scenario: {nodes: [{count: 4, protocol: flood}], topology: {degree: 2},"
    both = carried_by(
        InProcessExecutor(),
        f"{network} traffic: [{{count: 2}}]}}, check: true}}",
        tmp_path,
        "network",
        earlier=[tmp_path / "flood"],
    )
    before, after = flood.coverage["applied"]["flood"], both.coverage["applied"]["flood"]
    assert set(before) <= set(after) and all(after[c] >= n for c, n in before.items())
    assert sum(after.values()) > sum(before.values())
    shares = both.coverage["protocols"]["flood"]
    assert shares["claims"]["applied"] + len(shares["claims"]["never"]) == shares["claims"]["all"]
    # What is not replayed beside the model covers nothing.
    unchecked = carried_by(
        InProcessExecutor(), f"{network} traffic: [{{count: 2}}]}}}}", tmp_path, "unchecked"
    )
    assert unchecked.coverage["protocols"] == {}


def test_a_departure_is_counted_once_and_filed(tmp_path: Path) -> None:
    carried = carried_by(
        InProcessExecutor(),
        "check: {protocol: dog, against: 'ours:havetx-is-a-duplicate', runs: 10, batch: 10}",
        tmp_path,
        "c",
    )
    (verdict,) = {c["verdict"] for c in carried.summary["check"][0]["claims"]} & {"fails"}
    causes = carried.summary["root_causes"]
    assert verdict == "fails" and len(causes) == len(carried.cases) >= 1
    assert all(Path(case).read_text().strip() for case in carried.cases)


def test_a_directory_of_another_sweep_is_left_alone(plan: SweepPlan, tmp_path: Path) -> None:
    small = evolve(plan, simulations=plan.simulations[:1], checks=())
    carry_out(small, tmp_path / "c", InProcessExecutor())
    for other in (evolve(small, simulations=plan.simulations[1:2]), evolve(small, sources="other")):
        with pytest.raises(ScenarioError, match="holds another sweep"):
            carry_out(other, tmp_path / "c", InProcessExecutor())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(ScenarioError, match="not the directory of a sweep"):
        carry_out(small, tmp_path / "mine", InProcessExecutor())
    (damaged,) = (tmp_path / "c" / "results").iterdir()
    damaged.write_text("{")
    with pytest.raises(ScenarioError, match="remove it to compute that part again"):
        carry_out(small, tmp_path / "c", InProcessExecutor())


def test_what_cannot_be_read_is_told_with_the_right_advice(tmp_path: Path) -> None:
    plan = SweepPlan(name="s", simulations=(), checks=())
    place = tmp_path / "c" / "sweep.json"
    SweepStore(tmp_path / "c", plan).open()
    for text, problem in (
        ('{"schema": 2}', "sweep.json: expected schema 1, got 2"),
        ("{}", "sweep.json: expected schema 1, got None"),
        ("{", "sweep.json: Expecting"),
        ("[]", "sweep.json: expected an object"),
    ):
        place.write_text(text)
        with pytest.raises(ScenarioError, match=f"{problem}.*name another place with -o, or remove .*c$"):
            SweepStore(tmp_path / "c", plan).open()
    with pytest.raises(ScenarioError, match="coverage.json.*; name the directory of a finished sweep with"):
        carry_out(plan, tmp_path / "d", InProcessExecutor(), earlier=[tmp_path / "none"])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("simulate: {scenario: {nodes: [{count: 4}], topology: {degree: 2}}, seeds: 2}")
    command = ["sweep", str(path), "-o", str(tmp_path / "c"), "--workers", "1"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "2 of 2 jobs, 2 of them now" in said and said.splitlines()[-1].startswith("again: quidnunc sweep")
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["had"], told["simulate"][0]["runs"]) == (0, 2, 2)
    assert main([*command, "--master", "spark://x"]) == 2
    assert "--master needs --engine spark" in capsys.readouterr().err


def test_without_spark_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from quidnunc.pipeline.lake import spark_session as module

    def missing() -> None:
        raise module.EngineMissing("pyspark must be installed: pip install '.[spark]'")

    monkeypatch.setattr(module, "_demand_pyspark", missing)
    path = tmp_path / "s.yaml"
    path.write_text("simulate: {scenario: {nodes: [{count: 4}], topology: {degree: 2}}}")
    assert main(["sweep", str(path), "-o", str(tmp_path / "c"), "--engine", "spark"]) == 4
    assert "pip install '.[spark]'" in capsys.readouterr().err
