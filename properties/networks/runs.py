"""Searches of a network of model nodes, of either family, for a run that breaks a claim.

A claim is a fold over the moves of a run: what it remembers, and what breaks it. `breadth_first` goes through
every run of a small world up to a bound, so that what it finds is shortest; `walks` draws runs from a seed;
`by_hypothesis` has Hypothesis draw and shrink them; `minimised` drops from a breaking run what it does not
need. What a world must be is `World`: the networks of mempool nodes and of pubsub routers are two.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from attrs import field, frozen, mutable

MAX_DRAIN = 400
"""Acts after which a network that is only to empty its queues is given up."""

T = TypeVar("T")
A = TypeVar("A")
"""What happens, with the choices that were made."""
M = TypeVar("M", bound="WorldMove")
M_co = TypeVar("M_co", bound="WorldMove", covariant=True)
"""One act of a run."""


class ActError(ValueError):
    """An act that cannot happen here, or a text that is no act."""


class WorldMove(Protocol):
    """What a search needs of a move; the rest is for claims."""

    @property
    def act(self) -> Any: ...
    @property
    def after(self) -> Any: ...


class Die(Protocol):
    """What draws."""

    def pick(self, options: Sequence[T], weights: Sequence[int] | None = None) -> T:
        """One of `options`, of which there is one at least."""
        ...


class World(Protocol[A, M_co]):
    """A network, and what may happen in it."""

    def start(self) -> Any:
        """The network at first."""
        ...

    def key(self, network: Any) -> object:
        """Equal, and hashable, where the future is the same."""
        ...

    def resting(self, network: Any) -> bool:
        """Nothing moves by itself any more."""
        ...

    def moves(self, network: Any) -> Iterator[M_co]:
        """Every next move, choices made."""
        ...

    def options(self, network: Any, draining: bool) -> Sequence[tuple[A, int]]:
        """What can happen next, before its choices are made, and how often it should be drawn; what moves by
        itself alone, where the network is to come to rest."""
        ...

    def drawn(self, network: Any, act: A, die: Die) -> M_co | None:
        """The move of an act whose choices are drawn; None where it cannot happen."""
        ...

    def move(self, network: Any, act: A) -> M_co:
        """The move of an act whose choices are made. Raises ActError where it cannot happen."""
        ...


@frozen
class BrokenClaim:
    """The claim is false of this run."""

    why: str


Memory = object
"""What a claim remembers of a run; hashable, None at the start."""


@frozen
class WorldSearchResult(Generic[A]):
    """What a search came to."""

    acts: tuple[A, ...] | None
    """A run that breaks the claim."""
    why: str = ""
    states: int = 0
    runs: int = 0
    depth: int = 0
    """Every run of this many acts was looked at."""
    complete: bool = False
    """There are no longer ones."""
    applied: int = field(default=0)


@mutable
class SeededDie:
    """A die of a generator of random numbers."""

    die: random.Random

    def pick(self, options: Sequence[T], weights: Sequence[int] | None = None) -> T:
        return self.die.choices(options, weights)[0] if weights else self.die.choice(options)


# -- every run ----------------------------------------------------------------------------------------------


def breadth_first(
    world: World[A, M], look: Callable[[Memory, M], Memory], max_states: int = 20_000
) -> WorldSearchResult[A]:
    """All runs, the short ones first, to `max_states` states (a state is the network and what is remembered).

    Where the bound cuts it off, `depth` is of the runs that were all looked at.
    """
    start = world.start()
    queue: deque[tuple[Any, Memory, int]] = deque([(start, None, 0)])
    trail: list[tuple[int, A | None]] = [(0, None)]
    depths, at = [0], -1
    seen: set[tuple[object, Memory]] = {(world.key(start), None)}
    while queue:
        network, memory, depth = queue.popleft()
        at += 1
        for move in world.moves(network):
            after = look(memory, move)
            if isinstance(after, BrokenClaim):
                acts = (*_trail(trail, at), move.act)
                return WorldSearchResult(acts, after.why, states=len(trail), depth=len(acts) - 1)
            key = (world.key(move.after), after)
            if key in seen:
                continue
            if len(trail) >= max_states:
                return WorldSearchResult(None, states=len(trail), depth=depth)
            seen.add(key)
            trail.append((at, move.act))
            depths.append(depth + 1)
            queue.append((move.after, after, depth + 1))
    return WorldSearchResult(None, states=len(trail), depth=max(depths), complete=True)


def _trail(trail: Sequence[tuple[int, A | None]], at: int) -> tuple[A, ...]:
    acts: list[A] = []
    before, act = trail[at]
    while act is not None:
        acts.append(act)
        before, act = trail[before]
    return tuple(reversed(acts))


# -- drawn runs ---------------------------------------------------------------------------------------------


def walks(
    world: World[A, M], look: Callable[[Memory, M], Memory], *, runs: int, length: int, seed: int = 0
) -> WorldSearchResult[A]:
    """`runs` drawn runs of `length` acts, after which the queues are emptied; what breaks is minimised."""
    for number in range(runs):
        acts = walk(world, look, SeededDie(random.Random(f"{seed}/{number}")), length)
        if acts is not None:
            acts, why = minimised_run(world, look, acts)
            return WorldSearchResult(acts, why, runs=number + 1)
    return WorldSearchResult(None, runs=runs)


def walk(
    world: World[A, M], look: Callable[[Memory, M], Memory], die: Die, length: int
) -> tuple[A, ...] | None:
    """One drawn run; None where it does not break the claim."""
    network, memory, acts = world.start(), None, list[A]()
    for at in range(length + MAX_DRAIN):
        if at >= length and world.resting(network):
            return None
        options = world.options(network, at >= length)
        if not options:
            return None
        act = die.pick([each for each, _ in options], [weight for _, weight in options])
        move = world.drawn(network, act, die)
        if move is None:
            continue
        memory = look(memory, move)
        acts.append(move.act)
        network = move.after
        if isinstance(memory, BrokenClaim):
            return tuple(acts)
    return None


# -- one run ------------------------------------------------------------------------------------------------


def judge_run(
    world: World[A, M], look: Callable[[Memory, M], Memory], acts: Sequence[A], *, strict: bool = True
) -> WorldSearchResult[A]:
    """One run: broken at which act, or not. What cannot happen raises ActError, or is left out."""
    network, memory, done = world.start(), None, list[A]()
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


def minimised_run(
    world: World[A, M], look: Callable[[Memory, M], Memory], acts: Sequence[A]
) -> tuple[tuple[A, ...], str]:
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
    world: World[A, M], look: Callable[[Memory, M], Memory], best: WorldSearchResult[A], size: int
) -> WorldSearchResult[A] | None:
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
        from hypothesis import strategies as st

        found: T = (
            options[self.data.draw(st.integers(0, len(options) - 1))] if len(options) > 1 else options[0]
        )
        return found


def by_hypothesis(
    world: World[A, M], look: Callable[[Memory, M], Memory], *, runs: int, length: int, seed: int = 0
) -> WorldSearchResult[A]:
    """`runs` runs of up to `length` acts that Hypothesis draws and, where one breaks the claim, shrinks.

    What it found is minimised as what others found is. Repeats for the same seed.
    """
    import hypothesis
    from hypothesis import strategies as st

    breaking: list[tuple[A, ...]] = []
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
