"""One killing case per mutant: the mutant fails it as recorded, and our router passes the same events."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.impl.routers import mutants_by_name
from quidnunc.properties.cases import load, render, replay
from quidnunc.properties.mutation import (
    is_expected,
    mutant_named,
    opener_of,
    problem_with,
    protocol_of_mutant,
)

FOLDER = Path(__file__).parents[1] / "counterexamples" / "mutants"
NAMES = sorted(path.stem for path in FOLDER.glob("*.case"))
ENOUGH = 25
"""So many mutants at least have a killing case; `make mutants` says which have none yet."""


@pytest.mark.parametrize("name", NAMES)
def test_its_case_kills_the_mutant_and_spares_the_router(name: str) -> None:
    case = load(FOLDER / f"{name}.case")
    assert (case.against, case.status) == (f"ours:{name}", "open")
    assert case.protocol == protocol_of_mutant(mutant_named(name))
    assert is_expected(mutant_named(name), case.claim), f"{case.claim} is not what should kill {name}"
    assert problem_with(case) == ""


@pytest.mark.parametrize("name", NAMES)
def test_rewriting_it_changes_nothing(name: str) -> None:
    path = FOLDER / f"{name}.case"
    rewritten = replay(load(path), opener_of(name)).rewritten
    assert render(rewritten, strict=True) == path.read_text("utf-8")


def test_no_case_is_of_a_mutant_that_is_gone() -> None:
    assert set(NAMES) <= set(mutants_by_name())
    assert len(NAMES) >= ENOUGH
