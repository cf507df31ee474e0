"""Edits of one rule that fit any protocol: it is dropped, it demands nothing, or it comes later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import evolve

from quidnunc.model.errors import SpecError
from quidnunc.model.permits import Step
from quidnunc.model.rules import First, Phases, Protocol, Rule, Total, Without

Edit: TypeAlias = Callable[[Protocol, str], Protocol]


def without(protocol: Protocol, name: str) -> Protocol:
    """The rule is dropped. Raises SpecError where there is none of that name."""
    return protocol.without_rule(name)


def softened(protocol: Protocol, name: str) -> Protocol:
    """What the rule demands it allows only; whom it excludes may be excluded or not.

    Raises SpecError where there is none of that name, or it is a term of a sum or the base of a set.
    """
    for combined in protocol.handlers.values():
        rules = combined.exclusions if isinstance(combined, Without) else combined.rules
        found = next((each for each in rules if each.name == name), None)
        if found is not None and not isinstance(combined, Total):
            return protocol.with_rule(name, _soft(found))
    raise SpecError(f"{protocol.name} has no rule {name!r} that demands or excludes")


def _soft(rule: Rule) -> Rule:
    def apply(r: object, *rest: object) -> object:
        said = rule.apply(r, *rest)
        if isinstance(said, Step):
            return Step(said.router, tuple(evolve(p, must=False) for p in said.permits))
        return None if said is True else said

    return evolve(rule, apply=apply)


def later(protocol: Protocol, name: str) -> Protocol:
    """The rule comes after the one that follows it. Raises SpecError where there is no such order."""
    for handler, combined in protocol.handlers.items():
        names = [each.name for each in combined.rules]
        if name not in names[:-1] or not isinstance(combined, First | Phases):
            continue
        at = names.index(name)
        first, second = combined.rules[at : at + 2]
        order = (*combined.rules[:at], second, first, *combined.rules[at + 2 :])
        return evolve(protocol, handlers={**protocol.handlers, handler: type(combined)(order)})
    raise SpecError(f"{protocol.name} has no rule {name!r} that another one follows in order")


FORMS: Mapping[str, Edit] = {"without": without, "may": softened, "later": later}
"""How an edit is written before the colon -> the edit."""
