"""Gold with names in the place of numbers: views for DuckDB and Spark, each under what its columns mean."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from quidnunc.pipeline.lake.gold.witness import id_text, peer_text
from quidnunc.pipeline.lake.silver.parts import read_ids
from quidnunc.pipeline.lake.silver.schema import TABLE_OF, TABLES
from quidnunc.properties.lazy import parquet, pyarrow

VIEWS: Mapping[str, tuple[str, str]] = {
    "views.duckdb.sql": ("CREATE OR REPLACE TEMP VIEW", "read_parquet('{path}/*.parquet')"),
    "views.spark.sql": ("CREATE OR REPLACE TEMPORARY VIEW", "parquet.`{path}`"),
}
"""File -> how its engine defines a view, and reads a folder of Parquet."""
NAMED = {**TABLE_OF, "publisher": "peers"}
"""Column of ids -> the table of its names."""

Described = Mapping[str, Mapping[str, str]]


def described() -> Described:
    """By table of gold, what a row is (`row`) and what each column means."""
    text = resources.files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, str]] = tomllib.loads(text)
    common = tables.pop("columns")
    return {name: {**common, **columns} for name, columns in tables.items()}


def write_views(silver: Path, folder: Path, place: str) -> None:
    """Write the names of peers, messages and topics into a folder of gold, and the views over it.

    `place` is where the folder will be, as seen from the run.
    """
    for table, values in read_ids(silver).items():
        show = peer_text if table == "peers" else id_text
        columns = {
            "id": pyarrow.array(range(len(values)), pyarrow.int32()),
            "name": pyarrow.array([show(value) for value in values], pyarrow.string()),
        }
        names = folder / _names(table)
        names.mkdir()
        parquet.write_table(pyarrow.table(columns), names / "part-00000.parquet", compression="zstd")
    columns_of = {
        name: parquet.read_schema(next((folder / name).glob("*.parquet"))).names
        for name in described()
        if (folder / name).is_dir()
    }
    for file, (create, source) in VIEWS.items():
        read = source.replace("{path}", f"{place}/{{table}}").format
        lines = [f"-- Run this from the folder of the run: {place}/{file}", ""]
        for name, columns in columns_of.items():
            lines += _view(name, columns, create, read)
        (folder / file).write_text("\n".join(lines), encoding="utf-8")


def _view(name: str, columns: list[str], create: str, read: Callable[..., str]) -> Iterator[str]:
    about = described()[name]
    yield f"-- {name}: one row for {about['row']}"
    for column in columns:
        yield f"--   {column}: {about[column]}"
    named = [column for column in columns if column in NAMED]
    shown = [f"{column}_named.name AS {column}" if column in named else f"it.{column}" for column in columns]
    yield f"{create} {name} AS"
    yield f"SELECT {', '.join(shown)}"
    yield f"FROM {read(table=name)} AS it"
    for column in named:
        names = read(table=_names(NAMED[column]))
        yield f"LEFT JOIN {names} AS {column}_named ON {column}_named.id = it.{column}"
    yield ";"
    yield ""


def _names(table: str) -> str:
    assert table in TABLES
    return f"{table}_named"
