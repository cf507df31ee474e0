"""Each rule says what a router does that lacks it, and what the rule does: headlines are made of both."""

from __future__ import annotations

import re

import pytest

from quidnunc.model.edit import rule_edit
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool.dog.variants import VARIANTS
from quidnunc.model.rules import Protocol, rule

EVERY = {**PROTOCOLS, **VARIANTS}
LONGEST = 110
SENTENCE = re.compile(r"[A-Z][a-z]+s [^\n]+[^.\s]\.")
"""A verb in the third person, capital first, and a full stop at the end."""
OF_THE_TEXT = re.compile(r"\bD_(low|high|score|out|lazy)\b")
"""Parameters that the specification itself names with an underscore."""


CLAUSE = re.compile(r"it [a-z]+s [^\n]+[^.\s]")
"""As it stands after "when", without a full stop."""


def wrong(said: str, shape: re.Pattern[str] = SENTENCE) -> str:
    if not shape.fullmatch(said):
        return "is no sentence"
    if len(said) > LONGEST:
        return f"has {len(said)} characters"
    return "has a name of the kit in it" if "_" in OF_THE_TEXT.sub("", said) or "`" in said else ""


@pytest.mark.parametrize("protocol", EVERY.values(), ids=EVERY.keys())
def test_each_rule_says_what_a_router_does_that_lacks_it(protocol: Protocol) -> None:
    rules = [each for _, each in protocol.rules()]
    assert rules
    assert [(each.name, wrong(each.lacking)) for each in rules if wrong(each.lacking)] == []


@pytest.mark.parametrize("protocol", EVERY.values(), ids=EVERY.keys())
def test_each_rule_says_what_it_does(protocol: Protocol) -> None:
    rules = [each for _, each in protocol.rules()]
    assert rules
    assert [(each.name, wrong(each.when, CLAUSE)) for each in rules if wrong(each.when, CLAUSE)] == []


@pytest.mark.parametrize(
    "said", ["", "It refuses a GRAFT", "it refuses a GRAFT.", "refuses a GRAFT", "it sees `mesh`", "it is"]
)
def test_what_is_no_such_clause_is_noticed(said: str) -> None:
    assert wrong(said, CLAUSE)


@pytest.mark.parametrize(
    "said", ["", "accepts it.", "Accept it.", "Accepts it", "Lacks while_full.", "A" * 120]
)
def test_what_is_no_such_sentence_is_noticed(said: str) -> None:
    assert wrong(said)


def test_the_sentence_is_what_the_edit_says() -> None:
    protocol = PROTOCOLS["gossipsub-1.2"]
    assert edit_named("without:while_backing_off", protocol).says == "Accepts a GRAFT inside the backoff."
    assert edit_named("may:the_author", protocol).says == "Sometimes sends a message to its author."


def test_a_rule_of_somebody_else_may_go_without() -> None:
    @rule("mine/quiet")
    def quiet(r: object, what: object, choose: object) -> None:
        return None

    assert not quiet.lacking
    assert rule_edit("without", quiet).says == "Does not follow mine/quiet."


def test_what_takes_the_place_of_a_rule_takes_its_sentence_unless_it_has_one() -> None:
    def said(protocol: Protocol, name: str) -> set[str]:
        return {each.lacking for _, each in protocol.rules() if each.name == name}

    ours, quint = PROTOCOLS["dog"], VARIANTS["dog-quint"]
    assert said(VARIANTS["dog-adr"], "enable_one") == said(ours, "enable_one")
    assert said(quint, "nothing_disabled") == {"Drops a ResetRoute that finds no disabled route."}
    doing = {each.when for _, each in quint.rules() if each.name == "nothing_disabled"}
    assert doing == {"it leaves a ResetRoute unread that finds no disabled route"}
