"""Times that no router's clock shows: they tell of another unit than nanoseconds.

A simulation's clock begins at 0, and no real one does: where an event is at 0, or a run says that this kit
recorded it, nothing is odd about early times.
"""

from __future__ import annotations

from attrs import frozen, mutable

EARLY_NS = 31 * 86_400 * 10**9
"""All of January 1970: microseconds that are read as nanoseconds lie in it until the year 2054, milliseconds
and seconds for ever."""


@frozen
class OddTimes:
    """How many events of a trace have a time that is odd."""

    early: int = 0
    """After 0 and before `EARLY_NS`."""
    negative: int = 0
    zero: int = 0

    def warnings(self) -> list[str]:
        """What is odd, a line for each; empty where nothing is."""
        found = []
        if self.early and not self.zero:
            lie, they = (
                ("event lies", "is its time") if self.early == 1 else ("events lie", "are their times")
            )
            found.append(f"{self.early} {lie} in January 1970: {they} nanoseconds?")
        if self.negative:
            have = "event has a time" if self.negative == 1 else "events have times"
            found.append(f"{self.negative} {have} before 1970: a time is nanoseconds since then")
        return found


@mutable
class TimeWatch:
    """Counts odd times, one at a time."""

    early: int = 0
    negative: int = 0
    zero: int = 0

    def note(self, at_ns: int) -> None:
        """One event's time, in ns since 1970."""
        self.early += 0 < at_ns < EARLY_NS
        self.negative += at_ns < 0
        self.zero += at_ns == 0

    def odd(self) -> OddTimes:
        """What was counted."""
        return OddTimes(self.early, self.negative, self.zero)
