"""A time limit of the fixed suite: first all cases are played, and what is left of the time explains."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    # It loads Hypothesis.
    from quidnunc.properties.search.machine import FindingSearch

RESERVE = 0.15
"""Of a budget, the part in which what was not explained is filed."""
LEAST_RESERVE_S = 1.0
MOST_RESERVE_S = 10.0
MOST_LATE, MOST_LATE_S = 0.1, 5.0
"""Of a budget, by how much a command may exceed it, and so many seconds more."""
REPORT_S = 2.0
"""Of that, the part for the report."""
LATE, LATE_S = 0.05, 1.0
"""Of a budget, by how much the filing may exceed it, and so many seconds more. A report takes time, too."""


class TimeIsUpError(Exception):
    """The time is up for what was under way."""


@frozen
class TimeLimit:
    """The points of a suite with a budget, as `now` tells them, in seconds; none without a budget."""

    explain_s: float = math.inf
    """From then on nothing more is explained."""
    play_s: float = math.inf
    """From then on no case is played for the first time."""
    file_s: float = math.inf
    """From then on nothing that takes time is asked about what is filed."""
    now: Callable[[], float] = time.monotonic

    @classmethod
    def of(cls, started: float, budget_s: float, now: Callable[[], float] = time.monotonic) -> TimeLimit:
        """The limits of `budget_s` seconds from `started`."""
        reserve_s = min(max(LEAST_RESERVE_S, RESERVE * budget_s), MOST_RESERVE_S, budget_s / 2)
        end = started + budget_s
        return cls(end - reserve_s, end - reserve_s / 2, end + LATE * budget_s + LATE_S, now)

    @classmethod
    def of_search(
        cls, started: float, budget_s: float, now: Callable[[], float] = time.monotonic
    ) -> TimeLimit:
        """That of a search of `budget_s` seconds from `started`, which ends by itself: of its files alone."""
        return cls(file_s=started + (1 + MOST_LATE) * budget_s + MOST_LATE_S - REPORT_S, now=now)

    @property
    def is_set(self) -> bool:
        return self.explain_s < math.inf

    def explaining_is_over(self) -> bool:
        return self.now() >= self.explain_s

    def playing_is_over(self) -> bool:
        return self.now() >= self.play_s

    def filing_is_over(self) -> bool:
        return self.now() >= self.file_s


def demand_time(hunt: FindingSearch) -> None:
    """Raises TimeIsUpError if the time is up for what `hunt` does now."""
    if hunt.out_of_time():
        raise TimeIsUpError
