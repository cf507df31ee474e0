"""Every line of `prove` cites clauses that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="z3 is not installed")

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.citations import CITATIONS, ProofCitation, clauses_of_line, lines_of, lines_on
from quidnunc.properties.proofs.prove import provers

PAGE = Path(__file__).parents[3] / "docs" / "prove.md"
NAMES = sorted(provers(), key=len, reverse=True)


def recorded_lines() -> list[tuple[str, str]]:
    """(line, what decides it) of the page that `quidnunc prove --markdown` wrote."""
    cells = re.findall(r"^\| `?([a-z0-9.-]+)`? \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    owners = ((cell, next((n for n in NAMES if cell == n or cell.startswith(f"{n}.")), "")) for cell in cells)
    return [(cell, owner) for cell, owner in owners if owner]


def test_every_recorded_line_rests_on_a_clause() -> None:
    found = recorded_lines()
    assert len(found) > 150
    assert not [line for line, prover in found if not clauses_of_line(line, prover)]
    assert not clauses_of_line("nothing.at-all", "nothing")


def test_every_row_is_of_some_recorded_line_and_cites_clauses_that_exist() -> None:
    known = load()
    used = {next(row for row in CITATIONS if row.covers(*each)) for each in recorded_lines()}
    assert [row for row in CITATIONS if row not in used] == []
    assert {clause for row in CITATIONS for clause in row.clauses} <= set(known)


def test_lines_are_found_by_clause() -> None:
    found = lines_on(["dog/controller.idle"], provers())
    assert found[:2] == ("dog-controller.idle", "dog-controller-adr.idle") and len(found) == 5
    assert dict(lines_of("mesh-link")) == {"mesh-link": clauses_of_line("mesh-link", "mesh-link")}
    assert "mesh-link-backoff-waits" in lines_on(["gs1.1/backoff.resubscribe"], provers())


def test_a_row_covers_the_variations_of_its_line_alone() -> None:
    row = ProofCitation("a*", "b.c", ("x/y",))
    assert row.covers("ab.b.c", "ab") and row.covers("ab.b.c.d", "ab")
    assert not row.covers("ab.b.cd", "ab") and not row.covers("ab.b", "ab") and not row.covers("b.b.c", "b")
