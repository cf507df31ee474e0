"""The pipeline on one machine without Java: tasks in processes, and queries by DuckDB in this one.

What does not fit in memory, DuckDB writes beside the gold that is being made.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field

from quidnunc.model.errors import install_words
from quidnunc.pipeline.lake.engines.seam import (
    Batches,
    EngineMissing,
    Rows,
    Say,
    ignore_task_progress,
    outcome,
    results,
    task_progress,
)
from quidnunc.pipeline.lake.gold.queries import GoldQuery
from quidnunc.properties.lazy import pyarrow
from quidnunc.properties.processes import process_pool, submitted

BYTES_PER_WORKER = 32 << 20
"""A process costs its start, in which so much of a trace is read."""
GROUPED_ROWS = 10_000_000
"""Rows that are handed to one call together."""
SPILL = "spill"


def demand_embedded() -> None:
    """Raises EngineMissing where something is not installed."""
    lacking = [n for n in ("duckdb", "numpy", "pyarrow") if importlib.util.find_spec(n) is None]
    if lacking:
        raise EngineMissing(f"{' and '.join(lacking)} must be installed: {install_words('trace')}")


def workers_for(size: int) -> int:
    """How many processes traces of so many bytes are worth: at most one for each core."""
    return min(os.cpu_count() or 1, 1 + size // BYTES_PER_WORKER)


@define
class EmbeddedEngine:
    """So many processes; with one, all is done in this. They end with the context."""

    workers: int = 1
    say: Say = ignore_task_progress
    _at_work: int | None = None
    """How many of them are worth the work; None: all."""
    _pool: ProcessPoolExecutor | None = None
    _open: ExitStack = field(factory=ExitStack)

    def __enter__(self) -> EmbeddedEngine:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool = None
        self._open.__exit__(*error)

    def expect(self, size: int) -> None:
        """Few new files in a large folder are not worth the start of processes."""
        self._at_work = min(self.workers, workers_for(size))

    def tasks(self, work: Callable[[Any], Any], items: Sequence[Any], what: str) -> list[Any]:
        """One after the other, or in processes that serve every stage."""
        at_work = min(self.workers if self._at_work is None else self._at_work, len(items))
        if at_work < 2:
            return list(results(self._here(work, items, what)))
        if self._pool is None:
            self._pool = self._open.enter_context(process_pool(self.workers))
        began = time.monotonic()
        futures = submitted(self._pool, partial(outcome, work), items)
        for done, _ in enumerate(as_completed(futures), 1):
            self.say(task_progress(what, done, len(items), time.monotonic() - began))
        return list(results(future.result() for future in futures))

    def _here(self, work: Callable[[Any], Any], items: Sequence[Any], what: str) -> Any:
        began = time.monotonic()
        for done, item in enumerate(items):
            self.say(task_progress(what, done, len(items), time.monotonic() - began))
            yield outcome(work, item)

    def queries(self, silver: Path, folder: Path) -> DuckQueries:
        # Processes hold memory that the queries may want.
        self.__exit__(None, None, None)
        return DuckQueries.over(silver, folder, self.workers, self.say)


@define
class DuckQueries:
    """Named results over silver. Tables of gold are written to `folder`, in the order of their columns."""

    folder: Path
    database: Any
    say: Say

    @classmethod
    def over(cls, silver: Path, folder: Path, threads: int, say: Say) -> DuckQueries:
        """Views with `events`: all buckets of a silver."""
        import duckdb

        settings = {
            "threads": threads,
            "temp_directory": str(folder / SPILL),
            # Nothing is fetched from anywhere.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        database = duckdb.connect(config=settings)
        files = [glob.escape(str(path)) for path in sorted(silver.glob("bucket-*.parquet"))]
        database.read_parquet(files).create_view("events")
        return cls(folder, database, say)

    def make(self, query: GoldQuery) -> Rows:
        """Define one query; of a `row` query, its rows."""
        self.say(f"gold: {query.name}")
        kind = "VIEW" if query.role == "view" else "TABLE"
        self.database.execute(f"CREATE {kind} {query.name} AS {query.text}")
        if query.role == "gold":
            self.write(query.name)
        return self.rows(f"SELECT * FROM {query.name}") if query.role == "row" else []

    def write(self, name: str) -> None:
        """Write a table of gold."""
        (self.folder / name).mkdir()
        place = str(self.folder / name / "part-00000.parquet")
        self.database.sql(f"SELECT * FROM {name} ORDER BY ALL").write_parquet(place)

    def rows(self, text: str) -> Rows:
        found = self.database.execute(text)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def group(self, name: str, text: str, key: str, work: Callable[[Batches], Batches], schema: str) -> None:
        """Define a table of gold: what `work` makes of the rows of a query, all of one key in one call."""
        self.say(f"gold: {name}")
        self.database.execute(f"CREATE TABLE {name} ({schema})")
        (counted,) = self.rows(f"SELECT COUNT(*) AS n FROM ({text}) AS one")
        parts = 1 + counted["n"] // GROUPED_ROWS
        for part in range(parts):
            some = f"SELECT * FROM ({text}) AS one WHERE hash({key}) % {parts} = {part}"
            given = self.database.sql(some).to_arrow_table()
            for batch in work(iter(given.to_batches())):
                self.database.register("made", pyarrow.Table.from_batches([batch]))
                self.database.execute(f"INSERT INTO {name} SELECT * FROM made")
                self.database.unregister("made")
        self.write(name)

    def forget(self) -> None:
        """Remove what is no table of gold."""
        self.database.close()
        shutil.rmtree(self.folder / SPILL, ignore_errors=True)
