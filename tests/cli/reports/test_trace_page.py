"""Pages of traces and of sweeps: they open without anything else, and show what the tables have."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.reports.test_pages import read
from tests.conftest import Command
from tests.helpers.networks import land

pytest.importorskip("matplotlib", reason="pip install '.[trace]'")
pytest.importorskip("duckdb", reason="pip install '.[trace]'")
SWEEP = """
name: <small>
simulate:
  - scenario: {nodes: [{count: 6}], topology: {degree: 3}, traffic: [{count: 2}]}
    vary: {links.loss: [0, 0.2], "nodes.0.parameters.flood_publish": [true, false]}
    seeds: 2
  - scenario: {nodes: [{count: 4}], topology: {degree: 2}, traffic: [{count: 2}]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from quidnunc.__main__ import main

    folder = tmp_path_factory.mktemp("page")
    land(folder / "land", faulty=True)
    said = ["--clock", "one", "--set", "prune_backoff_s=60", "--engine", "duckdb", "--no-gold"]
    assert main(["ingest", str(folder / "land"), "-o", str(folder / "run"), *said]) == 0
    return folder / "run"


def checked(text: str) -> str:
    """A page that is whole, loads nothing, and gives each name once."""
    page = read(text)
    assert not page.open and len(page.ids) == len(set(page.ids))
    assert all(each.startswith(("data:", "#")) for each in page.loaded), page.loaded
    assert len(text.encode()) < 3_000_000
    return text


def test_the_page_of_a_trace_says_what_check_says(run: Path, tmp_path: Path, quidnunc: Command) -> None:
    asked = ("trace", "report", run, "-o", tmp_path / "page.html", "--engine", "duckdb")
    assert quidnunc(*asked).out == f"wrote {tmp_path / 'page.html'}\n"
    text = checked((tmp_path / "page.html").read_text())
    claims = quidnunc("trace", "check", run, "--json", "--engine", "duckdb").data["claims"]
    failing = [claim["id"] for claim in claims if claim["verdict"] == "fails"]
    order = re.findall(r'<tr><th scope="row"><code>([^<]*)</code>', text)
    assert len(failing) > 3 and set(order[: len(failing)]) == set(failing)
    assert set(order) == {claim["id"] for claim in claims if claim["asked"]}
    assert text.count("<svg") == 3 and "currentColor" in text
    first = text
    checking = ("trace", "check", run, "--engine", "duckdb", "--report", tmp_path / "again.html")
    assert quidnunc(*checking).code == 1
    assert (tmp_path / "again.html").read_text().count("<svg") == 3
    assert quidnunc(*asked, "--json").data == {"schema": 1, "page": str(tmp_path / "page.html")}
    assert (tmp_path / "page.html").read_text() == first


def test_who_lacks_what_is_on_the_page(tmp_path: Path, quidnunc: Command) -> None:
    """In a network of which three peers' deliveries are taken away."""
    land(tmp_path / "land", faulty=False)
    for path in (tmp_path / "land").glob("*.pb"):
        assert _without_deliveries(path)
    said = ("--clock", "one", "--engine", "duckdb", "--completeness", "full")
    assert quidnunc("ingest", tmp_path / "land", "-o", tmp_path / "run", *said).code == 0
    ran = quidnunc("trace", "report", tmp_path / "run", "-o", tmp_path / "page.html", "--engine", "duckdb")
    assert ran.code == 0, ran.err
    text = checked((tmp_path / "page.html").read_text())
    assert "Who lacks messages" in text and "3 subscribers that stayed lack messages" in text


def _without_deliveries(path: Path) -> int:
    """Take the deliveries of the first peer out of a file of delimited protobuf; how many there were."""
    from quidnunc.pipeline.trace.events import DeliverMessage
    from quidnunc.pipeline.trace.files import read_trace
    from tests.helpers.trace_files import write_trace

    events = [record.event for record in read_trace(path)]
    peer = min(event.peer for event in events if event.peer is not None)
    kept = [e for e in events if not (e.peer == peer and isinstance(e.body, DeliverMessage))]
    write_trace(kept, path, "protobuf")
    return len(events) - len(kept)


def test_what_ingest_doubts_is_on_the_page(run: Path, tmp_path: Path, quidnunc: Command) -> None:
    """Mutant: a trace in seconds has green verdicts and a latency of 0, and only the terminal warns."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    place = folder / "manifest.json"
    manifest = json.loads(place.read_bytes()) | {"warnings": ["18 events lie in January 1970"]}
    place.write_text(json.dumps(manifest))
    assert not quidnunc("trace", "report", folder, "-o", tmp_path / "p.html", "--engine", "duckdb").code
    assert "warning: 18 events lie in January 1970" in (tmp_path / "p.html").read_text()


def test_a_page_needs_a_run_and_only_one(run: Path, tmp_path: Path, quidnunc: Command) -> None:
    several = quidnunc("trace", "report", run, run)
    assert several.code == 2 and "is about one folder" in several.err
    (tmp_path / "trace.jsonl").write_text("{}")
    no_run = quidnunc("trace", "report", tmp_path / "trace.jsonl")
    assert no_run.code == 2 and "needs a folder of `quidnunc ingest`" in no_run.err


def test_the_page_of_a_sweep_has_each_figure(tmp_path: Path, quidnunc: Command) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    ran = quidnunc(
        "sweep", tmp_path / "sweep.yaml", "-o", tmp_path / "out", "--report", tmp_path / "page.html"
    )
    assert ran.code == 0, ran.err
    text = checked((tmp_path / "page.html").read_text())
    assert "<small>" not in text and "&lt;small&gt;" in text
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    for point in summary["simulate"]:
        assert f"{point['figures']['delivery_ratio']['mean']:.4g} ±" in text
    assert text.count("<svg") == 10
    assert text.count("flood_publish=True") >= 5, "lines are told apart by what else was varied"


def test_one_seed_has_no_interval_and_an_interrupted_sweep_says_so(tmp_path: Path) -> None:
    from quidnunc.reports.pages.sweep_page import sweep_page

    spread = {"n": 1, "mean": 2.0, "sd": None, "ci95": None, "values": [2.0]}
    point = {"campaign": 0, "point": {"a": 1}, "runs": 1, "broken": 0, "figures": {"copies_per_node": spread}}
    summary = {"name": "n", "simulate": [point], "check": [], "root_causes": [], "broken": []}
    text = checked(sweep_page({**summary, "complete": False, "jobs": {"planned": 9, "done": 1}}, "again"))
    assert "<td>2</td>" in text and "±" not in text and "interrupted: 1 of 9 jobs" in text


def test_latency_is_of_all_messages_and_a_mesh_holds_to_the_end(tmp_path: Path, quidnunc: Command) -> None:
    """Three peers lack all messages, so that none gets to everybody; degrees go on to the last event."""
    from quidnunc.pipeline.lake.gold.curves import curves_of

    land(tmp_path / "land", faulty=False)
    for path in (tmp_path / "land").glob("*.pb"):
        assert _without_deliveries(path)
    said = ("--clock", "one", "--engine", "duckdb", "--completeness", "full")
    assert quidnunc("ingest", tmp_path / "land", "-o", tmp_path / "run", *said).code == 0
    (gold,) = (tmp_path / "run" / "gold").iterdir()
    metrics = json.loads((gold / "metrics.json").read_bytes())["runs"][0]
    curves = curves_of(gold, metrics)
    first, last = curves.latency
    assert (first.y[0], first.y[-1]) == (0.0, 1.0) and last.y[-1] < 1.0
    for curve in curves.degree:
        assert curve.x[-1] == metrics["seconds"] and curve.y[-1] == curve.y[-2] > 0
