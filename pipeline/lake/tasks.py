"""The same work for many items: here, one after the other, or on the workers of a Spark session.

A worker is given what to do and where its files are, not rows: moving rows from the JVM to Python costs more
than most of what is done with them. Each item's work leaves a whole piece or none, so a task may run twice.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.lazy import pyarrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")
Say = Callable[[str], None]


def ignore_task_progress(text: str) -> None:
    """Tells nobody."""


class TaskRunner(Protocol):
    """Does `work` for each of `items` and gives the results in their order; `what` is for who watches."""

    def __call__(self, work: Callable[[Item], Result], items: Sequence[Item], what: str) -> list[Result]: ...


def run_here(say: Say = ignore_task_progress) -> TaskRunner:
    """In this process."""

    def run(work: Callable[[Any], Any], items: Sequence[Any], what: str) -> list[Any]:
        results: list[Any] = []
        for item in items:
            say(f"{what}: {len(results)} of {len(items)}")
            results.append(work(item))
        return results

    return run


def on_spark(session: SparkSession, say: Say = ignore_task_progress) -> TaskRunner:
    """On the workers of a session, an item a task. `work` must be a function of a module. A TraceError of a
    worker is raised here."""

    def run(work: Callable[[Any], Any], items: Sequence[Any], what: str) -> list[Any]:
        given = list(items)
        if not given:
            return []

        def partition(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                done = [pickle.dumps(_outcome(work, given[at])) for at in batch.column(0).to_pylist()]
                yield pyarrow.RecordBatch.from_arrays(
                    [batch.column(0), pyarrow.array(done, pyarrow.binary())], names=["at", "result"]
                )

        places = session.range(0, len(given), 1, len(given))
        with _TaskProgress(session, what, len(given), say):
            rows = places.mapInArrow(partition, "at long, result binary").collect()
        results = [pickle.loads(row["result"]) for row in sorted(rows, key=lambda row: int(row["at"]))]
        for _, error in results:
            if error:
                raise TraceError(error)
        return [result for result, _ in results]

    return run


def _outcome(work: Callable[[Any], Any], item: Any) -> tuple[Any, str]:
    try:
        return work(item), ""
    except (TraceError, OSError) as error:
        # A full disk is said in its own words, and not in those of Spark.
        return None, str(error)


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
        tracker = self._session.sparkContext.statusTracker()
        while not self._ended.wait(1.0):
            done = 0
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                done += info.numCompletedTasks if info is not None else 0
            self._say(f"{self._what}: {done} of {self._count}")
