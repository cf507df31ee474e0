"""A pool of processes of this machine. They end with the process that started them, whatever ends it."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

INTERRUPTS = frozenset({signal.SIGINT, signal.SIGTERM})


@contextmanager
def process_pool(
    workers: int, tasks_each: int | None = None, *, forked: bool = False
) -> Iterator[ProcessPoolExecutor]:
    """So many processes, started when there is work, and replaced after `tasks_each` tasks; where they are
    `forked`, with the modules and the stdout that this one has. An exception within ends them at once."""
    # Children take the hash seed from the environment, and a router in Python acts by it.
    os.environ.setdefault("PYTHONHASHSEED", "0")
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("fork" if forked else "spawn"),
        max_tasks_per_child=tasks_each,
        initializer=_with_parent,
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in others:
                    child.terminate()
            raise


def submitted(
    pool: ProcessPoolExecutor, work: Callable[[Any], Any], items: Sequence[Any]
) -> list[Future[Any]]:
    """Processes are started here, and an interrupt waits until they are: half started they would complain."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        return [pool.submit(work, item) for item in items]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _with_parent() -> None:
    """Ctrl-C is for the process that has the terminal: it ends these. They end with it, whatever ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    # A driver in Python keeps its router from ending the process so (`impl/drivers/python.py`).
    parent, end = multiprocessing.parent_process(), os._exit
    assert parent is not None

    def end_at_once() -> None:
        for stream in (sys.stdout, sys.stderr):
            # A router may have closed it.
            with suppress(ValueError, OSError):
                stream.flush()
        end(0)

    # What registers later is called first. To free what a process holds takes it up to a second.
    atexit.register(end_at_once)

    def watch() -> None:
        parent.join()
        end(1)

    threading.Thread(target=watch, daemon=True).start()
