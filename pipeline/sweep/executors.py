"""Where jobs are done: processes of this machine, or Spark. The results are the same.

An executor takes jobs with their names and gives each result as it is there, in any order. Work goes out in
portions of a second or more, since a task on Spark costs some milliseconds and a process its start.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any, Protocol, TypeAlias

from attrs import frozen

from quidnunc.pipeline.sweep.file import Job, Result
from quidnunc.pipeline.sweep.jobs import do_job

Named: TypeAlias = tuple[str, Job]
INTERRUPTS = frozenset({signal.SIGINT, signal.SIGTERM})
PORTION_S = 1.0
PORTIONS_PER_CORE = 6
PORTIONS_PER_CHILD = 50
"""After so many a process is replaced, so that what jobs leave behind does not add up."""


class SweepExecutor(Protocol):
    """Does jobs. The first of them tells how long one takes."""

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]: ...


def _with_parent() -> None:
    """Ctrl-C is for the process that has the terminal: it ends these. They end with it, whatever ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
        # Children take the hash seed from the environment, and a router in Python acts by it.
        os.environ.setdefault("PYTHONHASHSEED", "0")
        others = multiprocessing.active_children()
        with ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            max_tasks_per_child=PORTIONS_PER_CHILD,
            initializer=_with_parent,
        ) as pool:
            try:
                seconds, first = _timed(_submitted(pool, [[jobs[0]]])[0].result)
                yield from first
                futures = _submitted(pool, portions(jobs[1:], seconds))
                for future in as_completed(futures):
                    yield from future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    if child not in others:
                        child.terminate()
                raise


def _submitted(pool: ProcessPoolExecutor, work: Sequence[Sequence[Named]]) -> list[Future[Any]]:
    """Processes are started here, and an interrupt waits until they are: half started they would complain."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        return [pool.submit(_portion, portion) for portion in work]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@frozen
class SparkExecutor:
    """A Spark session: the embedded one, or that of the cluster at `master`."""

    master: str | None = None

    def run(self, jobs: Sequence[Named]) -> Iterator[tuple[str, Result]]:
        """Raises SparkMissing where Spark cannot be started."""
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
