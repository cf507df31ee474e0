"""A search that ends before it is done: its time is up, or somebody interrupts it. What it has is kept."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import field, frozen, mutable

from quidnunc.properties.regress.own_protocols import place_in_module

LEAST_S = 0.01


class OutOfTimeError(BaseException):
    """The time is up. No `except Exception`, of a rule or of ours, stops it."""


@frozen
class SearchLimit:
    """When a search has to end, as `time.monotonic` tells it. With one, an interruption ends it as well."""

    until_s: float = math.inf


@frozen
class EarlyEnd:
    """Why a search ended before it was done."""

    why: str
    signal: int = 0
    """Of an interruption; 0 where the time was up."""


def early_end(stop: BaseException) -> EarlyEnd:
    """What is told of a stop: the line of the user's module that it came in, too."""
    place = place_in_module(stop)
    where = f" in{place}" if place else ""
    if isinstance(stop, OutOfTimeError):
        return EarlyEnd(f"the time was up{where}")
    return EarlyEnd(f"interrupted{where}", int(stop.args[0] if stop.args else signal.SIGINT))


@contextmanager
def stopped_at(until_s: float) -> Iterator[None]:
    """Raises OutOfTimeError in what it surrounds when the time comes, wherever that is then."""

    def stop(number: int, frame: object) -> None:
        raise OutOfTimeError

    if until_s == math.inf:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(LEAST_S, until_s - time.monotonic()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


T = TypeVar("T")


@mutable
class RemainingParts:
    """What follows from a comparison, part by part, as long as there is time and nobody interrupts."""

    until_s: float
    early: EarlyEnd | None
    """Why a part was left out, or the search before ended."""
    what: str
    show: Callable[[str], None]
    left: list[str] = field(factory=list)
    """The parts that were not done, or not to their end."""

    def do(self, name: str, part: Callable[[], T], otherwise: T) -> T:
        """What comes of a part; `otherwise` where it is left out."""
        if time.monotonic() < self.until_s and not (self.early and self.early.signal):
            self.show(f"{self.what}: {name}")
            try:
                with stopped_at(self.until_s):
                    return part()
            except (OutOfTimeError, KeyboardInterrupt) as stop:
                self.early = early_end(stop)
        self.early = self.early or EarlyEnd("the time was up")
        self.left.append(name)
        return otherwise
