"""Ways to edit any rule: it keeps nothing, sends nothing, does not look at one thing, counts one too many.

An operator is a function of the rule as it is and of what the rule is asked. It knows no protocol, and no
router. Which operators fit a rule is learned from how the rule is used (`tools.suite_edits.learn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from math import isqrt
from typing import Any, TypeAlias

import attrs
from attrs import evolve as evolve_attrs
from attrs import frozen

from quidnunc.model.events import Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rules import Protocol, Rule, Targets
from quidnunc.model.score_interval import DENOMINATOR, ScoreInterval
from quidnunc.model.score_parameters import TopicScoreParameters
from quidnunc.model.values import evolve

Apply: TypeAlias = Callable[..., Any]
Operator: TypeAlias = Callable[[Apply], Apply]
LARGEST = 1 << 31
"""A limit that is never reached."""
MINUTES_MS = 600_000


@frozen
class SuiteEdit:
    """One rule, edited by one operator."""

    rule: str
    operator: str
    """Its name and what it concerns: `forgets backoff`, `sees d_high - 1`."""
    says: str
    """What a router does that is so built, as the end of a sentence that begins with the router."""
    change: Operator = attrs.field(eq=False)

    @property
    def name(self) -> str:
        return f"{self.operator}: {self.rule}"

    def applied_to(self, protocol: Protocol) -> Protocol:
        """The protocol in which every rule of that name is so edited."""
        old = next(r for _, r in protocol.rules() if r.name == self.rule)
        return protocol.with_rule(self.rule, Rule(old.name, old.clause, self.change(old.apply), old.doc))


# -- what a step leaves out, or adds ------------------------------------------------------------------------


def on_step(change: Callable[[Any, Step[Any]], Step[Any]]) -> Operator:
    """`change(router before, step)` of what a rule decides."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, *rest: Any) -> Any:
            said = old(r, *rest)
            return change(r, said) if isinstance(said, Step) else said

        return apply

    return operator


def silent(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(step.router)


def idle(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(r, step.permits)


def without_last(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(step.router, step.permits[:-1])


def first_alone(r: Any, step: Step[Any]) -> Step[Any]:
    return Step(step.router, step.permits[:1])


def _outsider(r: Any, step: Step[Any], part: object) -> int | None:
    """A connected peer that is not sent this part."""
    told = {p.output.peer for p in step.permits if isinstance(p.output, Sent) and p.output.part == part}
    return next((p for p in sorted(r.peers) if p not in told), None)


def to_one_more(r: Any, step: Step[Any]) -> Step[Any]:
    for each in step.permits:
        if each.must and isinstance(each.output, Sent):
            other = _outsider(r, step, each.output.part)
            if other is not None:
                return step.plus(Permit(Sent(other, each.output.part), True, each.clause, each.within))
    return step


def to_another(r: Any, step: Step[Any]) -> Step[Any]:
    permits = list(step.permits)
    for at, each in enumerate(permits):
        if each.must and isinstance(each.output, Sent):
            other = _outsider(r, step, each.output.part)
            if other is not None:
                permits[at] = evolve(each, output=Sent(other, each.output.part))
                break
    return Step(step.router, tuple(permits))


def without_kind(kind: str) -> Operator:
    """Sends nothing of one kind."""
    return on_step(lambda r, s: Step(s.router, tuple(p for p in s.permits if kind_of(p) != kind)))


def kind_of(permit: Permit) -> str:
    output = permit.output
    return type(output.part).__name__ if isinstance(output, Sent) else type(output).__name__


def forgetting(name: str) -> Operator:
    """One field of the state stays as it was."""
    return on_step(lambda r, s: Step(evolve(s.router, **{name: getattr(r, name)}), s.permits))


def merging(name: str, merge: Callable[[Any, Any], Any]) -> Operator:
    """One mapping of the state is `merge(before, after)`."""

    def change(r: Any, step: Step[Any]) -> Step[Any]:
        before, after = getattr(r, name), getattr(step.router, name)
        if not isinstance(before, Mapping) or before is after:
            return step
        return Step(evolve(step.router, **{name: merge(before, after)}), step.permits)

    return on_step(change)


def old_entries_kept(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {k: before.get(k, v) for k, v in after.items()}


def no_entry_removed(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return {**before, **after}


def other_entries_lost(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Mapping[Any, Any]:
    changed = {k: v for k, v in after.items() if before.get(k) != v or k not in before}
    return changed if changed else after


# -- what a rule does not see, or sees otherwise ------------------------------------------------------------


def seeing(change: Callable[[Any], Any], *fields: str) -> Operator:
    """The rule is asked with `change(router)`; of the fields named, what it did not touch is put back."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, *rest: Any) -> Any:
            seen = change(r)
            said = old(seen, *rest)
            if not isinstance(said, Step) or seen is r:
                return said
            restored = {name: _restored(name, r, seen, said.router) for name in fields}
            return Step(evolve(said.router, **restored), said.permits)

        return apply

    return operator


def _restored(name: str, before: Any, seen: Any, after: Any) -> Any:
    """What is there now, where the rule changed it; else what was there before."""
    old, shown, new = (getattr(each, name) for each in (before, seen, after))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        changed = {k: v for k, v in new.items() if k not in shown or shown[k] != v}
        gone = shown.keys() - new.keys()
        return {**{k: v for k, v in old.items() if k not in gone}, **changed}
    return old if new == shown else new


def blind_to(name: str) -> Operator:
    """A field of the state is seen as empty."""

    def change(r: Any) -> Any:
        value = getattr(r, name)
        empty: Any = 0 if isinstance(value, int) else type(value)()
        return evolve(r, **{name: empty}) if value else r

    return seeing(change, name)


def shared_among_peers(name: str) -> Operator:
    """What is kept of one peer is taken for what is kept of each."""

    def change(r: Any) -> Any:
        kept = getattr(r, name)
        by_rest: dict[Any, list[Any]] = {}
        for key, value in kept.items():
            by_rest.setdefault(_without_peer(key), []).append(value)
        known = {
            _with_peer(key, peer): max(values, key=repr)
            for key, values in by_rest.items()
            for peer in r.peers
        }
        return evolve(r, **{name: {**kept, **known}}) if known else r

    return seeing(change, name)


def _without_peer(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple("peer" if isinstance(part, int) else part for part in key)
    return "peer"


def _with_peer(key: Any, peer: int) -> Any:
    return tuple(peer if part == "peer" else part for part in key) if isinstance(key, tuple) else peer


def is_by_peer(kept: object) -> bool:
    """Whether a mapping of the state has an entry for each peer."""
    if not isinstance(kept, Mapping) or not kept:
        return False
    key = next(iter(kept))
    return isinstance(key, int) or (isinstance(key, tuple) and any(isinstance(part, int) for part in key))


def at_time(shift_ms: int) -> Operator:
    """The rule takes it to be later, or earlier."""
    return seeing(lambda r: evolve(r, now_ms=max(0, r.now_ms + shift_ms)), "now_ms")


def with_parameter(name: str, value: Callable[[Any], Any]) -> Operator:
    """A parameter is seen as `value(its value)`; those of scores and their topics too."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, *rest: Any) -> Any:
            seen = _with_parameters(r, changed_parameters(r.parameters, name, value))
            what = tuple(_changed_topics(each, name, value) for each in rest)
            said = old(seen, *what)
            if isinstance(said, Step):
                return Step(_with_parameters(said.router, r.parameters), said.permits)
            return said

        return apply

    return operator


def _with_parameters(r: Any, parameters: Any) -> Any:
    return evolve(r, parameters=parameters)


def changed_parameters(parameters: Any, name: str, value: Callable[[Any], Any]) -> Any:
    """A copy that is not checked: what is forbidden to say may be what a router does."""
    if name in _names(parameters):
        return _put(parameters, name, value(getattr(parameters, name)))
    scores = getattr(parameters, "scores", None)
    if scores is None:
        return parameters
    if name in _names(scores):
        return _put(parameters, "scores", _put(scores, name, value(getattr(scores, name))))
    topics = tuple(_put(topic, name, value(getattr(topic, name))) for topic in scores.topics)
    return _put(parameters, "scores", _put(scores, "topics", topics))


def _changed_topics(what: Any, name: str, value: Callable[[Any], Any]) -> Any:
    """The parameters of a topic that a rule is handed beside the router."""
    if not isinstance(what, tuple) or name not in _names(TopicScoreParameters):
        return what
    return tuple(
        _put(each, name, value(getattr(each, name))) if isinstance(each, TopicScoreParameters) else each
        for each in what
    )


def _names(value: Any) -> frozenset[str]:
    kind = value if isinstance(value, type) else type(value)
    return frozenset(a.name for a in attrs.fields(kind))


def _put(value: Any, name: str, new: Any) -> Any:
    other = copy(value)
    object.__setattr__(other, name, new)
    return other


# -- what arrives is read otherwise -------------------------------------------------------------------------


def reading_part(name: str, change: Callable[[Any], Any]) -> Operator:
    """A field of what arrives is read as `change(its value)`."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, *rest: Any) -> Any:
            return old(r, _with_field(what, name, change), *rest)

        return apply

    return operator


def ignoring(name: str, condition: Callable[[Any], bool]) -> Operator:
    """What arrives is ignored where `condition` holds of a field."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, *rest: Any) -> Any:
            part = part_of(what)
            return None if name in fields_of(part) and condition(getattr(part, name)) else old(r, what, *rest)

        return apply

    return operator


def part_of(what: Any) -> Any:
    """What arrives: the part, the message that is published, or another value that a rule is asked of."""
    return what.part if isinstance(what, ReceivedPart) else what


def fields_of(part: Any) -> tuple[str, ...]:
    return tuple(a.name for a in attrs.fields(type(part))) if attrs.has(type(part)) else ()


def _with_field(what: Any, name: str, change: Callable[[Any], Any]) -> Any:
    part = part_of(what)
    if name not in fields_of(part):
        return what
    other = evolve_attrs(part, **{name: change(getattr(part, name))})
    return evolve_attrs(what, part=other) if isinstance(what, ReceivedPart) else other


def of_rpc(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Operator:
    """The parts of an RPC, or the members of what a rule is handed, are `change` of them."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, *rest: Any) -> Any:
            if isinstance(what, ReceivedPart) and isinstance(what.part, tuple):
                return old(r, evolve_attrs(what, part=change(what.part)), *rest)
            return old(r, what, *rest)

        return apply

    return operator


def as_from_another(old: Apply) -> Apply:
    """What arrives is taken for another peer's."""

    def apply(r: Any, what: Any, *rest: Any) -> Any:
        if isinstance(what, ReceivedPart):
            other = next((p for p in sorted(r.peers) if p != what.peer), None)
            what = what if other is None else evolve_attrs(what, peer=other)
        return old(r, what, *rest)

    return apply


# -- choices ------------------------------------------------------------------------------------------------


@frozen
class EditedChoices:
    """Answers of another one, to questions that were changed first."""

    choose: Any
    count: Callable[[tuple[int, int], int], tuple[int, int]]
    constrained: bool = True

    def fired(self, clause: str) -> None:
        self.choose.fired(clause)

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Any,
        such_that: Any = None,
    ) -> frozenset[int]:
        least, most = self.count(count, len(among.all))
        found: frozenset[int] = self.choose.some(
            name,
            clause,
            among,
            (max(0, least), max(0, most)),
            reveals=reveals,
            such_that=such_that if self.constrained else None,
        )
        return found

    def hidden(self, name: str, among: Any) -> Any:
        return self.choose.hidden(name, among)

    def whether(self, name: str, shows: Any, default: bool = False) -> bool:
        return bool(self.choose.whether(name, shows, default))

    def free(self, name: str, likely: Any = None) -> bool:
        return bool(self.choose.free(name, likely))


def choosing(
    count: Callable[[tuple[int, int], int], tuple[int, int]], *, constrained: bool = True
) -> Operator:
    """Other numbers of peers are chosen, or whoever there is."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, choose: Any) -> Any:
            return old(r, what, EditedChoices(choose, count, constrained))

        return apply

    return operator


# -- sets and sums ------------------------------------------------------------------------------------------


def on_base(change: Callable[[Any, Targets], Targets]) -> Operator:
    """Another set to begin with."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, *rest: Any) -> Any:
            said = old(r, *rest)
            if not isinstance(said, Targets | frozenset):
                return said
            return change(r, said if isinstance(said, Targets) else Targets(said))

        return apply

    return operator


def with_everybody(r: Any, base: Targets) -> Targets:
    return Targets(frozenset(r.peers), frozenset())


def with_one_more(r: Any, base: Targets) -> Targets:
    others = [p for p in sorted(r.peers) if p not in base.all]
    return Targets(base.must | frozenset(others[:1]), base.may) if base.must else base


def with_one_less(r: Any, base: Targets) -> Targets:
    return Targets(base.must - {max(base.must)}, base.may) if base.must else base


def with_one_alone(r: Any, base: Targets) -> Targets:
    return Targets(frozenset(sorted(base.must)[:1]), frozenset())


def sparing(which: Callable[[Any, int], bool]) -> Operator:
    """An exclusion does not hold for some."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, member: Any) -> Any:
            return False if which(r, member) else old(r, what, member)

        return apply

    return operator


def excluding_also(which: Callable[[Any, int], bool]) -> Operator:
    """An exclusion holds for some more."""

    def operator(old: Apply) -> Apply:
        def apply(r: Any, what: Any, member: Any) -> Any:
            return True if which(r, member) else old(r, what, member)

        return apply

    return operator


def scaled(change: Callable[[int], int]) -> Operator:
    """Another number; of an interval each end is changed."""

    def operator(old: Apply) -> Apply:
        def apply(*arguments: Any) -> Any:
            said = old(*arguments)
            if isinstance(said, ScoreInterval):
                ends = change(said.lo), change(said.hi)
                return ScoreInterval(min(ends), max(ends))
            return change(said * DENOMINATOR) // DENOMINATOR if type(said) is int else said

        return apply

    return operator


def rooted(value: int) -> int:
    """The square root, with the sign: what grows with the square grows evenly."""
    root = isqrt(abs(value) * DENOMINATOR)
    return root if value >= 0 else -root
