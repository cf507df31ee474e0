"""Edits of any rule: what they change, how they are told apart from the protocol, and how cases are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.model.events import Connect, Join, Receive
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Prune, Subscribe
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play
from quidnunc.properties.suite.files import edit_cases, rule_cases
from quidnunc.properties.suite.traces import Trace
from tools.suite_edits.catalogue import edits_of_suite
from tools.suite_edits.files import read_edit_cases
from tools.suite_edits.learn import learned_of
from tools.suite_edits.operators import (
    Apply,
    SuiteEdit,
    changed_parameters,
    old_entries_kept,
    other_entries_lost,
)
from tools.suite_edits.screen import BROKEN, EditScreen, first_departure
from tools.suite_edits.search import find_edits

REGRAFT: Trace = (
    Parameters(prune_backoff_s=2),
    (
        Connect((1,), "/meshsub/1.1.0"),
        Join("t1"),
        Receive((1,), (Subscribe("t1"), Graft("t1"))),
        Receive((1,), (Prune("t1", 5),)),
        Receive((1,), (Graft("t1"),)),
    ),
)


def edit_named(protocol: str, name: str) -> SuiteEdit:
    return next(edit for edit in edits_of_suite(protocol) if edit.name == name)


def plain_departure(trace: Trace, edit: SuiteEdit, protocol: str, die: int) -> int | None:
    """What `first_departure` says, from the beginning and with no reference run."""
    spec = protocol_named(protocol)
    run = Play(ModelSubject(edit.applied_to(spec), trace[0], die), Oracle(spec, trace[0]))
    for at, event in enumerate(trace[1]):
        if run.do(event):
            return at + 1
        if run.blurred:
            return None
    return None


def test_what_a_rule_reads_and_changes_is_learned() -> None:
    use = learned_of("gossipsub-1.1")["while_backing_off"]
    assert use.kind == "step" and {"backoff", "now_ms"} <= use.reads
    assert "prune_backoff_s" in use.parameters and use.kinds == {"Prune"}
    assert learned_of("gossipsub-1.1")["cut_to_d"].chooses and not use.chooses


def test_an_edit_that_sends_nothing_departs_where_the_rule_decides() -> None:
    edit, spec = (
        edit_named("gossipsub-1.1", "sends nothing: while_backing_off"),
        protocol_named("gossipsub-1.1"),
    )
    parameters, events = REGRAFT
    later = parameters, (*events, *events[-1:])
    assert first_departure(later, edit.applied_to(spec), spec, 0) == len(events)
    assert [e.name for e in EditScreen(spec, {edit.rule: [edit]}).differ(REGRAFT)] == [edit.name]


def test_an_edit_that_raises_is_none_that_a_router_could_have() -> None:
    def forgetful(old: Apply) -> Apply:
        return lambda r, *rest: {}["t1"]

    spec = protocol_named("gossipsub-1.1")
    edit = SuiteEdit("while_backing_off", "forgetful", "raises", forgetful)
    assert first_departure(REGRAFT, edit.applied_to(spec), spec, 0) is None
    screen = EditScreen(spec, {edit.rule: [edit]})
    assert not screen.differ(REGRAFT) and screen.broken == {edit.name}


@pytest.mark.parametrize("protocol", ["flood", "peer-limit"])
def test_a_reference_run_says_what_a_run_from_the_beginning_says(protocol: str) -> None:
    spec, compared = protocol_named(protocol), 0
    for _, case in rule_cases(protocol):
        trace = parameters_of(case), events_of(case)
        for edit in edits_of_suite(protocol)[::5]:
            for die in (0, 3):
                try:
                    expected = plain_departure(trace, edit, protocol, die)
                except BROKEN:
                    expected = None
                assert first_departure(trace, edit.applied_to(spec), spec, die) == expected, (edit, die)
                compared += expected is not None
    assert compared > 10


def test_a_parameter_is_changed_unchecked_and_in_a_copy() -> None:
    given = Parameters()
    assert changed_parameters(given, "d_high", lambda v: v - 10).d_high == 2 and given.d_high == 12


def test_entries_of_a_mapping_are_kept_or_lost() -> None:
    assert old_entries_kept({1: 5}, {1: 6, 2: 7}) == {1: 5, 2: 7}
    assert other_entries_lost({1: 5, 3: 8}, {1: 6, 3: 8}) == {1: 6}


def test_each_case_of_edits_shows_one() -> None:
    for protocol in ("flood", "peer-limit", "dog"):
        spec = protocol_named(protocol)
        by_rule: dict[str, list[SuiteEdit]] = {}
        for edit in edits_of_suite(protocol):
            by_rule.setdefault(edit.rule, []).append(edit)
        for name, case in edit_cases(protocol):
            trace = parameters_of(case), events_of(case)
            differ = EditScreen(spec, by_rule).differ(trace)
            assert any(first_departure(trace, e.applied_to(spec), spec, 0) for e in differ), (protocol, name)


def test_the_search_gives_the_same_again_and_keeps_what_is_there(tmp_path: Path) -> None:
    texts = []
    for at in range(2):
        find_edits(tmp_path / str(at), "flood", rounds=1)
        texts.append({p.name: p.read_text("utf-8") for p in (tmp_path / str(at)).iterdir()})
    assert texts[0] == texts[1] and any(name.endswith(".case") for name in texts[0])
    known = read_edit_cases(tmp_path / "0")
    find_edits(tmp_path / "0", "flood", rounds=0)
    assert read_edit_cases(tmp_path / "0") == known
