"""An invariant of a pair that a person can read: small clauses, inferred from the table and then minimised.

Candidates are all clauses of up to four literals over a few words (holds, backs off, what is in flight) that
are true of every reachable state of the pair. Those that some rule does not keep are dropped until the rest
keep each other (Houdini's way), and of the rest every clause is dropped without which the others are still
inductive and imply the claim. All this is search; what it finds is proved by z3, in `solver/induction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import TypeAlias

from attrs import frozen

from quidnunc.properties.lazy import numpy as np
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.mesh.links import GRAFT, PRUNE, VARIANTS, Pair, kinds_of
from quidnunc.properties.proofs.mesh.projection import PairTable
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.rules import Expression, NetworkModel, channel_width, content_of, name_of

MAX_LITERALS = 4

MAX_SPACE = 50_000
"""States of a pair, reachable or not, that the search holds several times over."""

Content: TypeAlias = tuple[int, ...]


@frozen
class PairPredicate:
    """Something that is true or false of one direction of a pair: of `x` and `y`."""

    text: str
    """With {x} and {y}."""
    kind: str
    """The kind of the field that it reads: of {x} alone for `sub`, of the pair otherwise."""
    of: Callable[[Content], bool] | None = None
    """For a channel, what is asked of its content."""

    def about(self, pair: Pair) -> str:
        return name_of(self.kind, pair[:1] if self.kind == "sub" else pair)


WORDS = (
    PairPredicate("{x} is in the topic", "sub"),
    PairPredicate("{x} holds {y}", "mesh"),
    PairPredicate("{x} backs off from {y}", "backoff"),
    PairPredicate("something is in flight from {x} to {y}", "channel", lambda c: bool(c)),
    PairPredicate("a GRAFT is in flight from {x} to {y}", "channel", lambda c: GRAFT in c),
    PairPredicate("a PRUNE is in flight from {x} to {y}", "channel", lambda c: PRUNE in c),
    PairPredicate("the newest message from {x} to {y} is a GRAFT", "channel", lambda c: c[-1:] == (GRAFT,)),
    PairPredicate("the oldest message from {x} to {y} is a GRAFT", "channel", lambda c: c[:1] == (GRAFT,)),
    PairPredicate("several messages are in flight from {x} to {y}", "channel", lambda c: len(c) > 1),
)


@frozen
class PredicateLiteral:
    """A word of one direction, or its denial."""

    word: int
    pair: Pair
    true: bool

    def swapped(self) -> PredicateLiteral:
        return PredicateLiteral(self.word, (self.pair[1], self.pair[0]), self.true)

    def text(self, true: bool) -> str:
        x, y = ("AB"[p] for p in self.pair)
        said = WORDS[self.word].text.format(x=x, y=y)
        return said if true else f"not ({said})"


Clause: TypeAlias = frozenset[PredicateLiteral]
Ruled: TypeAlias = tuple[Clause, Expression]
"""A clause, and of which states it and its mirror image are true."""


def swapped(clause: Clause) -> Clause:
    return frozenset(literal.swapped() for literal in clause)


def goal_clauses() -> list[Clause]:
    """The claim itself: something is in flight, or who holds is held."""
    flight = next(k for k, w in enumerate(WORDS) if w.text.startswith("something"))
    holds = next(k for k, w in enumerate(WORDS) if w.kind == "mesh")
    ways = [PredicateLiteral(flight, (0, 1), True), PredicateLiteral(flight, (1, 0), True)]
    one: Clause = frozenset(
        [*ways, PredicateLiteral(holds, (0, 1), False), PredicateLiteral(holds, (1, 0), True)]
    )
    return [one, swapped(one)]


def clause_sentence(clause: Clause) -> str:
    """A clause as a sentence: if what it denies is so, then one of what it affirms."""
    order = sorted(clause, key=lambda literal: (literal.pair, literal.word))
    given = [literal.text(True) for literal in order if not literal.true]
    then = [literal.text(True) for literal in order if literal.true]
    if not then:
        return f"never: {' and '.join(given)}"
    return f"if {' and '.join(given)} then {' or '.join(then)}" if given else f"always: {' or '.join(then)}"


def expression_of(network: NetworkModel, clause: Clause, pair: Pair) -> Expression:
    """A clause about a pair of a network, over its fields."""
    symbols = {f.name: f.symbol for f in network.fields}
    parts = []
    for literal in clause:
        word = WORDS[literal.word]
        between = (pair[literal.pair[0]], pair[literal.pair[1]])
        symbol = symbols[word.about(between)]
        if word.of is not None:
            kinds, capacity = kinds_of(VARIANTS[network.name]), int(network.parameters["capacity"])
            codes = range(sum(kinds**n for n in range(capacity + 1)))
            symbol = z3.Or(*(symbol == code for code in codes if word.of(content_of(code, kinds))))
        parts.append(symbol if literal.true else z3.Not(symbol))
    return z3.Or(*parts)


def readable(table: PairTable) -> bool:
    """Whether the words suffice for the variant: two kinds of messages, and few enough states."""
    kinds = kinds_of(VARIANTS[table.abstraction.name])
    codes = sum(kinds**n for n in range(table.longest + 1))
    bits = sum(f.width for f in table.abstraction.fields if f.kind != "channel")
    return kinds == 2 and codes * codes << bits <= MAX_SPACE


# -- the search ---------------------------------------------------------------------------------------------


class _PairSpace:
    """All states of a pair, reachable or not, and the steps between them."""

    def __init__(self, table: PairTable) -> None:
        network = table.abstraction
        steps = interpreter(network)
        kinds = kinds_of(VARIANTS[network.name])
        codes = sum(kinds**n for n in range(table.capacity + 1))
        assert codes <= 1 << channel_width(kinds, table.capacity)
        ranges = [range(codes) if f.kind == "channel" else range(1 << f.width) for f in network.fields]
        self.states = list(product(*ranges))
        numbers = {state: number for number, state in enumerate(self.states)}
        found = [(numbers[s], numbers[after]) for s in self.states for _, after in steps.enabled(s)]
        self.before, self.after = np.array(found).T
        self.reachable = np.zeros(len(self.states), bool)
        self.reachable[[numbers[s] for s in table.states]] = True
        places = {f.name: k for k, f in enumerate(network.fields)}
        self.true = {
            (number, pair): np.array(
                [self._says(word, s[places[word.about(pair)]], kinds) for s in self.states]
            )
            for number, word in enumerate(WORDS)
            if word.about((0, 1)) in places
            for pair in ((0, 1), (1, 0))
        }

    def _says(self, word: PairPredicate, value: int, kinds: int) -> bool:
        return bool(value) if word.of is None else word.of(content_of(value, kinds))

    def mask(self, clause: Clause) -> Expression:
        """Of which states a clause and its mirror image are true."""
        result = np.ones(len(self.states), bool)
        for one in (clause, swapped(clause)):
            either = np.zeros(len(self.states), bool)
            for literal in one:
                either |= self.true[literal.word, literal.pair] == literal.true
            result &= either
        return result

    def kept(self, masks: Sequence[Expression]) -> bool:
        """Whether no step leads out of all masks at once."""
        inside = self.all_of(masks)
        return not bool((inside[self.before] & ~inside[self.after]).any())

    def all_of(self, masks: Sequence[Expression]) -> Expression:
        return np.logical_and.reduce(masks)


def _candidates(space: _PairSpace) -> Iterator[Ruled]:
    """Clauses that are true of all reachable states. A shorter one does not make a longer one idle: the
    shorter may have to be dropped, being no consequence of what was kept."""
    literals = [PredicateLiteral(word, pair, true) for word, pair in space.true for true in (True, False)]
    found: set[Clause] = set()
    for size in range(1, MAX_LITERALS + 1):
        for chosen in combinations(literals, size):
            clause = frozenset(chosen)
            if len({(one.word, one.pair) for one in chosen}) < size:
                continue
            if swapped(clause) in found:
                continue
            mask = space.mask(clause)
            if bool(mask[space.reachable].all()) and not bool(mask.all()):
                found.add(clause)
                yield clause, mask


def inferred_clauses(table: PairTable) -> list[Clause] | None:
    """Few small clauses which, with the claim, are inductive and so prove it; None where there are none.

    A clause stands for its mirror image too. The claim's own clause comes first.
    """
    space = _PairSpace(table)
    goal = goal_clauses()[0]
    pool = [(goal, space.mask(goal)), *_candidates(space)]
    pool = _houdini(space, pool)
    if not pool or pool[0][0] != goal:
        return None
    # Longer clauses go first, so that short ones are left.
    ordered = sorted(pool[1:], key=lambda one: (-len(one[0]), clause_sentence(one[0])))
    return [goal, *(clause for clause, _ in _minimised(space, pool[:1], ordered))]


def _minimised(space: _PairSpace, kept: Sequence[Ruled], others: Sequence[Ruled]) -> list[Ruled]:
    """Those of `others` without which `kept` is not inductive. Whole blocks are dropped where that can be."""
    waiting: list[list[Ruled]] = [list(others)]
    left: list[Ruled] = []
    while waiting:
        block = waiting.pop(0)
        rest = [*kept, *left, *(one for more in waiting for one in more)]
        if space.kept([mask for _, mask in rest]):
            continue
        if len(block) == 1:
            left += block
        else:
            middle = len(block) // 2
            waiting[:0] = [block[:middle], block[middle:]]
    return left


def _houdini(space: _PairSpace, pool: list[Ruled]) -> list[Ruled]:
    """Drop every clause that some step out of a state of all does not keep, until none is dropped."""
    while pool:
        inside = space.all_of([mask for _, mask in pool])
        reached = space.after[inside[space.before]]
        left = [(clause, mask) for clause, mask in pool if bool(mask[reached].all())]
        if len(left) == len(pool):
            return pool
        pool = left
    return pool
