"""Runs of small networks: what draws their choices, and what is claimed of them.

A claim is a fold over the moves of a run: what it remembers, and what breaks it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from attrs import frozen, mutable

MAX_DRAIN = 400
"""Acts after which a network that is only to empty its queues is given up."""

T = TypeVar("T")


class ActError(ValueError):
    """An act that cannot happen here, or a text that is no act."""


class Die(Protocol):
    """What draws."""

    def pick(self, options: Sequence[T], weights: Sequence[int] | None = None) -> T:
        """One of `options`, of which there is one at least."""
        ...


@frozen
class BrokenClaim:
    """The claim is false of this run."""

    why: str


Memory = object
"""What a claim remembers of a run; hashable, None at the start."""


@mutable
class SeededDie:
    """A die of a generator of random numbers."""

    die: random.Random

    def pick(self, options: Sequence[T], weights: Sequence[int] | None = None) -> T:
        return self.die.choices(options, weights)[0] if weights else self.die.choice(options)
