"""What changes in behaviour between two protocols: per change the shortest trace found that separates them.

Tried first are the cases of both suites for the rules that changed, then random walks of the two from
prepared situations, and last the same with the change alone made or taken back, where other changes part OLD
and NEW before. Everything is drawn from the seed and the name of the change, so that it is the same on every
machine.

"Shortest" is what this search shows and no proof: what was found is minimised by deletion. Where nothing is
found, that is said with the walks that were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeAlias

from attrs import field, frozen, mutable

from quidnunc.model.errors import SpecError
from quidnunc.model.events import Advance, Connect
from quidnunc.properties.cases import Case, events_of, parameters_of
from quidnunc.properties.diff import Change, Side, changes_between, levelled, side_named
from quidnunc.properties.digits import Digits
from quidnunc.properties.explain import last_departures
from quidnunc.properties.play import Simulated, play
from quidnunc.properties.regress_pair import DIRECTIONS, Direction, Found, Watch, partings_of
from quidnunc.properties.suite import suite_of
from quidnunc.properties.suite_shrink import smallest
from quidnunc.properties.suite_traces import MAX_ACTS, Trace, draw_walk, size_of
from quidnunc.properties.suite_unnoticed import unnoticed_of
from quidnunc.properties.suite_words import on_streams_of

WALKS = 30
"""Walks per change that no known trace shows."""
DICE = range(4)
"""Ways of going on by what both allow with which a known trace is tried."""
PROCESSES = 2
MAX_REPLAYS = 250
"""How many candidates the minimiser may try on one trace."""


FEW = 8
"""Of so many known traces each is tried; of more, which are the cases of a whole suite, the shortest first,
until one separates."""


@frozen
class Separation:
    """One change in behaviour: what it comes of, its direction, and a trace that shows it."""

    change: Change
    direction: Direction
    found: Found
    between: tuple[Side, Side]
    """OLD and NEW; or, where these part before, NEW without the change and NEW, or OLD and OLD with it."""
    alone: bool = False
    """Whether it is one of the latter two."""

    @property
    def key(self) -> tuple[str, Direction]:
        return self.change.key, self.direction


@frozen
class Bound:
    """How far was searched without a difference."""

    walks: int
    events: int
    peers: int
    seed: int

    def __str__(self) -> str:
        return (
            f"no difference in {self.walks} walks of up to {self.events} events over up to {self.peers} "
            f"peers, seed {self.seed}"
        )


@frozen
class Unseparated:
    """A change for which no trace was found."""

    change: Change
    bound: Bound
    reason: str = ""
    """Why none is expected, where the suite says so."""


@frozen
class Behaviour:
    """What was found of two sides."""

    old: Side
    new: Side
    changes: tuple[Change, ...]
    separations: tuple[Separation, ...]
    unseparated: tuple[Unseparated, ...]


def pairs(change: Change, old: Side, new: Side) -> Iterator[tuple[Side, Side]]:
    """What a trace of a change may separate, in the order in which it is tried."""
    yield old, new
    undone, made = change.undone(old, new), change.made(old, new)
    # Where it is the only change of a parameter, these are OLD and NEW again.
    if (undone.protocol, undone.overrides) != (old.protocol, old.overrides):
        yield undone, new
    if (made.protocol, made.overrides) != (new.protocol, new.overrides):
        yield old, made


@mutable
class Search:
    """The search for one change."""

    change: Change
    old: Side
    new: Side
    seed: int = 0
    best: dict[Direction, Found] = field(factory=dict)
    walks: int = 0
    events: int = 0
    peers: int = 0

    def run(self, known: Sequence[Trace], walks: int) -> Sequence[Separation]:
        """The shortest traces of `known` ones and of at most `walks` random ones, by direction."""
        for at, pair in enumerate(pairs(self.change, self.old, self.new)):
            try:
                # Alone a change shows sooner, if it shows at all.
                found = self._between(*pair, known, walks if not at else max(1, walks // 3))
            except KeyError:
                if not at:
                    raise
                # A rule may ask for a handler that only another change brings: then it can not stand alone.
                continue
            if found:
                return [Separation(self.change, d, found[d], pair, at > 0) for d in DIRECTIONS if d in found]
        return []

    @property
    def bound(self) -> Bound:
        return Bound(self.walks, self.events, self.peers, self.seed)

    def _between(self, old: Side, new: Side, known: Sequence[Trace], walks: int) -> Mapping[Direction, Found]:
        best: dict[Direction, Found] = {}
        for trace in known:
            for die in DICE if len(known) <= FEW else DICE[:2]:
                _keep(best, partings_of(self.change, old, new, trace, die))
            if best and len(known) > FEW:
                break
        number = sum(byte * 257**at for at, byte in enumerate(self.change.key.encode()[-6:])) + self.seed
        for at in range(walks):
            if best:
                break
            _keep(best, self._walk(old, new, number + at))
        return {d: self._minimised(found, d, old, new) for d, found in best.items()}

    def _walk(self, old: Side, new: Side, number: int) -> Mapping[Direction, Found]:
        """One random walk of the two, to where they part because of the change."""
        digits, looked_at = Digits(number), number % 2
        drawn_for = (old, new)[looked_at]
        parameters, act = draw_walk(drawn_for.protocol, self.change.rule, digits)
        try:
            watch = Watch(self.change, old, new, parameters, number % len(DICE))
        except ValueError:
            return {}
        self.walks += 1
        found: Mapping[Direction, Found] = {}
        for at in range(MAX_ACTS + 1):
            state = watch.pair.oracles[looked_at].state
            for event in act(state, digits) if at < MAX_ACTS else (Advance(1000),):
                found = found or watch.do(event)
            if found or watch.pair.over:
                break
        self.events = max(self.events, len(watch.events))
        met = {p for e in watch.events if isinstance(e, Connect) for p in e.peers}
        self.peers = max(self.peers, len(met))
        return found

    def _minimised(self, found: Found, direction: Direction, old: Side, new: Side) -> Found:
        def still(trace: Trace) -> bool:
            return direction in partings_of(self.change, old, new, trace, found.die)

        trace = smallest(found.trace, still, new.base, MAX_REPLAYS)
        return partings_of(self.change, old, new, trace, found.die)[direction]


def _keep(best: dict[Direction, Found], more: Mapping[Direction, Found]) -> None:
    for direction, found in more.items():
        known = best.get(direction)
        if known is None or size_of(found.trace) < size_of(known.trace):
            best[direction] = found


def suite_or_none(side: Side) -> Mapping[str, Case]:
    """Rule -> its case in the suite of the protocol that a side is of; empty where there is no suite."""
    try:
        return dict(suite_of(side.base))
    except SpecError:
        return {}


def known_traces(change: Change, old: Side, new: Side) -> list[Trace]:
    """Traces of the suites that show the rules of a change at work; where it is of no rule with a case, all
    of NEW's suite, the shortest first."""
    found: list[Trace] = []
    for side, rule in ((new, change.new), (old, change.old)):
        case = suite_or_none(side).get(rule.name) if rule is not None else None
        if case is not None:
            found.append((parameters_of(case), events_of(case)))
    if found:
        return found
    cases = suite_or_none(new).values() or suite_or_none(old).values()
    return sorted(((parameters_of(c), events_of(c)) for c in cases), key=size_of)


def behaviour(
    old: Side,
    new: Side,
    *,
    walks: int = WALKS,
    seed: int = 0,
    declared: Mapping[str, Sequence[Trace]] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Behaviour:
    """Search for the effect of every change from OLD to NEW.

    `declared`: key of a change -> traces that are said to show it, which are tried first. Raises SpecError
    where the two are of different families.
    """
    changes = changes_between(old, new)
    old, new = levelled(old, new)
    separations: list[Separation] = []
    unseparated: list[Unseparated] = []
    tasks = [
        Task(old.name, new.name, at, walks, seed, tuple((declared or {}).get(change.key, ())))
        for at, change in enumerate(changes)
    ]
    for at, (shown, bound) in enumerate(_results(tasks)):
        change = changes[at]
        progress(f"{old.name} -> {new.name}: {at + 1} of {len(changes)} changes, last {change.says}")
        tried = list(pairs(change, old, new))
        for direction, pair, trace, die in shown:
            found = partings_of(change, *tried[pair], trace, die)[direction]
            separations.append(Separation(change, direction, found, tried[pair], pair > 0))
        if not shown:
            unseparated.append(Unseparated(change, bound, _why(change, old, new)))
    return Behaviour(old, new, changes, tuple(separations), tuple(unseparated))


@frozen
class Task:
    """The search for one change, in words that another process understands."""

    old: str
    new: str
    at: int
    """Which of the changes."""
    walks: int
    seed: int
    declared: tuple[Trace, ...]


Result: TypeAlias = tuple[list[tuple[Direction, int, Trace, int]], Bound]
"""Direction, which of `pairs`, trace and die of each finding; and how far was searched."""


def searched(task: Task) -> Result:
    """Do one task."""
    old, new = levelled(side_named(task.old), side_named(task.new))
    change = changes_between(old, new)[task.at]
    search = Search(change, old, new, task.seed)
    found = search.run([*task.declared, *known_traces(change, old, new)], task.walks)
    names = list(pairs(change, old, new))
    shown = [
        (s.direction, next(i for i, pair in enumerate(names) if _same_pair(pair, s.between)), s.found)
        for s in found
    ]
    return [(d, pair, f.trace, f.die) for d, pair, f in shown], search.bound


def _same_pair(one: tuple[Side, Side], other: tuple[Side, Side]) -> bool:
    """Whether the two are of the same rules: a hybrid is made anew each time."""
    return all(not changes_between(a, b) for a, b in zip(one, other, strict=True))


def _results(tasks: Sequence[Task]) -> Iterator[Result]:
    """In order; few tasks in this process, and more in two."""
    if len(tasks) < FEW:
        yield from map(searched, tasks)
        return
    with ProcessPoolExecutor(PROCESSES) as pool:
        yield from pool.map(searched, tasks)


@frozen
class Outcome:
    """A case of OLD's suite that a router which conforms to OLD fails under NEW."""

    rule: str
    departs: int
    """With so many of `dice`."""
    dice: int


def outcomes_of_suite(old: Side, new: Side) -> tuple[Outcome, ...]:
    """Which cases of OLD's suite change their outcome: the model of OLD is the router, that of NEW judges."""
    found = []
    for rule, case in suite_or_none(old).items():
        parameters, events = on_streams_of((parameters_of(case), events_of(case)), new.base)
        departs = 0
        for die in DICE:
            try:
                subject = Simulated(old.protocol, old.parameters(parameters), die)
                run = play(events, subject, new.protocol, new.parameters(parameters))
            except ValueError:
                # The parameters of the case do not go with those that a side sets itself.
                break
            departs += bool(last_departures(run))
        if departs:
            found.append(Outcome(rule, departs, len(DICE)))
    return tuple(found)


def _why(change: Change, old: Side, new: Side) -> str:
    """What the suite says of a rule whose absence no trace shows."""
    for side in (new, old):
        entry = unnoticed_of(side.base).get(change.rule)
        if entry is not None:
            return entry.reason
    return ""
