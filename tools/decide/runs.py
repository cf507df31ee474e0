"""Searches of a network of model nodes, of either family, for a run that breaks a claim.

`breadth_first` goes through every run of a small world up to a bound, so that what it finds is shortest;
`walks` draws runs from a seed; `by_hypothesis` has Hypothesis draw and shrink them; `minimised_run` drops
from a breaking run what it does not need.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

import hypothesis
from attrs import field, frozen, mutable
from hypothesis import strategies as st

from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.network import drawn
from quidnunc.properties.networks.runs import MAX_DRAIN, ActError, BrokenClaim, Die, Memory, SeededDie
from quidnunc.properties.networks.world import Look, World
from tools.decide.acts import moves_of, options_of

T = TypeVar("T")


@frozen
class WorldSearchResult:
    """What a search came to."""

    acts: tuple[Act, ...] | None
    """A run that breaks the claim."""
    why: str = ""
    states: int = 0
    runs: int = 0
    depth: int = 0
    """Every run of this many acts was looked at."""
    complete: bool = False
    """There are no longer ones."""
    applied: int = field(default=0)


# -- every run ----------------------------------------------------------------------------------------------


def breadth_first(world: World, look: Look, max_states: int = 20_000) -> WorldSearchResult:
    """All runs, the short ones first, to `max_states` states (a state is the network and what is remembered).

    Where the bound cuts it off, `depth` is of the runs that were all looked at.
    """
    start = world.start()
    queue: deque[tuple[Any, Memory, int]] = deque([(start, None, 0)])
    trail: list[tuple[int, Act | None]] = [(0, None)]
    depths, at = [0], -1
    seen: set[tuple[object, Memory]] = {(start.key(), None)}
    while queue:
        network, memory, depth = queue.popleft()
        at += 1
        for move in moves_of(world, network):
            after = look(memory, move)
            if isinstance(after, BrokenClaim):
                acts = (*_trail(trail, at), move.act)
                return WorldSearchResult(acts, after.why, states=len(trail), depth=len(acts) - 1)
            key = (move.after.key(), after)
            if key in seen:
                continue
            if len(trail) >= max_states:
                return WorldSearchResult(None, states=len(trail), depth=depth)
            seen.add(key)
            trail.append((at, move.act))
            depths.append(depth + 1)
            queue.append((move.after, after, depth + 1))
    return WorldSearchResult(None, states=len(trail), depth=max(depths), complete=True)


def _trail(trail: Sequence[tuple[int, Act | None]], at: int) -> tuple[Act, ...]:
    acts: list[Act] = []
    before, act = trail[at]
    while act is not None:
        acts.append(act)
        before, act = trail[before]
    return tuple(reversed(acts))


# -- drawn runs ---------------------------------------------------------------------------------------------


def walks(world: World, look: Look, *, runs: int, length: int, seed: int = 0) -> WorldSearchResult:
    """`runs` drawn runs of `length` acts, after which the queues are emptied; what breaks is minimised."""
    for number in range(runs):
        acts = walk(world, look, SeededDie(random.Random(f"{seed}/{number}")), length)
        if acts is not None:
            acts, why = minimised_run(world, look, acts)
            return WorldSearchResult(acts, why, runs=number + 1)
    return WorldSearchResult(None, runs=runs)


def walk(world: World, look: Look, die: Die, length: int) -> tuple[Act, ...] | None:
    """One drawn run; None where it does not break the claim."""
    network, memory, acts = world.start(), None, list[Act]()
    for at in range(length + MAX_DRAIN):
        if at >= length and network.quiet():
            return None
        options = options_of(world, network, at >= length)
        if not options:
            return None
        act = die.pick([each for each, _ in options], [weight for _, weight in options])
        move = drawn(network, act, die)
        if move is None:
            continue
        memory = look(memory, move)
        acts.append(move.act)
        network = move.after
        if isinstance(memory, BrokenClaim):
            return tuple(acts)
    return None


# -- one run ------------------------------------------------------------------------------------------------


def judge_run(world: World, look: Look, acts: Sequence[Act], *, strict: bool = True) -> WorldSearchResult:
    """One run: broken at which act, or not. What cannot happen raises ActError, or is left out."""
    network, memory, done = world.start(), None, list[Act]()
    for act in acts:
        try:
            move = world.move(network, act)
        except ActError:
            if strict:
                raise
            continue
        memory = look(memory, move)
        network = move.after
        done.append(act)
        if isinstance(memory, BrokenClaim):
            return WorldSearchResult(tuple(done), memory.why, runs=1)
    return WorldSearchResult(None, runs=1)


def minimised_run(world: World, look: Look, acts: Sequence[Act]) -> tuple[tuple[Act, ...], str]:
    """A run of as few of these acts as can be, by leaving out ever smaller pieces. Raises ValueError where
    they break nothing."""
    best = judge_run(world, look, acts, strict=False)
    if best.acts is None:
        raise ValueError("this run breaks nothing")
    size = max(1, len(best.acts) // 2)
    while size:
        shorter = _without_a_piece(world, look, best, size)
        if shorter is None:
            size //= 2
        else:
            best = shorter
    assert best.acts is not None
    return best.acts, best.why


def _without_a_piece(
    world: World, look: Look, best: WorldSearchResult, size: int
) -> WorldSearchResult | None:
    assert best.acts is not None
    for at in range(0, len(best.acts), size):
        tried = judge_run(world, look, best.acts[:at] + best.acts[at + size :], strict=False)
        if tried.acts is not None and len(tried.acts) < len(best.acts):
            return tried
    return None


# -- Hypothesis ---------------------------------------------------------------------------------------------


@mutable
class HypothesisDie:
    """A die that Hypothesis throws, so that it can shrink what came of it."""

    data: Any

    def pick(self, options: Sequence[T], weights: Sequence[int] | None = None) -> T:
        found: T = (
            options[self.data.draw(st.integers(0, len(options) - 1))] if len(options) > 1 else options[0]
        )
        return found


def by_hypothesis(world: World, look: Look, *, runs: int, length: int, seed: int = 0) -> WorldSearchResult:
    """`runs` runs of up to `length` acts that Hypothesis draws and, where one breaks the claim, shrinks.

    What it found is minimised as what others found is. Repeats for the same seed.
    """
    breaking: list[tuple[Act, ...]] = []
    count = 0

    def run(data: Any) -> None:
        nonlocal count
        die = HypothesisDie(data)
        acts = walk(world, look, die, die.pick([*range(1, length + 1)]))
        count += 1
        if acts is not None:
            breaking.append(acts)
            raise _ClaimBreach

    limits = hypothesis.settings(
        max_examples=runs,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    search = hypothesis.seed(seed)(limits(hypothesis.given(st.data())(run)))
    try:
        search()
    except _ClaimBreach:
        acts, why = minimised_run(world, look, min(breaking, key=len))
        return WorldSearchResult(acts, why, runs=count)
    return WorldSearchResult(None, runs=count)


class _ClaimBreach(Exception):
    """A drawn run breaks the claim."""
