"""A run as one protocol judges it, kept so that an edit is asked only from where it can matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import evolve, field, fields, frozen, mutable

from quidnunc.model import values
from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import rules_changed
from quidnunc.model.edits.operators.catalogue import OperatorEdit, operated
from quidnunc.model.edits.operators.rule_use import RuleUse, UseRecorder
from quidnunc.model.events import Output
from quidnunc.model.machine import family_of
from quidnunc.model.permits import Permit
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Departure, EventJudgement, Oracle
from quidnunc.properties.judge.play import RecordedStep

MOST_EDITED = 4096
"""Edited protocols that are kept: each edit of two protocols."""
PROBE, SCORED, MEASURED = "a probe", "a probe of a score", "a measured score"
HERE = f"{MEASURED} of the minimal run"
ASKED = (PROBE, SCORED, MEASURED, HERE)
WITHOUT = "without"
"""In the name of what is varied, where the minimal run lacks something that it needs to depart."""


@frozen
class FreshRun:
    """What the router did in a run that was not used to find the explanation."""

    steps: tuple[RecordedStep, ...]
    """Each event with what the router did."""
    parameters: Any
    varied: str = ""
    """Of the minimal run with one number changed: what that number is of. `PROBE` of a run that asks for
    something else, `SCORED` of one in which the router departs for a score, if it does, and `MEASURED` of one
    that says what a score is where one term counts, and `HERE` what it is in the minimal run."""
    separates: str = ""
    """Of a trace that tells a reading from the kit's own: that reading, of which alone it is asked."""
    asks: frozenset[str] = frozenset()
    """Where a score is measured: the names of the edits that say something else of it than the protocol does
    without them."""
    spares: frozenset[str] = frozenset()
    """Names of the edits that it does not judge: a fault shows in it of which they say nothing."""
    notes: StepNotes | None = field(default=None, eq=False, repr=False)
    """Of the oracle that judged it while it was played, if they were kept."""

    @property
    def told(self) -> str:
        """What is varied, and whom it asks and spares, in one text."""
        named = (*sorted(self.asks), *(f"-{name}" for name in sorted(self.spares)))
        return " ".join((f"{self.varied}:", *named)) if named else self.varied

    @classmethod
    def as_told(cls, steps: tuple[RecordedStep, ...], parameters: Any, told: str) -> FreshRun:
        varied, _, names = told.partition(":") if told.startswith(MEASURED) else (told, "", "")
        spares = frozenset(name[1:] for name in names.split() if name.startswith("-"))
        asks = frozenset(name for name in names.split() if not name.startswith("-"))
        return cls(steps, parameters, varied, asks=asks, spares=spares)


@frozen
class Agreement:
    """How far a protocol agrees with a run, and the departures of the next moment if it has any."""

    agreed: int
    departures: tuple[Departure, ...] = ()
    owed: tuple[int, ...] = ()
    """In each step: how much of what the router did was due, and not only allowed."""


def agreement(run: FreshRun, protocol: Protocol) -> Agreement:
    """How far the protocol agrees: up to an event that cannot happen, or a choice that cannot be seen."""
    return agreement_from(Oracle(protocol, run.parameters, tells=False), run.steps)


def agreement_from(oracle: Oracle, steps: Iterable[RecordedStep]) -> Agreement:
    """The same of the steps that come next."""
    owed = list[int]()
    for step in steps:
        found = _judged(oracle, step)
        if not isinstance(found, int):
            return Agreement(len(owed), found, tuple(owed))
        owed.append(found)
    return Agreement(len(owed), owed=tuple(owed))


def _judged(oracle: Oracle, step: RecordedStep) -> int | tuple[Departure, ...]:
    """How much of what the router did was due; or how it departs, which is not told where the event cannot
    happen or a choice cannot be seen."""
    try:
        if oracle.passes_over(*step):
            return 0
        if not oracle.follows(step[0]):
            return ()
        judged = oracle.judge(*step)
    except KeyError:
        # An edit can take away what other rules count on.
        return ()
    return _told(judged)


def _told(judged: EventJudgement) -> int | tuple[Departure, ...]:
    if judged.blurred or judged.departures:
        return () if judged.blurred else judged.departures
    return sum(p.must for p in judged.permits) - sum(p.must for p in judged.unspent)


@mutable
class StepNotes:
    """What an oracle came to in each step up to the first departure, as `FollowedRun` needs it."""

    rules: Protocol
    is_over: bool = False
    """Whether what comes is not noted any more."""
    states: list[tuple[Any, tuple[Permit, ...]]] = field(factory=list)
    uses: list[Mapping[str, RuleUse]] = field(factory=list)
    owed: list[int] = field(factory=list)
    departures: tuple[Departure, ...] = ()
    _followed: FollowedRun | None = None

    def oracle(self, parameters: Any) -> Oracle:
        """One that is noted: its protocol is a copy of the rules that tells of what they do."""
        return Oracle(_watched(self.rules)[1], parameters, tells=False, notes=self)

    def note(self, oracle: Oracle, steps: Iterable[RecordedStep]) -> None:
        """What this noted oracle comes to in the steps that come next, up to the first departure."""
        for step in steps:
            if not isinstance(_judged(oracle, step), int):
                if not self.is_over:
                    # The event cannot happen, but under an edit it may.
                    self.before(oracle)
                    self.after(None)
                return

    def before(self, oracle: Oracle) -> None:
        # Oracles of the same rules have one recorder, and take their steps one after the other.
        recorder, _ = _watched(self.rules)
        recorder.off = self.is_over
        if self.is_over:
            return
        if isinstance(oracle.state, Router):
            # Whoever reads a score in this step is to be noted, whether or not it was asked for before.
            oracle.state = oracle.state.without_known_scores()
        recorder.take()
        self.states.append((oracle.state, oracle.open))

    def after(self, judged: EventJudgement | None) -> None:
        """`None`: the step could not be judged."""
        if self.is_over:
            return
        self.uses.append(_watched(self.rules)[0].take())
        found = () if judged is None else _told(judged)
        if isinstance(found, int):
            self.owed.append(found)
        else:
            self.departures, self.is_over = found, True

    def followed(self, run: FreshRun) -> FollowedRun:
        """The run that was noted. It is made once, and knows what it was asked before."""
        if self._followed is None:
            plain = Agreement(len(self.owed), self.departures, tuple(self.owed))
            # Without these notes, which would be kept by what they keep.
            run = evolve(run, notes=None)
            self._followed = FollowedRun(run, self.rules, tuple(self.states), tuple(self.uses), plain)
        return self._followed


@frozen
class FollowedRun:
    """A run, and what `protocol` makes of it step by step."""

    run: FreshRun
    protocol: Protocol
    states: tuple[tuple[Any, tuple[Permit, ...]], ...]
    """State and open permits before each step that was judged."""
    uses: tuple[Mapping[str, RuleUse], ...]
    """What the rules did in each of these steps."""
    plain: Agreement
    """How far the protocol itself agrees."""
    _known: dict[str, Agreement | None] = field(factory=dict, eq=False, repr=False)
    """What was asked before, by the names of edits."""

    @classmethod
    def of(cls, run: FreshRun, protocol: Protocol) -> FollowedRun:
        if run.notes is not None and run.notes.rules is protocol:
            return run.notes.followed(run)
        notes = StepNotes(protocol)
        notes.note(notes.oracle(run.parameters), run.steps)
        return notes.followed(run)

    def with_outputs(self, at: int, outputs: tuple[Output, ...]) -> FollowedRun:
        """The run up to step `at`, had the router done this there: a step of which the protocol was asked."""
        event, _ = self.run.steps[at]
        steps = (*self.run.steps[:at], (event, outputs))
        notes = StepNotes(
            self.protocol,
            states=[*self.states[:at]],
            uses=[*self.uses[:at]],
            owed=[*self.plain.owed[:at]],
        )
        notes.note(evolve(self.oracle_at(at, _watched(self.protocol)[1]), notes=notes), steps[at:])
        return notes.followed(evolve(self.run, steps=steps, notes=None))

    @property
    def up_to_departure(self) -> FreshRun:
        """The run, without what comes after the step to which the protocol agrees."""
        return evolve(self.run, steps=self.run.steps[: self.plain.agreed + 1], notes=None)

    def under(self, edit: Edit) -> Agreement | None:
        """How far the edited protocol agrees; None where the edit does not fit.

        It is judged from where the edit can matter, and until it is where the protocol is without the edit.
        """
        if edit.name not in self._known:
            self._known[edit.name] = self._under(edit)
        return self._known[edit.name]

    def _under(self, edit: Edit) -> Agreement | None:
        made = operated(self.protocol).get(edit.name)
        if made is not None and not self._uses_of(made):
            return self.plain
        changed = applied(edit, self.protocol)
        return None if changed is None else self._judged_in(self.matters(edit, changed), changed)

    def matters(self, edit: Edit, changed: Protocol) -> Sequence[int]:
        """The steps in which the edit, which makes the protocol `changed`, can change what is judged."""
        made = operated(self.protocol).get(edit.name)
        if made is not None:
            return self._uses_of(made)
        return self._calls_of(rules_changed(edit, self.protocol), changed)

    def _judged_in(self, matters: Sequence[int], changed: Protocol) -> Agreement:
        owed = list[int]()
        for at in matters:
            if at < len(owed):
                continue
            owed += self.plain.owed[len(owed) : at]
            oracle = self.oracle_at(at, changed)
            for step in self.run.steps[at:]:
                found = _judged(oracle, step)
                if not isinstance(found, int):
                    return Agreement(len(owed), found, tuple(owed))
                owed.append(found)
                if len(owed) not in matters and self._is_at(len(owed), oracle):
                    break
            else:
                return Agreement(len(owed), owed=tuple(owed))
        return evolve(self.plain, owed=(*owed, *self.plain.owed[len(owed) :]))

    def shows(self, made: OperatorEdit) -> bool:
        """Whether the run tells the edit from a smaller one."""
        used = ((made.worth, uses[rule]) for uses in self.uses for rule in made.rules if rule in uses)
        return any(worth is None or worth(use) for worth, use in used)

    def oracle_at(self, at: int, changed: Protocol) -> Oracle:
        """An oracle of a changed protocol before step `at`, where the protocol itself is there."""
        state, still_open = self.states[at]
        start = family_of(changed).start(changed, self.run.parameters)
        if at > 0:
            start = values.evolve(state, protocol=start.protocol)
        return Oracle(changed, self.run.parameters, start, still_open, tells=False)

    def _is_at(self, at: int, oracle: Oracle) -> bool:
        """Whether the protocol itself has the same state, and the same permits open, before that step."""
        if at >= len(self.states):
            return False
        state, still_open = self.states[at]
        kind: type = type(state)
        return still_open == oracle.open and all(
            getattr(state, name) is getattr(oracle.state, name)
            or getattr(state, name) == getattr(oracle.state, name)
            for name in _compared(kind)
        )

    def _uses_of(self, made: OperatorEdit) -> Sequence[int]:
        """The steps in which the edit can change what is judged."""
        return [
            at
            for at, uses in enumerate(self.uses)
            if any(made.matters(uses[rule]) for rule in made.rules if rule in uses)
        ]

    def _calls_of(self, names: frozenset[str], changed: Protocol) -> Sequence[int]:
        """The same of an edit with a name of its own, by the rules that it changes."""
        known = {rule.name for _, rule in self.protocol.rules()}
        if not names or not names <= known or _switched(self.protocol, changed):
            return range(len(self.states))
        return [at for at, uses in enumerate(self.uses) if not names.isdisjoint(uses)]


@lru_cache(maxsize=MOST_EDITED)
def applied(edit: Edit, protocol: Protocol) -> Protocol | None:
    """As `Edit.applied_to`; an edit is asked of one run after the other, of one finding after the other."""
    return edit.applied_to(protocol)


@lru_cache(maxsize=16)
def _watched(rules: Protocol) -> tuple[UseRecorder, Protocol]:
    """The rules, so that what they do is recorded, and what records it."""
    recorder = UseRecorder()
    return recorder, recorder.watching(rules)


@lru_cache
def _compared(kind: type) -> tuple[str, ...]:
    """The fields of a state that make it what it is, but for the protocol."""
    return tuple(each.name for each in fields(kind) if each.eq and each.name != "protocol")


def _switched(before: Protocol, after: Protocol) -> bool:
    """Whether they differ in more than rules."""
    return (before.features, before.lens, before.handlers.keys()) != (
        after.features,
        after.lens,
        after.handlers.keys(),
    )
