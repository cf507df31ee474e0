"""A trio event loop that is stepped by hand, in virtual time.

The run generator of trio is driven directly: a request spawns a task, the loop is turned until nothing can
run, and the caller goes on. Measured beside the two other ways (a loop in a thread of its own, and trio's
guest mode) it costs a fifth of either per request, starts no thread, and "at rest" is a fact and not a guess.
The names of trio that it needs are private; they have kept their shape since trio 0.22, and `Lockstep` says
which one is missing where that ends.

What the router reads of the world is this loop's while the loop turns, and the real one at all other times:
the clock, new ids, the dice and the scheduler's dice (`substitute`).
"""

from __future__ import annotations

import importlib
import itertools
import random
import sys
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from quidnunc.impl.seam import AdapterError

EPOCH_S = 1_700_000_000
"""The wall clock at virtual time 0. A whole second: routers that truncate to seconds start in step."""

TURNS_MAX = 200_000
"""Turns of the loop in one request; a router that is not at rest by then never will be."""

_SLACK_S = 1e-6
"""Timers are sums of floats; one that misses a millisecond by less than this belongs to it."""

_TRIO_NAMES = ("setup_runner", "unrolled_run", "GLOBAL_RUN_CONTEXT", "_r", "_ALLOW_DETERMINISTIC_SCHEDULING")


class LoopClock:
    """Seconds since the loop began. Moves only when told."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def start_clock(self) -> None:
        """Nothing to start; trio asks."""

    def current_time(self) -> float:
        return self.now_s

    def deadline_to_sleep_time(self, deadline: float) -> float:
        # Any positive number will do: the driver never sleeps, it only asks whether this is zero.
        return 0.0 if deadline <= self.now_s else 1e9


class RouterEnvironment:
    """What a router reads of the world: a clock, new ids, and two dice, one for it and one for trio's
    scheduler."""

    def __init__(self, seed: int) -> None:
        self.clock = LoopClock()
        self.ids = itertools.count(1)
        self.dice = random.Random(seed)
        self.scheduler_dice = random.Random(seed + 1)

    def time_s(self) -> float:
        return EPOCH_S + self.clock.now_s


_current: list[RouterEnvironment] = []
"""The world of the loop that is turning now, if one is."""


class _Time:
    """Stands for the module `time` in the modules of the router."""

    def time(self) -> float:
        return _current[-1].time_s() if _current else time.time()

    def time_ns(self) -> int:
        return round(_current[-1].time_s() * 1e9) if _current else time.time_ns()

    def monotonic(self) -> float:
        return _current[-1].clock.now_s if _current else time.monotonic()

    perf_counter = monotonic

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


class _Random:
    """Stands for the module `random` in the modules of the router."""

    def __getattr__(self, name: str) -> Any:
        if _current and hasattr(_current[-1].dice, name):
            return getattr(_current[-1].dice, name)
        return getattr(random, name)


class _NoThread:
    """A thread that never starts: the caches' sweeps are timers of the loop instead."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def start(self) -> None:
        pass

    def join(self, timeout: float | None = None) -> None:
        pass

    def is_alive(self) -> bool:
        return False


class _Threading:
    """Stands for the module `threading` where a cache would start a thread of its own."""

    def __getattr__(self, name: str) -> Any:
        return _NoThread if name == "Thread" and _current else getattr(threading, name)


class _Uuid:
    """Stands for the module `uuid`: a router tells its tasks apart by ids, and asks the system for each."""

    def uuid4(self) -> uuid.UUID:
        return uuid.UUID(int=next(_current[-1].ids)) if _current else uuid.uuid4()

    def __getattr__(self, name: str) -> Any:
        return getattr(uuid, name)


_STAND_INS: tuple[tuple[str, ModuleType, object], ...] = (
    ("time", time, _Time()),
    ("random", random, _Random()),
    ("threading", threading, _Threading()),
    ("uuid", uuid, _Uuid()),
)


def substitute(prefixes: tuple[str, ...]) -> None:
    """Let the loaded modules under `prefixes` read the world through this module. Once is enough.

    Outside a turning loop the stand-ins are the real modules, so other users in this process see no change.
    """
    for module_name, module in list(sys.modules.items()):
        if module is None or not module_name.startswith(prefixes):
            continue
        for attribute, real, stand_in in _STAND_INS:
            if vars(module).get(attribute) is real:
                setattr(module, attribute, stand_in)


class Lockstep:
    """One trio run, turned on request. `main` runs until it returns, fails, or `close` cancels it."""

    def __init__(self, main: Callable[[Any], Awaitable[None]], *, seed: int) -> None:
        self._trio: Any = importlib.import_module("trio")
        self._run: Any = importlib.import_module("trio._core._run")
        self._sniffio: Any = importlib.import_module("sniffio").thread_local
        missing = [name for name in _TRIO_NAMES if not hasattr(self._run, name)]
        if missing:
            raise AdapterError(
                f"py-libp2p: trio {self._trio.__version__} has no {', '.join(missing)}, with which "
                "the driver turns the loop; install trio 0.35"
            )
        self.world = RouterEnvironment(seed)
        self.finished = False
        self._main = main
        self._nursery: Any = None
        self._start()

    @property
    def now_ms(self) -> int:
        return round(self.world.clock.now_s * 1000)

    @property
    def failure(self) -> BaseException | None:
        """What `main` ended with, if it ended badly."""
        outcome = self._runner.main_task_outcome if self.finished else None
        return getattr(outcome, "error", None)

    def spawn(self, function: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Start a task beside `main`. It runs at the next `settle`; a failure of it ends the run."""
        if not self.finished:
            with self.turning():
                self._nursery.start_soon(function, *arguments)

    def settle(self) -> None:
        """Turn the loop until nothing can run at this instant. Raises AdapterError if that never comes."""
        if self.finished:
            return
        with self.turning():
            for _ in range(TURNS_MAX):
                if not self._turn():
                    return
        raise AdapterError(
            f"py-libp2p: not at rest after {TURNS_MAX} turns of its event loop at {self.now_ms} ms; "
            "close this driver and open another"
        )

    def advance(self, ms: int) -> None:
        """Let `ms` pass. Each timer on the way fires at its own instant and settles before the next."""
        target_s = (self.now_ms + ms) / 1000
        clock = self.world.clock
        while not self.finished:
            deadline_s = self._runner.deadlines.next_deadline()
            if deadline_s > target_s + _SLACK_S:
                break
            clock.now_s = max(clock.now_s, deadline_s)
            self.settle()
        clock.now_s = target_s
        self.settle()

    def stop(self) -> None:
        """Cancel everything, from inside the loop. It runs out at the next turns."""
        self._nursery.cancel_scope.cancel()

    def close(self) -> None:
        """Cancel everything and run the loop out. No thread, file or task is left. Twice is harmless."""
        if not self.finished:
            with self.turning():
                self.stop()
            self.settle()
        if not self.finished:
            # A task that refuses its cancellation is dropped with its loop.
            with self.turning():
                self._generator.close()
            self.finished = True

    def _start(self) -> None:
        with self.turning(setup=True):
            self._runner = self._run.setup_runner(self.world.clock, [], False, True)
            # trio would handle Ctrl-C for as long as the loop exists, and here it mostly stands still.
            self._runner.ki_manager.close()
            self._hooks = sys.get_asyncgen_hooks()
            self._generator = self._run.unrolled_run(self._runner, self._enter, (), True)
            self._generator.send(None)
            self._events: Any = self._runner.io_manager.get_events(0)
        self._context = {"runner": self._runner}
        self.settle()

    async def _enter(self) -> None:
        async with self._trio.open_nursery() as nursery:
            self._nursery = nursery
            await self._main(nursery)

    def _turn(self) -> bool:
        """One turn. False where nothing can run any more at this instant."""
        try:
            timeout = self._generator.send(self._events)
        except StopIteration:
            self.finished = True
            # A signal that came while a task ran is no failure of the router.
            if (interrupt := _interrupt_in(self.failure)) is not None:
                raise interrupt from None
            return False
        except self._trio.TrioInternalError as error:
            self.finished = True
            if (interrupt := _interrupt_in(error)) is not None:
                raise interrupt from None
            raise
        if timeout <= 0:
            self._events = ()
            return True
        # No one outside speaks, but trio wakes itself through a socket when it ends.
        self._events = self._runner.io_manager.get_events(0)
        return bool(self._events)

    @contextmanager
    def turning(self, *, setup: bool = False) -> Iterator[None]:
        """Make this loop the current one of the thread: its runner, its hooks, its clock and its dice."""
        run, context = self._run, self._run.GLOBAL_RUN_CONTEXT.__dict__
        outer = (dict(context), sys.get_asyncgen_hooks(), run._r, run._ALLOW_DETERMINISTIC_SCHEDULING)
        library = self._sniffio.name
        context.clear()
        if not setup:
            context.update(self._context)
            sys.set_asyncgen_hooks(*self._hooks)
        run._r, run._ALLOW_DETERMINISTIC_SCHEDULING = self.world.scheduler_dice, True
        self._sniffio.name = "trio"
        _current.append(self.world)
        try:
            yield
        finally:
            _current.pop()
            self._sniffio.name = library
            run._r, run._ALLOW_DETERMINISTIC_SCHEDULING = outer[2], outer[3]
            sys.set_asyncgen_hooks(*outer[1])
            context.clear()
            context.update(outer[0])


def _interrupt_in(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt behind an error of the loop, if any: trio puts what a task raises into groups."""
    if error is None or isinstance(error, KeyboardInterrupt):
        return error
    inner = (*getattr(error, "exceptions", ()), error.__cause__)
    return next((found for each in inner if (found := _interrupt_in(each)) is not None), None)
