"""Shortest traces: from the first state to the nearest one of which a claim takes a note.

The search keeps its layers, without symmetry, so that a trace names the peers as they are. Of several
shortest traces both engines take the same: the least last state, and from there back the least state before.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from quidnunc.properties.lazy import numpy as np
from quidnunc.properties.solver.explore import DEFAULT_MEMORY_BYTES, PYTHON_STATE_BYTES, Engine, StateSearch
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.rules import NetworkModel


class MissingTrace(Exception):
    """There is no trace to print; the message says why."""


@frozen
class NetworkTrace:
    """States as packed words, and the rule between each two."""

    network: NetworkModel
    claim: str
    words: tuple[int, ...]
    rules: tuple[int, ...]
    """One less than there are words."""

    def rows(self) -> list[tuple[str, ...]]:
        """One row per state: number, the rule that led there, its clause, and the state in columns."""
        found = []
        for number, word in enumerate(self.words):
            rule = self.network.rules[self.rules[number - 1]] if number else None
            said = (self.network.spoken(rule), rule.clause) if rule else ("the start", "")
            cells = (
                self.network.shown(self.network.unpacked(word))
                if self.network.shown
                else [("state", str(word))]
            )
            found.append((str(number), *said, *(text for _, text in cells)))
        return found

    def header(self) -> tuple[str, ...]:
        return ("step", "rule", "clause", *(column for column, _ in self._cells(0)))

    def _cells(self, word: int) -> Sequence[tuple[str, str]]:
        if self.network.shown is None:
            return [("state", str(word))]
        return self.network.shown(self.network.unpacked(word))


def shortest_trace(
    network: NetworkModel,
    claim: str,
    *,
    engine: Engine = "compiled",
    memory_bytes: int = DEFAULT_MEMORY_BYTES,
) -> NetworkTrace:
    """The shortest trace to a state that breaks an `always` claim or meets a `sometimes` one.

    Raises KeyError where there is no such claim, NoTrace where no state is reachable or the memory is short.
    """
    number = [c.id for c in network.claims].index(network.claim(claim).id)
    found = (
        _slowly(network, number, memory_bytes)
        if engine == "python"
        else _compiled(network, number, memory_bytes)
    )
    return NetworkTrace(network, claim, tuple(w for w, _ in found), tuple(rule for _, rule in found[1:]))


def _no_trace(network: NetworkModel, number: int) -> MissingTrace:
    claim = network.claims[number]
    why = "no reachable state breaks it" if claim.kind == "always" else "no reachable state meets it"
    return MissingTrace(f"{claim.id} of {network.name} has no trace: {why}")


def _too_small(network: NetworkModel, depth: int) -> MissingTrace:
    return MissingTrace(
        f"{network.name}: the memory limit was reached at depth {depth}; raise it with --memory"
    )


def _slowly(network: NetworkModel, number: int, memory_bytes: int) -> list[tuple[int, int]]:
    """(word, number of the rule that led there) from the first state on."""
    steps = interpreter(network)
    seen = {steps.start()}
    layers = [sorted(seen)]
    while layers[-1]:
        hits = [s for s in layers[-1] if steps.noted(s) >> number & 1]
        if hits:
            break
        if len(seen) * PYTHON_STATE_BYTES > memory_bytes:
            raise _too_small(network, len(layers) - 1)
        fresh = {after for state in layers[-1] for _, after in steps.enabled(state)} - seen
        seen |= fresh
        layers.append(list(fresh))
    else:
        raise _no_trace(network, number)
    target = min(hits, key=steps.word)
    found = []
    for layer in reversed(layers[:-1]):
        before = [
            (steps.word(s), rule, s) for s in layer for rule, after in steps.enabled(s) if after == target
        ]
        _, rule, state = min(before)
        found.append((steps.word(target), rule))
        target = state
    return [(steps.word(target), -1), *reversed(found)]


def _compiled(network: NetworkModel, number: int, memory_bytes: int) -> list[tuple[int, int]]:
    """As `_slowly`, by machine code."""
    search = StateSearch(network, symmetry=False, memory_bytes=memory_bytes)
    module = search.module
    layers = [(search.layer.copy(), 1)]
    while layers[-1][1]:
        at = module.least_noted(*layers[-1], number)
        if at >= 0:
            break
        length = search.next_layer(layers[-1][1])
        kept = sum(layer.nbytes for layer, _ in layers)
        if length is None or kept + search.peak_bytes > memory_bytes:
            raise _too_small(network, len(layers) - 1)
        layers.append((search.layer[:length].copy(), length))
    else:
        raise _no_trace(network, number)
    target = layers[-1][0][at]
    found: list[tuple[int, int]] = []
    for layer, length in reversed(layers[:-1]):
        place, rule = module.least_before(layer, length, np.uint64(target), search.out, search.fired)
        found.append((int(target), int(rule)))
        target = layer[place]
    return [(int(target), -1), *reversed(found)]


def is_valid_trace(trace: NetworkTrace) -> bool:
    """Whether the interpreter takes every step of a trace, and the last state alone is one to note."""
    steps = interpreter(trace.network)
    number = [c.id for c in trace.network.claims].index(trace.claim)
    states: Sequence[tuple[int, ...]] = [steps.state(word) for word in trace.words]
    for at, rule in enumerate(trace.rules):
        if (rule, states[at + 1]) not in list(steps.enabled(states[at])):
            return False
    notes = [steps.noted(state) >> number & 1 for state in states]
    return trace.words[0] == 0 and notes == [0] * (len(notes) - 1) + [1]
