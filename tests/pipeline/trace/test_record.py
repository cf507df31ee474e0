"""`check --record` and `trace check`: the trace alone gives the verdicts of the check that wrote it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from quidnunc.model.machine import protocol_named
from quidnunc.pipeline.trace.check import check_recorded, follow
from quidnunc.pipeline.trace.events import HeartbeatEvent, RunStart, SentRpc, TraceEvent
from quidnunc.pipeline.trace.files import read_trace
from quidnunc.pipeline.trace.record import RecordedRun, join_parts, runs_of
from quidnunc.pipeline.trace.shapes import TraceError
from tests.conftest import Command, Ran
from tests.helpers.trace_files import write_trace


def claims(said: Any) -> list[tuple[Any, ...]]:
    return [(c["id"], c["verdict"], c["applied"], c["reason"]) for c in said["claims"]]


def causes(ran: Ran) -> set[tuple[str, str]]:
    return {(r["quirk"], *r["clauses"]) for r in ran.data["root_causes"]}


CHECKS = [
    ("floodsub", "ours:deliver-twice", 2, 1),
    ("dog", "ours:send-twice", 2, 1),
]


@pytest.mark.parametrize(("protocol", "against", "runs", "code"), CHECKS)
def test_a_recorded_check_gives_its_verdicts_again(
    quidnunc: Command, tmp_path: Path, protocol: str, against: str, runs: int, code: int
) -> None:
    trace = tmp_path / "runs" / "trace.jsonl.gz"
    asked = ("check", protocol, "--against", against, "--runs", runs, "--json", "--workers", 1)
    checked = quidnunc(*asked, "--record", trace)
    again = quidnunc("trace", "check", trace, "--json")
    assert (checked.code, again.code) == (code, code), checked.err + again.err
    assert claims(again.data) == claims(checked.data)
    assert (again.data["runs"], again.data["steps"]) == (checked.data["runs"], checked.data["steps"])
    assert causes(again) == causes(checked)
    assert bool(again.data["violations"]) == bool(causes(checked)) == (code == 1)
    assert [p.name for p in trace.parent.iterdir()] == ["trace.jsonl.gz"]


@pytest.fixture(scope="module")
def recorded_check(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A recorded check of our floodsub router: the trace, and what the check printed."""
    from quidnunc.__main__ import main

    path = tmp_path_factory.mktemp("recorded") / "trace.jsonl"
    asked = ["check", "floodsub", "--against", "ours", "--runs", "1", "--workers", "1", "--json"]
    said = io.StringIO()
    with redirect_stdout(said):
        main([*asked, "--record", str(path)])
    return path, json.loads(said.getvalue())


@pytest.fixture(scope="module")
def recorded(recorded_check: tuple[Path, Any]) -> list[TraceEvent]:
    """Its events."""
    return list(read_trace(recorded_check[0]).events())


def test_a_check_that_finds_nothing_gives_its_verdicts_again(
    quidnunc: Command, recorded_check: tuple[Path, Any]
) -> None:
    path, checked = recorded_check
    again = quidnunc("trace", "check", path, "--json")
    assert claims(again.data) == claims(checked)
    assert {v for _, v, _, _ in claims(checked)} == {"not-refuted", "inconclusive"}
    assert (again.data["violations"], again.data["root_causes"]) == ([], [])
    assert (again.data["runs"], again.data["steps"]) == (checked["runs"], checked["steps"])


def test_an_output_that_is_changed_is_a_violation(
    quidnunc: Command, tmp_path: Path, recorded: list[TraceEvent]
) -> None:
    kinds = [_kind(e) for e in recorded]
    # A sent RPC of the search is told twice.
    at = next(n for n, e in enumerate(recorded) if isinstance(e.body, SentRpc) and "run" in kinds[:n])
    path = tmp_path / "changed.jsonl"
    write_trace([*recorded[: at + 1], recorded[at], *recorded[at + 1 :]], path)
    ran = quidnunc("trace", "check", path, "--json")
    assert len(ran.data["violations"]) == 1
    (found,) = ran.data["violations"]
    assert "may not" in found["witness"]
    text = quidnunc("trace", "check", path).out
    assert found["witness"] in text


def _kind(event: TraceEvent) -> str:
    body = event.body
    return str(json.loads(body.manifest or "{}").get("kind")) if isinstance(body, RunStart) else ""


def test_what_is_no_recorded_check_is_refused(
    quidnunc: Command, tmp_path: Path, recorded: list[TraceEvent]
) -> None:
    path = tmp_path / "trace.jsonl"
    starts = [n for n, e in enumerate(recorded) if isinstance(e.body, RunStart)]
    manifest = TraceEvent(RunStart(name="r", manifest='{"schema":1,"source":"simulate"}'))
    for events, said in (
        (
            [TraceEvent(HeartbeatEvent())],
            f"of another program: `quidnunc ingest {path} -o RUN`, then `quidnunc trace",
        ),
        (recorded[starts[1] :], "before the batch"),
        ([manifest], "not a trace of `quidnunc check`"),
        ([TraceEvent(RunStart(manifest="{}"))], "schema 1"),
        ([TraceEvent(RunStart(manifest="{"))], "not JSON"),
        ([*recorded[: starts[1] + 2], *recorded[starts[1] + 1 :]], "cannot happen"),
    ):
        write_trace(events, path)
        ran = quidnunc("trace", "check", path)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err
    path.write_text(path.read_text() + "noise\n")
    assert "records cannot be read" in quidnunc("trace", "check", path).err or "cannot happen" in ran.err


def test_a_router_that_acts_before_anything_happens(recorded: list[TraceEvent], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    sent = next(e for e in recorded if isinstance(e.body, SentRpc))
    write_trace([recorded[0], sent], path)
    with pytest.raises(TraceError, match="before anything has happened"):
        list(runs_of(read_trace(path)))
    with pytest.raises(TraceError, match="contains no run"):
        check_recorded([])


def test_a_run_is_followed_by_the_protocol_that_is_asked(recorded: list[TraceEvent], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    write_trace(recorded, path)
    run: RecordedRun = next(r for r in runs_of(read_trace(path)) if r.kind == "run")
    played = follow(run, protocol_named("floodsub"))
    assert [m.event for m in played.moments] == [t.event for t in run.told]
    assert not any(m.judged.departures for m in played.moments)


def test_record_wants_the_search_of_one_protocol(quidnunc: Command, tmp_path: Path) -> None:
    for asked in (("floodsub", "--suite"), ("auto",)):
        ran = quidnunc("check", *asked, "--against", "ours", "--record", tmp_path / "t")
        assert ran.code == 2
        assert "--record" in ran.err


def test_parts_that_were_never_written_are_passed_over(tmp_path: Path) -> None:
    part = tmp_path / "t.0.part"
    part.write_text("a\n")
    join_parts([part, tmp_path / "t.1.part"], tmp_path / "t")
    assert (tmp_path / "t").read_text() == "a\n"
    assert not part.exists()


def test_metrics_of_a_file_and_of_nothing(
    quidnunc: Command, tmp_path: Path, recorded: list[TraceEvent]
) -> None:
    path = tmp_path / "trace.jsonl"
    write_trace(recorded, path)
    path.write_text(path.read_text() + "{}\n")
    ran = quidnunc("trace", "metrics", path, "--json")
    assert ran.code == 3
    assert (ran.data["bad_records"], ran.data["records"]) == (1, len(recorded))
    assert sum(r["events"] for r in ran.data["runs"]) <= len(recorded)
    assert {"run", "events", "messages", "deliveries", "delivery_ratio", "latency_ms", "hops"} <= set(
        ran.data["runs"][0]
    )
    assert "bad record" in quidnunc("trace", "metrics", path).err
    path.write_text("noise\n")
    assert quidnunc("trace", "metrics", path).code == 2
    assert quidnunc("trace", "metrics", tmp_path / "none").code == 2
