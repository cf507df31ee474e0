"""The Hypothesis state machine: it plays all neighbours of one router beside the model.

A run that departs is over, and the machine goes on with the next one: the finding is minimised and explained
at once, and its quirk is in force from then on. Hypothesis only generates; minimising its choices shrinks an
event list worse and slower than minimising the list does (docs/decisions/0002-generate-only.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any, TypeAlias

import hypothesis
from attrs import evolve, field, frozen, mutable
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from quidnunc.impl.seam import Config, Hello, Profile
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Event, Receive
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.telling import DepartingRun, contradiction
from quidnunc.properties.explain.followed import FreshRun
from quidnunc.properties.explain.grouping import suspects_of
from quidnunc.properties.explain.hypotheses import RunsToPredict, standing_and_ties, standing_of_known
from quidnunc.properties.explain.minimise import plainer_parameters, shortest_run
from quidnunc.properties.explain.plain_names import renamed_trace
from quidnunc.properties.explain.root_cause import (
    Finding,
    accounting_edits,
    allowing_readings,
    hypotheses,
    last_departures,
)
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.oracle import Departure, Oracle, is_part_of
from quidnunc.properties.judge.play import (
    Moment,
    Opener,
    Play,
    RecordedStep,
    act_of,
    clauses_left_open,
    messages_in,
    play,
    rejudge,
    same_act,
    steps_of,
)
from quidnunc.properties.neighbours.draw import draw_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.search.additions import PREFIX, addition_behind
from quidnunc.properties.search.fresh_runs import FreshRuns, PlayedApart, fixed_by, scored
from quidnunc.properties.search.measured_scores import TermsOff
from quidnunc.properties.search.probes import with_authors
from quidnunc.properties.search.rows import Contradiction, may_be_kept_at_times, note_contradiction
from quidnunc.properties.search.unsent import add_sent

ACTS_PER_RUN = 40
NO_FINDING = ("", "")
"""The key of a departure from an explanation alone, which is none from the specification."""
SEED_STEP = 1_000_003
RUN_SHIFT = 20
"""Bits of a run's number that are left to its events."""
EVIDENCE = 8
MOST_REFUTING = 3
"""Runs that refute one explanation, of which more tell nothing new."""
UNEXPLAINED_TRIES = 2
"""How many departures of one look are minimised before one that nothing explains is only counted."""


Records: TypeAlias = Callable[[str, Sequence[RecordedStep], Any, int], None]
"""Writes down a run: its kind (`run`, `shrunk`, `plain`, `fresh`, `varied:WHAT`), its steps, its parameters,
its seed."""


@frozen
class ReplayableFinding:
    """A finding, with what is needed to replay it."""

    finding: Finding
    parameters: Any
    seed: int
    in_force: tuple[str, ...] = ()
    """Quirks that were in force when it was found."""
    addition: str = ""
    """The router's own addition to the protocol that it comes from."""
    without: tuple[str, ...] = ()
    """Additions that were switched off when it was found."""
    repeats: int = 1
    also: tuple[tuple[Sequence[Moment], Any], ...] = ()
    """Other minimal runs, with their parameters, that its root cause accounts for: the first `EVIDENCE`."""
    leaves_open: frozenset[str] = frozenset()
    """Clauses that its departures were judged by, in all runs."""
    minimised: bool = True
    """False where the time ran out first."""

    def accounted_by(self, protocol: Protocol) -> bool:
        """Whether everything that is filed here is in order under `protocol`."""
        runs = ((self.finding.moments, self.parameters), *self.also)
        return all(in_order(moments, protocol, parameters) for moments, parameters in runs)

    def with_another(self, finding: Finding, parameters: Any) -> ReplayableFinding:
        """With one more run that the root cause accounts for."""
        also = (*self.also, (finding.moments, parameters))[:EVIDENCE]
        return evolve(self, repeats=self.repeats + 1, also=also)


@mutable
class FindingSearch:
    """What a sequence of runs has found so far, and the protocol as built that it goes on with."""

    protocol_name: str
    opener: Opener
    hello: Hello
    steered: bool = True
    profile: Profile = "spec"
    without: tuple[str, ...] = ()
    """Additions of the router that were found to depart, and are off since."""
    quirks: list[Edit] = field(factory=list)
    found: dict[tuple[str, str], ReplayableFinding] = field(factory=dict)
    applied: Counter[str] = field(factory=Counter)
    sent: dict[str, bool] = field(factory=dict)
    runs: int = 0
    steps: int = 0
    blurred: int = 0
    unrepeated: int = 0
    withdrawn: list[str] = field(factory=list)
    """Names of explanations that a later run refuted."""
    contradicted: dict[str, Contradiction] = field(factory=dict)
    """Such a name -> the shortest run that did."""
    refuting: dict[str, tuple[ReplayableFinding, ...]] = field(factory=dict)
    """Such a name -> minimal runs that did, the shortest first."""
    nearly: dict[str, tuple[str, str]] = field(factory=dict)
    """Such a name -> the key of the finding that it explained, for others that it would explain."""
    counting: bool = False
    """Departures are counted and not minimised: how soon one comes is all that is asked."""
    departed: int = 0
    signatures: Counter[tuple[str, str, str]] = field(factory=Counter)
    unfiled: Counter[tuple[str, str]] = field(factory=Counter)
    """(`unexplained:KIND` or `crash`, clause) -> departures that leave it open and have no finding."""
    pending: ReplayableFinding | None = None
    """A departure that is being minimised, with the run as it was."""
    tell: Callable[[FindingSearch], None] = lambda _: None
    """Called after each run, and before a departure is minimised."""
    out_of_time: Callable[[], bool] = lambda: False
    ended: bool = False
    """`SearchIsOver` was raised."""
    counted: dict[Protocol, TermsOff] = field(factory=dict)
    """Under what is in force: what is known of scores that nothing explains."""
    known: tuple[str, ...] = ()
    """Names of edits that are known to explain what just this release does."""
    apart: PlayedApart = field(factory=dict)
    """Fresh runs that several findings from the same seed have in common."""
    stop_when: Callable[[FindingSearch], bool] = lambda _: False
    record: Records = lambda kind, moments, parameters, seed: None
    broken: Exception | None = None
    """The first error of a run, of the driver or our own."""

    @property
    def spec(self) -> Protocol:
        return protocol_named(self.protocol_name)

    @property
    def protocol(self) -> Protocol:
        """The same one as long as nothing else comes into force: much is known by it."""
        return _edited_once(self.spec, tuple(self.quirks))

    @property
    def in_force(self) -> tuple[str, ...]:
        """The names of the edits that account for what was found."""
        return tuple(q.name for q in self.quirks)

    def config(self, parameters: Any, seed: int) -> Config:
        return Config(
            seed=seed,
            protocol=self.protocol_name,
            parameters=parameters,
            profile=self.profile,
            without=self.without,
        )

    def file(
        self, events: Sequence[Event], departures: Sequence[Departure], parameters: Any, seed: int
    ) -> tuple[str, str] | None:
        """Minimise, explain and keep one departure; its first explanation comes into force.

        Returns the key of the finding that stands for it.
        """
        if not self.worth_explaining(departures[0]):
            return None
        protocol, signature = self.protocol, signature_of(departures[0])

        replay_with = self._replays(seed)
        replay = partial(replay_with, given=parameters)
        finding = shortest_run(events, departures, replay, self.out_of_time, self._newest_stream)
        if finding is None:
            self.unrepeated += 1
            return None
        self.record("shrunk", steps_of(finding.moments), parameters, seed)
        if key := self._comes_from_addition(finding, parameters, seed):
            return key
        plain, minimised = parameters, not self.out_of_time()
        if minimised:
            finding, plain = self._plainer(finding, replay_with, parameters)
            finding, plain = self._named_in_order(finding, replay_with, plain)
        self.record("plain", steps_of(finding.moments), plain, seed)

        def note(run: FreshRun) -> None:
            kind = f"varied:{run.told}" if run.varied else "fresh"
            self.record(kind, run.steps, run.parameters, seed)
            # To explain one departure may take a minute, and who waits wants to see that it goes on.
            self.tell(self)

        fresh = FreshRuns(self, protocol, finding.events, (plain, parameters), seed, self.out_of_time, note)
        known = partial(self.counted_otherwise, fresh)
        return self.keep(finding, plain, seed, signature, fresh, known, minimised=minimised)

    def counted_otherwise(self, fresh: FreshRuns) -> TermsOff:
        """What is known of the scores of this router, which is asked once for all that is in force."""
        if fresh.rules not in self.counted:
            self.counted[fresh.rules] = fresh.counted_otherwise()
        return self.counted[fresh.rules]

    def minimised(
        self, events: Sequence[Event], departures: Sequence[Departure], parameters: Any, seed: int
    ) -> tuple[Finding, Any] | None:
        """The shortest run that departs in the same way, with plain parameters; None if none repeats."""
        replay_with = self._replays(seed)
        replay = partial(replay_with, given=parameters)
        finding = shortest_run(events, departures, replay, self.out_of_time, self._newest_stream)
        if finding is None:
            return None
        plain, given = self._plainer(finding, replay_with, parameters)
        return self._named_in_order(plain, replay_with, given)

    def _replays(self, seed: int) -> Callable[..., Play]:
        """Plays events with the parameters `given`, beside what is in force now."""
        protocol = self.protocol

        def replay_with(events: Sequence[Event], given: Any) -> Play:
            return play(events, self.opener(self.config(given, seed)), protocol, given)

        return replay_with

    @property
    def _newest_stream(self) -> str:
        return next(iter(family_of(self.spec).streams(self.protocol_name)), "")

    def leave_open(self, key: tuple[str, str] | None, departure: Departure, clauses: set[str]) -> None:
        """Note the clauses that a departure was judged by, with the finding of that key if there is one."""
        if key is None:
            row = "crash" if departure.kind == "crash" else f"unexplained:{departure.kind}"
            self.unfiled.update((row, clause) for clause in clauses)
        elif key in self.found:
            known = self.found[key]
            self.found[key] = evolve(known, leaves_open=known.leaves_open | clauses)

    def addition_behind(
        self, finding: Finding, parameters: Any, seed: int, *, despite_readings: bool = False
    ) -> str:
        """The router's own addition that a departure comes from; empty where it comes from none.

        What a reading of the texts allows is no less open to an addition, unless `despite_readings`.
        """
        if not self.hello.additions or (not despite_readings and self.readings_of(finding, parameters)):
            return ""

        def replay(events: Any, given: Config) -> Play:
            return play(events, self.opener(given), self.protocol, parameters)

        return addition_behind(finding, self.config(parameters, seed), self.hello, replay)

    def readings_of(self, finding: Finding, parameters: Any) -> tuple[str, ...]:
        """Names of the readings of the texts each of which allows all of it."""
        return allowing_readings(finding.moments, self.protocol, parameters, self.spec)

    def switch_off(self, addition: str, parameters: Any, seed: int) -> None:
        """Play without this addition of the router from now on."""
        self.play_without((*self.without, addition))
        opened = self.opener(self.config(parameters, seed))
        opened.close()
        self.hello = opened.hello

    def play_without(self, additions: tuple[str, ...]) -> None:
        """Play without these; runs that were kept are of another router then."""
        self.without = additions
        self.apart.clear()
        self.counted.clear()

    def _comes_from_addition(
        self, finding: Finding, parameters: Any, seed: int, *, despite_readings: bool = False
    ) -> tuple[str, str] | None:
        """File a departure that comes from an addition of the router, which is off from then on.

        Returns its key.
        """
        name = self.addition_behind(finding, parameters, seed, despite_readings=despite_readings)
        if not name:
            return None
        told = blamed_clauses(finding.moments, self.protocol, parameters)
        finding = evolve(finding, quirks=(), blamed=told)
        filed = ReplayableFinding(finding, parameters, seed, self.in_force, name, self.without)
        key = (finding.clause, PREFIX + name)
        self.found.setdefault(key, filed)
        self.switch_off(name, parameters, seed)
        return key

    def worth_explaining(self, departure: Departure) -> bool:
        """Count a departure; whether it is looked into."""
        self.departed += 1
        return not self.counting and not self.given_up(departure)

    def given_up(self, departure: Departure) -> bool:
        """Whether nothing explained enough of what departed in this way."""
        return self.signatures[signature_of(departure)] >= UNEXPLAINED_TRIES

    def keep(
        self,
        finding: Finding,
        parameters: Any,
        seed: int,
        signature: tuple[str, str, str],
        fresh: RunsToPredict,
        known: Callable[[], TermsOff] = TermsOff,
        *,
        minimised: bool = True,
    ) -> tuple[str, str]:
        """Keep one finding, with those of its explanations that predict the `fresh` runs of the router; one
        about a score that has none, with what is `known`.

        Returns its key.
        """
        if self.was_excused_wrongly(finding, parameters, seed):
            return NO_FINDING
        finding = evolve(finding, blamed=blamed_clauses(finding.moments, self.protocol, parameters))
        if minimised:
            finding = self.explained(finding, parameters, fresh)
            if not finding.quirks and self.readings_of(finding, parameters):
                # They allow it, and do not predict what the router does.
                key = self._comes_from_addition(finding, parameters, seed, despite_readings=True)
                if key is not None:
                    return key
        if revised := self._of_nearly(finding, parameters) or self._revise(finding, parameters):
            return revised
        in_force = finding.quirks[:1] if not any(map(self._is_withdrawn, finding.quirks[:1])) else ()
        if not in_force:
            self.signatures[signature] += 1
        if minimised:
            finding = with_what_is_known(finding, parameters, known)
        key = (finding.clause, finding.cause)
        if key in self.found:
            self.found[key] = self.found[key].with_another(finding, parameters)
            return key
        self.found[key] = ReplayableFinding(
            finding, parameters, seed, self.in_force, without=self.without, minimised=minimised
        )
        if in_force:
            self.quirks += in_force
            self._settle()
        return key

    def _is_withdrawn(self, edit: Edit) -> bool:
        return edit.name in self.withdrawn

    def explained(self, finding: Finding, parameters: Any, fresh: RunsToPredict) -> Finding:
        """The finding, its clauses blamed, with those of its hypotheses that predict the `fresh` runs."""
        protocol = self.protocol
        quirks = hypotheses(finding.moments, protocol, parameters, self.spec)
        suspects = suspects_of(quirks, self.spec)
        # What the texts leave open stays open, whatever one run made of it: the next best would be a failure.
        left = [q for q in quirks if not self._is_withdrawn(q) or may_be_kept_at_times(q.name, q.kind)]
        nearly = next((q for q in quirks if q.name in self.nearly), None)
        clauses = {*finding.blamed, finding.departure.clause}
        stand, ties = standing_and_ties(left, fresh, protocol, finding.departure, clauses, self.spec)
        return evolve(finding, quirks=tuple(stand), ties=ties, suspects=suspects, nearly=nearly)

    def explained_as_known(self, finding: Finding, parameters: Any, fresh: RunsToPredict) -> Finding | None:
        """The finding with the one of `known` that accounts for it and predicts the runs around it.

        None where none does. All `fresh` runs were asked of each when it became known.
        """
        edits = edits_that_are_there(self.known, self.spec)
        edits = [edit for edit in edits if edit.name not in self.withdrawn]
        protocol, departure = self.protocol, finding.departure
        quirks = accounting_edits(finding.moments, protocol, parameters, self.spec, edits)
        if not quirks:
            return None
        clauses = {*finding.blamed, departure.clause}
        stand, ties = standing_of_known(quirks, fresh, protocol, departure, clauses, self.spec)
        suspects = suspects_of(quirks, self.spec)
        # What accounts for it beside the first was not asked enough to take the place of another.
        return evolve(finding, quirks=tuple(stand[:1]), ties=ties, suspects=suspects) if stand else None

    def _of_nearly(self, finding: Finding, parameters: Any) -> tuple[str, str] | None:
        """The key of the finding to which this one belongs, since an explanation that nearly holds for that
        one accounts for both."""
        key = self.nearly.get(finding.nearly.name) if finding.nearly is not None else None
        if key not in self.found:
            return None
        self.found[key] = self.found[key].with_another(finding, parameters)
        return key

    def was_excused_wrongly(self, finding: Finding, parameters: Any, seed: int) -> bool:
        """Whether the departure is from an explanation in force, and not from the specification.

        So it is if it goes with the explanation, and the run is in order up to there without it; or with
        several, each of which alone makes it. Those explanations are withdrawn.
        """

        def departs(edits: Iterable[Edit]) -> bool:
            agreed, found = rejudge(finding.moments, edited(self.spec, edits), parameters)
            own = finding.departure
            departed = (same_act(d, own) or is_part_of(own, d) for d in found)
            return agreed < len(finding.moments) - 1 or any(departed)

        wrong = _fewest_without((*self.quirks,), departs)
        for each in wrong:
            left_in_force = [q for q in self.quirks if q not in wrong or q == each]
            self._note_contradiction(each, edited(self.spec, left_in_force), finding.moments, parameters)
            run = ReplayableFinding(finding, parameters, seed, without=self.without)
            self.refuting[each.name] = shortest_of((*self.refuting.get(each.name, ()), run))
        for each in wrong:
            self._withdraw(each, departs)
        if wrong:
            self._settle()
        return bool(wrong)

    def _note_contradiction(
        self, wrong: Edit, explained: Protocol, moments: Sequence[Moment], parameters: Any
    ) -> None:
        """Tell where a router so explained would have done otherwise than in this run."""
        at, departures = rejudge(moments, explained, parameters)
        if may_be_kept_at_times(wrong.name, wrong.kind) or not departures or not departures[0].clause:
            return
        last = evolve(moments[at], judged=evolve(moments[at].judged, departures=departures))
        run = DepartingRun((*moments[:at], last), explained, parameters, departures[0])
        note_contradiction(self.contradicted, wrong.name, (at + 1, contradiction(run)))

    def _withdraw(self, wrong: Edit, departs: Callable[[Iterable[Edit]], bool]) -> None:
        """Take an explanation out of force. What it was found by has another one that leaves this run without
        the departure, or none."""
        self.quirks.remove(wrong)
        self.withdrawn.append(wrong.name)
        rows = [(k, f) for k, f in self.found.items() if f.finding.quirks[:1] == (wrong,)]
        for key, row in () if may_be_kept_at_times(wrong.name, wrong.kind) else rows:
            del self.found[key]
            others = tuple(q for q in row.finding.quirks[1:] if not departs((*self.quirks, q)))
            self.quirks += [q for q in others[:1] if q not in self.quirks]
            revised = evolve(row, finding=evolve(row.finding, quirks=others, ties=(), nearly=wrong))
            now = (revised.finding.clause, revised.finding.cause)
            self.found[now] = revised
            self.nearly = {name: now if at == key else at for name, at in self.nearly.items()}
            self.nearly[wrong.name] = now

    def _settle(self) -> None:
        """Let go of what nothing explained, or a reading that a run has refuted, and the quirks together now
        do; and of what departs only from one that is withdrawn."""
        built = self.protocol
        for key, found in list(self.found.items()):
            refuted = any(q.kind == "reading" and q.name in self.withdrawn for q in found.finding.quirks[:1])
            if (refuted or not found.finding.quirks) and not found.addition:
                agreed, departures = rejudge(found.finding.moments, built, found.parameters)
                # Where a choice cannot be seen, nothing is in order, and nothing departs.
                wrongly = not departures and not {*found.in_force}.isdisjoint(self.withdrawn)
                if wrongly or agreed == len(found.finding.moments):
                    del self.found[key]

    def _plainer(
        self, finding: Finding, replay_with: Callable[[Sequence[Event], Any], Play], parameters: Any
    ) -> tuple[Finding, Any]:
        """The finding with parameters nearer to the defaults, where it stays what it is."""

        def stays(given: Any) -> Finding | None:
            # Who leaves an unsigned message alone may take it once it is signed, and the other way round.
            return _as_before(finding, replay_with, with_authors(finding.events, given), given)

        given = plainer_parameters(parameters, lambda p: stays(p) is not None, keep=self.hello.fixed)
        better = stays(given) if given is not parameters else None
        return (better, given) if better is not None else (finding, parameters)

    def _named_in_order(
        self, finding: Finding, replay_with: Callable[[Sequence[Event], Any], Play], parameters: Any
    ) -> tuple[Finding, Any]:
        """The finding with its peers, topics and ids named in order, where it stays what it is: what
        is shown may hang on an order of names."""
        given, events = renamed_trace((parameters, finding.events))
        known = finding.moments[-1].judged.departures
        if (given, events) == (parameters, finding.events) or any(
            getattr(given, name) != value for name, value in self.hello.fixed.items()
        ):
            return finding, parameters
        named = _as_before(finding, replay_with, events, given)
        same = named is not None and len(named.moments[-1].judged.departures) == len(known)
        return (named, given) if named is not None and same else (finding, parameters)

    def _revise(self, finding: Finding, parameters: Any) -> tuple[str, str] | None:
        """Another explanation of an earlier finding that accounts for this one too takes over: its new key.

        It has to account for all that the one in force did: else both are at work, and this one is filed.
        """
        for key, earlier in self.found.items():
            for at, other in enumerate(earlier.finding.quirks[1:], 1):
                if other in self.quirks or (finding.quirks and other not in finding.quirks):
                    continue
                first = earlier.finding.quirks[0]
                names = [other if q.name == first.name else q for q in self.quirks]
                if other not in names:
                    continue
                built = edited(self.spec, names)
                if not in_order(finding.moments, built, parameters) or not earlier.accounted_by(built):
                    continue
                order = (other, *(q for i, q in enumerate(earlier.finding.quirks) if i != at))
                revised = evolve(earlier, finding=evolve(earlier.finding, quirks=order, ties=()))
                del self.found[key]
                at_key = (revised.finding.clause, revised.finding.cause)
                self.found[at_key] = revised.with_another(finding, parameters)
                self.quirks[:] = names
                return at_key
        return None


def _as_before(
    finding: Finding, replay_with: Callable[[Sequence[Event], Any], Play], events: Sequence[Event], given: Any
) -> Finding | None:
    """The finding with these events and parameters, if the router departs as it did and in no other way."""
    known = finding.moments[-1].judged.departures
    try:
        run = replay_with(events, given)
    except ValueError:
        # The events have no bytes under these: a stamped message, say, where every one is signed.
        return None
    found = last_departures(run)
    same = [d for d in found if same_act(d, finding.departure)]
    if not same or not all(any(same_act(d, k) for k in known) for d in found):
        return None
    return evolve(finding, events=tuple(events), moments=tuple(run.moments), departure=same[0])


def edits_that_are_there(names: Iterable[str], spec: Protocol) -> list[Edit]:
    """The named edits of a protocol, without those that it does not have."""
    found = list[Edit]()
    for name in names:
        with suppress(SpecError):
            found.append(edit_named(name, spec))
    return found


def with_what_is_known(finding: Finding, parameters: Any, known: Callable[[], TermsOff]) -> Finding:
    """A finding about scores that nothing explains, with what is `known` of the terms of this router; any
    other as it is."""
    if finding.quirks or not scored(parameters):
        return finding
    off = known()
    return evolve(finding, known=off.says, blamed=tuple(map(off.refiled, finding.blamed)))


def shortest_of(runs: Iterable[ReplayableFinding]) -> tuple[ReplayableFinding, ...]:
    """Of runs that refute one explanation, the first `MOST_REFUTING`."""
    return tuple(sorted(runs, key=lambda run: len(run.finding.events))[:MOST_REFUTING])


def _fewest_without(quirks: tuple[Edit, ...], departs: Callable[[Iterable[Edit]], bool]) -> tuple[Edit, ...]:
    """Those without which a run does not depart: one if one will do, else the latest that have to go. Empty
    where it departs without any of them."""
    one = next((q for q in quirks if not departs(o for o in quirks if o != q)), None)
    if one is not None or departs(()):
        return (one,) if one is not None else ()
    kept = list[Edit]()
    for quirk in quirks:
        if not departs((*kept, quirk)):
            kept.append(quirk)
    return tuple(q for q in quirks if q not in kept)


@lru_cache(maxsize=16)
def _edited_once(spec: Protocol, quirks: tuple[Edit, ...]) -> Protocol:
    return edited(spec, quirks)


def _overlooks(quirk: Edit, flaw: str) -> bool:
    return quirk.name.endswith(f"-overlooks-{flaw}") or (quirk.kind == "dropped" and quirk.rule == "flawed")


def in_order(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> bool:
    """Whether every moment of a run is, the last one included."""
    return rejudge(moments, protocol, parameters)[0] == len(moments)


def signature_of(departure: Departure) -> tuple[str, str, str]:
    """What tells departures apart before they are explained."""
    return (departure.kind, departure.clause, act_of(departure))


@mutable(eq=False)
class SearchRun:
    """One run beside the model, act by act, into `hunt`."""

    hunt: FindingSearch
    seed: int
    """Of the search. Which of its runs it is, the hunt counts."""
    run: Play | None = None
    over: bool = False
    drawn: int = 0
    events: list[Event] = field(factory=list)
    departures: Sequence[Departure] = ()
    neighbours: Any = None
    parameters: Any = None
    run_seed: int = 0

    def start(self) -> None:
        """Draw the neighbours and the parameters, and open the router."""
        hunt, digits = self.hunt, self._digits()
        self.run_seed = digits.below(2**31)
        drawn = draw_neighbours(digits, hunt.protocol_name, hunt.hello.capabilities, steered=hunt.steered)
        drawn.parameters = fixed_by(hunt.hello, drawn.parameters)
        self.neighbours, self.parameters = drawn, drawn.parameters
        subject = hunt.opener(hunt.config(self.parameters, self.run_seed))
        self.run = Play(subject, Oracle(hunt.protocol, self.parameters))

    def act(self) -> None:
        """What a neighbour or the user does next; nothing once the run is over."""
        if self.over or self.run is None or self.hunt.out_of_time():
            return
        events = self.neighbours.act(self.run.oracle.state, self._digits())
        self.run.subject.declare([*self.neighbours.take_undeclared(), *messages_in(events)])
        for event in events:
            if self._takes_under_another_id(event):
                self.over = True
                return
            self.events.append(event)
            self.departures = self.run.do(event)
            if self.departures or self.run.blurred:
                self.over = True
                return

    def _takes_under_another_id(self, event: Event) -> bool:
        """Whether a message comes that the router is known to take although it lacks a field of which ids are
        made: it is another message then, and what comes of it is not in the model."""
        parts = event.parts if isinstance(event, Receive) else ()
        lacking = {part.flaw for part in parts if isinstance(part, Message)} & {"no-author", "no-seqno"}
        return any(_overlooks(quirk, flaw) for quirk in self.hunt.quirks for flaw in lacking)

    def end(self) -> None:
        """Close the router, count the run, and file what departed."""
        if self.run is None:
            return
        hunt = self.hunt
        self.run.subject.close()
        hunt.runs += 1
        hunt.steps += self.run.steps
        hunt.applied.update(self.run.applied)
        add_sent(hunt.sent, self.run.sent)
        hunt.blurred += self.run.blurred
        hunt.record("run", steps_of(self.run.moments), self.parameters, self.run_seed)
        if self.departures:
            self._file(self.run)
        hunt.tell(hunt)

    def _file(self, run: Play) -> None:
        """Have the departure explained; it is pending meanwhile, should the process be ended."""
        hunt, first = self.hunt, self.departures[0]
        raw = Finding(tuple(self.events), tuple(run.moments), first, ())
        clauses = clauses_left_open(run.moments[-1].judged)
        hunt.pending = ReplayableFinding(
            raw,
            self.parameters,
            self.run_seed,
            hunt.in_force,
            without=hunt.without,
            leaves_open=frozenset(clauses),
            minimised=False,
        )
        hunt.tell(hunt)
        key = hunt.file(self.events, self.departures, self.parameters, self.run_seed)
        hunt.leave_open(key, first, clauses)
        hunt.pending = None

    def _digits(self) -> SeededDraws:
        # Nothing is taken of the numbers that Hypothesis draws: it begins with the same ones and repeats
        # whole examples (of 400 runs 66 began differently), and it draws constants of the source files
        # that it finds, which are others where the kit is installed in another way.
        self.drawn += 1
        return SeededDraws(((self.seed * SEED_STEP + self.hunt.runs) << RUN_SHIFT) + self.drawn)


@contextmanager
def noted(hunt: FindingSearch) -> Iterator[None]:
    """Note the first error. Hypothesis goes on after it, and ends with errors of its own."""
    try:
        yield
    except Exception as error:
        hunt.broken = hunt.broken or error
        raise


class SearchIsOver(BaseException):
    """The time is up. Hypothesis takes an Exception for a failure and plays it again."""


def machine_for(into: Sequence[FindingSearch], seed: int, runs: int) -> type[RuleBasedStateMachine]:
    """A state machine class, `runs` runs of which go into the one hunt that `into` holds.

    Hypothesis keeps every such class for good; who empties `into` lets go of the hunt.
    """
    enough = into[0].runs + runs

    class Beside(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.one = SearchRun(into[0], seed)

        @initialize(number=st.integers(0, 2**63 - 1))
        def start(self, number: int) -> None:
            hunt = self.one.hunt
            if hunt.out_of_time():
                hunt.ended = True
                raise SearchIsOver
            # Hypothesis makes a few more runs than it is asked for; an empty one costs next to nothing.
            if hunt.runs < enough and not hunt.stop_when(hunt):
                with noted(hunt):
                    self.one.start()

        @rule(number=st.integers(0, 2**63 - 1))
        def act(self, number: int) -> None:
            with noted(self.one.hunt):
                self.one.act()

        def teardown(self) -> None:
            with noted(self.one.hunt):
                self.one.end()

    return Beside


def next_run(hunt: FindingSearch, *, seed: int) -> None:
    """The one run that comes next in a search from `seed`, without the engine around it, which takes longer
    than the run. (It ends one run in 65,536 acts early; nothing else in a run is its choice.)"""
    one = SearchRun(hunt, seed)
    one.start()
    # To the engine the start is a step as well.
    for _ in range(ACTS_PER_RUN - 1):
        one.act()
    one.end()


def search(hunt: FindingSearch, *, runs: int, seed: int, acts: int = ACTS_PER_RUN) -> FindingSearch:
    """`runs` runs of the machine into `hunt`, the same ones for the same seed.

    Raises AdapterError where the driver breaks.
    """
    into = [hunt]
    machine = hypothesis.seed(seed)(machine_for(into, seed, runs))
    try:
        run_state_machine_as_test(
            machine,
            settings=hypothesis.settings(
                max_examples=runs,
                stateful_step_count=acts,
                deadline=None,
                database=None,
                phases=[hypothesis.Phase.generate],
                suppress_health_check=list(hypothesis.HealthCheck),
                report_multiple_bugs=False,
            ),
        )
    except SearchIsOver:
        pass
    except Exception as error:
        # A run that repeats the beginning of an earlier one and is cut off is flaky to Hypothesis.
        cut_off = hunt.ended and isinstance(error, hypothesis.errors.Flaky)
        if hunt.broken is None and not cut_off:
            raise
    finally:
        into.clear()
    if hunt.broken is not None:
        raise hunt.broken
    return hunt
