"""What each rule of a protocol does while a run is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from attrs import field, fields, has, mutable

from quidnunc.model.choices import Choose
from quidnunc.model.edits.operators.words import OPTIONAL
from quidnunc.model.events import Output, Sent
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import FREEDOM
from quidnunc.model.rules import Combined, Exclusion, FirstMatch, Phases, Protocol, Rule
from quidnunc.model.values import evolve


@mutable
class RuleUse:
    """What one rule was seen to do while a run was judged."""

    called: bool = False
    applied: bool = False
    """It made a step."""
    permitted: bool = False
    several: bool = False
    """It sent more than one thing in one step."""
    carried: frozenset[str] = frozenset()
    """Optional fields of messages that were in what it sent."""
    sent: frozenset[type] = frozenset()
    """The kinds of the parts that it sent."""
    chose: bool = False
    changed: frozenset[str] = frozenset()
    """Fields of the state."""


@mutable
class UseRecorder:
    """Watches the rules of a protocol."""

    uses: dict[str, RuleUse] = field(factory=dict)
    off: bool = False

    def watching(self, protocol: Protocol) -> Protocol:
        """The same protocol, whose rules are noted."""
        handlers = {
            name: _each_rule(c, self._watched if isinstance(c, FirstMatch | Phases) else self._noted)
            for name, c in protocol.handlers.items()
        }
        return evolve(protocol, handlers=handlers)

    def take(self) -> dict[str, RuleUse]:
        """What was done since this was last asked, by the names of rules."""
        done, self.uses = self.uses, {}
        return done

    def _use_of(self, rule: Rule) -> RuleUse:
        use = self.uses.get(rule.name)
        if use is None:
            use = self.uses[rule.name] = RuleUse(called=True)
        return use

    def _noted(self, rule: Rule) -> Rule:
        """The rule of a sum or of a set, which makes no step and asks for no choice, once for each peer."""

        def apply(*given: Any) -> Any:
            if not self.off:
                self._use_of(rule)
            return rule.apply(*given)

        return evolve(rule, apply=apply)

    def _watched(self, rule: Rule) -> Rule:
        def apply(r: Any, *rest: Any) -> Any:
            if self.off:
                return rule.apply(r, *rest)
            use = self._use_of(rule)
            chooser = chooser_in(rest)
            if chooser is not None:
                rest = (*rest[:-1], _ChoiceWatch(chooser, use))
            said = rule.apply(r, *rest)
            if isinstance(said, Step):
                use.applied = True
                if said.permits:
                    use.permitted = True
                    use.several |= len(said.permits) > 1
                    use.carried |= {name for permit in said.permits for name in carried_in(permit.output)}
                    use.sent |= {type(p.output.part) for p in said.permits if isinstance(p.output, Sent)}
                if said.router is not r:
                    use.changed |= changed_fields(r, said.router)
            return said

        return evolve(rule, apply=apply)


class _ChoiceWatch:
    """A chooser that notes that it was asked for a set."""

    def __init__(self, choose: Choose, use: RuleUse) -> None:
        self._choose, self._use = choose, use

    def some(self, *arguments: Any, **more: Any) -> Any:
        self._use.chose = True
        return self._choose.some(*arguments, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._choose, name)


def carried_in(output: Output) -> Iterator[str]:
    """Names of the optional fields that an output has."""
    part: Any = getattr(output, "part", None)
    kind: type = type(part)
    return (name for name, default in _optional(kind) if getattr(part, name) != default)


@lru_cache
def _optional(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, f.default) for f in fields(kind) if f.name in OPTIONAL) if has(kind) else ()


def changed_fields(before: Any, after: Any) -> set[str]:
    """Names of the fields in which two states differ; not of those that keep what was computed or is free."""
    return {
        f.name
        for f in fields(type(before))
        if f.eq
        and f.name not in FREEDOM
        and getattr(before, f.name) is not getattr(after, f.name)
        and getattr(before, f.name) != getattr(after, f.name)
    }


def _each_rule(combined: Combined, change: Callable[[Rule], Rule]) -> Combined:
    if isinstance(combined, Exclusion):
        return Exclusion(change(combined.base), tuple(map(change, combined.exclusions)))
    return type(combined)(tuple(map(change, combined.rules)))


def chooser_in(rest: tuple[Any, ...]) -> Any:
    """The chooser among the arguments of a rule; None where it has none."""
    if len(rest) != 2:
        return None
    kind: type = type(rest[-1])
    return rest[-1] if _chooses(kind) else None


@lru_cache
def _chooses(kind: type) -> bool:
    return hasattr(kind, "some")
