"""`quidnunc check` ends in time: by its budget, by a signal, and with its workers when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from quidnunc.commands.check import how_far
from quidnunc.properties.cases.file import load
from quidnunc.properties.search.batch import BatchRequest, Workers, run_batch
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.verdicts import compare, verdict_of_root
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.run import run_suite
from tests.conftest import Command
from tests.helpers.interrupts import hear_interrupts

SLOW = """
import os, threading
from quidnunc.impl.ours.pubsub import open_ours

class Slow:
    def __init__(self, config, wait_s):
        self.inner, self.wait_s = open_ours(config, mutant="echo"), wait_s
        self.hello = self.inner.hello
        with open(f"{os.getpid()}.pid", "a") as opened:
            opened.write("x")

    def __getattr__(self, name):
        if name != "close":
            # An answer that never comes: what the test is about is a router that takes its time.
            threading.Event().wait(self.wait_s)
        return getattr(self.inner, name)

def slow(config):
    return Slow(config, 0.02)

def hanging(config):
    return Slow(config, 3600.0)

def unhurried(config):
    return Slow(config, 0.001)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With routers that wait at each request. What still runs of them at the end of a test is killed."""
    (tmp_path / "waits.py").write_text(SLOW)
    yield tmp_path
    for process in alive(tmp_path):
        os.kill(process, signal.SIGKILL)


def alive(folder: Path) -> list[int]:
    """The workers that opened a router and are still there."""
    found = []
    for path in folder.glob("*.pid"):
        state = Path(f"/proc/{path.stem}/stat")
        try:
            gone = state.read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            gone = True
        if not gone:
            found.append(int(path.stem))
    return found


def opened_by_others(folder: Path, process: int) -> int:
    """How often processes beside that one opened a router."""
    return sum(path.stat().st_size for path in folder.glob("*.pid") if path.stem != str(process))


def soon(condition: Any, within_s: float = 20.0) -> bool:
    """Whether the condition comes true."""
    until, never = time.monotonic() + within_s, threading.Event()
    while not (met := condition()) and time.monotonic() < until:
        never.wait(0.05)
    return bool(met)


def started(folder: Path, router: str, *more: str) -> subprocess.Popen[str]:
    """A check of one of these routers, with its cases in `found`."""
    words = ["check", "floodsub", "--against", f"python:waits:{router}", "--cases", "found", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "quidnunc", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )


@pytest.mark.parametrize("router", ["slow", "unhurried"])
def test_a_budget_is_kept(folder: Path, router: str) -> None:
    began = time.monotonic()
    check = started(folder, router, "--budget", "12s")
    out, error = check.communicate(timeout=60)
    took_s = time.monotonic() - began
    assert took_s < 12 * 1.1 + 5, (took_s, out, error)
    assert "floodsub against" in out, error
    # It echoes: what was found is there, however far the minimiser came.
    assert list((folder / "found").glob("*.case")), out
    assert soon(lambda: not alive(folder), 3)


@pytest.mark.parametrize(("budget_s", "all_played"), [(2, False), (8, True)])
def test_a_budget_of_the_suite_is_kept_and_what_departs_is_told(
    folder: Path, budget_s: int, all_played: bool
) -> None:
    """It echoes. To explain that takes longer, and to play the suite more than two seconds."""
    began = time.monotonic()
    check = started(folder, "slow", "--suite", "--budget", f"{budget_s}s", "--json")
    out, error = check.communicate(timeout=60)
    took_s = time.monotonic() - began
    assert took_s < budget_s * 1.1 + 5, (took_s, error)
    report = json.loads(out)
    suite = report["suite"]
    assert (
        suite["without_limit"].endswith("--suite --cases found") and "--budget" not in suite["without_limit"]
    )
    if not all_played:
        assert suite["not_played"] and check.returncode in (1, 3), error
        return
    assert check.returncode == 1, error
    late = [root for root in report["root_causes"] if "Not explained: the time was up." in root["says"]]
    assert late and not any(root["minimised"] for root in late)
    assert {root["case"] for root in late} <= {
        str(p.relative_to(folder)) for p in folder.glob("found/*.case")
    }
    assert soon(lambda: not alive(folder), 3)


def test_a_router_that_does_not_answer_does_not_hold_the_check_up(folder: Path) -> None:
    workers = Workers()
    request = BatchRequest(protocol="floodsub", against="python:waits:hanging", seed=0, runs=5)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(os, "environ", environment)
        timer = threading.Timer(6, workers.end)
        timer.start()
        began = time.monotonic()
        answer = run_batch(request, workers)
    assert time.monotonic() - began < 10
    assert answer == {}
    assert soon(lambda: not alive(folder), 3)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_the_suite_found_is_told_where_it_is_interrupted(
    folder: Path, number: signal.Signals, status: int
) -> None:
    check = started(folder, "slow", "--suite", "--json")
    try:
        # Cases are being played, or explained.
        assert soon(lambda: sum(path.stat().st_size for path in folder.glob("*.pid")) > 5, 60)
        check.send_signal(number)
        out, error = check.communicate(timeout=30)
    finally:
        check.kill()
    assert check.returncode == status, error
    report = json.loads(out)
    assert report["interrupted"] is True and report["runs"] > 0
    assert "interrupted" in error


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_found_is_told_and_kept_where_the_search_is_interrupted(
    folder: Path, number: signal.Signals, status: int
) -> None:
    check = started(folder, "unhurried", "--runs", "100000", "--json")
    try:
        # So many, that departures are being minimised.
        assert soon(lambda: sum(path.stat().st_size for path in folder.glob("*.pid")) > 100, 60)
        check.send_signal(number)
        began = time.monotonic()
        out, error = check.communicate(timeout=30)
    finally:
        check.kill()
    assert time.monotonic() - began < 10
    assert check.returncode == status, error
    assert "interrupted" in error
    report = json.loads(out)
    assert report["interrupted"] is True
    rows = report["root_causes"]
    assert rows
    assert len(rows) == 1 or any("some root causes are one" in each for each in report["not_checked"])
    # What the signal came upon is told as it was.
    assert all(row["minimised"] or "the search ended first" in row["says"] for row in rows)
    cases = list((folder / "found").glob("*.case"))
    assert {str(path.relative_to(folder)) for path in cases} == {row["case"] for row in rows}
    assert all(load(path).clause for path in cases)
    assert soon(lambda: not alive(folder), 3)


def stopped_after(runs: int) -> Callable[..., Campaign]:
    """A suite that is interrupted once it has played that many cases."""

    def run(*words: Any, progress: Callable[[Campaign], None], **more: Any) -> Campaign:
        def stop(campaign: Campaign) -> None:
            progress(campaign)
            if campaign.runs == runs:
                raise KeyboardInterrupt(signal.SIGTERM)

        return run_suite(*words, progress=stop, **more)

    return run


def test_an_interrupted_update_keeps_the_cases_and_says_what_it_did_not_update(
    quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It replaced short cases by long ones, and left cases that no entry names."""
    words = ("check", "flood", "--against", "ours:echo-to-sender", "--suite", "--expect", tmp_path / "e.toml")
    words += ("--update-expect", "--cases", tmp_path / "c")
    assert quidnunc(*words).code == 0
    before = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    assert before
    monkeypatch.setattr(suite_run, "run_suite", stopped_after(12))
    ran = quidnunc(*words)
    assert ran.code == 143 and {path: path.read_text() for path in tmp_path.rglob("*.*")} == before
    assert "e.toml was not updated: the run was interrupted" in ran.err
    assert "no case was written for" in ran.err

    # All is explained, and nothing is minimised yet: the cases that are there are better.
    def unshortened(*words: Any, shortest: bool, **more: Any) -> Campaign:
        seen = run_suite(*words, **more)
        seen.interrupted = True
        raise KeyboardInterrupt(signal.SIGTERM)

    monkeypatch.setattr(suite_run, "run_suite", unshortened)
    ran = quidnunc(*words)
    assert ran.code == 143 and {path: path.read_text() for path in tmp_path.rglob("*.*")} == before
    assert "as before, the new ones are not minimised: " in ran.err


@pytest.mark.parametrize(
    ("at", "more"),
    [
        ("quidnunc.commands.check.hello_from", ("--suite",)),
        ("quidnunc.commands.check.hello_from", ("--runs", "5")),
        ("quidnunc.properties.search.worker.collect_less_often", ("--suite",)),
        ("quidnunc.properties.suite.run.run_suite", ("--suite",)),
    ],
)
def test_a_check_that_is_interrupted_before_its_first_run_says_so(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch, at: str, more: tuple[str, ...]
) -> None:
    """Nothing was on stdout, and a script that reads the JSON failed."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(at, stop)
    ran = quidnunc("check", "flood", "--against", "ours", *more, "--json")
    assert ran.code == 130 and ran.data["interrupted"] is True and ran.data["runs"] == 0
    ran = quidnunc("check", "flood", "--against", "ours", *more)
    assert ran.code == 130 and ran.out.startswith("flood against ours: ")


def test_a_search_without_a_run_says_the_version(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Campaign("flood", "ours", 0)
    monkeypatch.setattr("quidnunc.commands.check.run_campaign", lambda *_, **__: nothing)
    assert quidnunc("check", "flood", "--against", "ours").out.startswith("flood against ours 1: 0 runs")


def test_the_command_that_is_printed_updates_as_well(quidnunc: Command, tmp_path: Path) -> None:
    words = ("check", "floodsub", "--against", "ours", "--runs", "1", "--expect", tmp_path / "e.toml")
    again = next(line for line in quidnunc(*words, "--update-expect").out.splitlines() if "again: " in line)
    assert f"--expect {tmp_path / 'e.toml'} --update-expect" in again
    assert "--update-expect" not in quidnunc(*words).out


def test_no_worker_outlives_a_check_that_is_killed(folder: Path) -> None:
    check = started(folder, "unhurried", "--budget", "10m")
    try:
        # The check itself opens it first.
        assert soon(lambda: set(alive(folder)) - {check.pid}, 40)
    finally:
        check.kill()
    check.communicate()
    assert soon(lambda: not alive(folder), 10)


def test_nothing_that_explains_outlives_a_suite_that_is_killed(folder: Path) -> None:
    """Those processes play a router in Python, and a router may not end the process that it is in."""
    check = started(folder, "slow", "--suite")
    try:
        # By then each has a run under way.
        assert soon(lambda: opened_by_others(folder, check.pid) > 5, 60)
    finally:
        check.kill()
    # What outlives it has its stderr.
    check.communicate(timeout=10)
    assert soon(lambda: not alive(folder), 10)


def test_what_a_worker_told_before_it_was_ended_is_merged() -> None:
    """A departure that was not replayed is a row of its own, and its case says so."""
    told = run_batch(BatchRequest(protocol="floodsub", against="ours:echo", seed=0, runs=5))
    (root,) = told["roots"]
    pending = {**root, "quirk": "unexplained:unexpected", "kind": "unexplained", "minimised": False}
    campaign = Campaign("floodsub", "ours:echo", 0)
    merge(campaign, {**told, "roots": [], "pending": pending})
    merge(campaign, {**told, "roots": [], "pending": pending})
    ((key, row),) = campaign.rows.items()
    assert key == (root["clause"], "pending:unexpected")
    assert (row.kind, row.minimised) == ("pending", False)
    assert campaign.roots == {} and campaign.quirks == ()
    merge(campaign, {})
    assert campaign.runs == 2 * told["runs"]
    # It may be one that is expected: who compares is not told that it is new, and its claim is undecided.
    late = evolve(row, kind="unexplained")
    assert compare([late], [], {}).agrees
    assert not compare([evolve(late, minimised=True)], [], {}).agrees
    assert verdict_of_root(row) == "undecided"


@pytest.mark.parametrize(
    ("runs", "waiting", "said"),
    [
        (5, 2, "5 of 9 cases (1 left out), 0 root causes"),
        (9, 2, "9 cases played (1 left out), 2 to explain, 0 root causes"),
        (9, 0, "9 of 9 cases (1 left out), 0 root causes"),
    ],
)
def test_a_suite_says_what_is_left_to_explain(runs: int, waiting: int, said: str) -> None:
    """Mutants: it stands at its last case while the departures are explained; it counts what is left out, and
    the report does not."""
    campaign = Campaign("dog", "ours", 0, runs=runs, left_out=["a case"], open_cases=waiting)
    assert how_far(campaign, 10) == said


def test_a_full_disk_costs_the_case_and_not_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quidnunc: Command
) -> None:
    """Mutant: stdout is empty, a case of zero bytes stays, and the message names no file."""
    write = Path.write_text

    def full(path: Path, text: str, **how: Any) -> int:
        if ".case" not in path.name:
            return write(path, text, **how)
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    cases = tmp_path / "cases"
    ran = quidnunc("check", "gossipsub-1.2", "--against=ours:echo", "--runs=1", "--cases", cases, "--json")
    assert ran.code == 4
    assert f"quidnunc check: {cases}/" in ran.err and "cannot be written: No space left" in ran.err
    assert ran.data["schema"] and not [*cases.iterdir()]
