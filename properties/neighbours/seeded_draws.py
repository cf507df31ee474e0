"""A number as a source of small ones: how Hypothesis, or a seed, plays neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import mutable

T = TypeVar("T")


@mutable
class SeededDraws:
    """A number as a source of small ones. Mixed first, because Hypothesis prefers small numbers."""

    state: int

    def below(self, n: int) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return (z ^ (z >> 31)) % n

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent


def weighted_name(weights: Mapping[str, int], d: SeededDraws) -> str:
    """One of the names, as often as its weight says."""
    at = d.below(sum(weights.values()))
    for name, weight in weights.items():
        if at < weight:
            return name
        at -= weight
    raise ValueError("weights must be above 0")
