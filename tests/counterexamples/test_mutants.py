"""One killing case per mutant: the mutant fails it as recorded, and our router passes the same events."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.routers import mutants_by_name
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from tools.mutation.mutants import is_expected, opener_of, problem_with

MOST_WITHOUT = 0
FOLDER = Path(__file__).parents[2] / "counterexamples" / "mutants"
WITHOUT = frozenset(tomllib.loads((FOLDER / "WITHOUT.toml").read_text("utf-8"))["names"])
"""Mutants that searches kill and for which no short case is committed yet. The list only becomes shorter."""
NAMES = sorted(mutants_by_name().keys() - WITHOUT)


def advice(name: str, problem: str) -> str:
    """What to do about a case that no longer kills."""
    return f"{problem}; find another with: {again(name)}"


def again(name: str) -> str:
    return f"python -m tools.mutation --write counterexamples/mutants {name}"


def complaint(case: Case, name: str) -> str:
    """What is wrong with a case that should kill the mutant, with the command to rewrite it; or nothing."""
    problem = problem_with(case)
    return advice(name, problem) if problem else ""


@pytest.mark.parametrize("name", NAMES)
def test_its_case_kills_the_mutant_and_spares_the_router(name: str) -> None:
    path = FOLDER / f"{name}.case"
    assert path.exists(), advice(name, f"{name} has no killing case")
    case = load(path)
    assert case.against == f"ours:{name}" and case.status in ("open", "observed")
    assert case.protocol == protocol_of_mutant(mutant_named(name))
    assert is_expected(mutant_named(name), case.claim), f"{case.claim} is not what should kill {name}"
    assert not complaint(case, name), complaint(case, name)


@pytest.mark.parametrize("name", NAMES)
def test_rewriting_it_changes_nothing(name: str) -> None:
    path = FOLDER / f"{name}.case"
    rewritten = replay_router(load(path), opener_of(name)).rewritten
    assert render(rewritten, strict=True) == path.read_text("utf-8"), advice(name, f"{path.name} is stale")


def test_those_without_a_case_are_few_and_have_none() -> None:
    assert WITHOUT <= mutants_by_name().keys()
    assert len(WITHOUT) <= MOST_WITHOUT
    assert not [name for name in WITHOUT if (FOLDER / f"{name}.case").exists()]


def test_no_case_is_of_a_mutant_that_is_gone() -> None:
    assert {path.stem for path in FOLDER.glob("*.case")} == set(NAMES)


def test_a_stale_case_is_reported_with_the_command_that_rewrites_it() -> None:
    case = load(FOLDER / "hello-empty.case")
    assert complaint(case, "hello-empty") == ""
    block = case.blocks[0]
    stale = evolve(case, blocks=(evolve(block, events=block.events[:1]), *case.blocks[1:]))
    said = complaint(stale, "hello-empty")
    assert "its case replays as" in said
    assert said.endswith("--write counterexamples/mutants hello-empty")
