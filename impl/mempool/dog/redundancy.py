"""The redundancy controller: how many copies came, and whether that is too few or too many."""

from __future__ import annotations

from typing import Literal

from quidnunc.model.parameters import DogParameters

Level = Literal["idle", "low", "in-band", "high"]


class RedundancyController:
    """Counts since the last adjustment, the accepted band, and the permission to send HaveTx."""

    def __init__(self, parameters: DogParameters) -> None:
        target, delta = parameters.target_redundancy, parameters.delta_percent
        # The order of these operations is that of the reactor in use: it decides the last bit of a bound.
        self.lower = target - target * delta / 100
        self.upper = target + target * delta / 100
        self.first_time = 0
        self.duplicates = 0
        self.blocked = False

    def count_first_time(self) -> None:
        self.first_time += 1

    def count_duplicate(self, source: int | None) -> None:
        """A copy of what is known came from `source`, or from a user where that is None."""
        self.duplicates += 1

    def ratio(self) -> float:
        """Duplicates per first-time transaction; the upper bound where all were duplicates."""
        return self.duplicates / self.first_time if self.first_time else self.upper

    def too_low(self, ratio: float) -> bool:
        return ratio < self.lower

    def too_high(self, ratio: float) -> bool:
        return ratio >= self.upper

    def level(self) -> Level:
        """Where the ratio stands; `idle` where nothing came."""
        if not self.first_time and not self.duplicates:
            return "idle"
        ratio = self.ratio()
        if self.too_low(ratio):
            return "low"
        return "high" if self.too_high(ratio) else "in-band"

    def block(self) -> None:
        """One HaveTx was sent: none until an adjustment finds the redundancy too high."""
        self.blocked = True

    def unblock(self) -> None:
        self.blocked = False

    def restart(self) -> None:
        self.first_time = 0
        self.duplicates = 0
