"""`check --expect` of failures that nothing explains: only their clause and kind tell them from others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from quidnunc.properties.cases.file import load
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from tests.conftest import Command

CLAUSE, CAUSE = "floodsub/relay.not-back", "unexplained:unexpected"
KEY = f"{CLAUSE} {CAUSE}"
OLD, OTHER = "ours:echo", "ours:announce-to-topic"
CASE = f"{CLAUSE.replace('/', '.')}.{CAUSE.replace(':', '.')}"


@pytest.fixture
def shows_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the suite's cases in which the one fault of the router shows, which nothing explains."""
    names = ["the_author", "deliver"]
    real = suite_run.run_suite

    def run(name: str, against: str, *more: Any, **options: Any) -> Campaign:
        campaign = real(name, against, *more, **options)
        root = next(iter(campaign.roots.values()))
        told = {"clause": CLAUSE, "quirk": CAUSE, "kind": "unexplained"}
        campaign.roots = {(CLAUSE, CAUSE): evolve(root, **told, seen_in=frozenset(names))}
        return campaign

    monkeypatch.setattr(suite_run, "run_suite", run)
    return names


def check(router: str, folder: Path, *more: object) -> tuple[object, ...]:
    return ("check", "floodsub", "--against", router, "--suite", "--expect", folder / "e.toml", *more)


def test_cases_that_the_entry_does_not_list_are_told_and_fail(
    quidnunc: Command, tmp_path: Path, shows_in: list[str]
) -> None:
    quidnunc(*check(OLD, tmp_path, "--update-expect", "--cases", tmp_path / "c"))
    assert 'seen_in = ["deliver", "the_author"]' in (tmp_path / "e.toml").read_text()
    ran = quidnunc(*check(OLD, tmp_path))
    assert ran.code == 0 and "would pass for this one" not in ran.out
    assert f"quidnunc replay {tmp_path / 'c' / CASE}.case" in ran.out
    assert "departs in 2 cases of the suite: deliver, the_author" in ran.out

    new = next(name for name, _ in suite_of("floodsub") if name not in shows_in)
    shows_in.append(new)
    ran = quidnunc(*check(OLD, tmp_path, "--junit", tmp_path / "junit.xml"))
    assert ran.code == 1 and f"UNEXPECTED: {KEY}: also departs in: {new}\n" in ran.out
    assert f"/suite/cases/{new}." in ran.out and f"{tmp_path / 'c' / CASE}.case" not in ran.out
    assert "<failure" in (tmp_path / "junit.xml").read_text()
    expected = quidnunc(*check(OLD, tmp_path, "--json")).data["expected"]
    assert expected["unexpected"] == [{"clause": CLAUSE, "cause": CAUSE, "also_departs_in": [new]}]


def test_what_an_entry_without_names_is_not_told_from_is_said(
    quidnunc: Command, tmp_path: Path, shows_in: list[str]
) -> None:
    shows_in.clear()
    quidnunc(*check(OLD, tmp_path, "--update-expect", "--cases", tmp_path / "c"))
    assert "seen_in" not in (tmp_path / "e.toml").read_text()
    shows_in.append("deliver")
    ran = quidnunc(*check(OLD, tmp_path))
    assert ran.code == 0
    assert f"unexplained: {KEY}: a new fault of the same clause and kind would pass for this one" in ran.out


def test_the_case_of_another_fault_with_the_same_name_is_beside_the_old_one(
    quidnunc: Command, tmp_path: Path, shows_in: list[str]
) -> None:
    """In its place, it would be replayed for that of the old one, and the old one would count as found."""
    cases = tmp_path / "c"
    quidnunc(*check(OLD, tmp_path, "--update-expect", "--cases", cases))
    before = load(cases / f"{CASE}.case")

    ran = quidnunc(*check(OTHER, tmp_path))
    assert ran.code == 1 and f"GONE: {KEY}" in ran.out and f"UNEXPECTED: {KEY}" in ran.out
    # The old case does not show it.
    assert f"{CASE}.case" not in ran.out

    ran = quidnunc(*check(OTHER, tmp_path, "--cases", cases))
    assert ran.code == 1 and f"GONE: {KEY}" in ran.out
    assert f"quidnunc replay {cases / CASE}.2.case" in ran.out
    assert load(cases / f"{CASE}.case") == before
    assert quidnunc("replay", cases / f"{CASE}.2.case").code == 1

    # What is taken up has the case and the words of what is there now.
    reason = (tmp_path / "e.toml").read_text().partition("reason = ")[2].partition("\n")[0]
    quidnunc(*check(OTHER, tmp_path, "--update-expect", "--cases", cases))
    text = (tmp_path / "e.toml").read_text()
    assert f"{CASE}.case" in text and reason not in text
    assert quidnunc(*check(OTHER, tmp_path)).code == 0
