"""Spark and the embedded engine make the same, one goes on where the other stopped, and one needs no Java."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from bench.real_traces import DELIVERIES, data_folder
from quidnunc.pipeline.lake.engines import choose
from quidnunc.pipeline.lake.engines.embedded import BYTES_PER_WORKER, EmbeddedEngine, workers_for
from quidnunc.pipeline.lake.engines.seam import EngineMissing
from quidnunc.pipeline.lake.ingest import SourceOptions, find, ingest, to_silver
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.lake.spark_session import in_a_line
from quidnunc.pipeline.simulation.run import write_run
from quidnunc.pipeline.simulation.scenario.file import read_mapping, scenario_of
from quidnunc.pipeline.trace.shapes import TraceError

parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[trace]'")
pytest.importorskip("duckdb", reason="pip install '.[trace]'")
from quidnunc.pipeline.lake.engines.spark import SparkEngine
from tests.helpers.networks import ASKED, land
from tests.helpers.simulated import scenario

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
ODD = "a [run] of 'bob'*"
"""A name of a folder that neither SQL nor a pattern of files must read."""


def contents(root: Path) -> dict[str, Any]:
    """A run: every file byte for byte but tables of gold, which have their columns and rows, in no order."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir() and path.parent.parent.name == "gold":
            table = parquet.read_table(path)
            columns = list(zip(table.column_names, map(str, table.schema.types), strict=True))
            found[name] = (columns, Counter(tuple(map(rounded, row.values())) for row in table.to_pylist()))
        elif path.is_dir() or path.name == ".lock" or path.parent.parent.parent.name == "gold":
            continue
        elif path.name == "metrics.json":
            found[name] = json.loads(
                path.read_text(encoding="utf-8"), parse_float=lambda t: rounded(float(t))
            )
        else:
            found[name] = path.read_bytes()
    return found


def rounded(value: Any) -> Any:
    """Sums of floats depend on their order."""
    return round(value, 9) if isinstance(value, float) else value


def test_both_make_the_same_and_each_goes_on_after_the_other(spark: Any, tmp_path: Path) -> None:
    """Made-up networks with faults: all by the embedded engine; a part of the files by one, then all by the
    other."""
    whole = land(tmp_path / "land", faulty=True).folder
    first = min(whole.iterdir())
    with EmbeddedEngine(2) as engine:
        ingest([whole], RunFolder(tmp_path / ODD), ASKED, engine)
    expected = contents(tmp_path / ODD)
    assert len(json.loads(expected["manifest.json"])["files"]) > 1
    assert {len(name.split("/")) for name in expected if name.startswith("gold/")} == {3}

    ingest([first], RunFolder(tmp_path / "embedded first"), ASKED, EmbeddedEngine())
    ingest([whole], RunFolder(tmp_path / "embedded first"), ASKED, SparkEngine(spark))
    by_spark = without_old_gold(tmp_path / "embedded first")
    assert however_batched(by_spark) == however_batched(expected)

    run = RunFolder(tmp_path / "spark first")
    with run.locked():
        to_silver(run, find([first], run), ASKED, SparkEngine(spark).tasks)
    ingest([whole], run, ASKED, EmbeddedEngine())
    assert without_old_gold(run.root) == by_spark


def however_batched(run: dict[str, Any]) -> dict[str, Any]:
    """What a run holds but for bronze and silver, where files are together as they came; of silver, what it
    says. That its rows are the same, `silver/test_build.py` shows."""
    kept = {
        name: content
        for name, content in run.items()
        if not name.startswith("bronze/") and not (name.startswith("silver/") and name.endswith(".parquet"))
    }
    for name in [name for name in kept if name.endswith("manifest.json")]:
        manifest = json.loads(kept[name])
        for file in manifest["files"]:
            del file["key"]
        kept[name] = manifest
    for name in [name for name in kept if name.endswith("silver.json")]:
        kept[name] = {what: value for what, value in json.loads(kept[name]).items() if what != "parts"}
    return kept


def without_old_gold(root: Path) -> dict[str, Any]:
    """What a run holds but for the gold of fewer files."""
    golds = sorted((root / "gold").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for old in golds[:-1]:
        shutil.rmtree(old)
    return contents(root)


def source_of(name: str, folder: Path) -> Path:
    """The traces of the network that ships as an example, or the real deliveries where they are at hand."""
    if name == "example":
        path = EXAMPLES / "network.yaml"
        write_run(scenario_of(read_mapping(path), path), folder)
        return folder
    data = data_folder()
    if data is None:
        pytest.skip("the real deliveries are not here: set QUIDNUNC_DATA to the folder with whiteblock/")
    return data / DELIVERIES


@pytest.mark.parametrize("name", ["example", "real"])
def test_both_make_the_same_of_what_others_recorded(name: str, spark: Any, tmp_path: Path) -> None:
    source = source_of(name, tmp_path / "land")
    asked = SourceOptions(clock="one")
    for folder, engine in ("spark", SparkEngine(spark)), ("embedded", EmbeddedEngine()):
        ingest([source], RunFolder(tmp_path / folder), asked, engine)
    found = contents(tmp_path / "embedded")
    assert found == contents(tmp_path / "spark")
    (metrics,) = (value for path, value in found.items() if path.endswith("metrics.json"))
    assert metrics["runs"][0]["deliveries"] > 0


# -- tasks --------------------------------------------------------------------------------------------------


def twice(item: int) -> int:
    return 2 * item


def refused(item: int) -> int:
    if item == 3:
        raise TraceError("the third")
    if item == 5:
        raise OSError(28, "No space left on device")
    return item


def killed(item: int) -> int:
    os._exit(9)


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_come_back_in_their_order_and_errors_in_their_words(workers: int) -> None:
    said: list[str] = []
    with EmbeddedEngine(workers, said.append) as engine:
        assert engine.tasks(twice, list(range(20)), "doubling") == [2 * n for n in range(20)]
        with pytest.raises(TraceError, match="the third"):
            engine.tasks(refused, [1, 2, 3, 4], "refusing")
        with pytest.raises(TraceError, match="No space left on device"):
            engine.tasks(refused, [4, 5], "refusing")
        assert engine.tasks(twice, [], "nothing") == []
    assert any(each.startswith("doubling: 1") and " of 20" in each for each in said)


def test_a_worker_that_was_killed_is_told_in_a_line() -> None:
    with pytest.raises(BrokenProcessPool) as raised, EmbeddedEngine(2) as engine:
        engine.tasks(killed, [1, 2], "dying")
    line = in_a_line(raised.value)
    assert line.startswith("the embedded engine ended with") and line.endswith("repeat the command")


def test_processes_are_as_many_as_the_bytes_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert [workers_for(n * BYTES_PER_WORKER) for n in (0, 1, 3, 100)] == [1, 2, 4, 4]


# -- which of them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "master", "lacking", "installed", "expected"),
    [
        ("auto", None, None, True, "spark (pyspark and Java are here; --engine duckdb is quicker)"),
        ("spark", None, None, False, "spark (as asked)"),
        ("duckdb", None, None, True, "duckdb (as asked)"),
        ("auto", None, "no Java", True, "duckdb (no Spark: no Java)"),
        (
            "auto",
            None,
            "no Java",
            False,
            "in a clone of quidnunc; or, for Spark: no Java",
        ),
        ("auto", "spark://host:7077", "no Java", True, "no Java"),
        ("spark", None, "no Java", True, "no Java"),
        ("duckdb", None, None, False, "duckdb and numpy and pyarrow must be installed"),
    ],
)
def test_which_engine_and_why(
    asked: str,
    master: str | None,
    lacking: str | None,
    installed: bool,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choose, "why_not", lambda: lacking)
    monkeypatch.delenv("QUIDNUNC_SPARK_MASTER", raising=False)
    real = importlib.util.find_spec
    if not installed:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda n: None if n in ("duckdb", "numpy", "pyarrow") else real(n)
        )
    try:
        name, why = choose.chosen(asked, master)
    except EngineMissing as error:
        assert expected in str(error)
    else:
        assert f"{name} ({why})" == expected


def test_where_spark_does_not_start_auto_goes_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise EngineMissing("Spark does not start at local[*]")

    monkeypatch.setattr(choose, "why_not", lambda: None)
    monkeypatch.setattr(choose, "spark_session", broken)
    monkeypatch.delenv("QUIDNUNC_SPARK_MASTER", raising=False)
    told: list[str] = []
    with choose.opened("auto", print, told.append) as engine:
        assert isinstance(engine, EmbeddedEngine)
    assert told == ["engine: duckdb (no Spark: Spark does not start at local[*])"]
    with pytest.raises(EngineMissing), choose.opened("spark", print, told.append):
        pytest.fail("Spark was asked for")


# -- without Java -------------------------------------------------------------------------------------------

SWEEP = """
simulate:
  scenario: {nodes: [{count: 3}], topology: {degree: 2}, traffic: [{count: 1}]}
  seeds: 2
"""


def test_every_command_works_without_java_and_pyspark(tmp_path: Path) -> None:
    """In processes of their own: no `java` on the path, no JAVA_HOME, and pyspark cannot be imported."""
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(
        "import sys\nsys.modules['pyspark'] = None\n", encoding="utf-8"
    )
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "QUIDNUNC_SPARK_MASTER")}
    environment |= {"PATH": str(tmp_path), "PYTHONPATH": str(tmp_path / "blocked")}

    def run(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "quidnunc", *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done

    small = scenario(nodes=[{"count": 4}], topology={"degree": 3}, traffic=[{"count": 2}])
    write_run(small, tmp_path / "land")
    made = run("ingest", "land", "-o", "run", "--json")
    (line,) = (each for each in made.stderr.splitlines() if each.startswith("engine: "))
    assert line.startswith("engine: duckdb (no Spark: pyspark must be installed")
    assert json.loads(made.stdout)["records"] > 50
    metrics = json.loads(run("trace", "metrics", "run", "--set", "skew_ms=1", "--json").stdout)
    assert metrics["runs"][0]["delivery_ratio"] == 1.0
    checked = run("trace", "check", "run", "--claims", "deliver.once", "--json")
    assert json.loads(checked.stdout)["claims"][0]["verdict"] == "not-refuted"
    replayed = json.loads(run("trace", "check", "run", "--replay", "--json", code=3).stdout)
    assert "fails" not in {claim["verdict"] for claim in replayed["claims"]}
    assert (
        json.loads(run("sweep", "sweep.yaml", "-o", "swept", "--engine", "auto", "--json").stdout)["done"]
        == 2
    )
    assert (
        "pyspark must be installed" in run("ingest", "land", "-o", "run", "--engine", "spark", code=2).stderr
    )
