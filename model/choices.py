"""Freedom that the text leaves, as named choices, and the oracles that resolve them.

A rule asks for a constrained set, not for a draw: `choose.some(name, clause, among, (least, most), ...)`.
Four oracles answer the same question. `SeededChoices` simulates. `ScriptedChoices` takes the answers of a
script, so that an enumeration (`outcomes`) or a Hypothesis draw can supply them. `AngelicChoices` reads what
a router under test was seen to do and accepts it if it is allowed; what shows only later stays a
`PartialSet`, narrowed by later effects (Li et al., Testing by dualization).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, zip_longest
from typing import Protocol, TypeVar

from attrs import field, frozen, mutable

from quidnunc.model.events import Output
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Targets

T = TypeVar("T")

MAX_FORKS = 64
"""How many outcomes of one step an oracle goes through before it says that it did not finish."""


@frozen
class PartialSet:
    """A set that has not shown yet: `must` <= it <= `must | may`, with `least` to `most` members."""

    must: frozenset[Peer] = frozenset()
    may: frozenset[Peer] = frozenset()
    least: int = 0
    most: int = 0

    @classmethod
    def of(cls, members: Iterable[Peer]) -> PartialSet:
        known = frozenset(members)
        return cls(known, frozenset(), len(known), len(known))

    @property
    def all(self) -> frozenset[Peer]:
        return self.must | self.may

    def holds(self, peer: Peer) -> bool | None:
        """True, False, or None where it has not shown."""
        return True if peer in self.must else None if peer in self.may else False

    def less(self, gone: Iterable[Peer]) -> PartialSet:
        """After `gone` have left it, whether or not they were in it."""
        lost = frozenset(gone)
        if not lost & self.all:
            return self
        must, may = self.must - lost, self.may - lost
        surely = len(self.must & lost)
        perhaps = len(self.may & lost)
        most = min(self.most - surely, len(must) + len(may))
        return PartialSet(must, may, max(len(must), self.least - surely - perhaps), most).settled()

    def settled(self) -> PartialSet:
        """The same, with its members known where the count leaves nothing open."""
        if self.most == len(self.must):
            return PartialSet.of(self.must)
        if self.least == len(self.must) + len(self.may):
            return PartialSet.of(self.all)
        return self


def _alternatives(shown: Output | tuple[Output, ...]) -> frozenset[Output]:
    return frozenset(shown) if isinstance(shown, tuple) else frozenset((shown,))


TOO_FEW = "chosen, at least"
"""In the reason of a problem, where fewer were chosen than had to be."""
NOT_THOSE = "chosen, but not as the clause demands"
"""The same where enough were, and others had to be."""


@frozen
class ChoiceProblem:
    """A choice that the router made outside its constraint."""

    name: str
    clause: str
    reason: str


Reveals = Callable[[Peer], Output | tuple[Output, ...]]
"""How a chosen peer shows: by this output, or by any of these."""
SuchThat = Callable[[frozenset[Peer]], bool]


Shows = Callable[[Output], bool]
"""Whether an output is one by which a yes shows."""


class Choose(Protocol):
    """What a rule may ask of an oracle."""

    def fired(self, clause: str) -> None:
        """Note that a rule of this clause decided."""
        ...

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        """A subset of `among.all` of `count` (least, most) members; `reveals` is how each one shows."""
        ...

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        """A set that shows later or never."""
        ...

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        """A free yes or no; yes shows by an output for which `shows` holds, and by nothing else."""
        ...

    def free(self, name: str, likely: Shows | None = None) -> bool:
        """A free yes or no that no output settles: both answers are tried, and first the one that `likely`
        suggests."""
        ...


class RandomSource(Protocol):
    """What the seeded oracle needs of a source of randomness (`random.Random` will do)."""

    def sample(self, population: Sequence[Peer], k: int, /) -> list[Peer]: ...
    def randint(self, a: int, b: int, /) -> int: ...
    def random(self) -> float: ...


@mutable
class SeededChoices:
    """Draws. Tries a constraint a bounded number of times by sampling, then in order."""

    die: RandomSource
    because: list[str] = field(factory=list)

    def fired(self, clause: str) -> None:
        self.because.append(clause)

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        pool = sorted(among.all)
        least, most = count
        # Two edits together may ask for more than there may be.
        most = max(0, min(most, len(pool)))
        size = self.die.randint(max(0, min(least, most)), most)
        for _ in range(20):
            drawn = frozenset(self.die.sample(pool, size))
            if such_that is None or such_that(drawn):
                return drawn
        for candidate in combinations(pool, size):
            if such_that is None or such_that(frozenset(candidate)):
                return frozenset(candidate)
        return frozenset(pool[:size])

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        pool = sorted(among.may)
        extra = self.die.randint(max(0, among.least - len(among.must)), max(0, among.most - len(among.must)))
        return PartialSet.of(among.must | frozenset(self.die.sample(pool, min(extra, len(pool)))))

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        return self.die.random() < 0.5

    def free(self, name: str, likely: Shows | None = None) -> bool:
        return self.die.random() < 0.5


@mutable
class ScriptedChoices:
    """Takes the k-th alternative of each choice from a script; beyond its end, the first one.

    `widths` records how many alternatives each choice had (at most `MAX_FORKS`), so that a caller can
    enumerate them (`outcomes`) or draw them.
    """

    script: Sequence[int] = ()
    because: list[str] = field(factory=list)
    widths: list[int] = field(factory=list)

    def fired(self, clause: str) -> None:
        self.because.append(clause)

    def _take(self, options: Sequence[T]) -> T:
        at = len(self.widths)
        self.widths.append(len(options))
        return options[self.script[at] % len(options) if at < len(self.script) else 0]

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        return self._take(list(islice(subsets(among.all, count, such_that), MAX_FORKS)) or [frozenset()])

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        spare = len(among.must)
        options = subsets(among.may, (max(0, among.least - spare), among.most - spare), None)
        return PartialSet.of(among.must | self._take(list(islice(options, MAX_FORKS)) or [frozenset()]))

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        return self._take((default, not default))

    def free(self, name: str, likely: Shows | None = None) -> bool:
        return self._take((False, True))


def subsets(
    among: frozenset[Peer], count: tuple[int, int], such_that: SuchThat | None
) -> Iterator[frozenset[Peer]]:
    """Every subset within the constraint, largest first."""
    pool = sorted(among)
    for size in range(min(count[1], len(pool)), max(0, min(count[0], len(pool))) - 1, -1):
        for members in combinations(pool, size):
            if such_that is None or such_that(frozenset(members)):
                yield frozenset(members)


def outcomes(
    run: Callable[[ScriptedChoices], T], limit: int = MAX_FORKS
) -> tuple[list[tuple[T, ScriptedChoices]], bool]:
    """Every result of `run` over all answers to its choices, and whether that was all of them."""
    found: list[tuple[T, ScriptedChoices]] = []
    script: list[int] = []
    while True:
        oracle = ScriptedChoices(tuple(script))
        found.append((run(oracle), oracle))
        taken = [(script[i] if i < len(script) else 0) for i in range(len(oracle.widths))]
        while taken and taken[-1] + 1 >= oracle.widths[len(taken) - 1]:
            taken.pop()
        if not taken:
            return found, True
        if len(found) >= limit:
            return found, False
        taken[-1] += 1
        script = taken


@mutable
class AngelicChoices:
    """Reads the answers off what a router was seen to do in this step.

    A choice outside its constraint is noted in `problems` and adopted, so that one departure does not make
    the rest of the step unreadable. Where more was seen than one choice can account for (two phases of a
    heartbeat graft in one topic), the split is one of several `alternatives`; `split` says which to take, as
    a number with one digit per choice, the first choice's the lowest. Those that contain `wanted` come first.
    """

    observed: frozenset[Output]
    split: int = 0
    blind: frozenset[Peer] = frozenset()
    """Peers whose outputs cannot be seen now, because they are stalled."""
    wanted: frozenset[Output] = frozenset()
    """What nothing accounted for when these choices were split otherwise."""
    limit: int = MAX_FORKS
    """How many answers of one choice are told apart."""
    alike: Mapping[Peer, int] | None = None
    """Peer -> its class: of answers that take as many of each class, one stands for all. All peers are of
    classes of their own where there is none."""
    blurred: bool = False
    """A choice could have fallen on a peer of `blind`."""
    because: list[str] = field(factory=list)
    problems: list[ChoiceProblem] = field(factory=list)
    alternatives: int = 1
    widths: list[int] = field(factory=list)
    """How many answers each choice had of those that `split` decides."""
    could_leave: bool = False
    """A choice took all that it could, and might have left some to another one."""
    frees: int = 0
    """How many `free` answers were asked for: several of the alternatives may agree with what was seen."""
    _claimed: set[Output] = field(factory=set)
    _taken: list[frozenset[Peer]] = field(factory=list)

    def fired(self, clause: str) -> None:
        self.because.append(clause)

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        least, most = count
        observed, claimed = self.observed, self._claimed
        pool = among.all
        shown = {p: _alternatives(reveals(p)) & observed - claimed for p in pool}
        seen = frozenset(p for p, outputs in shown.items() if outputs)
        self.could_leave |= least < len(seen) <= most
        too_many = len(seen) > most
        if too_many or (self.alike is not None and len(seen) > least):
            surely = frozenset(p for p in seen if shown[p] & self.wanted)
            seen = self._one_of(seen, count, surely, such_that, among)
        if not too_many and such_that is not None and len(seen) >= least and not such_that(seen):
            self.problems.append(ChoiceProblem(name, clause, f"{len(seen)} {NOT_THOSE}"))
        if len(seen) < most and self.blind & pool:
            self.blurred = True
        elif len(seen) < least:
            self.problems.append(ChoiceProblem(name, clause, f"{len(seen)} {TOO_FEW} {least} required"))
        claimed.update(o for p in seen for o in shown[p])
        self._taken.append(seen)
        return seen

    def _one_of(
        self,
        seen: frozenset[Peer],
        count: tuple[int, int],
        surely: frozenset[Peer],
        such_that: SuchThat | None,
        among: Targets,
    ) -> frozenset[Peer]:
        least, most = count
        # Who answered alone to a free question is like no other any more.
        if self.alike is not None and not self.frees:
            each = (s for s in self._of_classes(seen, count, among) if such_that is None or such_that(s))
            return self._option(each, seen, most)
        spare = most - len(surely)
        first = (surely | rest for rest in subsets(seen - surely, (spare, spare), None)) if spare >= 0 else ()
        fitting = (s for s in first if such_that is None or such_that(s))
        others = (s for s in subsets(seen, (most, most), such_that) if not surely <= s)
        # It may have left more than it had to: what the next choice is made from depends on that. Sizes take
        # turns, because there may be too many answers of the largest to get to the others.
        fewer = (subsets(seen, (size, size), such_that) for size in range(most - 1, least - 1, -1))
        return self._option(_in_turn(chain(fitting, others), *fewer), seen, most)

    def _of_classes(
        self, seen: frozenset[Peer], count: tuple[int, int], among: Targets
    ) -> Iterator[frozenset[Peer]]:
        """One answer for each number of members of each class. What was taken before makes a difference."""
        assert self.alike is not None
        classes: dict[object, list[Peer]] = {}
        for peer in sorted(seen):
            before = tuple(peer in taken for taken in self._taken)
            classes.setdefault((self.alike.get(peer, -peer), peer in among.must, before), []).append(peer)
        return _of_each([*classes.values()], *count)

    def _option(self, each: Iterator[frozenset[Peer]], seen: frozenset[Peer], most: int) -> frozenset[Peer]:
        options = list(islice(each, self.limit))
        return options[self._digit(len(options))] if options else frozenset(sorted(seen)[:most])

    def _digit(self, width: int) -> int:
        digit = self.split // self.alternatives % width
        self.alternatives *= width
        self.widths.append(width)
        return digit

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        return among.settled()

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        return any(shows(o) for o in self.observed)

    def free(self, name: str, likely: Shows | None = None) -> bool:
        first = likely is not None and any(likely(o) for o in self.observed)
        self.frees += 1
        return first != bool(self._digit(2))


def _in_turn(*each: Iterable[frozenset[Peer]]) -> Iterator[frozenset[Peer]]:
    """One of each, and again, to the end of all."""
    return (taken for turn in zip_longest(*each) for taken in turn if taken is not None)


def _of_each(classes: Sequence[Sequence[Peer]], least: int, most: int) -> Iterator[frozenset[Peer]]:
    """The first ones of each class, in all numbers that come to `least` to `most`."""
    if not classes:
        if least <= 0:
            yield frozenset()
        return
    first, rest = classes[0], classes[1:]
    others = sum(map(len, rest))
    for number in range(min(len(first), most), max(0, least - others) - 1, -1):
        for more in _of_each(rest, least - number, most - number):
            yield more.union(first[:number])


def next_split(split: int, widths: Sequence[int]) -> int | None:
    """The split after this one, where it had choices of these widths; None after the last.

    What the first choices answered decides which come later, so that it is the last one that counts up.
    """
    digits = []
    for width in widths:
        split, digit = divmod(split, width)
        digits.append(digit)
    while digits and digits[-1] + 1 >= widths[len(digits) - 1]:
        digits.pop()
    if not digits:
        return None
    digits[-1] += 1
    number = 0
    for digit, width in zip(reversed(digits), reversed(widths[: len(digits)]), strict=True):
        number = number * width + digit
    return number


def settled(known: bool | None, name: str, choose: Choose, likely: Shows | None = None) -> bool:
    """`known`, or where it is free what `choose` says."""
    return choose.free(name, likely) if known is None else known
