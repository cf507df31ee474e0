"""What an engine does. The rules of bronze, silver and gold know no more of it than this.

A task is told what to do and where its files are, not rows: moving rows between processes costs more than
most of what is done with them. Each leaves a whole piece or none, so it may run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from quidnunc.pipeline.lake.gold.queries import GoldQuery
from quidnunc.pipeline.trace.shapes import TraceError

Item = TypeVar("Item")
Result = TypeVar("Result")
Say = Callable[[str], None]
Rows = list[dict[str, Any]]
Batches = Iterator[Any]
"""Record batches of Arrow."""


class EngineMissing(Exception):
    """An engine cannot be started here; says what to install."""


def ignore_task_progress(text: str) -> None:
    """Tells nobody."""


class TaskRunner(Protocol):
    """`Engine.tasks`, which is all that bronze and silver need."""

    def __call__(self, work: Callable[[Item], Result], items: Sequence[Item], what: str) -> list[Result]: ...


def in_this_process(work: Callable[[Item], Result], items: Sequence[Item], what: str) -> list[Result]:
    """The plainest task runner."""
    return [work(item) for item in items]


class QueryEngine(Protocol):
    """Runs the queries of gold over `events`, the rows of a silver."""

    def make(self, query: GoldQuery) -> Rows:
        """Define one query; of a `row` query, its rows. That of a `gold` query is written to the folder of
        gold, as a folder of its name with files of Parquet."""
        ...

    def rows(self, text: str) -> Rows: ...

    def group(self, name: str, text: str, key: str, work: Callable[[Batches], Batches], schema: str) -> None:
        """Define `name`, a table of gold: what `work` makes of the rows of a query. All rows of one `key` are
        in one call. `schema` has the columns of what it makes, as SQL does."""
        ...

    def forget(self) -> None:
        """Leave no more than the tables of gold."""
        ...


class Engine(Protocol):
    """Tasks and queries."""

    def expect(self, size: int) -> None:
        """So many bytes of new traces are the work of the tasks that follow."""
        ...

    def tasks(self, work: Callable[[Item], Result], items: Sequence[Item], what: str) -> list[Result]:
        """Do `work`, a function of a module, for each of `items`; the results in their order.

        `what` is for who watches. Raises TraceError for one of a task, and for a full disk.
        """
        ...

    def queries(self, silver: Path, folder: Path) -> QueryEngine:
        """Over the buckets of a silver; tables of gold go to `folder`."""
        ...


def task_progress(what: str, done: int, count: int, seconds: float) -> str:
    """How far `count` tasks are after so many seconds, at which rate, and how long the rest may take."""
    if count == 1:
        return what
    text = f"{what}: {done} of {count}"
    if not done or seconds < 1:
        return text
    left_s = (count - done) * seconds / done
    return f"{text}, {done / seconds:.2g} a second, about {duration(left_s)} left"


def duration(seconds: float) -> str:
    """A time to be waited for, in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def outcome(work: Callable[[Any], Any], item: Any) -> tuple[Any, str]:
    """What a task gives, or what is wrong, as it comes back from another process."""
    try:
        return work(item), ""
    except (TraceError, OSError) as error:
        # A full disk is said in its own words, and not in those of the engine.
        return None, str(error)


def results(outcomes: Iterable[tuple[Any, str]]) -> Iterator[Any]:
    """What tasks gave. Raises TraceError for the first that went wrong."""
    for result, error in outcomes:
        if error:
            raise TraceError(error)
        yield result
