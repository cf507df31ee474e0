"""Each proved line fails under the edit of a rule that is named for it, and none has an edit for nothing."""

from __future__ import annotations

import os
import re
from datetime import date
from pathlib import Path

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")

from attrs import evolve

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.dog import routes_prove
from quidnunc.properties.proofs.dog.controller import CONTROLLERS
from quidnunc.properties.proofs.edits import EDITS, FAILS, GONE, MISSING, by_edit, edit_of_line
from quidnunc.properties.proofs.prove import provers, under_edit
from quidnunc.properties.solver.edits import editing

PAGE = Path(__file__).parents[3] / "docs" / "prove.md"


def recorded_proofs() -> list[tuple[str, str]]:
    """(line, what decides it) of the proved lines of the page that `quidnunc prove --markdown` wrote."""
    names = sorted(provers(), key=len, reverse=True)
    rows = re.findall(r"^\| `([^`]+)` \| [^|]* \| \*\*proved\*\* \|", PAGE.read_text("utf-8"), re.MULTILINE)
    return [(row, next(n for n in names if row == n or row.startswith(f"{n}."))) for row in rows]


PROOFS = recorded_proofs()
GROUPS = by_edit(PROOFS)
COSTLY = [group for group in GROUPS if group[0].startswith("dog-routes")]
"""A ranking of any size takes seconds: of these one is tried each day, or all with QUIDNUNC_EDITS=all."""
TODAY = (
    COSTLY if os.environ.get("QUIDNUNC_EDITS") == "all" else [COSTLY[date.today().toordinal() % len(COSTLY)]]
)
TRIED = [*(group for group in GROUPS if group not in COSTLY), *TODAY]


def test_every_proof_names_an_edit_of_a_rule_of_some_document() -> None:
    assert len(PROOFS) > 90
    assert [line for line, prover in PROOFS if edit_of_line(line, prover) is None] == []
    assert {edit.clause for edit in EDITS} <= set(load())
    # An edit that no line needs is not tried.
    assert {number for _, number in GROUPS} == set(range(len(EDITS)))


@pytest.mark.parametrize(("prover", "number"), TRIED, ids=str)
def test_a_proof_fails_under_its_edit(prover: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a step of the ranking fails, it does so for the smallest network.
    monkeypatch.setattr(routes_prove, "RANKED_SIZES", routes_prove.RANKED_SIZES[:1])
    became = under_edit(prover, EDITS[number], GROUPS[prover, number])
    assert set(became) == set(GROUPS[prover, number])
    assert {line: verdict for line, verdict in became.items() if verdict not in FAILS} == {}


def test_without_its_switches_an_edit_breaks_nothing() -> None:
    edit = edit_of_line("mesh-star.admits", "mesh-star")
    assert edit is not None
    assert under_edit("mesh-star", evolve(edit, switches={}), ["mesh-star.admits"]) == {
        "mesh-star.admits": "proved"
    }


def test_a_part_of_a_refuted_proof_is_gone_and_a_line_of_nothing_is_missing() -> None:
    edit = edit_of_line("mesh-link-backoff", "mesh-link-backoff")
    assert edit is not None
    lines = ["mesh-link-backoff", "mesh-link-backoff.clauses", "nothing"]
    became = under_edit("mesh-link-backoff", edit, lines)
    assert list(became.values()) == ["refuted", GONE, MISSING] and MISSING not in FAILS


def test_an_edit_ends_with_its_block_and_turns_what_there_is() -> None:
    name = "dog-controller"
    with editing({"no_width": True}):
        assert CONTROLLERS[name].no_width
        with (
            pytest.raises(SpecError, match="turns nothing, which ControllerRevision has not"),
            editing({"nothing": True}),
        ):
            CONTROLLERS[name]
    assert not CONTROLLERS[name].no_width
