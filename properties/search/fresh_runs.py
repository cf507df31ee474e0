"""Runs of the router in which an explanation has to prove itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any, Protocol, TypeAlias

from attrs import evolve, field, frozen

from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.model.edit import Edit
from quidnunc.model.events import Advance, Event, Receive, Score
from quidnunc.model.machine import family_of
from quidnunc.model.rpc import Part, Prune
from quidnunc.model.rules import Protocol as Rules
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.cases.separating import separating_traces, speaks_its_streams
from quidnunc.properties.explain.followed import HERE, MEASURED, PROBE, SCORED, FreshRun, StepNotes, agreement
from quidnunc.properties.judge.play import Opener, Play, messages_in, steps_of
from quidnunc.properties.neighbours.draw import DrawnNeighbours, draw_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.search.measured_scores import (
    APPLICATION,
    OtherFaults,
    ScoredLife,
    TermsOff,
    counted_otherwise,
    first_off_in,
    is_heeded,
    is_late,
    is_of_scores,
    measured_runs,
    off_from,
    scored_lives,
    scores_to_measure,
)
from quidnunc.properties.search.probes import (
    probes,
    probes_at_scores,
    probes_of_redundancy,
    with_authors,
)
from quidnunc.properties.search.varied_runs import in_more_topics, varied_runs, with_twins

AROUND = 14
"""Runs that hold the minimal run, with other events before and after it; in half of them other numbers."""
ELSEWHERE_FROM = 10
"""The last of those: peers are in topics in which they were not, or the router is."""
APART = 8
"""Runs in which neighbours do as they do in a search. Nothing of the minimal run is in them, so that what is
found from the same seed under the same rules can have them played once for all."""
MOST_APART = 6 * APART
"""So many of them are kept."""
ACTS_BEFORE = (0, 0, 1, 0, 2, 1, 4, 3, 8, 6, 0, 0, 0, 0)
ACTS_AFTER = 10
ACTS_APART = 40
OTHER_NAMES_FROM = 500
"""Where neighbours begin to count messages, so that theirs are not those of the minimal run."""
OWN_DIGITS = 0x5EED
MOST_TWINS = 4
MEASURED_FROM = 500
"""Number of the first run in which a score is measured."""
SEED_STEP = 1_000_003
DRAWS = 60
"""Draws of neighbours until some fit the parameters; one in three or more does."""


class RouterUnderSearch(Protocol):
    """What a fresh run needs of a search: its router, and how it is opened."""

    protocol_name: str
    hello: Hello
    opener: Opener

    def config(self, parameters: Any, seed: int) -> Config: ...


def fixed_by(hello: Hello, parameters: Any) -> Any:
    """Parameters with those that the router sets itself. Raises AdapterError where they clash."""
    try:
        return evolve(parameters, **dict(hello.fixed)) if hello.fixed else parameters
    except ValueError as error:
        raise AdapterError(f"hello.fixed: {dict(hello.fixed)} with what is given: {error}") from error


PlayedApart: TypeAlias = dict[tuple[Rules, int, int, Any], tuple[FreshRun, ...]]
"""Runs of one router that nothing of a minimal run is in, by all that they are made of: rules, seed, number,
and parameters."""


@frozen
class FreshRuns:
    """Runs about `events`, which depart from `rules` at their end."""

    router: RouterUnderSearch
    rules: Rules
    events: Sequence[Event]
    parameters: Sequence[Any]
    """The first are those of the minimal run; the others are taken in turn with them."""
    seed: int
    out_of_time: Callable[[], bool] = lambda: False
    record: Callable[[FreshRun], None] = lambda run: None
    apart: PlayedApart = field(factory=dict)

    def around(self) -> Iterator[FreshRun]:
        """Runs that hold the events, and in some what the neighbours of a search bring with them."""
        for number in range(AROUND + APART):
            around = number < AROUND
            own = not around and number % 3 == 0
            given = None if own else self.parameters[number % len(self.parameters)]
            if not around:
                yield from self._played_apart(number, given)
                continue
            digits = self._digits(number)
            told = self.events if number % 2 == 0 else _otherwise(self.events, digits)
            if number >= ELSEWHERE_FROM:
                told = in_more_topics(told, peers=number % 4 < 2)
            acts = [*[None] * ACTS_BEFORE[number], *told, *[None] * ACTS_AFTER]
            yield from self._played(number, acts, given)

    def _played_apart(self, number: int, given: Any) -> tuple[FreshRun, ...]:
        made_of = (self.rules, self.seed, number, given)
        found = self.apart.pop(made_of, None)
        if found is None:
            found = tuple(self._played(number, [None] * ACTS_APART, given))
        self.apart[made_of] = found
        if len(self.apart) > MOST_APART:
            # The one that was asked for longest ago.
            del self.apart[next(iter(self.apart))]
        return found

    def measured(self, edits: Sequence[Edit]) -> Iterator[FreshRun]:
        """Runs that say what a score is in the minimal run, and where edits of scores have it otherwise; and
        the lives of the peers that are measured in them."""
        of_scores = any(is_of_scores(edit, self.rules) for edit in edits)
        lives = self._scored_lives()
        if self._has_late_scores(lives):
            return
        others = OtherFaults(self.rules, self.parameters[0])
        for number, life in ((n, each) for n, each in lives if of_scores or not each.term):
            what = MEASURED if life.term else HERE
            lived = self._measured(number, frozenset(), life.parameters, what, life.events)
            if lived is None:
                continue
            yield lived
            unrecorded = self._unrecorded(number, life)
            first_off = lru_cache(partial(first_off_in, life, lived, self.rules, unrecorded))
            heeds = partial(is_heeded, unrecorded, life.parameters.heartbeat_interval_ms)
            for each in scores_to_measure(life, lived, edits, self.rules):
                play = self._unrecorded(number, life, each.asked, what)
                runs = measured_runs(each, life.parameters.heartbeat_interval_ms, play)
                spared = others.spared(each, runs, edits, first_off, heeds)
                for run in (evolve(run, spares=spared) for run in runs):
                    self.record(run)
                    yield run

    def counted_otherwise(self) -> TermsOff:
        """Which terms of a score count otherwise than the rules say."""
        found = []
        lives = self._scored_lives()
        for number, life in lives if not self._has_late_scores(lives) else ():
            play = self._unrecorded(number, life)
            lived = play(life.events) if life.term else None
            off = off_from(life, lived, self.rules, play) if lived is not None else None
            if off is not None:
                found.append((life, off))
        return counted_otherwise(found)

    def _scored_lives(self) -> list[tuple[int, ScoredLife]]:
        """Each with the number of its runs."""
        hello = self.router.hello
        lives = scored_lives(self.events, self.parameters[0], hello.capabilities, dict(hello.fixed))
        return [*enumerate(lives, MEASURED_FROM)]

    def _has_late_scores(self, lives: Sequence[tuple[int, ScoredLife]]) -> bool:
        """Whether a score follows the application's only after a time: then it cannot be measured."""
        for number, life in lives:
            if life.term == APPLICATION:
                play = self._unrecorded(number, life)
                lived = play(life.events)
                return lived is not None and is_late(life, lived, self.rules, play)
        return False

    def _unrecorded(
        self, number: int, life: ScoredLife, asks: frozenset[str] = frozenset(), what: str = MEASURED
    ) -> Callable[[tuple[Event, ...]], FreshRun | None]:
        unrecorded = evolve(self, record=lambda run: None)
        return partial(unrecorded._measured, number, asks, life.parameters, what)

    def _measured(
        self, number: int, asks: frozenset[str], given: Any, what: str, acts: Sequence[Event]
    ) -> FreshRun | None:
        return next(self._played(number, with_authors(acts, given), given, what, asks), None)

    def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> Iterator[FreshRun]:
        """The events with one number changed at a time; of the parameters those in `read`. Then probes, and
        the traces that separate `readings` from the kit's own."""
        hello = self.router.hello
        # Whoever cannot flood what it publishes would be told apart by that alone.
        lacking = () if "flood-publish" in hello.capabilities else ("flood_publish",)
        streams = family_of(self.rules).streams(self.router.protocol_name)
        told = varied_runs(self.events, self.parameters[0], read, (*hello.fixed, *lacking), streams)
        numbers = count(AROUND + APART)
        interval_ms = getattr(self.parameters[0], "heartbeat_interval_ms", 0)
        for each in told:
            # Up to a heartbeat, so that what an edit says is owed has been sent, or was not.
            after = [None] * ACTS_AFTER if each.goes_on else [Advance(interval_ms)] if interval_ms else []
            acts: list[Event | None] = [*each.events, *after]
            yield from self._played(next(numbers), acts, each.parameters, each.what)
        yield from self._probes(numbers)
        for reading in readings:
            yield from self._separating(next(numbers), reading)

    def _separating(self, number: int, reading: str) -> Iterator[FreshRun]:
        case = separating_traces().get(reading)
        if case is None or not speaks_its_streams(reading, self.router.protocol_name):
            return
        given, lacking = fitted_parameters(case, self.router.hello)
        if not lacking:
            # It is no run of the search: whoever reads what that recorded would ask it of every edit.
            unrecorded = evolve(self, record=lambda run: None)
            for run in unrecorded._played(number, events_of(case), given, PROBE):
                yield evolve(run, separates=reading)

    def _probes(self, numbers: Iterator[int]) -> Iterator[FreshRun]:
        given = self.parameters[0]
        for acts in (*probes(self.events, given), *probes_of_redundancy(self.events, given)):
            yield from self._played(next(numbers), with_authors(acts, given), given, PROBE)
        for plain, low in probes_at_scores(self.events, given):
            number = next(numbers)
            told = [*self._played(number, with_authors(plain, given), given, PROBE)]
            in_order = bool(told) and not any(agreement(run, self.rules).departures for run in told)
            yield from told
            for acts in low:
                signed = with_authors(acts, given)
                yield from self._played(number, signed, given, SCORED if in_order else PROBE)

    def _played(
        self,
        number: int,
        acts: Sequence[Event | None],
        given: Any,
        varied: str = "",
        asks: frozenset[str] = frozenset(),
    ) -> Iterator[FreshRun]:
        """The run of these acts, if there is one; the parameters are the neighbours' own where `given` is
        None."""
        if self.out_of_time():
            return
        digits = self._digits(number)
        neighbours = _neighbours_for(given, self.router, digits)
        run = _played(self.router, self.rules, neighbours, acts, digits, self.seed + number)
        if run is not None and run.steps:
            run = evolve(run, varied=varied, asks=asks)
            self.record(run)
            yield run

    def _digits(self, number: int) -> SeededDraws:
        return SeededDraws((self.seed ^ OWN_DIGITS) * SEED_STEP + number)


def _neighbours_for(given: Any, router: RouterUnderSearch, digits: SeededDraws) -> DrawnNeighbours:
    """Neighbours of a router with the parameters `given`, or with those that they bring where it is None."""
    for _ in range(DRAWS):
        drawn = draw_neighbours(digits, router.protocol_name, router.hello.capabilities)
        # Neighbours that count on scores do what means nothing without, and the other way round.
        if given is None or scored(given) == scored(drawn.parameters):
            break
    drawn.parameters = fixed_by(router.hello, drawn.parameters) if given is None else given
    return drawn


def scored(parameters: Any) -> bool:
    return getattr(parameters, "scores", None) is not None


def _otherwise(events: Sequence[Event], digits: SeededDraws) -> list[Event]:
    """The events with other numbers in them, and one of the peers with twins, who do as it does."""
    peers = sorted({peer for event in events for peer in getattr(event, "peers", ())})
    first, twins = max(peers, default=0) + 1, digits.below(MOST_TWINS + 1)
    if not peers or not twins:
        return [_changed(event, digits) for event in events]
    one, more = digits.one_of(peers), tuple(range(first, first + twins))
    return [with_twins(_changed(event, digits), one, more) for event in events]


def _changed(event: Event, digits: SeededDraws) -> Event:
    """The event with another number in it, where it has one: most often what is next to it."""
    match event:
        case Score(peers, value):
            return Score(peers, digits.one_of((value - 1, value + 1, 2 * value, value // 2, -value, value)))
        case Advance(ms):
            return Advance(max(1, digits.one_of((ms - 1, ms + 1, 2 * ms, ms // 2, ms + 1000, ms))))
        case Receive(peers, parts):
            return Receive(peers, tuple(_part_otherwise(part, digits) for part in parts))
    return event


def _part_otherwise(part: Part, digits: SeededDraws) -> Part:
    if isinstance(part, Prune) and part.backoff_s:
        return evolve(part, backoff_s=max(1, digits.one_of((part.backoff_s - 1, part.backoff_s + 1, 2, 8))))
    return part


def _played(
    router: RouterUnderSearch,
    rules: Rules,
    neighbours: DrawnNeighbours,
    acts: Sequence[Event | None],
    digits: SeededDraws,
    seed: int,
) -> FreshRun | None:
    """Play on past departures: how far a hypothesis agrees is asked of the record. None where the router
    cannot be opened so."""
    own, parameters = [a for a in acts if a is not None], neighbours.parameters
    _name_otherwise(neighbours, own)
    try:
        notes = StepNotes(rules)
        run = Play(router.opener(router.config(parameters, seed)), notes.oracle(parameters))
    except (AdapterError, ValueError):
        return None
    try:
        run.subject.declare(messages_in(own))
        for event in _events(acts, neighbours, run, digits):
            run.do(event)
            if run.blurred:
                break
    except (AdapterError, ValueError, KeyError):
        # After a departure the model's state is a guess, and an event of it may be one that cannot be.
        pass
    finally:
        run.subject.close()
    return FreshRun(steps_of(run.moments), parameters, notes=notes)


def _events(
    acts: Sequence[Event | None], neighbours: DrawnNeighbours, run: Play, digits: SeededDraws
) -> Iterator[Event]:
    for act in acts:
        if act is not None:
            yield act
            continue
        events = neighbours.act(run.oracle.state, digits)
        run.subject.declare([*neighbours.take_undeclared(), *messages_in(events)])
        yield from events


def _name_otherwise(neighbours: Any, events: Sequence[Event]) -> None:
    peers = [peer for event in events for peer in getattr(event, "peers", ())]
    neighbours.last_peer = max(peers, default=0)
    for counter in ("last_message", "last_tx"):
        if hasattr(neighbours, counter) and events:
            setattr(neighbours, counter, OTHER_NAMES_FROM)
