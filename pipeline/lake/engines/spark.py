"""The pipeline on Spark: tasks on the workers of a session, and queries on a session of their own.

What queries use often is computed once, written, and read from there: so plans stay short, and how large a
table is, is known when the next is planned.
"""

from __future__ import annotations

import pickle
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen, mutable

from quidnunc.pipeline.lake.engines.seam import (
    Batches,
    Rows,
    Say,
    ignore_task_progress,
    outcome,
    results,
    task_progress,
)
from quidnunc.pipeline.lake.gold.queries import GoldQuery
from quidnunc.properties.lazy import pyarrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@frozen
class SparkEngine:
    """A session, of this machine or of a cluster."""

    session: SparkSession
    say: Say = ignore_task_progress

    def tasks(self, work: Callable[[Any], Any], items: Sequence[Any], what: str) -> list[Any]:
        """On the workers, an item a task."""
        given = list(items)
        if not given:
            return []

        def partition(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                done = [pickle.dumps(outcome(work, given[at])) for at in batch.column(0).to_pylist()]
                yield pyarrow.RecordBatch.from_arrays(
                    [batch.column(0), pyarrow.array(done, pyarrow.binary())], names=["at", "result"]
                )

        places = self.session.range(0, len(given), 1, len(given))
        with _TaskProgress(self.session, what, len(given), self.say):
            rows = places.mapInArrow(partition, "at long, result binary").collect()
        ordered = sorted(rows, key=lambda row: int(row["at"]))
        return list(results(pickle.loads(row["result"]) for row in ordered))

    def expect(self, size: int) -> None:
        """Executors are there already."""

    def queries(self, silver: Path, folder: Path) -> SparkQueries:
        """Names are not shared with who else uses the session."""
        session = self.session.newSession()
        files = sorted(map(_literal, silver.glob("bucket-*.parquet")))
        session.read.parquet(*files).createOrReplaceTempView("events")
        return SparkQueries(session, folder, self.say)


@mutable
class SparkQueries:
    """Named results over silver. Tables of gold are written to `folder`."""

    session: SparkSession
    folder: Path
    say: Say
    _scratch: list[str] = field(factory=list)

    def make(self, query: GoldQuery) -> Rows:
        """Define one query; of a `row` query, its rows."""
        self.say(f"gold: {query.name}")
        frame = self.session.sql(query.text)
        if query.role in ("view", "row"):
            frame.createOrReplaceTempView(query.name)
            return self.collect(frame) if query.role == "row" else []
        self.write(query.name, frame, gold=query.role == "gold")
        return []

    def write(self, name: str, frame: DataFrame, *, gold: bool) -> None:
        """Compute a data frame and give it its name; it stays in the folder where it is a table of gold."""
        place = (self.folder / name).resolve()
        frame.write.parquet(str(place))
        self.session.read.schema(frame.schema).parquet(_literal(place)).createOrReplaceTempView(name)
        if not gold:
            self._scratch.append(name)

    def rows(self, text: str) -> Rows:
        return self.collect(self.session.sql(text))

    def collect(self, frame: DataFrame) -> Rows:
        return [row.asDict() for row in frame.collect()]

    def group(self, name: str, text: str, key: str, work: Callable[[Batches], Batches], schema: str) -> None:
        """Define a table of gold: what `work` makes of the rows of a query, all of one key in one call."""
        self.say(f"gold: {name}")
        self.write(name, self.session.sql(text).repartition(key).mapInArrow(work, schema), gold=True)

    def forget(self) -> None:
        """Remove what is no table of gold."""
        for name in self._scratch:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._scratch.clear()


def _literal(path: Path) -> str:
    """A path as Spark reads it: as it stands, although its characters may be those of a pattern."""
    return re.sub(r"([\\{}\[\]*?^])", r"\\\1", str(path.resolve()))


class _TaskProgress:
    """Says now and then how many tasks of a job are done."""

    def __init__(self, session: SparkSession, what: str, count: int, say: Say) -> None:
        self._ended = threading.Event()
        self._session, self._what, self._count, self._say = session, what, count, say
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        began = time.monotonic()
        tracker = self._session.sparkContext.statusTracker()
        while not self._ended.wait(1.0):
            done = 0
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                done += info.numCompletedTasks if info is not None else 0
            self._say(task_progress(self._what, done, self._count, time.monotonic() - began))
