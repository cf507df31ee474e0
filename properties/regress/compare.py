"""What changes in behaviour between two protocols: per change the shortest trace found that separates them.

Five stages, each over all changes and two processes. First the cases of both suites for the rules that
changed, and traces that are declared. Then a search that goes on from where the two states differ
(`quidnunc.properties.regress.directed`). Then random walks, of one model alone, which all changes that are
left share (`quidnunc.properties.regress.pool`). Then the two side by side on those walks in which a change
was at work. Last, for what is left, every short trace (`quidnunc.properties.regress.small`). Everything is
drawn from the seed, so that it is the same on every machine.

"Shortest" is what this search shows and no proof: what was found is minimised by deletion. Where nothing is
found, that is said with the walks that were made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from typing import Any, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.properties.processes import process_pool
from quidnunc.properties.regress.code_equality import same_function
from quidnunc.properties.regress.diff import ProtocolChange, all_of, changes_between
from quidnunc.properties.regress.directed import directed_traces
from quidnunc.properties.regress.pair import DIRECTIONS, Direction, partings_of
from quidnunc.properties.regress.pool import TraceWalk, differs_at, walk_of, watched
from quidnunc.properties.regress.search import (
    BehaviourChange,
    ChangeSearch,
    known_traces,
    pairs,
    parting_again,
    related_traces,
    suite_traces,
)
from quidnunc.properties.regress.sides import Side, levelled_sides, side_named
from quidnunc.properties.regress.small import STEPS, ShortTraceResult, searched_small
from quidnunc.properties.regress.stopping import (
    EarlyEnd,
    OutOfTimeError,
    SearchLimit,
    early_end,
    stopped_at,
)
from quidnunc.properties.suite.traces import Trace, size_of
from quidnunc.properties.suite.unnoticed import unnoticed_of

WALKS = 12
"""Walks per change that no known trace shows."""
CANDIDATES = 24
"""Walks of all in which a change was at work, the earliest first, on which the two are compared."""
PROCESSES = 2
CHUNK = 20
"""Walks that one process makes at a time."""
FEW = 8
"""So many changes are searched for in this process, and more in two."""


@frozen
class SearchBound:
    """How far was searched without a difference."""

    walks: int
    events: int
    peers: int
    seed: int
    at_work: int
    """Walks in which the change was at work."""

    def __str__(self) -> str:
        return (
            f"no difference in {self.walks} walks of up to {self.events} events over up to {self.peers} "
            f"peers, seed {self.seed}; it was at work in {self.at_work or 'none'} of them"
        )


@frozen
class UnseparatedChange:
    """A change for which no trace was found."""

    change: ProtocolChange
    bound: SearchBound
    small: ShortTraceResult
    """Every trace of so many events, of a small world."""
    reason: str = ""
    """Why none is expected, where the suite says so."""

    @property
    def never_at_work(self) -> bool:
        """Whether nothing was tried that could have shown it, so that finding nothing says nothing."""
        # What is no rule, such as a parameter, is at work where permits differ.
        in_small = any(each.unlike or self.change.rule and not each.idle for each in self.small.exhausted)
        return not (self.reason or self.bound.at_work or in_small)

    def __str__(self) -> str:
        return f"{self.bound}, {self.small}"


@frozen
class BehaviourComparison:
    """What was found of two sides."""

    old: Side
    new: Side
    changes: tuple[ProtocolChange, ...]
    separations: tuple[BehaviourChange, ...]
    unseparated: tuple[UnseparatedChange, ...]
    not_compared: tuple[ProtocolChange, ...] = ()
    """Those of which no trace was found until the search ended, before it was done."""
    early: EarlyEnd | None = None


@frozen
class ChangeTask:
    """One change and the traces to try, in words that another process understands."""

    old: str
    new: str
    at: tuple[int, ...]
    """Which of the changes; of several, all together."""
    declared: tuple[Trace, ...] = ()
    drawn: tuple[Trace, ...] | None = None
    """Walks to compare the two on; None where only what is known is tried."""
    steps: int = STEPS


@frozen
class WalkTask:
    """Some of the walks that the changes `wanted` share."""

    old: str
    new: str
    wanted: tuple[int, ...]
    numbers: tuple[int, ...]


Shown: TypeAlias = list[tuple[Direction, int, Trace, int]]
"""Direction, which of `pairs`, trace and die of each finding."""


def _without_defaults(changes: Sequence[ProtocolChange], old: Side, new: Side) -> tuple[ProtocolChange, ...]:
    """The changes without those of a parameter that one side sets to its default."""
    left = {each.key for each in changes_between(old, new)}
    return tuple(each for each in changes if each.key in left)


def behaviour(
    old: Side,
    new: Side,
    *,
    walks: int = WALKS,
    seed: int = 0,
    declared: Mapping[str, Sequence[Trace]] | None = None,
    only: str = "",
    as_one: bool = False,
    steps: int = STEPS,
    shortest: bool = False,
    limit: SearchLimit | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> BehaviourComparison:
    """Search for the effect of every change from OLD to NEW, or of the one whose key is `only`.

    `as_one`: all of them are taken as one change, so that what is found is whatever tells the two apart.
    `steps`: as of `searched_small`, for each change that neither cases nor walks show; and with `shortest`
    for each one that is shown, to find a shorter trace.
    `declared`: key of a change -> traces that are said to show it, which are tried first.
    `limit`: when the search ends at the latest; with it, what an interrupted search has is returned, too.
    Raises SpecError where the two are of different families.
    """
    changes = changes_between(old, new)
    if changes:
        old, new = levelled_sides(old, new)
        changes = _without_defaults(changes, old, new)
    told = {key: tuple(traces) for key, traces in (declared or {}).items()}
    asked: list[tuple[int, ...]] = [(at,) for at, change in enumerate(changes) if only in ("", change.key)]
    if as_one and changes:
        asked = [tuple(range(len(changes)))]

    def say(text: str) -> None:
        progress(f"{old.name} -> {new.name}: {text}")

    search = _BehaviourSearch(old, new, changes, told, walks, seed, steps, shortest, say)
    early = None
    try:
        with stopped_at(limit.until_s if limit else math.inf):
            search.run(asked)
    except (OutOfTimeError, KeyboardInterrupt) as stop:
        if limit is None:
            raise
        early = early_end(stop)
    return _told(search, asked, early)


@mutable
class _BehaviourSearch:
    """The stages of a search. What it has come to is there whenever it is stopped."""

    old: Side
    new: Side
    changes: tuple[ProtocolChange, ...]
    declared: Mapping[str, tuple[Trace, ...]]
    walks: int
    seed: int
    steps: int
    shortest: bool
    say: Callable[[str], None]
    shown: dict[tuple[int, ...], Shown] = field(factory=dict)
    made: list[TraceWalk] = field(factory=list)
    small: dict[tuple[int, ...], ShortTraceResult] = field(factory=dict)
    """Of a change that has gone through all stages without a trace."""

    def run(self, asked: Sequence[tuple[int, ...]]) -> None:
        names = self.old.name, self.new.name
        tasks = [ChangeTask(*names, at, self.declared.get(self.change(at).key, ())) for at in asked]
        with process_pool(PROCESSES, forked=True) if len(asked) > FEW else nullcontext() as pool:
            self._show(pool, tasks, "known traces")
            left = [task for task in tasks if not self.shown[task.at]]
            self.made = _walked(pool, left, len(left) * self.walks, self.seed, self.say)
            drawn = [evolve(task, drawn=_best(self.made, self.change(task.at))) for task in left]
            self._show(pool, drawn, "walks")
            still = [evolve(task, steps=self.steps) for task in drawn if not self.shown[task.at]]
            for task, small in _each(pool, searched_in_small, still, self._telling("short traces", still)):
                self.shown[task.at] = [(d, 0, f.trace, f.die) for d, f in small.found.items()]
                self.small[task.at] = small
            unseen = [task for task in still if not self.shown[task.at]]
            self.shown |= _together(self.changes, unseen, self.declared, self.made, self.say)
            if self.shortest:
                again = [evolve(task, steps=self.steps) for task in tasks if self.shown[task.at]]
                for task, small in _each(pool, searched_in_small, again, self._telling("shorter", again)):
                    self.shown[task.at] = _shorter(self.shown[task.at], small)
        self.shown |= _other_directions(self.changes, self.shown, self.old, self.new, self.say)

    def change(self, at: tuple[int, ...]) -> ProtocolChange:
        return _change(self.changes, at)

    def _show(self, pool: Executor | None, tasks: Sequence[ChangeTask], what: str) -> None:
        for task, shown in _each(pool, do_task, tasks, self._telling(what, tasks)):
            self.shown[task.at] = shown

    def _telling(self, what: str, tasks: Sequence[ChangeTask]) -> Callable[[int], None]:
        """Says how far a stage is, and what comes next: a rule that does not end is there then."""

        def tell(done: int) -> None:
            following = f", next {self.change(tasks[done].at).says}" if done < len(tasks) else ""
            self.say(f"{what}: {done} of {len(tasks)} changes{following}")

        return tell


def _other_directions(
    changes: Sequence[ProtocolChange],
    shown: Mapping[tuple[int, ...], Shown],
    old: Side,
    new: Side,
    say: Callable[[str], None],
) -> dict[tuple[int, ...], Shown]:
    """Of parameters that a trace shows: the directions that it does not, where the suite does. A bound that
    moves allows more on one side and less on the other, and each trace is of one side."""
    found: dict[tuple[int, ...], Shown] = {}
    for at, known in shown.items():
        change = _change(changes, at)
        directions = {direction for direction, *_ in known}
        if change.kind != "parameter" or not known or len(directions) == len(DIRECTIONS):
            continue
        say(f"the cases of the suite, {change.says}")
        others = ChangeSearch(change, old, new).others_among(_of_suite(change, old, new), directions)
        more = ((s.direction, 0, s.found.trace, s.found.die) for s in others)
        found[at] = sorted([*known, *more], key=lambda each: DIRECTIONS.index(each[0]))
    return found


def _told(
    search: _BehaviourSearch, asked: Sequence[tuple[int, ...]], early: EarlyEnd | None
) -> BehaviourComparison:
    """What was found, in this process's own words."""
    old, new, shown, small = search.old, search.new, search.shown, search.small
    separations: list[BehaviourChange] = []
    for which, found in sorted(shown.items()):
        separations += _separations(search.change(which), old, new, found)
    among = {each.key for s in separations for each in s.change.members}
    silent = [(which, search.change(which)) for which in sorted(asked) if not shown.get(which)]
    unseparated = [
        UnseparatedChange(
            change, _bound(search.made, change, search.seed), small[which], _why(change, old, new)
        )
        for which, change in silent
        if which in small and change.key not in among
    ]
    not_compared = tuple(change for which, change in silent if which not in small)
    return BehaviourComparison(
        old, new, search.changes, tuple(separations), tuple(unseparated), not_compared, early
    )


def _change(changes: Sequence[ProtocolChange], at: tuple[int, ...]) -> ProtocolChange:
    found = [changes[each] for each in at]
    if len(found) == len(changes):
        return all_of(changes)
    return found[0] if len(found) == 1 else ProtocolChange.together(found)


def _together(
    changes: Sequence[ProtocolChange],
    left: Sequence[ChangeTask],
    told: Mapping[str, tuple[Trace, ...]],
    made: Sequence[TraceWalk],
    say: Callable[[str], None],
) -> dict[tuple[int, ...], Shown]:
    """What changes show of which none shows alone; at least two, and no more than it takes."""
    if len(left) < 2:
        return {}
    at = tuple(each for task in left for each in task.at)
    all_of_them = _change(changes, at)
    declared = [t for key, traces in told.items() if key.startswith("together/") for t in traces]
    task = evolve(left[0], at=at, declared=tuple(declared), drawn=_best(made, all_of_them))
    say(f"{len(at)} changes together")
    shown = do_task(task)
    if not shown:
        return {}
    old, new = levelled_sides(side_named(task.old), side_named(task.new))
    for each in at:
        fewer = tuple(other for other in at if other != each)
        if len(fewer) > 1 and _all_show(_change(changes, fewer), old, new, shown):
            at = fewer
    return {at: shown}


def _all_show(change: ProtocolChange, old: Side, new: Side, shown: Shown) -> bool:
    """Whether these changes together show the same on the same traces."""
    tried = list(pairs(change, old, new))
    return all(
        pair < len(tried) and direction in partings_of(change, *tried[pair], trace, die)
        for direction, pair, trace, die in shown
    )


def _shorter(shown: Shown, small: ShortTraceResult) -> Shown:
    """What was shown, with traces of the small search in the place of longer ones."""
    best = {each[0]: each for each in shown}
    for direction, found in small.found.items():
        if direction not in best or size_of(found.trace) < size_of(best[direction][2]):
            best[direction] = direction, 0, found.trace, found.die
    return [best[direction] for direction in DIRECTIONS if direction in best]


def _walked(
    pool: Executor | None, left: Sequence[ChangeTask], count: int, seed: int, say: Callable[[str], None]
) -> list[TraceWalk]:
    """Walks for the changes that no known trace shows, which they share."""
    numbers = [seed + number for number in range(count)]
    wanted = tuple(each for task in left for each in task.at)
    chunks = [
        WalkTask(left[0].old, left[0].new, wanted, tuple(numbers[at : at + CHUNK]))
        for at in range(0, count, CHUNK)
    ]
    found: dict[tuple[int, ...], list[TraceWalk]] = {}
    tell = lambda done: say(f"{min(done * CHUNK, count)} of {count} walks")  # noqa: E731
    for chunk, some in _each(pool, walks_made, chunks, tell):
        found[chunk.numbers] = some
    return [walk for chunk in chunks for walk in found[chunk.numbers]]


def _each(
    pool: Executor | None, function: Callable[[Any], Any], tasks: Sequence[Any], tell: Callable[[int], None]
) -> Iterator[tuple[Any, Any]]:
    """Each task with what comes of it, as soon as it is done: in two processes in another order."""
    tell(0)
    if pool is None:
        for done, task in enumerate(tasks, 1):
            result = function(task)
            yield task, result
            tell(done)
        return
    futures = {pool.submit(function, task): task for task in tasks}
    for done, future in enumerate(as_completed(futures), 1):
        yield futures[future], future.result()
        tell(done)


def _sides(old: str, new: str) -> tuple[Side, Side, tuple[ProtocolChange, ...]]:
    sides = levelled_sides(side_named(old), side_named(new))
    return (*sides, changes_between(*sides))


def do_task(task: ChangeTask) -> Shown:
    """Do one task."""
    old, new, changes = _sides(task.old, task.new)
    change = _change(changes, task.at)
    search = ChangeSearch(change, old, new)
    known = known_traces(change, old, new)
    if task.drawn is None:
        found = search.among_known(known, task.declared)
        if not found:
            related, others = related_traces(change, old, new)
            found = search.among_directed(directed_traces(change, old, new, related, others))
    else:
        found = search.among([*task.declared, *known], [*_of_suite(change, old, new), *task.drawn])
    return [(s.direction, search.pairs.index(s.between), s.found.trace, s.found.die) for s in found]


def searched_in_small(task: ChangeTask) -> ShortTraceResult:
    """Do one task over every short trace."""
    old, new, changes = _sides(task.old, task.new)
    return searched_small(_change(changes, task.at), old, new, task.steps)


def walks_made(task: WalkTask) -> list[TraceWalk]:
    """Do some walks; those of them in which one of the changes is at work, and the others for their size."""
    old, new, changes = _sides(task.old, task.new)
    wanted = [changes[at] for at in task.wanted]
    sides = {True: watched(new, wanted, new=True), False: watched(old, wanted, new=False)}
    made = []
    for number in task.numbers:
        change, turn = wanted[number % len(wanted)], number // len(wanted)
        # What OLD alone has shows in OLD; and so may what it has otherwise.
        of = sides[change.old is None or (change.new is not None and turn % 2 == 0)]
        walked = walk_of(of, change, number)
        if walked is not None:
            made.append(_with_unruled(walked, [c for c in wanted if not c.rule], old, new))
    return made


def _of_suite(change: ProtocolChange, old: Side, new: Side) -> list[Trace]:
    """For a change of no rule: the cases of the suite in which it makes a difference."""
    if change.rule:
        return []
    undone = change.undone(old, new)
    differ = [t for t in suite_traces(old, new) if differs_at(undone, new, t) is not None]
    return differ[:CANDIDATES]


def _with_unruled(walked: TraceWalk, unruled: Sequence[ProtocolChange], old: Side, new: Side) -> TraceWalk:
    """With the changes that no rule tells of: a parameter, a reading, an order."""
    found = [(c.key, differs_at(c.undone(old, new), new, walked.trace)) for c in unruled]
    return evolve(walked, at=(*walked.at, *((key, at) for key, at in found if at is not None)))


def _best(made: Sequence[TraceWalk], change: ProtocolChange) -> tuple[Trace, ...]:
    """The walks in which the change, or one of its members, was at work the earliest."""
    keys = {each.key for each in change.members or (change,)}
    at_work = [
        (min(at), number) for number, w in enumerate(made) if (at := [n for k, n in w.at if k in keys])
    ]
    return tuple(made[number].trace for _, number in sorted(at_work)[:CANDIDATES])


def _bound(made: Sequence[TraceWalk], change: ProtocolChange, seed: int) -> SearchBound:
    return SearchBound(
        walks=len(made),
        events=max((len(w.trace[1]) for w in made), default=0),
        peers=max((w.peers for w in made), default=0),
        seed=seed,
        at_work=sum(change.key in dict(w.at) for w in made),
    )


def _separations(change: ProtocolChange, old: Side, new: Side, shown: Shown) -> Iterator[BehaviourChange]:
    tried = list(pairs(change, old, new))
    for direction, pair, trace, die in shown:
        found = parting_again(change, *tried[pair], trace, die, direction)
        yield BehaviourChange(change, direction, found, tried[pair], pair > 0)


def _why(change: ProtocolChange, old: Side, new: Side) -> str:
    """What the suite says of a rule whose absence no trace shows; or that a rule has another name alone."""
    was, now = change.old, change.new
    if was and now and was.clause == now.clause and same_function(was.apply, now.apply):
        return "Only its name is another: the code and the clause are the same."
    for side in (new, old):
        entry = unnoticed_of(side.base).get(change.rule)
        if entry is not None:
            return entry.reason
    return ""
