"""Five bugs at once in somebody else's router: how many rows the report has, and what is left of them later.

The router is tests/outside/toy_gossip.py, a gossipsub v1.1 router that shares no code with ours. A report
that serves its reader has one row a bug. The search of 200 runs takes minutes, and runs with
QUIDNUNC_NIGHTLY=1:

    QUIDNUNC_NIGHTLY=1 python -m pytest -n 0 -s tests/test_outside_bugs.py -k search
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Ran

SOURCES = Path(__file__).parent / "outside"
ROUTER = "python:toy_gossip:open_toy"
CHECK = ("check", "gossipsub-1.1", "--against", ROUTER)

CLAUSE_OF = {
    "echo": "floodsub/relay.not-back",
    "bare-leave": "gs1.0/leave.prune-each",
    "old-ihave": "gs1.1/gossip.adaptive",
    "early-graft": "gs1.1/backoff.regraft",
    "fanout-forever": "gs1.0/fanout.expire",
}
"""Bug -> the clause of the row that tells it: of the rule that is carried out wrongly."""
MOST_ROWS = len(CLAUSE_OF)
"""Of the suite and of a search alike."""

Kit = Callable[..., Ran]


@pytest.fixture
def toy(quidnunc_apart: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """The kit, called from a folder of the toy's own; the first argument is its bugs."""
    for path in SOURCES.glob("*.py"):
        shutil.copy(path, tmp_path)

    def run(bugs: set[str], *arguments: object) -> Ran:
        monkeypatch.setenv("TOY_BUGS", ",".join(sorted(bugs)))
        return quidnunc_apart(*arguments, cwd=tmp_path)

    return run


def rows_of(done: Ran) -> list[dict[str, Any]]:
    """The root causes of a report, printed for those who run this with -s."""
    assert done.code in (0, 1, 3), done.err
    rows: list[dict[str, Any]] = done.data["root_causes"]
    for row in rows:
        print(f"{', '.join(row['clauses'])}: {row['quirk']}: {row['says']}")
    print(f"{len(rows)} rows")
    return rows


def told(rows: list[dict[str, Any]]) -> set[str]:
    """The bugs whose clause a row names."""
    clauses = {clause for row in rows for clause in row["clauses"]}
    return {bug for bug, clause in CLAUSE_OF.items() if clause in clauses}


def test_without_bugs_nothing_fails(toy: Kit) -> None:
    assert rows_of(toy(set(), *CHECK, "--suite", "--json")) == []
    assert rows_of(toy(set(), *CHECK, "--runs", "15", "--json")) == []


@pytest.mark.parametrize("bug", CLAUSE_OF)
def test_each_bug_alone_is_told(toy: Kit, bug: str) -> None:
    rows = rows_of(toy({bug}, *CHECK, "--suite", "--json"))
    assert told(rows) == {bug}
    assert len(rows) <= 2


def test_all_five_are_told_and_one_that_is_fixed_leaves_the_others_the_same(toy: Kit) -> None:
    rows = rows_of(toy({*CLAUSE_OF}, *CHECK, "--suite", "--cases", "found", "--json"))
    assert told(rows) == {*CLAUSE_OF}
    assert len(rows) <= MOST_ROWS
    fixed = "fanout-forever"
    replayed = toy({*CLAUSE_OF} - {fixed}, "replay", "found", "--against", ROUTER, "--json").data["replays"]
    assert len(replayed) == len(rows)
    for each in replayed:
        expected = "fixed" if each["clause"] == CLAUSE_OF[fixed] else "same"
        assert each["outcome"] == expected, each


@pytest.mark.skipif(not os.environ.get("QUIDNUNC_NIGHTLY"), reason="minutes: set QUIDNUNC_NIGHTLY=1")
def test_a_search_tells_all_five(toy: Kit) -> None:
    rows = rows_of(toy({*CLAUSE_OF}, *CHECK, "--runs", "200", "--json"))
    assert told(rows) == {*CLAUSE_OF}
    assert len(rows) <= MOST_ROWS
