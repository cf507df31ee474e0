"""A misreading that model and router share is seen in what somebody else wrote.

The page has every rule, as `python -m tools.misreadings` wrote it. Here a sample is played again: of the rows
that say of a router that it shows the misreading, every so many.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence

import pytest
from attrs import frozen

from quidnunc.impl.drivers.go_libp2p import builds as go_builds
from quidnunc.impl.drivers.js_libp2p import builds as js_builds
from quidnunc.model.edit import dropping
from quidnunc.model.machine import protocol_named
from quidnunc.properties.search.worker import hello_of
from tools.misreadings import (
    MOST_CASES,
    OUTCOMES,
    PAGE,
    PROTOCOL,
    ROUTERS,
    Conforming,
    conforming_runs,
    named_in_advance,
    outcome,
    page_rows,
    planted,
    planted_anywhere,
    rules_named,
)

BUILDS = {"go-libp2p-pubsub": go_builds, "js-libp2p": js_builds}
SAMPLED = 5
"""Of the rows of a router, one of so many is played again."""


@frozen
class Row:
    mutant: str
    rule: str
    clause: str
    told: tuple[str, ...]


def rows() -> tuple[Row, ...]:
    lines = re.findall(
        r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| (.+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return tuple(Row(m, rule, clause, tuple(told.split(" | "))) for m, rule, clause, told in lines)


def shown_by(router: str) -> tuple[Row, ...]:
    at = ROUTERS.index(router)
    return tuple(row for row in rows() if row.told[at] == "shown")


@pytest.fixture(scope="module")
def runs() -> tuple[Conforming, ...]:
    return tuple(conforming_runs())


def absent(router: str) -> str:
    """Why the router cannot be played here; empty where it can."""
    if router == "py-libp2p":
        there = importlib.util.find_spec("libp2p") is not None
        return "" if there else "libp2p is not installed: pip install '.[py-libp2p]'"
    builds = BUILDS[router]
    if lacking := builds.missing(builds.DEFAULT):
        return lacking
    release = builds.release_named(builds.DEFAULT)
    return "" if release.record else f"{release.name} is not built here: {release.command}"


@pytest.mark.parametrize("router", ROUTERS)
def test_a_shared_misreading_is_seen_in_a_released_router(router: str, runs: Sequence[Conforming]) -> None:
    if reason := absent(router):
        pytest.skip(reason)
    hello = hello_of(router, PROTOCOL, profile="spec")
    for row in shown_by(router)[::SAMPLED]:
        misread = dropping(row.rule)(protocol_named(PROTOCOL))
        cases = [each.case for each in runs if each.departs_from(misread)]
        assert planted(row.clause, cases, misread) == row.mutant, row
        assert outcome(router, hello, cases[:MOST_CASES], misread) == "shown", row


def test_the_page_has_the_rules_that_were_named_in_advance() -> None:
    (named,) = named_in_advance()
    clauses = {each.name: each.clause for _, each in protocol_named(named.protocol).rules()}
    text = PAGE.read_text("utf-8").partition("<!-- named: begin -->")[2]
    found = re.findall(r"^\| `(\w+)` \| `(.+?)` \| ([\w ,-]+) \| ([\w ]+) \|$", text, re.MULTILINE)
    assert [rule for rule, *_ in found] == [*named.rules]
    assert all(clauses[rule] == clause and told in OUTCOMES for rule, clause, _, told in found)
    assert not {*named.rules} & {*rules_named()}
    both = [told for _, _, mutant, told in found if mutant != "no mutant"]
    assert len(both) >= 10 and f"of {len(both)} the misreading was planted" in text


def test_a_misreading_named_in_advance_is_planted_in_our_router() -> None:
    """That of `while_blocked` by a mutant of the clause beside it, in every case."""
    name, rule = "dog-go", "while_blocked"
    misread = dropping(rule)(protocol_named(name))
    cases = [each.case for each in conforming_runs(name) if each.departs_from(misread)][:MOST_CASES]
    assert planted("dog/havetx.while-blocked", cases, misread, name) == ""
    assert planted_anywhere(cases, misread, name) == "never-blocked"
    assert planted_anywhere(cases, protocol_named(name), name) == ""


def test_at_least_ten_misreadings_are_seen_by_each_router() -> None:
    assert all(len(shown_by(router)) >= 10 for router in ROUTERS)


def test_the_page_has_the_rules_and_their_sentences() -> None:
    clauses = {each.name: each.clause for _, each in protocol_named(PROTOCOL).rules()}
    assert all(clauses[row.rule] == row.clause and row.rule in rules_named() for row in rows())
    assert all(told in OUTCOMES for row in rows() for told in row.told)


def test_the_page_leaves_out_no_rule() -> None:
    """Each is in the table, or among those of which it says why not."""
    text = PAGE.read_text("utf-8")
    assert not [rule for rule in rules_named() if f"`{rule}`" not in text]
    assert f"{len(rules_named())} rules; of {len(rows())} the misreading was planted" in text
    assert page_rows([]).startswith("0 rules; of 0")
