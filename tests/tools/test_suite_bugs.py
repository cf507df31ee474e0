"""Cases of the suite that name planted bugs: each shows those that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.suite.files import BOUNDS, bound_cases, edit_cases, rule_cases
from tools.rule_search.files import read_rule, rules_in
from tools.suite_bugs.bounds import main, write_bounds
from tools.suite_bugs.files import MAX_NAMED, bugs_named
from tools.suite_bugs.kills import PlayedTrace, shown_in
from tools.suite_power import planted_by_protocol

FOLDER = Path(__file__).parents[2] / "properties" / "suite" / "cases" / BOUNDS


@pytest.mark.parametrize("bound", rules_in(FOLDER))
def test_a_case_at_a_bound_shows_the_bugs_that_it_names(bound: str) -> None:
    left: dict[str, Case] = {}
    planted = planted_by_protocol()
    for name, case in read_rule(FOLDER, bound).items():
        walk = PlayedTrace(name, (parameters_of(case), events_of(case)))
        assert walk.in_order, name
        named = bugs_named(case)
        assert 0 < len(named) <= MAX_NAMED
        of_protocol = [bug for bug in named if bug in planted.get(name, ())]
        assert list(shown_in(walk, of_protocol)) == of_protocol, name
        left |= {bug: case for bug in of_protocol}
    assert left


@pytest.mark.parametrize("name", PROTOCOLS)
def test_names_of_cases_are_distinct(name: str) -> None:
    names = [each for cases in (rule_cases, edit_cases, bound_cases) for each, _ in cases(name)]
    assert len(set(names)) == len(names)


def test_cases_are_written_as_they_are(tmp_path: Path) -> None:
    """But those that name other bugs, where another case shows the same less often."""
    kept = ["stale", "announced-once"]
    for path in FOLDER.iterdir():
        if path.name.partition(".")[0] in kept:
            (tmp_path / path.name).write_text(path.read_text("utf-8"), encoding="utf-8")
    shown = write_bounds(tmp_path)
    assert "cat-stale-taken" in shown and rules_in(tmp_path) == sorted(kept)
    for bound in kept:
        for name, case in read_rule(tmp_path, bound).items():
            assert events_of(case) == events_of(read_rule(FOLDER, bound)[name])
    first = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    write_bounds(tmp_path)
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == first


def test_a_case_in_which_a_choice_cannot_be_seen_is_refused(tmp_path: Path) -> None:
    """What a GRAFT during the backoff costs is not fixed, and here it decides what happens."""
    text = (FOLDER / "score-regraft.case").read_text("utf-8")
    (tmp_path / "score-regraft.case").write_text(text.replace("score a -5", "score a -9"), encoding="utf-8")
    with pytest.raises(ValueError, match="score-regraft: .* a choice cannot be seen"):
        write_bounds(tmp_path)


def test_a_file_that_is_no_case_is_named_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "stale.case"
    torn.write_text((FOLDER / "stale.case").read_text("utf-8").rstrip() + "\njoin t1\n", encoding="utf-8")
    text = torn.read_text("utf-8")
    monkeypatch.setattr("sys.argv", ["bounds", str(tmp_path)])
    assert main() == 2
    assert f"nothing was written: {torn}:" in capsys.readouterr().err
    assert torn.read_text("utf-8") == text
