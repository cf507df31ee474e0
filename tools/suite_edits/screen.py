"""Which edits make a difference in a trace: first to what a rule says, then to what the router does.

Most edits of most rules change nothing in a given trace. To ask each rule once more, edited, whenever it is
asked, costs a hundredth of playing each edited router; so that comes first.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen, mutable

from quidnunc.impl.seam import Hello
from quidnunc.model.choices import SeededChoices
from quidnunc.model.errors import RuleError
from quidnunc.model.events import Event, Output
from quidnunc.model.rules import Protocol, Rule, Targets
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play, play, singles
from quidnunc.properties.suite.traces import Trace
from tools.suite_edits.operators import SuiteEdit

BROKEN = (ArithmeticError, AttributeError, LookupError, RuleError, TypeError, ValueError)
"""What an edited rule may raise: an edit that does is none that a router could have."""


@mutable
class EditScreen:
    """A protocol whose rules are asked once more by each edit of `edits`, the edits by rule."""

    protocol: Protocol
    edits: Mapping[str, Sequence[SuiteEdit]]
    broken: set[str] = field(factory=set)
    """Names of edits that raise."""
    _told: dict[str, SuiteEdit] = field(factory=dict)
    _inside: bool = False
    _changed: Protocol = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._changed = self.protocol
        rules = {rule.name: rule for _, rule in self.protocol.rules()}
        for name, edits in self.edits.items():
            rule = rules[name]
            asked = self._asking(rule, [(edit, edit.change(rule.apply)) for edit in edits])
            self._changed = self._changed.with_rule(name, Rule(name, rule.clause, asked, rule.doc))

    def differ(self, trace: Trace) -> tuple[SuiteEdit, ...]:
        """The edits under which some rule says something else in this trace."""
        self._told.clear()
        play(trace[1], ModelSubject(self._changed, trace[0], 0), self.protocol, trace[0])
        return tuple(edit for name, edit in self._told.items() if name not in self.broken)

    def _asking(self, rule: Rule, edited: Sequence[tuple[SuiteEdit, Any]]) -> Any:
        def apply(*arguments: Any) -> Any:
            if not self._inside:
                self._inside = True
                try:
                    self._compare(rule, edited, arguments)
                finally:
                    self._inside = False
            return rule.apply(*arguments)

        return apply

    def _compare(self, rule: Rule, edited: Sequence[tuple[SuiteEdit, Any]], arguments: Sequence[Any]) -> None:
        left = [(e, a) for e, a in edited if e.name not in self._told and e.name not in self.broken]
        if not left:
            return
        whole = _said(rule.apply, arguments)
        for edit, apply in left:
            try:
                said = _said(apply, arguments)
            except BROKEN:
                self.broken.add(edit.name)
                continue
            if said != whole:
                self._told[edit.name] = edit


def _said(apply: Any, arguments: Sequence[Any]) -> Any:
    """What a rule says with choices of its own, so that the run goes on as it would have."""
    fresh = [SeededChoices(random.Random(7)) if hasattr(a, "some") else a for a in arguments]
    said = apply(*fresh)
    return Targets(said) if isinstance(said, frozenset) else said


@frozen
class ReferenceStep:
    """One step of the model as a router, and the judge before it."""

    at: int
    """Of which event of the trace."""
    event: Event
    outputs: tuple[Output, ...]
    state: Any
    open: tuple[Any, ...]
    own: frozenset[str]
    shown: frozenset[str]


@mutable
class ReferenceRun:
    """The model of a protocol as a router in one trace, with one die.

    A router with an edited rule does the same up to some step, and the judge has seen the same until then: so
    it is judged from that step on.
    """

    protocol: Protocol
    trace: Trace
    die: int
    steps: list[ReferenceStep] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        parameters, events = self.trace
        run = Play(ModelSubject(self.protocol, parameters, self.die), Oracle(self.protocol, parameters))
        for at, event in enumerate(events):
            for single in singles(event, run.oracle):
                before = run.oracle.state, run.oracle.open, frozenset(run.own), frozenset(run.shown)
                known = len(run.moments)
                if run.do(single) or run.blurred:
                    return
                if len(run.moments) > known:
                    self.steps.append(ReferenceStep(at, single, run.moments[-1].outputs, *before))

    def departure_of(self, subject: Protocol) -> int | None:
        """After how many events the model of `subject`, as a router, departs; None where it does not."""
        router = ModelSubject(subject, self.trace[0], self.die)
        try:
            for number, step in enumerate(self.steps):
                outputs = router.do(step.event)
                if outputs != step.outputs:
                    return self._judged(number, outputs, router)
        except BROKEN:
            return None
        return None

    def _judged(self, number: int, outputs: tuple[Output, ...], router: ModelSubject) -> int | None:
        step, parameters = self.steps[number], self.trace[0]
        oracle = Oracle(self.protocol, parameters, state=step.state, open=step.open, tells=False)
        run = Play(ResumedRouter(router, outputs), oracle, own=set(step.own), shown=set(step.shown))
        rest = [(each.at, each.event) for each in self.steps[number:] if each.at == step.at]
        rest += list(enumerate(self.trace[1]))[step.at + 1 :]
        for at, event in rest:
            if run.do(event):
                return at + 1
            if run.blurred:
                return None
        return None


@mutable
class ResumedRouter:
    """A router that has taken its first event already."""

    router: ModelSubject
    first: tuple[Output, ...] | None
    hello: Hello = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.hello = self.router.hello

    def do(self, event: Event) -> tuple[Output, ...]:
        outputs, self.first = self.first, None
        return self.router.do(event) if outputs is None else outputs

    def declare(self, messages: Sequence[Any]) -> None:
        """A model knows messages as they are."""

    def close(self) -> None:
        """It holds nothing."""


def first_departure(trace: Trace, subject: Protocol, oracle: Protocol, die: int) -> int | None:
    """After how many events the model of `subject`, as a router, departs from `oracle`; None where it does
    not, or where something goes wrong in it."""
    return ReferenceRun(oracle, trace, die).departure_of(subject)


def latest_departure(runs: Sequence[ReferenceRun], subject: Protocol) -> int | None:
    """After how many events at most it departs in these runs; None where it does not in one of them."""
    latest = 0
    for run in runs:
        at = run.departure_of(subject)
        if at is None:
            return None
        latest = max(latest, at)
    return latest


def runs_of(trace: Trace, protocol: Protocol, dice: Iterable[int]) -> list[ReferenceRun]:
    """One with each die."""
    return [ReferenceRun(protocol, trace, die) for die in dice]
