"""Known bugs: the table is whole, each state of a row can be reached, and one real pair is played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.routers import built_routers
from quidnunc.impl.seam import AdapterError, Config, NotBuiltError
from quidnunc.properties.cases.file import parse
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.recall.bugs import KnownBug, case_of, known_bugs
from quidnunc.properties.recall.play import recall
from quidnunc.properties.search.worker import opener_of

CASE = """\
A message goes back to the peer that it came from.

format: 2
claim: relay.not-back
clause: floodsub/relay.not-back
protocols: floodsub
against: ours:echo
status: open
seed: 0

join t1
connect a /floodsub/1.0.0
a: subscribe t1
a: message m1 t1
----
+ a: message m1 t1
"""
BUG = KnownBug(
    id="X-1",
    router="x",
    affected="1",
    fixed="2",
    says="",
    case="X-1.case",
    right=("floodsub/relay.not-back",),
)


def openers(before: str, after: str) -> Callable[[str], Any]:
    """Stand-ins for the two releases of BUG."""
    return lambda name: opener_of({"x@1": before, "x@2": after}[name])


def failing(error: Exception) -> Callable[[str], Any]:
    def opener(config: Config) -> Any:
        raise error

    return lambda name: opener


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ("ours:echo", "ours", "found"),
        ("ours", "ours", "missed"),
        ("ours", "ours:echo", "missed"),
        ("ours:echo", "ours:echo", "still departs"),
    ],
)
def test_a_bug_is_found_only_where_it_was_and_is_no_more(before: str, after: str, state: str) -> None:
    result = recall(BUG, parse(CASE), openers(before, after))
    assert result.state == state
    assert result.gone_after == (state == "found")
    assert result.found_before == (before == "ours:echo")


def test_the_clause_is_that_of_the_departure_and_not_of_the_file() -> None:
    case = evolve(parse(CASE), clause="gs1.0/relay.mesh")
    assert recall(BUG, case, openers("ours:echo", "ours")).right_clause
    elsewhere = evolve(BUG, right=("gs1.0/relay.mesh",))
    result = recall(elsewhere, case, openers("ours:echo", "ours"))
    assert result.gone_after and not result.right_clause


def test_a_replay_that_cannot_tell_is_no_find() -> None:
    text = CASE.replace("a: message m1 t1\n----", "b: message m1 t1\n----")
    assert recall(BUG, parse(text), openers("ours:echo", "ours")).state == "inconclusive"


def test_a_release_that_is_not_built_is_skipped_with_the_command() -> None:
    error = NotBuiltError("x@1 is not built here; to build it: quidnunc routers build x@1")
    result = recall(BUG, parse(CASE), failing(error))
    assert (result.state, result.reason) == ("skipped", str(error))


def test_a_driver_that_fails_is_broken() -> None:
    assert recall(BUG, parse(CASE), failing(AdapterError("it ended"))).state == "broken"


def test_a_row_without_a_case_says_why() -> None:
    result = recall(evolve(BUG, case="", not_driven="no driver"), None, opener_of)
    assert (result.state, result.reason) == ("not driven", "no driver")


def test_the_table_is_whole() -> None:
    bugs = known_bugs()
    assert len(bugs) == 51
    for bug in bugs.values():
        assert bool(bug.case) != bool(bug.not_driven), f"{bug.id}: either a case or a reason"
        assert bug.says.endswith("."), bug.id
        if bug.not_driven:
            assert bug.missing, f"{bug.id}: what would it need?"


def test_each_case_is_of_its_row() -> None:
    for bug in (each for each in known_bugs().values() if each.case):
        case = case_of(bug)
        assert case.against == bug.releases[0] and case.control == "passes", bug.id
        assert bug.right and set(bug.right) <= set(load()), bug.id
        for version in (bug.affected, bug.fixed):
            assert built_routers()[bug.router].release_named(version).version == version


@pytest.mark.parametrize("id", ["GO-13", "GO-17", "JS-16"])
def test_a_real_pair(id: str) -> None:
    bug = known_bugs()[id]
    result = recall(bug, case_of(bug), opener_of)
    if result.state == "skipped":
        pytest.skip(result.reason)
    assert result.state == "found", result.reason
    assert result.right_clause
