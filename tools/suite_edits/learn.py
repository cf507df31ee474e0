"""What each rule of a protocol was seen to read, change and permit: which edits of it can matter.

Traces are played with a router that notes what a rule looks at. A rule that never reads a field cannot be
blind to it, and one that never sends cannot send to one too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import attrs
from attrs import field, frozen, mutable

from quidnunc.model.events import Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import FREEDOM, ReceivedPart
from quidnunc.model.rules import Exclusion, FirstMatch, Phases, Protocol, Rule, Total
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.suite.files import rule_cases
from quidnunc.properties.suite.traces import Trace
from tools.suite_edits.operators import fields_of, is_by_peer, kind_of, part_of
from tools.suite_edits.walks import seed_of, walked

LEARNED_FROM = 1000
"""Walks from this number on are learned from, those before it searched."""


@mutable
class RuleUse:
    """What one rule was seen to do."""

    kind: str = ""
    """`step`, `base`, `exclusion` or `sum`."""
    ordered: bool = False
    """Another rule follows it."""
    reads: set[str] = field(factory=set)
    """Fields of the state."""
    parameters: dict[str, Any] = field(factory=dict)
    """Name -> a value that it had."""
    changes: set[str] = field(factory=set)
    """Fields of the state."""
    mappings: set[str] = field(factory=set)
    """Of those, the ones with entries."""
    by_peer: set[str] = field(factory=set)
    """Fields that were read and have entries for peers."""
    kinds: set[str] = field(factory=set)
    """Of what it permits."""
    sends: bool = False
    most: int = 0
    """Permits of one step, at most."""
    part: dict[str, Any] = field(factory=dict)
    """Field of what arrives -> a value other than its usual one, where there was one."""
    rpc: bool = False
    """It is handed all parts of an RPC."""
    received: bool = False
    chooses: bool = False


@mutable
class UseObserver:
    """Watches the rules of one protocol."""

    protocol: Protocol
    uses: dict[str, RuleUse] = field(factory=dict)
    _frames: list[RuleUse] = field(factory=list)

    def watched(self) -> Protocol:
        """The protocol, whose rules tell what they do."""
        protocol = self.protocol
        for name, kind, ordered, rule in _placed(protocol):
            use = self.uses.setdefault(name, RuleUse())
            use.kind = kind
            use.ordered |= ordered
            protocol = protocol.with_rule(name, Rule(name, rule.clause, self._watching(rule, use), rule.doc))
        return protocol

    def learn(self, traces: Iterable[Trace]) -> Mapping[str, RuleUse]:
        watched = self.watched()
        for parameters, events in traces:
            play(events, ModelSubject(watched, parameters, 0), self.protocol, parameters)
        return self.uses

    def note(self, name: str) -> None:
        if self._frames:
            self._frames[-1].reads.add(name)

    def note_parameter(self, name: str, value: Any) -> None:
        if self._frames:
            self._frames[-1].parameters.setdefault(name, value)

    def _watching(self, rule: Rule, use: RuleUse) -> Any:
        def apply(r: Any, what: Any, *rest: Any) -> Any:
            self._of_what(use, what)
            self._frames.append(use)
            try:
                said = rule.apply(self._noting(r), what, *(_noting_choices(use, each) for each in rest))
            finally:
                self._frames.pop()
            use.by_peer |= {n for n in use.reads if is_by_peer(vars(r).get(n))}
            if isinstance(said, Step):
                _of_step(use, r, said)
            return said

        return apply

    def _of_what(self, use: RuleUse, what: Any) -> None:
        use.received |= isinstance(what, ReceivedPart)
        part = part_of(what)
        use.rpc |= isinstance(what, ReceivedPart) and isinstance(part, tuple)
        for name in fields_of(part):
            if use.part.get(name) in (None, "", 0):
                use.part[name] = getattr(part, name)

    def _noting(self, r: Any) -> Any:
        """The router as one that tells what is read of it."""
        kind = type(r)
        if getattr(kind, "observer", None) is self:
            return r
        copy: Any = object.__new__(_noting_kind(kind, self))
        copy.__dict__.update(vars(r))
        copy.__dict__["parameters"] = self._noting_parameters(r.parameters)
        return copy

    def _noting_parameters(self, value: Any) -> Any:
        copy: Any = object.__new__(_noting_parameters_kind(type(value), self))
        for a in attrs.fields(type(value)):
            given = getattr(value, a.name)
            if isinstance(given, ScoreParameters):
                given = self._noting_parameters(given)
            elif isinstance(value, ScoreParameters) and a.name == "topics":
                given = tuple(map(self._noting_parameters, given))
            object.__setattr__(copy, a.name, given)
        return copy


@frozen
class NotingChoices:
    """Choices of which it is noted that a rule made some."""

    choose: Any
    use: RuleUse

    def some(self, *arguments: Any, **named: Any) -> Any:
        self.use.chooses = True
        return self.choose.some(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.choose, name)


NOT_CHANGED = frozenset({"parameters", "protocol", "known_bounds", *FREEDOM})
"""Fields of a state that no router changes."""


def _noting_choices(use: RuleUse, what: Any) -> Any:
    if isinstance(what, NotingChoices):
        what = what.choose
    return NotingChoices(what, use) if hasattr(what, "some") else what


def _of_step(use: RuleUse, r: Any, step: Step[Any]) -> None:
    before, after = vars(r), vars(step.router)
    for name, value in after.items():
        if value is not before.get(name) and name not in NOT_CHANGED:
            if value == before.get(name):
                continue
            use.changes.add(name)
            if isinstance(value, Mapping):
                use.mappings.add(name)
    use.kinds |= {kind_of(p) for p in step.permits}
    use.sends |= any(isinstance(p.output, Sent) and p.must for p in step.permits)
    use.most = max(use.most, len(step.permits))


def _placed(protocol: Protocol) -> Iterable[tuple[str, str, bool, Rule]]:
    """(name, kind, whether another follows, rule) of each rule, once."""
    seen: set[str] = set()
    for combined in protocol.handlers.values():
        for at, rule in enumerate(combined.rules):
            if rule.name in seen:
                continue
            seen.add(rule.name)
            if isinstance(combined, Exclusion):
                kind = "exclusion" if at else "base"
            else:
                kind = "sum" if isinstance(combined, Total) else "step"
            follows = isinstance(combined, FirstMatch | Phases) and at + 1 < len(combined.rules)
            yield rule.name, kind, follows, rule


@frozen
class _Kinds:
    """Classes made for one observer."""

    made: dict[tuple[type, int], type] = field(factory=dict)


_KINDS = _Kinds()


def _noting_kind(kind: type, observer: UseObserver) -> type:
    key = (kind, id(observer))
    if key not in _KINDS.made:
        names = frozenset(a.name for a in attrs.fields(kind))

        def reading(self: Any, name: str) -> Any:
            if name in names:
                observer.note(name)
            return object.__getattribute__(self, name)

        _KINDS.made[key] = type(kind.__name__, (kind,), {"__getattribute__": reading, "observer": observer})
    return _KINDS.made[key]


def _noting_parameters_kind(kind: type, observer: UseObserver) -> type:
    key = (kind, id(observer))
    if key not in _KINDS.made:
        names = frozenset(a.name for a in attrs.fields(kind))

        def reading(self: Any, name: str) -> Any:
            value = object.__getattribute__(self, name)
            if name in names:
                observer.note_parameter(name, value)
            return value

        made = type(kind.__name__, (kind,), {"__getattribute__": reading, "observer": observer})
        _KINDS.made[key] = made
    return _KINDS.made[key]


@cache
def learned_of(name: str) -> Mapping[str, RuleUse]:
    """Rule of a protocol -> what the cases of the suite show of it, and a random walk for each rule."""
    protocol = protocol_named(name)
    traces = [(parameters_of(case), events_of(case)) for _, case in rule_cases(name)]
    for rule in {r.name: r for _, r in protocol.rules()}:
        trace = walked(protocol, rule, seed_of(rule) + LEARNED_FROM)
        traces += [trace] if trace is not None else []
    return UseObserver(protocol).learn(traces)
