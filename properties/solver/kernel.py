"""The inner loops of the compiled explorer, in the part of Python that numba compiles.

This text is never run from here: from the line below on it is copied behind the emitted `successors`, `noted`
and `image` of one network (`solver/emit.py`) and compiled with them, so that they are inlined. A state is a
uint64. What grows is allocated by the caller: a function that runs out of room leaves in the counters how far
it came, and is called again with more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    Words: TypeAlias = np.ndarray
    RULES: int = 0
    IMAGES: int = 1

    def successors(state: np.uint64, out: Words, fired: Words) -> int:
        """Write the next states and the numbers of their rules; how many they are."""

    def noted(state: np.uint64) -> np.uint64:
        """Bit i is set where claim i takes a note of the state."""

    def image(state: np.uint64, permutation: int) -> np.uint64:
        """The state with its peers permuted; permutation 0 changes nothing."""


# --- compiled with the rules of a network ---

TAKEN, FOUND, TRANSITIONS, DEADLOCKS, NOTED, FULL_STATES, FULL_TRANSITIONS, ENTRIES = 0, 1, 2, 3, 4, 5, 6, 7
"""The counters: states of the layer that were expanded, new states that stand in `found`, pairs of a state
and a rule enabled in it, states without any, the notes of new states; how many states and pairs there are
without symmetry; and the entries of an open table."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
SIX = np.uint64(6)
LOW6 = np.uint64(63)
MIX = np.uint64(0x9E3779B97F4A7C15)
MIX_SHIFT = np.uint64(31)


def known(visited: Words, state: np.uint64) -> bool:
    """Whether a set of bits has the state."""
    return bool((visited[state >> SIX] >> (state & LOW6)) & ONE)


def mark(visited: Words, state: np.uint64) -> None:
    visited[state >> SIX] |= ONE << (state & LOW6)


def enter(table: Words, state: np.uint64) -> bool:
    """Enter a state into an open table of 2**n places; whether it is new. Entries are states + 1."""
    mask = np.uint64(table.shape[0] - 1)
    entry = state + ONE
    mixed = state * MIX
    at = (mixed ^ (mixed >> MIX_SHIFT)) & mask
    while table[at] != ZERO:
        if table[at] == entry:
            return False
        at = (at + ONE) & mask
    table[at] = entry
    return True


def rehash(old: Words, new: Words) -> None:
    """Enter everything of one table into a larger one."""
    for i in range(old.shape[0]):
        if old[i] != ZERO:
            enter(new, old[i] - ONE)


def least_image(state: np.uint64) -> np.uint64:
    """The least of all images of a state, which stands for its orbit."""
    least = state
    for p in range(1, IMAGES):
        other = image(state, p)
        if other < least:
            least = other
    return least


def orbit_size(state: np.uint64) -> int:
    """How many different images a state has: all permutations by those that keep it."""
    kept = 0
    for p in range(IMAGES):
        if image(state, p) == state:
            kept += 1
    return IMAGES // kept


def expand_bits(
    visited: Words, layer: Words, length: int, found: Words, c: Words, out: Words, fired: Words
) -> None:
    """Expand what is left of `layer[:length]`, one state of each orbit, with a set of bits for what is known.

    Without symmetry a state is an orbit of its own. All images are entered: a known one costs one look.
    """
    n = c[FOUND]
    room = found.shape[0] - RULES
    i = c[TAKEN]
    notes = ZERO
    while i < length and n <= room:
        size = orbit_size(layer[i])
        enabled = successors(layer[i], out, fired)
        c[TRANSITIONS] += enabled
        c[FULL_TRANSITIONS] += enabled * size
        if enabled == 0:
            c[DEADLOCKS] += size
        for k in range(enabled):
            state = out[k]
            if not known(visited, state):
                for p in range(IMAGES):
                    mark(visited, image(state, p))
                c[FULL_STATES] += orbit_size(state)
                found[n] = state
                n += 1
                notes |= noted(state)
        i += 1
    c[TAKEN] = i
    c[FOUND] = n
    c[NOTED] |= np.int64(notes)


def expand_table(
    table: Words, layer: Words, length: int, found: Words, c: Words, out: Words, fired: Words, limit: int
) -> None:
    """As `expand_bits`, with an open table of the least state of each orbit, until it has `limit` entries."""
    n = c[FOUND]
    room = found.shape[0] - RULES
    i = c[TAKEN]
    notes = ZERO
    while i < length and n <= room and c[ENTRIES] + RULES <= limit:
        size = orbit_size(layer[i])
        enabled = successors(layer[i], out, fired)
        c[TRANSITIONS] += enabled
        c[FULL_TRANSITIONS] += enabled * size
        if enabled == 0:
            c[DEADLOCKS] += size
        for k in range(enabled):
            state = least_image(out[k])
            if enter(table, state):
                found[n] = state
                n += 1
                c[ENTRIES] += 1
                c[FULL_STATES] += orbit_size(state)
                notes |= noted(state)
        i += 1
    c[TAKEN] = i
    c[FOUND] = n
    c[NOTED] |= np.int64(notes)


def least_noted(layer: Words, length: int, claim: int) -> int:
    """The place of the least state of a layer of which the claim takes a note, or -1."""
    best = -1
    for i in range(length):
        if (noted(layer[i]) >> np.uint64(claim)) & ONE != ZERO and (best < 0 or layer[i] < layer[best]):
            best = i
    return best


def least_before(layer: Words, length: int, state: np.uint64, out: Words, fired: Words) -> tuple[int, int]:
    """(place, rule) of the least state of a layer with a step to `state`, by the first such rule, or -1s."""
    best = -1
    rule = -1
    for i in range(length):
        enabled = successors(layer[i], out, fired)
        for k in range(enabled):
            if out[k] == state and (best < 0 or layer[i] < layer[best]):
                best = i
                rule = fired[k]
    return best, rule
