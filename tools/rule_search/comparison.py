"""Random runs of a protocol beside itself without a rule: whether dropping it changes what is allowed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from attrs import evolve, field, mutable

from quidnunc.impl.seam import Hello
from quidnunc.model.choices import SeededChoices
from quidnunc.model.events import Advance, Event, Output
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.judge.oracle import EventJudgement, Oracle
from quidnunc.properties.judge.play import ModelSubject, Play, as_sent
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.suite.files import rule_cases
from quidnunc.properties.suite.run import departs
from quidnunc.properties.suite.traces import DICE, MAX_ACTS, Trace, draw_walk


def notices(case: Case, protocol: Protocol, dropped: Protocol, *, dice: Sequence[int] = DICE) -> bool:
    """Whether the case tells `dropped` from `protocol`: one of them does, with some die, what the other one
    does not allow."""
    parameters, events = parameters_of(case), events_of(case)
    pairs = (dropped, protocol), (protocol, dropped)
    return any(departs(events, parameters, *pair, die) for die in dice for pair in pairs)


def unnoticed(name: str) -> Iterator[str]:
    """Rules of a protocol whose absence their case in the suite does not notice."""
    protocol, by_rule = protocol_named(name), dict(rule_cases(name))
    for rule in {r.name: r for _, r in protocol.rules()}:
        case = by_rule.get(rule)
        if case is None or not notices(case, protocol, protocol.without_rule(rule)):
            yield rule


def walk(subject: Protocol, oracle: Protocol, rule: str, number: int) -> Trace | None:
    """One random run of `subject` as a router under `oracle`, up to its first departure; None without one."""
    digits = SeededDraws(number)
    parameters, act = draw_walk(oracle, rule, digits)
    run = Play(ModelSubject(subject, parameters, digits.below(len(DICE))), Oracle(oracle, parameters))
    events: list[Event] = []
    # What is owed by the next heartbeat is missing only then, so that each walk ends with one.
    count = digits.one_of((6, 12, MAX_ACTS))
    for at in range(count + 1):
        for event in act(run.oracle.state, digits) if at < count else (Advance(1000),):
            events.append(event)
            if run.do(event):
                return parameters, tuple(events)
            if run.blurred:
                return None
    return None


@mutable
class RuleComparison:
    """What random runs showed of a protocol beside itself without a rule."""

    runs: int = 0
    steps: int = 0
    asked: int = 0
    """How often the rule was asked."""
    decided: int = 0
    """How often it decided, excluded or counted somebody."""
    difference: str = ""
    """The first event after which other outputs were allowed, if any."""


def compare(name: str, rule_name: str, *, runs: int, seed: int = 0) -> RuleComparison:
    """Play `runs` random runs, and hold each step beside one of the protocol without the rule.

    Both take the same choices. Their permits are compared as (output, obligation, time), since the clause in
    them does not change what is allowed.
    """
    protocol = protocol_named(name)
    found = RuleComparison()
    for number in range(seed, seed + runs):
        found.runs += 1
        digits = SeededDraws(number)
        parameters, act = draw_walk(protocol, rule_name, digits)
        sides = _ProtocolTwins(protocol, rule_name, parameters, number, found)
        run = Play(sides, cast("Oracle", sides))
        for _ in range(2 * MAX_ACTS):
            for event in act(sides.state, digits):
                run.do(event)
        if found.difference:
            break
    return found


@mutable
class _ProtocolTwins:
    """A protocol and the same without a rule, which take the same choices: the router of a run, and its judge
    in one, who blurs at the first difference."""

    protocol: Protocol
    rule_name: str
    parameters: Any
    number: int
    found: RuleComparison
    hello: Hello = field(init=False)
    states: list[Any] = field(init=False)
    _machine: Any = field(init=False)
    _dice: list[SeededChoices] = field(init=False)

    def __attrs_post_init__(self) -> None:
        whole = _counting(self.protocol, self.rule_name, self.found)
        dropped = self.protocol.without_rule(self.rule_name)
        self._machine = family_of(self.protocol)
        self.states = [self._machine.start(each, self.parameters) for each in (whole, dropped)]
        self._dice = [SeededChoices(random.Random(self.number)) for _ in self.states]
        self.hello = Hello(name="model", version=self.protocol.name, protocols=())

    @property
    def state(self) -> Any:
        """That of the whole protocol."""
        return self.states[0]

    def applicable(self, event: Event) -> bool:
        able = [self._machine.applicable(state, event) for state in self.states]
        if able[0] != able[1]:
            self.found.difference = f"{event}: possible with the rule {able[0]}, without it {able[1]}"
        return bool(able[0])

    def do(self, event: Event) -> tuple[Output, ...]:
        steps = [
            self._machine.step(state, event, die) for state, die in zip(self.states, self._dice, strict=True)
        ]
        self.states = [step.router for step in steps]
        self.found.steps += 1
        with_it, without = (_allowed(step.permits) for step in steps)
        if with_it != without:
            self.found.difference = (
                f"{event}: with the rule {with_it - without}, without it {without - with_it}"
            )
        return tuple(as_sent(p.output) for p in steps[0].permits if p.must)

    def judge(self, event: Event, outputs: Sequence[Output]) -> EventJudgement:
        return EventJudgement((), (), (), (), blurred=bool(self.found.difference))

    def declare(self, messages: Sequence[Message]) -> None:
        """A model knows messages as they are."""

    def close(self) -> None:
        """It holds nothing."""


def _counting(protocol: Protocol, rule_name: str, found: RuleComparison) -> Protocol:
    rule = next(r for _, r in protocol.rules() if r.name == rule_name)

    def apply(*arguments: Any) -> Any:
        found.asked += 1
        said = rule.apply(*arguments)
        found.decided += said is not False and (said is not None or _excludes(protocol, rule))
        return said

    return protocol.with_rule(rule_name, evolve(rule, apply=apply))


def _excludes(protocol: Protocol, rule: Rule) -> bool:
    """Of an exclusion None is an answer: that the member is free."""
    return any(c.kind == "without" and rule in c.rules for c in protocol.handlers.values())


def _allowed(permits: tuple[Permit, ...]) -> Counter[Any]:
    return Counter((p.output, p.must, p.within) for p in permits)
