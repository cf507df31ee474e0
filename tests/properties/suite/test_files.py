"""The files of the suite: one for each distinct case, as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import play
from quidnunc.properties.suite.files import (
    BOUNDS,
    EDITS,
    SUFFIX,
    bound_cases,
    edit_cases,
    rule_cases,
    rule_of,
    suite_of,
)
from tests.helpers.puppet import ModelSubject
from tools.rule_search.files import read_rule, rules_in, write_rule
from tools.suite_edits.files import read_edit_cases, write_edit_cases

FOLDER = Path(__file__).parents[3] / "properties" / "suite" / "cases"
PATHS = sorted(FOLDER.glob(f"*{SUFFIX}"))
AT_BOUNDS = sorted((FOLDER / BOUNDS).glob(f"*{SUFFIX}"))


def test_files_are_as_they_are_written() -> None:
    for path in (*PATHS, *AT_BOUNDS):
        case = load(path)
        assert render(case, strict=True) == path.read_text("utf-8"), path
        assert list(case.protocols) == [name for name in PROTOCOLS if name in case.protocols], path


@pytest.mark.parametrize(("paths", "cases"), [(PATHS, rule_cases), (AT_BOUNDS, bound_cases)])
def test_a_distinct_case_is_one_file_and_a_protocol_has_one_of_a_name(paths: Any, cases: Any) -> None:
    distinct = {(rule_of(path.name), evolve(load(path), protocols="every")) for path in paths}
    assert len(distinct) == len(paths)
    named = [(rule_of(path.name), protocol) for path in paths for protocol in load(path).protocols]
    assert len(set(named)) == len(named) == sum(len(cases(name)) for name in PROTOCOLS)


def test_what_is_the_same_is_one_file_of_several_protocols(tmp_path: Path) -> None:
    case = dict(suite_of("gossipsub-1.1"))["colocation"]
    other = evolve(case, reason="Another.")
    given = {"gossipsub-1.3": case, "gossipsub-1.1": case, "gossipsub-1.2": other}
    cases = {name: evolve(each, protocols=name) for name, each in given.items()}
    write_rule(tmp_path, "colocation", cases)
    assert [p.name for p in sorted(tmp_path.iterdir())] == [
        "colocation.case",
        "colocation.gossipsub-1.2.case",
    ]
    assert load(tmp_path / "colocation.case").protocols == ("gossipsub-1.1", "gossipsub-1.3")
    assert read_rule(tmp_path, "colocation") == cases and rules_in(tmp_path) == ["colocation"]
    del cases["gossipsub-1.2"]
    write_rule(tmp_path, "colocation", cases)
    assert [p.name for p in tmp_path.iterdir()] == ["colocation.case"]


# -- cases of edited rules ----------------------------------------------------------------------------------


def test_files_of_edited_rules_are_as_they_are_written_and_hold_distinct_traces(tmp_path: Path) -> None:
    cases = read_edit_cases(FOLDER / EDITS)
    write_edit_cases(tmp_path, cases)
    assert cases and {p.name for p in tmp_path.iterdir()} == {f"{name}{SUFFIX}" for name in cases}
    for path in tmp_path.iterdir():
        assert path.read_text("utf-8") == (FOLDER / EDITS / path.name).read_text("utf-8"), path
    traces = {(case.parameters, case.blocks) for case in cases.values()}
    assert len(traces) == len(cases)


def test_the_suite_of_a_protocol_has_the_cases_of_all_folders() -> None:
    names = [name for name, _ in suite_of("dog")]
    parts = [cases("dog") for cases in (rule_cases, edit_cases, bound_cases)]
    assert all(parts) and len(set(names)) == len(names) == sum(map(len, parts))
    assert all(case.protocols == ("dog",) for _, case in suite_of("dog"))


def test_a_case_of_edited_rules_that_is_gone_loses_its_file(tmp_path: Path) -> None:
    case = dict(suite_of("gossipsub-1.1"))["colocation"]
    write_edit_cases(tmp_path, {"colocation-1": case, "colocation-2": case})
    write_edit_cases(tmp_path, {"colocation-2": case})
    assert read_edit_cases(tmp_path) == {"colocation-2": case}


@pytest.mark.parametrize("when", ["disconnect", "prune", "unsubscribe"])
def test_the_caps_on_ihave_outlast_what_a_peer_does(when: str) -> None:
    """No planted bug forgets the counts, because a search rarely comes to the cap and then to that."""
    spec = protocol_named("gossipsub-1.1")
    case = dict(suite_of(spec.name))["ihave-caps-again"]
    given = parameters_of(case)

    def departs(built: Protocol) -> bool:
        return bool(last_departures(play(events_of(case), ModelSubject(built, given), spec, given)))

    assert not departs(spec)
    assert departs(edit_named(f"{when}-forgets-heard", spec).change(spec))
