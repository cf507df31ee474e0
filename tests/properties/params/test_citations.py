"""Every guarantee cites clauses that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="z3 is not installed")

import quidnunc.properties.params.citations as citations
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.params.citations import CITED, OF_COMET_SIZES, clauses_of_guarantee, guarantees_on
from quidnunc.properties.params.guarantees import Guarantee


def test_clauses_exist() -> None:
    assert {clause for clauses in CITED.values() for clause in clauses} <= set(load())
    assert all(CITED.values())


def test_every_guarantee_of_the_sources_has_a_row() -> None:
    folder = Path(citations.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.py")]
    ids = {found for text in texts for found in re.findall(r'\b(?:id|identity) ?= ?f?"([A-Za-z-]+)', text)}
    assert ids == set(CITED) - {OF_COMET_SIZES}


def test_a_guarantee_knows_its_clauses() -> None:
    found = Guarantee(id="backoff (a of b)", text="A.", verdict="holds")
    assert found.clauses == CITED["backoff"] == clauses_of_guarantee("backoff")
    assert "neighbours" in guarantees_on("gs1.1/score.colocation")
    assert clauses_of_guarantee("none of these") == ()
