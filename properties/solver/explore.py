"""Exhaustive search of a network: every reachable state, breadth first, so that what is found is nearest.

`explore` with the engine `compiled` runs machine code made from the rules; `python` interprets them, slowly,
and shares nothing with the former but the rules. With symmetry one state of each orbit is expanded, and the
numbers of all states and transitions follow from the sizes of the orbits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from attrs import define, field, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import numpy as np
from quidnunc.properties.solver.rules import NetworkModel

Engine: TypeAlias = Literal["compiled", "python"]
Verdict: TypeAlias = Literal["proved", "refuted", "undetermined"]
Progress: TypeAlias = Callable[[str], None]

DEFAULT_MEMORY_BYTES = 2 << 30
MAX_SET_BITS = 30
"""Up to so many bits of state what is known is a set of bits, of 128 MB at most; above an open table."""
FIRST_TABLE_BITS = 16
FULL_TABLE = 0.7
PYTHON_STATE_BYTES = 400
"""What a state of the slow engine costs: a tuple, its place in a set and in a layer. Measured, rounded up."""


@frozen(kw_only=True)
class ClaimOutcome:
    """What the search says of one claim."""

    id: str
    kind: str
    verdict: Verdict
    trace_length: int | None
    """Steps of the shortest trace to a state that breaks an `always`, or meets a `sometimes`."""


@frozen(kw_only=True)
class ExplorationResult:
    """What was covered, and what is said of the claims."""

    states: int
    transitions: int
    """Pairs of a state and a rule enabled in it, of the states that were expanded."""
    depth: int
    """Of the last layer that holds a state."""
    complete: bool
    deadlocks: int
    """Expanded states in which no rule is enabled."""
    orbits: int | None
    orbit_transitions: int | None
    claims: tuple[ClaimOutcome, ...]
    seconds: float
    compile_seconds: float
    memory_bytes: int
    """The most that the sets and layers took at one time."""


@define
class _Tally:
    """The search as it goes."""

    network: NetworkModel
    first: dict[int, int] = field(factory=dict)
    """Number of a claim -> the depth at which it first took a note."""

    def note(self, noted: int, depth: int) -> None:
        """Claims that take a note for the first time, in states at `depth`."""
        for number in range(len(self.network.claims)):
            if noted >> number & 1:
                self.first.setdefault(number, depth)

    def claims(self, complete: bool) -> tuple[ClaimOutcome, ...]:
        found = []
        for number, claim in enumerate(self.network.claims):
            length = self.first.get(number)
            verdict: Verdict = "proved" if (length is None) == (claim.kind == "always") else "refuted"
            if length is None and not complete:
                verdict = "undetermined"
            found.append(ClaimOutcome(id=claim.id, kind=claim.kind, verdict=verdict, trace_length=length))
        return tuple(found)


def explore(
    network: NetworkModel,
    *,
    engine: Engine = "compiled",
    symmetry: bool = False,
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
    progress: Progress | None = None,
) -> ExplorationResult:
    """Search all reachable states, or as many as fit into `memory_bytes`.

    Raises SpecError where symmetry is asked of the slow engine, or the rules are not symmetric.
    """
    if engine == "python":
        if symmetry:
            raise SpecError("--symmetry needs the compiled engine")
        return _explored_slowly(network, memory_bytes, progress)
    if symmetry:
        _check_symmetry(network)
    return StateSearch(network, symmetry=symmetry, memory_bytes=memory_bytes).run(progress)


def _check_symmetry(network: NetworkModel) -> None:
    from quidnunc.properties.solver.symmetry import certificate

    found = certificate(network)
    if not found.holds:
        raise SpecError(f"{network.name} is not symmetric in its peers: {', '.join(found.broken)}")


# -- the slow engine ----------------------------------------------------------------------------------------


def _explored_slowly(
    network: NetworkModel, memory_bytes: int, progress: Progress | None
) -> ExplorationResult:
    from quidnunc.properties.solver.interpret import interpreter

    started = time.perf_counter()
    steps = interpreter(network)
    tally = _Tally(network)
    seen = {steps.start()}
    layer = [steps.start()]
    tally.note(steps.noted(layer[0]), 0)
    transitions = deadlocks = depth = 0
    complete = True
    while layer and complete:
        fresh = []
        for at, state in enumerate(layer):
            if len(seen) * PYTHON_STATE_BYTES > memory_bytes:
                complete = False
                break
            enabled = list(steps.enabled(state))
            transitions += len(enabled)
            deadlocks += not enabled
            for _, after in enabled:
                if after not in seen:
                    seen.add(after)
                    fresh.append(after)
                    tally.note(steps.noted(after), depth + 1)
            if progress and at % 1000 == 0:
                progress(f"{len(seen)} states, depth {depth}")
        layer = fresh
        depth += bool(layer)
    return ExplorationResult(
        states=len(seen),
        transitions=transitions,
        depth=depth,
        complete=complete,
        deadlocks=deadlocks,
        orbits=None,
        orbit_transitions=None,
        claims=tally.claims(complete),
        seconds=time.perf_counter() - started,
        compile_seconds=0.0,
        memory_bytes=len(seen) * PYTHON_STATE_BYTES,
    )


# -- the compiled engine ------------------------------------------------------------------------------------


class StateSearch:
    """One compiled search: what is known, the layer that is expanded, the one that is found."""

    def __init__(self, network: NetworkModel, *, symmetry: bool, memory_bytes: int) -> None:
        from quidnunc.properties.solver.emit import compiled_module

        started = time.perf_counter()
        self.network = network
        self.symmetry = symmetry
        self.memory_bytes = memory_bytes
        self.module = compiled_module(network, symmetry=symmetry)
        self.as_bits = network.bits <= MAX_SET_BITS and self._bits_fit()
        self.peak_bytes = 0
        self._reset()
        # Compiling is by the first call, with nothing to expand.
        self._expand(self.layer, 0)
        self.compile_seconds = time.perf_counter() - started

    def _bits_fit(self) -> bool:
        return (1 << self.network.bits) // 8 <= self.memory_bytes // 2

    def _reset(self) -> None:
        rules = len(self.network.rules)
        self.out = np.zeros(rules + 1, np.uint64)
        self.fired = np.zeros(rules + 1, np.int64)
        self.counters = np.zeros(8, np.int64)
        self.layer = np.zeros(1, np.uint64)
        self.found = np.zeros(rules + 1, np.uint64)
        if self.as_bits:
            self.known = np.zeros(max(1, 1 << max(0, self.network.bits - 6)), np.uint64)
            self.known[0] = 1
        else:
            self.known = np.zeros(1 << FIRST_TABLE_BITS, np.uint64)
            self.module.enter(self.known, np.uint64(0))
        # The first state stands for an orbit of its own: all fields are zero.
        self.counters[self.module.FULL_STATES] = 1
        self.counters[self.module.ENTRIES] = 1

    def _expand(self, layer: Any, length: int) -> None:
        loop = self.module.expand_bits if self.as_bits else self.module.expand_table
        rest = () if self.as_bits else (int(len(self.known) * FULL_TABLE),)
        loop(self.known, layer, length, self.found, self.counters, self.out, self.fired, *rest)

    def _used(self, more: int = 0) -> int:
        return int(self.known.nbytes + self.layer.nbytes + self.found.nbytes) + more

    def _room(self, more: int) -> bool:
        """Whether `more` bytes may be taken, the old array being held until it is copied."""
        if self._used(more) > self.memory_bytes:
            return False
        self.peak_bytes = max(self.peak_bytes, self._used(more))
        return True

    def _grown(self) -> bool:
        """More room for what ran out of it; False where the memory limit does not allow it."""
        module, rules = self.module, len(self.network.rules)
        if int(self.counters[module.FOUND]) > len(self.found) - rules:
            if not self._room(2 * self.found.nbytes):
                return False
            self.found = np.concatenate([self.found, np.zeros_like(self.found)])
            return True
        if not self._room(2 * self.known.nbytes):
            return False
        larger = np.zeros(2 * len(self.known), np.uint64)
        module.rehash(self.known, larger)
        self.known = larger
        return True

    def next_layer(self, length: int) -> int | None:
        """Expand the layer: how many states the next one has, or None where the memory did not suffice."""
        module, counters = self.module, self.counters
        counters[module.TAKEN] = counters[module.FOUND] = 0
        wanted = len(self.network.rules) + 2 * length + 1
        if len(self.found) < wanted and self._room(8 * wanted):
            self.found = np.zeros(wanted, np.uint64)
        self._expand(self.layer, length)
        while int(counters[module.TAKEN]) < length:
            if not self._grown():
                return None
            self._expand(self.layer, length)
        self.layer, self.found = self.found, self.layer
        return int(counters[module.FOUND])

    def run(self, progress: Progress | None) -> ExplorationResult:
        """Layer by layer to the end, or to the memory limit."""
        started = time.perf_counter()
        module, counters = self.module, self.counters
        tally = _Tally(self.network)
        tally.note(int(module.noted(np.uint64(0))), 0)
        length: int | None = 1
        entered, depth = 1, 0
        while True:
            assert length is not None
            length = self.next_layer(length)
            tally.note(int(counters[module.NOTED]), depth + 1)
            if not length:
                break
            entered += length
            depth += 1
            if progress:
                progress(f"{entered} {'orbits' if self.symmetry else 'states'}, depth {depth}")
        if length is None:
            entered += int(counters[module.FOUND])
            depth += int(counters[module.FOUND]) > 0
        transitions = int(counters[module.TRANSITIONS])
        self.peak_bytes = max(self.peak_bytes, self._used())
        return ExplorationResult(
            states=int(counters[module.FULL_STATES]),
            transitions=int(counters[module.FULL_TRANSITIONS]),
            depth=depth,
            complete=length is not None,
            deadlocks=int(counters[module.DEADLOCKS]),
            orbits=entered if self.symmetry else None,
            orbit_transitions=transitions if self.symmetry else None,
            claims=tally.claims(length is not None),
            seconds=time.perf_counter() - started,
            compile_seconds=self.compile_seconds,
            memory_bytes=self.peak_bytes,
        )
