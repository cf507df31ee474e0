"""An edit of a protocol: its name, its sentence, and what it changes. One value for every kind.

A reading takes an open sentence otherwise. A replaced rule is what a router was seen to do in its place. Any
rule can be dropped, made to demand nothing, or moved behind the next one. A variant turns one sentence of DOG
or CAT. All that a router is known to do differently is an edit as well: the router as built.

`quidnunc.model.edits.catalogue` lists the edits of a protocol and finds one by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Literal, TypeAlias

from attrs import field, frozen

from quidnunc.model.errors import SpecError
from quidnunc.model.granting import may_grant
from quidnunc.model.permits import Step
from quidnunc.model.rules import Exclusion, FirstMatch, Phases, Protocol, Rule, Total
from quidnunc.model.values import evolve

EditKind: TypeAlias = Literal[
    "reading", "replaced", "dropped", "softened", "reordered", "variant", "as-built"
]
Change: TypeAlias = Callable[[Protocol], Protocol]
"""Raises SpecError or KeyError for a protocol that lacks what it changes."""


@frozen
class Edit:
    """One edit of a protocol."""

    name: str
    kind: EditKind
    clause: str
    """The sentence that it changes; empty where it changes several, or where a run says which it breaks."""
    says: str
    """What a router does that is so built, in words."""
    change: Change = field(eq=False)
    explains: bool = True
    """Whether it is tried as the root cause of a departure."""
    rule: str = ""
    """The one rule that it changes; empty where it changes several, or a switch."""
    clauses: tuple[str, ...] = field(default=(), eq=False)
    """Of an edit of several rules at once: the sentences of them all, any of which it may break."""
    of_number: bool = field(default=False, eq=False)
    """Whether it changes nothing but a number, or on which side of it a boundary lies: it says what comes of
    each other value."""

    def against(self, told: str, kind: str = "") -> str:
        """The sentence that a router so built breaks in a run in which `told` is the one that was broken.

        `kind` is that of the departure. Who only takes another number for the content of what is due
        (`differs`) sends it as the rule says: the sentence on the content is broken.
        """
        of_content = kind == "differs" and self.of_number
        return told if told in self.clauses or not self.clause or of_content else self.clause

    def applied_to(self, protocol: Protocol) -> Protocol | None:
        """The edited protocol; None where the edit does not fit: an older version lacks some rules."""
        try:
            return self.change(protocol)
        except (SpecError, KeyError):
            return None


def edited(protocol: Protocol, edits: Iterable[Edit]) -> Protocol:
    """The protocol with all of `edits` in force, in order; one that no longer fits is left out."""
    for each in edits:
        protocol = each.applied_to(protocol) or protocol
    return protocol


# -- changes ------------------------------------------------------------------------------------------------


@frozen
class RuleWrapper:
    """A change of a rule that goes on using the rule as it is, with other edits in it perhaps."""

    clause: str
    apply: Callable[..., object]

    def of(self, old: Rule) -> Rule:
        return evolve(old, clause=self.clause, apply=lambda *arguments: self.apply(old, *arguments))


def around(clause: str) -> Callable[[Callable[..., object]], RuleWrapper]:
    """Make a change of a rule from `function(old, router, what, choose)`."""
    return lambda function: RuleWrapper(clause, function)


def in_turn(*changes: Change) -> Change:
    """Several changes, each on the result of the one before."""

    def change(protocol: Protocol) -> Protocol:
        for each in changes:
            protocol = each(protocol)
        return protocol

    return change


def replacing(**rules: Rule) -> Change:
    """Put rules in the place of those named."""
    return in_turn(*(partial(Protocol.with_rule, name=name, other=other) for name, other in rules.items()))


def replacing_present(**rules: Rule | RuleWrapper) -> Change:
    """Put rules in the place of those named that are there: another edit may have dropped some."""

    def change(protocol: Protocol) -> Protocol:
        present = {each.name: each for _, each in protocol.rules()}
        if not rules.keys() & present:
            raise SpecError(f"{protocol.name} has none of the rules {list(rules)}")
        for name, other in rules.items():
            if name in present:
                new = other.of(present[name]) if isinstance(other, RuleWrapper) else other
                protocol = protocol.with_rule(name, new)
        return protocol

    return change


def dropping(*names: str) -> Change:
    """Drop the rules named."""
    return in_turn(*(partial(Protocol.without_rule, name=name) for name in names))


def asking_first(handler: str, rule: Rule) -> Change:
    """Ask a rule before all others of a `first`."""
    return lambda protocol: protocol.with_first(handler, rule)


def reading_as(switch: str) -> Change:
    """Flip a switch of reading."""
    return lambda protocol: protocol.reading(switch)


# -- edits of one rule, which fit any protocol --------------------------------------------------------------


def softened(protocol: Protocol, name: str) -> Protocol:
    """What the rule demands it only allows; whom it excludes may be excluded or not.

    Raises SpecError where there is none of that name, where it is a term of a sum or the base of a set, and
    where it grants no output.
    """
    for combined in protocol.handlers.values():
        rules = combined.exclusions if isinstance(combined, Exclusion) else combined.rules
        found = next((each for each in rules if each.name == name), None)
        if found is not None and not isinstance(combined, Total):
            if not isinstance(combined, Exclusion) and not may_grant(found):
                raise SpecError(f"rule {name!r} of {protocol.name} grants no output that could be left free")
            return protocol.with_rule(name, _soft(found))
    raise SpecError(f"{protocol.name} has no rule {name!r} that demands or excludes")


def _soft(rule: Rule) -> Rule:
    def apply(r: object, *rest: object) -> object:
        said = rule.apply(r, *rest)
        if isinstance(said, Step):
            return Step(said.router, tuple(evolve(p, must=False, together=False) for p in said.permits))
        return None if said is True else said

    return evolve(rule, apply=apply)


def moved_later(protocol: Protocol, name: str) -> Protocol:
    """The rule comes after the one that follows it. Raises SpecError where there is no such order."""
    for handler, combined in protocol.handlers.items():
        names = [each.name for each in combined.rules]
        if name not in names[:-1] or not isinstance(combined, FirstMatch | Phases):
            continue
        at = names.index(name)
        first, second = combined.rules[at : at + 2]
        order = (*combined.rules[:at], second, first, *combined.rules[at + 2 :])
        return evolve(protocol, handlers={**protocol.handlers, handler: type(combined)(order)})
    raise SpecError(f"{protocol.name} has no rule {name!r} that another one follows in order")


@frozen
class RuleEditForm:
    """A way to edit any rule."""

    kind: EditKind
    name: Callable[[Rule], str]
    says: Callable[[Rule], str]
    change: Callable[[Protocol, str], Protocol]

    def of(self, rule: str) -> Change:
        return lambda protocol: self.change(protocol, rule)


ARTICLES = frozenset({"a", "an", "the", "its"})


def as_name(sentence: str) -> str:
    """`Accepts a GRAFT inside the backoff.` as `accepts-graft-inside-backoff`: to the first comma, without
    articles and what is in brackets."""
    main = sentence.partition(",")[0].lower().replace("'", "")
    kept = " ".join(word for word in main.split() if not word.startswith("("))
    words = "".join(c if c.isalnum() else " " for c in kept).split()
    return "-".join(word for word in words if word not in ARTICLES)


def words_of(rule: str) -> str:
    """The name of a rule as it stands in the name of an edit."""
    return rule.replace("_", "-")


def lacking_name(rule: Rule) -> str:
    """The name of the edit that drops the rule."""
    return as_name(rule.lacking) or f"without-{words_of(rule.name)}"


def _lacking(rule: Rule) -> str:
    return rule.lacking or f"Does not follow {rule.clause}."


def when_words(rule: Rule) -> str:
    """What the rule does, as the end of a sentence."""
    return f"when {rule.when or f'it follows {rule.clause}'}."


_OUTCOMES = ("it disregards ", "it drops ", "it refuses ")
"""How the words of checks begin."""


def asking_words(rule: Rule) -> str:
    """The same of a change that may alter whether the rule applies: without a cap nothing is dropped."""
    outcome = next((each for each in _OUTCOMES if rule.when.startswith(each)), "")
    if not outcome or rule.when.startswith(f"{outcome}to "):
        return when_words(rule)
    return f"when it handles {rule.when.removeprefix(outcome)}."


def _sometimes(rule: Rule) -> str:
    said = _lacking(rule)
    return f"Sometimes {said[0].lower()}{said[1:]}"


FORMS: Mapping[str, RuleEditForm] = {
    "without": RuleEditForm("dropped", lacking_name, _lacking, Protocol.without_rule),
    "may": RuleEditForm("softened", lambda rule: f"sometimes-{lacking_name(rule)}", _sometimes, softened),
    "later": RuleEditForm(
        "reordered",
        lambda rule: f"late-{words_of(rule.name)}",
        lambda rule: f"Does two steps in the wrong order {when_words(rule)[:-1]}: the next one comes first.",
        moved_later,
    ),
}
"""Word of a form -> the form. `WORD:RULE` is how such an edit was once called, and how it is still written
where a rule is meant and not what a router does."""


def rule_edit(form: str, rule: Rule, clause: str = "", *, explains: bool = False) -> Edit:
    """The edit of one rule; its clause is the rule's where none is given."""
    found = FORMS[form]
    name, says, change = found.name(rule), found.says(rule), found.of(rule.name)
    return Edit(name, found.kind, clause or rule.clause, says, change, explains, rule.name)
