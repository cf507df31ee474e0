"""Where jobs are done: processes of this machine, or Spark. The results are the same.

An executor takes jobs with their names and gives each result as it is there, in any order. Work goes out in
portions of a second or more, since a task on Spark costs some milliseconds and a process its start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any, Protocol, TypeAlias

from attrs import frozen

from quidnunc.pipeline.sweep.file import Job, Result
from quidnunc.pipeline.sweep.jobs import do_job
from quidnunc.properties.processes import process_pool, submitted

Named: TypeAlias = tuple[str, Job]
PORTION_S = 1.0
PORTIONS_PER_CORE = 6
PORTIONS_PER_CHILD = 50
"""After so many a process is replaced, so that what jobs leave behind does not add up."""


class SweepExecutor(Protocol):
    """Does jobs. The first of them tells how long one takes."""

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]: ...


@frozen
class InProcessExecutor:
    """One job after the other, in this process."""

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]:
        for name, job in jobs:
            yield name, do_job(job)


@frozen
class LocalExecutor:
    """Processes of this machine; as many as there are cores, where nothing is said."""

    workers: int | None = None

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]:
        workers = self.workers or os.cpu_count() or 1
        if workers == 1 or len(jobs) == 1:
            yield from InProcessExecutor().run(jobs)
            return
        with process_pool(workers, PORTIONS_PER_CHILD) as pool:
            seconds, first = _timed(submitted(pool, _portion, [[jobs[0]]])[0].result)
            yield from first
            for future in as_completed(submitted(pool, _portion, portions(jobs[1:], seconds))):
                yield from future.result()


@frozen
class SparkExecutor:
    """A Spark session: the embedded one, or that of the cluster at `master`."""

    master: str | None = None

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]:
        """Raises EngineMissing where Spark cannot be started."""
        from quidnunc.pipeline.lake.spark_session import spark_session

        context: Any = spark_session(master=self.master).sparkContext
        cores = max(1, context.defaultParallelism)

        def wave(portioned: Sequence[Sequence[Named]]) -> list[tuple[str, Result]]:
            found: list[tuple[str, Result]] = (
                context.parallelize(list(portioned), len(portioned)).flatMap(_portion).collect()
            )
            return found

        seconds, first = _timed(lambda: wave([[jobs[0]]]))
        yield from first
        rest = portions(jobs[1:], seconds)
        # What is collected is kept: a campaign that is stopped goes on with the next wave.
        size = cores * PORTIONS_PER_CORE
        for at in range(0, len(rest), size):
            yield from wave(rest[at : at + size])


def _portion(jobs: Sequence[Named]) -> list[tuple[str, Result]]:
    return [(name, do_job(job)) for name, job in jobs]


def _timed(call: Any) -> tuple[float, Any]:
    started = time.monotonic()
    found = call()
    return time.monotonic() - started, found


def portions(jobs: Sequence[Named], seconds: float) -> list[list[Named]]:
    """Jobs that take `seconds` each, in portions of about a second: what is under way is lost when a campaign
    is stopped. Neighbours, which take alike, go to different portions: what is varied last is alike."""
    each = max(1, round(PORTION_S / max(seconds, 1e-3) + 0.5))
    count = -(-len(jobs) // each)
    return [list(jobs[at::count]) for at in range(count)]
