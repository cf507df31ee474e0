"""The edits of a protocol, and the one of a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from quidnunc.model.edit import FORMS, Edit, rule_edit, words_of
from quidnunc.model.edits.aliases import RENAMED, rule_meant
from quidnunc.model.edits.large_numbers import LARGE_NUMBERS
from quidnunc.model.edits.mempool_quirks import MEMPOOL_QUIRKS
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.edits.quirks import QUIRKS
from quidnunc.model.edits.readings import AGAINST_THE_TEXT, EXPLAINING, TRACED
from quidnunc.model.errors import SpecError, similar_names
from quidnunc.model.mempool.cat.variants import CAT_READINGS, CAT_VARIANTS
from quidnunc.model.mempool.dog.variants import SWITCHES
from quidnunc.model.rules import Protocol, Rule

NAMED: Mapping[str, Mapping[str, Edit]] = {
    family: {each.name: each for each in edits}
    for family, edits in (
        ("pubsub", (*EXPLAINING, *QUIRKS, *AGAINST_THE_TEXT, *LARGE_NUMBERS, *TRACED)),
        ("mempool", (*CAT_READINGS, *MEMPOOL_QUIRKS, *SWITCHES.values(), *CAT_VARIANTS)),
    )
}
"""Family -> its edits that have a name of their own, the smallest first."""

NO_CAUSE = frozenset({"take", "learn_route"})
"""Rules that explain nothing when they are dropped: without `take` a router does nothing at all, and
`learn_route` is nothing that a router does (it narrows what we know of one)."""

WHOLE_KIND = frozenset(
    {
        *("read_subscriptions", "read_messages", "read_ihaves", "read_iwants", "read_grafts"),
        *("read_prunes", "read_idontwants", "read_extensions", "read_partials"),
        *("open_group", "open_unsaid", "send_decided", "decided_peer", "requesters"),
        *("requesters_of_parts", "diverted_peers", "gossip_with_parts", "note_extension"),
        *("note_flags", "hand_over", "hand_over_and_count"),
        *("enter_topic", "quit_topic", "remember_own", "send_own", "accept_message"),
        *("application", "explicit_peers", "cache", "deliver", "forward"),
    }
)
"""Rules without which a router does nothing of a whole kind: a large edit, tried after the small ones."""

_ORDER = ("variant", "dropped", "replaced", "reordered")
"""Kinds of edits, of those of one size."""

TAKES_WITH_IT = {"serve_within_bound": "gs1.0/iwant.serve"}
"""Rules that bear the clause of a bound and serve as well: dropped, it is the service that is not there."""


@lru_cache(maxsize=64)
def edits_of(protocol: Protocol) -> tuple[Edit, ...]:
    """Every edit that fits the protocol: those with a name of their own, then those of one rule."""
    named = (each for each in NAMED[protocol.family].values() if each.applied_to(protocol) is not None)
    return (*named, *_of_rules(protocol))


@lru_cache(maxsize=64)
def _by_name(protocol: Protocol) -> Mapping[str, Edit]:
    return {each.name: each for each in edits_of(protocol)}


def _of_rules(protocol: Protocol) -> Iterator[Edit]:
    rules = {each.name: each for _, each in protocol.rules()}
    for form in FORMS:
        for each in rules.values():
            found = _of_rule(form, each)
            if found.applied_to(protocol) is not None:
                yield found


def _of_rule(form: str, rule: Rule) -> Edit:
    dropped = form == "without"
    clause = TAKES_WITH_IT.get(rule.name, rule.clause) if dropped else rule.clause
    explains = dropped and rule.name not in NO_CAUSE | WHOLE_KIND
    return rule_edit(form, rule, clause, explains=explains)


@lru_cache(maxsize=64)
def explaining_edits(protocol: Protocol) -> tuple[Edit, ...]:
    """The edits by which a departure from the protocol can be explained."""
    return tuple(each for each in _said_once(protocol) if each.explains)


@lru_cache(maxsize=64)
def hypotheses_of(protocol: Protocol) -> tuple[Edit, ...]:
    """The named edits that are worth a test: those that explain, a rule that comes too late, and rules
    without which a whole kind of message is missing. What operators make comes on top."""
    return tuple(
        each
        for each in _said_once(protocol)
        if each.explains or each.kind == "reordered" or (each.kind == "dropped" and each.rule not in NO_CAUSE)
    )


@lru_cache(maxsize=64)
def _said_once(protocol: Protocol) -> tuple[Edit, ...]:
    """Every edit; that a rule is not there is left out where another text says no more than that."""
    texts = [each for each in edits_of(protocol) if each.kind == "variant"]
    gone = {rule for each in texts for rule in _lone_dropped(each, protocol)}
    return tuple(each for each in edits_of(protocol) if each.kind != "dropped" or each.rule not in gone)


def _lone_dropped(edit: Edit, protocol: Protocol) -> frozenset[str]:
    """The one rule that the edit takes out, where it changes nothing else."""
    changed, left = rules_changed(edit, protocol), {rule.name for _, rule in edit.change(protocol).rules()}
    return changed if len(changed) == 1 and not changed & left else frozenset()


@lru_cache(maxsize=4096)
def size_of(edit: Edit, protocol: Protocol) -> tuple[int, int, int]:
    """How much an edit changes: of two that account for the same, the smaller one is the explanation.

    A reading comes first, because an open sentence is no fault. Then count the rules and switches that
    differ; a rule that carries a whole kind of message counts for more than any. Of equals, what another
    text says comes first, then one that drops a rule; one that routers were seen to have comes before an
    operator's.
    """
    if edit.kind == "reading":
        return (0, 0, 0)
    changed, names = edit.change(protocol), rules_changed(edit, protocol)
    switches = len(changed.features ^ protocol.features) + (changed.lens is not protocol.lens)
    whole = 10 * bool(names & WHOLE_KIND)
    made = operated(protocol).get(edit.name)
    rank = 0 if made is None else 1 + made.rank
    return (len(names) + switches + whole, _ORDER.index(edit.kind), rank)


@lru_cache(maxsize=4096)
def rules_changed(edit: Edit, protocol: Protocol) -> frozenset[str]:
    """Names of the rules that differ once the protocol has the edit."""
    if edit.rule:
        return frozenset({edit.rule})
    if edit.name in operated(protocol):
        return frozenset(operated(protocol)[edit.name].rules)
    after = {(handler, each.name): each for handler, each in edit.change(protocol).rules()}
    before = {(handler, each.name): each for handler, each in protocol.rules()}
    return frozenset(key[1] for key in {*before, *after} if before.get(key) is not after.get(key))


def reading_of(name: str, protocol: Protocol) -> str:
    """Of an operator's edit in which one rule takes a value, a view or a clock for another: the name without
    the rule, which is the same for every rule that does so. Empty for all others."""
    made = operated(protocol).get(name)
    if made is None or len(made.rules) > 1:
        return ""
    rule = f"{words_of(made.rules[0])}-"
    return name.removeprefix(rule) if name.startswith(rule) else ""


def edit_named(name: str, protocol: Protocol) -> Edit:
    """The edit of that name, new or old. Raises SpecError where there is none, which names those whose names
    are near, or where it does not fit the protocol."""
    name = RENAMED.get(name, name)
    form, _, rule = name.partition(":")
    if rule and form in FORMS:
        meant = rule_meant(name, protocol)
        if meant is None:
            raise protocol.no_rule(rule)
        found = _of_rule(*meant)
    else:
        found = _named(name, protocol)
    try:
        found.change(protocol)
    except KeyError as error:
        raise SpecError(f"{protocol.name} has no {error}, which {name} changes") from None
    return found


def _named(name: str, protocol: Protocol) -> Edit:
    if name in NAMED[protocol.family]:
        return NAMED[protocol.family][name]
    if name in operated(protocol):
        return operated(protocol)[name].edit
    if name in _by_name(protocol):
        return _by_name(protocol)[name]
    near = similar_names(name, (each.name for each in edits_of(protocol)))
    hint = f"; did you mean {', '.join(near)}?" if near else ", nor one of a similar name"
    raise SpecError(f"{protocol.name} has no edit {name!r}{hint}")
