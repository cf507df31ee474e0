"""Views of gold: every table is described, and its numbers have names, by DuckDB and by Spark."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
from quidnunc.pipeline.lake.gold.views import NAMED, described
from quidnunc.pipeline.lake.ingest import ingest
from quidnunc.pipeline.lake.run_folder import RunFolder
from tests.helpers.networks import ASKED, land

duckdb = pytest.importorskip("duckdb", reason="pip install '.[trace]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[trace]'")


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    return ingest(
        [land(folder / "land", faulty=True).folder], RunFolder(folder / "run"), ASKED, EmbeddedEngine()
    )[1]


def tables_of(gold: Path) -> dict[str, Any]:
    found = {path.name: parquet.read_table(path) for path in gold.iterdir() if path.is_dir()}
    return {name: table for name, table in found.items() if not name.endswith("_named")}


def test_what_is_described_is_what_is_there(gold: Path) -> None:
    tables = tables_of(gold)
    table_file = resources.files("quidnunc.pipeline.lake.gold").joinpath("tables.toml")
    written = tomllib.loads(table_file.read_text("utf-8"))
    common = written.pop("columns")
    assert set(tables) == set(described()) and len(tables) > 6
    for name, table in tables.items():
        columns = set(table.column_names)
        assert set(written[name]) - {"row"} <= columns <= set(described()[name]), name
    assert set(common) <= {column for table in tables.values() for column in table.column_names}


def test_each_view_says_what_its_columns_mean(gold: Path) -> None:
    text = (gold / "views.duckdb.sql").read_text("utf-8")
    for name, table in tables_of(gold).items():
        assert f"-- {name}: one row for {described()[name]['row']}" in text
        for column in table.column_names:
            assert f"--   {column}: {described()[name][column]}" in text


def test_duckdb_shows_names_in_the_place_of_numbers(gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(gold.parents[1])
    database = duckdb.connect()
    database.execute((gold / "views.duckdb.sql").read_text("utf-8"))
    for name, table in tables_of(gold).items():
        shown = database.sql(f"SELECT * FROM {name}").to_arrow_table()
        assert (shown.num_rows, shown.column_names) == (table.num_rows, table.column_names)
        for column in set(table.column_names) & set(NAMED):
            assert str(shown.schema.field(column).type) == "string"
            assert shown[column].null_count == table[column].null_count
    said = {each["peer"] for each in json.loads((gold / "violations.json").read_bytes())}
    names = {row[0] for row in database.sql("SELECT remote FROM mesh_spans").fetchall()}
    assert len(said & names) > 5


def test_spark_shows_the_same(gold: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(gold.parents[1])
    database = duckdb.connect()
    database.execute((gold / "views.duckdb.sql").read_text("utf-8"))
    # The JVM has a working folder of its own.
    text = (gold / "views.spark.sql").read_text("utf-8").replace("`gold/", f"`{gold.parents[1]}/gold/")
    for statement in text.split(";\n")[:-1]:
        spark.sql(statement)
    for name in ("message_stats", "mesh_spans"):
        theirs = sorted(map(str, map(tuple, spark.sql(f"SELECT * FROM {name}").collect())))
        ours = sorted(map(str, database.sql(f"SELECT * FROM {name}").fetchall()))
        assert theirs == ours and ours
