"""Statements and lines of `quidnunc prove` that speak of the same thing do not contradict each other."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.properties.statements.catalogue import CATALOGUES, STATEMENTS
from quidnunc.properties.statements.decisions import Decision, read_decisions, recorded
from tools.decide.lines import OTHERS, SAME, contradictions
from tools.prove_verdicts import PAGE, RECORD, record_text, verdicts_of_page

VERDICTS = verdicts_of_page(PAGE.read_text(encoding="utf-8"))
DECISIONS = [each for c in CATALOGUES.values() for each in read_decisions(recorded(c))]


def test_no_statement_contradicts_a_line() -> None:
    assert contradictions(DECISIONS, VERDICTS) == []


def test_the_recorded_verdicts_are_those_of_the_page() -> None:
    """`python -m tools.prove_verdicts --write` makes them so."""
    assert RECORD.read_text(encoding="utf-8") == record_text(VERDICTS)


def test_what_is_compared_is_there() -> None:
    decided = {each.key for each in DECISIONS}
    assert {each.statement for each in SAME} <= {each.id for each in STATEMENTS}
    assert all((each.statement, each.revision) in decided for each in SAME)
    assert {each.line for each in SAME} <= VERDICTS.keys()


def test_every_line_is_compared_or_has_a_reason_not_to_be() -> None:
    compared = {each.line for each in SAME}
    left = [line for line in VERDICTS if line not in compared]
    assert all(any(line.startswith(start) for start in OTHERS) for line in left), left
    assert all(any(line.startswith(start) for line in left) for start in OTHERS)


@pytest.mark.parametrize("revision", ["dog-adr-prose", "dog-quint"])
def test_the_verdicts_of_before_contradict_the_lines(revision: str) -> None:
    """What the page said of these was not refuted, while a line refuted it."""
    wrong = {
        "dog-adr-prose": {
            "routes.reopen-without-traffic", "dog.controller-repairs-isolation",
            "dissemination.withheld-arrives-elsewhere",
        },
        "dog-quint": {"dissemination.no-permanent-silence"},
    }[revision]  # fmt: skip

    def before(each: Decision) -> Decision:
        return evolve(each, events=()) if each.revision == revision and each.statement in wrong else each

    found = contradictions(map(before, DECISIONS), VERDICTS)
    assert {each.split(" is ")[0] for each in found} == wrong
    assert all(f"not refuted of {revision}, and dog-cut-off" in each for each in found)


def test_a_proof_contradicts_a_statement_that_is_refuted() -> None:
    (same,) = [each for each in SAME if (each.line, each.both) == ("dog-routes.progress", True)]
    planted = Decision(same.statement, same.revision, "pair", ("submit A t1",))
    assert contradictions([planted], {same.line: "proved"}) == [
        "messages.can-be-taken is refuted of dog, and dog-routes.progress is proved"
    ]
    assert contradictions([planted], {same.line: "by definition"})
    assert not contradictions([planted], {same.line: "refuted"})
