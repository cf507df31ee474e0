"""Edits of several rules at once: what they share is wrong, and it shows in each of them.

What they share is a parameter, a view of the peers or a field that all of them read; the message that they
answer; or the set of peers, or the sum, that they make together. One edit then tells what as many edits of
one rule would tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quidnunc.model.edit import Edit, words_of
from quidnunc.model.edits.operators import words
from quidnunc.model.edits.operators.reads import names_read
from quidnunc.model.errors import SpecError
from quidnunc.model.rules import Exclusion, FirstMatch, Phases, Protocol, Rule, Total
from quidnunc.model.values import evolve

EVERYWHERE = "everywhere-"
"""How their names begin."""

MEMBERSHIP = ("subscribe", "unsubscribe")
OF_MEMBERSHIP = ("deaf-to-members", "deaf-to-strangers")
"""The first rule of a handler that changes who is in a topic would decide for the others whom they heed."""

Reading = tuple[str, str, Callable[[Rule], Rule]]
"""What stands in the name of the edit, words, and what it makes of a rule."""


def edits_everywhere(
    rules: Sequence[Rule],
    readings: Mapping[str, Sequence[Reading]] | Mapping[frozenset[str], Sequence[Reading]],
    *,
    shown: bool = False,
) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits, each with the rules that it changes: for each name that two rules read, or set of names of which
    they read some, each other reading. Where it is `shown` by what is sent which sentence is broken, the
    edits are against none."""
    for name, others in readings.items():
        asked = {name} if isinstance(name, str) else name
        readers = tuple(rule for rule in rules if asked & names_read(rule))
        if len(readers) < 2:
            continue
        names = tuple(rule.name for rule in readers)
        against = "" if shown else readers[0].clause
        clauses = () if shown else clauses_of(readers)
        for word, said, change in others:
            changing = partial(changed_rules, names=names, change=change)
            says = f"{said.rstrip(',')}, wherever it matters."
            named, number = f"{EVERYWHERE}{word}", "-as-" in word
            yield (
                Edit(named, "replaced", against, says, changing, clauses=clauses, of_number=number),
                names,
            )


def edits_of_answers(
    protocol: Protocol, readings: Sequence[Reading], handlers: Collection[str] = tuple(words.ANSWERS)
) -> Iterator[tuple[Edit, str, tuple[str, ...]]]:
    """Edits of all rules that answer one thing, each with the word of its reading and the rules. Where the
    words of a reading have a `{}`, what is answered stands there."""
    for handler in handlers:
        said_of, combined = words.ANSWERS[handler], protocol.handlers.get(handler)
        if not isinstance(combined, FirstMatch | Phases) or len(combined.rules) < 2:
            continue
        names = tuple(rule.name for rule in combined.rules)
        for word, said, change in readings:
            if handler in MEMBERSHIP and word in OF_MEMBERSHIP:
                continue
            name = f"{EVERYWHERE}in-{words_of(handler)}-{word}"
            changing = partial(changed_rules, names=names, change=change)
            says = f"{said.format(said_of)}." if "{}" in said else f"{said} when it handles {said_of}."
            last, clauses = combined.rules[-1].clause, clauses_of(combined.rules)
            yield Edit(name, "replaced", last, says, changing, clauses=clauses), word, names


def edits_of_publishing(
    protocol: Protocol, readings: Sequence[Reading]
) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits of all rules that publish: something is wrong with each message of the router's own."""
    combined = protocol.handlers.get("publish")
    names = tuple(rule.name for rule in combined.rules) if isinstance(combined, Phases) else ()
    for word, says, change in readings if names else ():
        changing = partial(changed_rules, names=names, change=change)
        yield Edit(f"{EVERYWHERE}published-with-{word}", "replaced", "", says, changing), names


def edits_of_sets(protocol: Protocol) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits of all exclusions from one set of peers."""
    for handler, said_of in words.SETS.items():
        combined = protocol.handlers.get(handler)
        if not isinstance(combined, Exclusion) or len(combined.exclusions) < 2:
            continue
        names = tuple(rule.name for rule in combined.rules)
        for word, says, change in (
            ("unfiltered", f"Leaves nobody out of {said_of}.", _unfiltered),
            ("reversed", f"Reverses who is in and who is left out of {said_of}.", _reversed),
        ):
            changing = partial(_with_set, handler=handler, change=change)
            name = f"{EVERYWHERE}in-{words_of(handler)}-{word}"
            base, clauses = combined.base.clause, clauses_of(combined.rules)
            yield Edit(name, "replaced", base, says, changing, clauses=clauses), names


def edits_of_sums(protocol: Protocol) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits of a sum of which one term is left, with the others."""
    for handler, said_of in words.SUMS.items():
        combined = protocol.handlers.get(handler)
        if not isinstance(combined, Total):
            continue
        for term in combined.rules:
            others = tuple(rule for rule in combined.rules if rule is not term)
            before, after = words.LEFT_OUT
            told = term.lacking.removeprefix(before).removesuffix(after)
            if len(others) < 2 or term.lacking != before + told + after:
                continue
            changing = partial(_with_term, handler=handler, term=term.name)
            name = f"{EVERYWHERE}in-{words_of(handler)}-only-{words_of(term.name)}"
            says = f"Leaves all but {told} out of {said_of}."
            names = tuple(rule.name for rule in others)
            yield Edit(name, "replaced", others[0].clause, says, changing, clauses=clauses_of(others)), names


def clauses_of(rules: Sequence[Rule]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.clause for rule in rules))


def _unfiltered(whole: Exclusion) -> Exclusion:
    return Exclusion(whole.base, ())


def _reversed(whole: Exclusion) -> Exclusion:
    """The members of the base that the exclusions leave out; those who are free stay free."""

    def kept(r: Any, what: Any, member: int) -> bool | None:
        said = [each.apply(r, what, member) for each in whole.exclusions]
        return None if None in said and True not in said else True not in said

    first = whole.exclusions[0]
    return Exclusion(whole.base, (evolve(first, apply=kept),))


def _with_set(protocol: Protocol, *, handler: str, change: Callable[[Exclusion], Exclusion]) -> Protocol:
    old = protocol.handlers[handler]
    if not isinstance(old, Exclusion):
        raise SpecError(f"{protocol.name} has no set {handler!r}")
    return evolve(protocol, handlers={**protocol.handlers, handler: change(old)})


def _with_term(protocol: Protocol, *, handler: str, term: str) -> Protocol:
    old = protocol.handlers[handler]
    if not isinstance(old, Total):
        raise SpecError(f"{protocol.name} has no sum {handler!r}")
    kept = tuple(rule for rule in old.rules if rule.name == term)
    return evolve(protocol, handlers={**protocol.handlers, handler: Total(kept)})


def changed_rules(protocol: Protocol, *, names: tuple[str, ...], change: Callable[[Rule], Rule]) -> Protocol:
    present: dict[str, Any] = {each.name: each for _, each in protocol.rules()}
    for name in names:
        # Another edit may have dropped one.
        if name in present:
            protocol = protocol.with_rule(name, change(present[name]))
    return protocol
