"""Every guarantee cites clauses that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="z3 is not installed")

import quidnunc.properties.params.citations as citations
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.params.citations import OF_COMET_SIZES, ROWS, guarantees_on, row_of
from quidnunc.properties.params.guarantees import Guarantee


def test_clauses_exist() -> None:
    assert {clause for row in ROWS.values() for clause in row.clauses} <= set(load())
    assert all(row.clauses for row in ROWS.values())


def test_every_guarantee_of_the_sources_has_a_row() -> None:
    folder = Path(citations.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    ids = {found for text in texts for found in re.findall(r'\b(?:id|identity) ?= ?f?"([A-Za-z-]+)', text)}
    assert ids == set(ROWS) - {OF_COMET_SIZES}


def test_a_guarantee_knows_its_clauses() -> None:
    found, row = Guarantee(id="backoff (a of b)", verdict="holds"), ROWS["backoff"]
    assert (found.text, found.clauses, found.assumptions) == (row.text, row.clauses, row.assumptions)
    assert row.text and row.assumptions
    assert "neighbours" in guarantees_on("gs1.1/score.colocation")
    assert row_of("none of these").clauses == ()
