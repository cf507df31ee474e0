"""One list of edits for each protocol, one look-up by name, old names included."""

from __future__ import annotations

import pytest

from quidnunc.model.edit import edited
from quidnunc.model.edits import aliases
from quidnunc.model.edits.catalogue import (
    NAMED,
    edit_named,
    edits_of,
    explaining_edits,
    hypotheses_of,
    rules_changed,
)
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Protocol
from quidnunc.properties.documents.clauses import load

R1, DOG, CAT = (PROTOCOLS[name] for name in ("gossipsub-1.2", "dog", "cat"))


@pytest.mark.parametrize("protocol", [R1, DOG, CAT], ids=lambda protocol: protocol.name)
def test_each_edit_of_a_protocol_has_a_name_a_sentence_and_fits(protocol: Protocol) -> None:
    edits = edits_of(protocol)
    names = [each.name for each in edits]
    assert len(names) == len(set(names))
    for each in edits:
        assert each.says.endswith(".") and each.applied_to(protocol) is not None
        assert edit_named(each.name, protocol) == each


def test_named_edits_change_a_clause_that_exists() -> None:
    known = load()
    assert [e.name for edits in NAMED.values() for e in edits.values() if e.clause not in known] == []


def test_every_kind_is_there() -> None:
    assert {e.kind for e in edits_of(R1)} == {"reading", "replaced", "dropped", "softened", "reordered"}
    assert {e.kind for e in edits_of(DOG)} == {"replaced", "variant", "dropped", "softened", "reordered"}
    assert {"resets-all", "enables-no-route-when-it-receives-resetroute"} <= {e.name for e in edits_of(DOG)}
    assert {"own-pushed", "sometimes-announces-users-transaction-and-does-not-push-it"} & {
        e.name for e in edits_of(CAT)
    } == {"own-pushed"}


def test_what_explains_is_a_part_of_it() -> None:
    assert {e.kind for e in explaining_edits(R1)} == {"reading", "replaced", "dropped"}
    assert {e.kind for e in explaining_edits(DOG)} == {"variant", "replaced", "dropped"}
    assert {e.kind for e in hypotheses_of(DOG)} == {"variant", "replaced", "dropped", "reordered"}
    assert not {"reads-no-rpcs", "idontwant-spares-explicit"} & {e.name for e in explaining_edits(R1)}


def test_what_another_text_says_is_no_other_explanation_than_that_the_rule_is_not_there() -> None:
    said, gone = "user-duplicates-uncounted", "does-not-count-duplicates-that-users-submit"
    assert rules_changed(edit_named(said, DOG), DOG) == rules_changed(edit_named(gone, DOG), DOG)
    for edits in (explaining_edits(DOG), hypotheses_of(DOG)):
        assert {said, gone} & {e.name for e in edits} == {said}
    # One that takes out more than the rule stands beside it.
    both = {"committed-answered", "answers-duplicate-of-committed-transaction-with-havetx"}
    assert both <= {e.name for e in explaining_edits(DOG)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cut-at-d-hihg", "gossipsub-1.2 has no edit 'cut-at-d-hihg'; did you mean cut-at-d-high?"),
        ("zzz", "nor one of a similar name"),
        ("without:the_auhtor", "no rule 'the_auhtor'; did you mean the_author?"),
        ("resets-all", "has no edit 'resets-all'"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_near(name: str, said: str) -> None:
    with pytest.raises(SpecError) as refused:
        edit_named(name, R1)
    assert said in str(refused.value)


def test_an_edit_that_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(SpecError, match="gossipsub-1.0"):
        edit_named("backoff-in-whole-seconds", PROTOCOLS["gossipsub-1.0"])


def test_an_old_name_goes_on_working(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(aliases.RENAMED, "mesh-cut-early", "cut-at-d-high")
    assert edit_named("mesh-cut-early", R1) == edit_named("cut-at-d-high", R1)
    assert aliases.current_name("cut-at-d-high") == "cut-at-d-high"


def test_several_edits_are_applied_in_order_as_far_as_they_fit() -> None:
    named = [
        edit_named(name, R1)
        for name in ("sends-message-to-author", "cut-at-d-high", "sends-message-to-author")
    ]
    built = edited(R1, named)
    assert "the_author" not in {rule.name for _, rule in built.rules()}
    assert built.name == R1.name and edited(R1, ()) is R1
