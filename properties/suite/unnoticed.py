"""Rules whose absence no trace can show, each with the reason, and the check that they change nothing."""

from __future__ import annotations

import random
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, TypeAlias, cast, get_args

from attrs import evolve, field, frozen, mutable, validators

from quidnunc.impl.seam import Hello
from quidnunc.model.choices import SeededChoices
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Event, Output
from quidnunc.model.machine import PROTOCOLS, family_of, protocol_named
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.judge.oracle import EventJudgement, Oracle
from quidnunc.properties.judge.play import Play, as_sent
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.suite.traces import MAX_ACTS, draw_walk

Because: TypeAlias = Literal["never-asked", "never-decides", "does-nothing", "shadowed", "unread"]


@frozen
class UnnoticedRule:
    """A rule without which the same outputs are allowed as with it."""

    rule: str
    protocols: tuple[str, ...] = field(converter=tuple, validator=validators.min_len(1))
    because: Because = field(validator=validators.in_(get_args(Because)))
    """`never-asked`: nothing uses what it says. `never-decides`: what it is for does not come about here.
    `does-nothing`: it decides for what happens without it too. `shadowed`: a later rule does the same.
    `unread`: what it changes in the state is not looked at."""
    reason: str = field(validator=validators.min_len(20))


@lru_cache
def unnoticed_rules() -> tuple[UnnoticedRule, ...]:
    """The committed list.

    Raises SpecError for an entry that names no protocol or no rule of one.
    """
    text = resources.files("quidnunc.properties.suite").joinpath("cases", "UNNOTICED.toml").read_text("utf-8")
    entries = tuple(UnnoticedRule(**entry) for entry in tomllib.loads(text).get("unnoticed", ()))
    for entry in entries:
        for name in entry.protocols:
            if name not in PROTOCOLS or entry.rule not in {r.name for _, r in PROTOCOLS[name].rules()}:
                raise SpecError(f"suite/UNNOTICED.toml: {name!r} has no rule {entry.rule!r}; take it off")
    return entries


@lru_cache
def unnoticed_of(name: str) -> Mapping[str, UnnoticedRule]:
    """Rule -> its entry, for one protocol."""
    return {entry.rule: entry for entry in unnoticed_rules() if name in entry.protocols}


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
