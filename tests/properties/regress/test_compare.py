"""What changes in behaviour: separating traces, their direction, and the declared ones replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.model.events import Advance, Connect, Join, Receive
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.regress.compare import BehaviourComparison, behaviour
from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.expect import (
    DeclaredChange,
    compare,
    declared_of,
    known_by_change,
    load_declared,
    render,
    shown_by,
    trace_text,
)
from quidnunc.properties.regress.pair import SidePair, partings_of
from quidnunc.properties.regress.search import BehaviourChange
from quidnunc.properties.regress.sides import Side, side_named
from quidnunc.properties.suite.files import suite_of

ROOT = Path(__file__).parents[3]
BASELINES = sorted((ROOT / "counterexamples" / "regress").glob("*.toml"))
DRAFT, R1 = side_named("gossipsub-1.2-draft"), side_named("gossipsub-1.2")


def found(old: str, new: str, key: str, *, walks: int = 4) -> dict[str, int]:
    """Direction -> events, for one change of a pair."""
    shown = behaviour(side_named(old), side_named(new), walks=walks, only=key).separations
    assert not any(s.alone for s in shown) and {s.change.key for s in shown} <= {key}
    return {s.direction: len(s.found.trace[1]) for s in shown}


@pytest.fixture(scope="module")
def mandatory_skip() -> BehaviourComparison:
    return behaviour(DRAFT, R1, walks=4)


def the_skip(result: BehaviourComparison) -> BehaviourChange:
    return next(s for s in result.separations if s.change.handler == "relay")


def test_the_mandatory_skip_and_nothing_else(mandatory_skip: BehaviourComparison) -> None:
    separation = the_skip(mandatory_skip)
    assert separation.verdict == "newly-forbidden" and not mandatory_skip.unseparated
    others = {s.change.clause: s.verdict for s in mandatory_skip.separations if s is not separation}
    assert others == {
        "gs1.2-draft/ihave.instead-of-message": "newly-undescribed",
        "gs1.2-draft/idontwant.on-ihave": "newly-undescribed",
    }
    assert separation.change.clause == "gs1.2/idontwant.skip"
    assert separation.found.parting.act == "Message" and len(separation.found.trace[1]) <= 6
    assert trace_text(separation).splitlines()[-1] == "- a: message m1 t1"


def test_the_other_way_round_the_skip_is_newly_allowed() -> None:
    back = behaviour(R1, DRAFT, walks=4)
    assert {s.verdict for s in back.separations} == {"newly-allowed"}
    assert the_skip(back).change.clause == "gs1.2-draft/idontwant.may-skip"


@pytest.mark.parametrize(
    ("key", "direction", "events"),
    [
        ("graft/unknown_topic", "newly-forbidden", 2),
        ("graft/while_backing_off", "newly-obligatory", 4),
        ("graft/inbound_while_full", "newly-obligatory", 3),
    ],
)
def test_the_reversals_of_v1_1(key: str, direction: str, events: int) -> None:
    assert found("gossipsub-1.0", "gossipsub-1.1", key)[direction] <= events


@pytest.mark.parametrize(
    ("edit", "key", "direction"),
    [
        ("without:already_member", "graft/already_member", "newly-obligatory"),
        ("prune_backoff_s=10", "parameter/prune_backoff_s", "newly-forbidden"),
        ("flood_publish=false", "parameter/flood_publish", "newly-obligatory"),
    ],
)
def test_a_single_edit_is_separated(edit: str, key: str, direction: str) -> None:
    assert direction in found("gossipsub-1.2", f"gossipsub-1.2+{edit}", key, walks=40)


def test_all_that_a_parameter_changes_is_told() -> None:
    """With twice the redundancy, more resets are owed, and one HaveTx at the old bounds is forbidden."""
    result = behaviour(side_named("dog"), side_named("dog+target_redundancy=2"))
    acts = {s.verdict: s.found.parting.act for s in result.separations}
    assert acts == {
        "newly-forbidden": "HaveTx",
        "newly-obligatory": "reset.target",
        "newly-allowed": "ResetRoute",
    }


RENAMED = """
from attrs import evolve
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import FirstMatch
IT = protocol_named("gossipsub-1.2")
RULES = tuple(
    evolve(r, name="inside_backoff") if r.name == "while_backing_off" else r
    for r in IT["graft"].rules
)
FORK = evolve(IT, name="renamed", handlers={**IT.handlers, "graft": FirstMatch(RULES)})
"""


def test_a_rule_that_has_another_name_alone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fork_renamed.py").write_text(RENAMED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (left,) = behaviour(R1, side_named("python:fork_renamed:FORK"), walks=1, steps=1).unseparated
    assert left.reason == "Only its name is another: the code and the clause are the same."
    assert not left.never_at_work


def test_what_shows_nowhere_is_bounded_and_not_called_equal() -> None:
    """Nothing reads the size of the pool in a protocol whose messages are not transactions of a pool."""
    result = behaviour(R1, side_named("gossipsub-1.2+max_groups_per_peer=9"), walks=3)
    [bounded] = result.unseparated
    assert not result.separations
    assert str(bounded.bound).startswith("no difference in ") and "walks of up to" in str(bounded.bound)
    assert bounded.bound.walks >= 3 and bounded.bound.events > 3 and bounded.bound.peers >= 1


@pytest.mark.parametrize("edit", ["d=6", "d_low=4"])
def test_a_default_that_is_said_is_no_change(edit: str) -> None:
    result = behaviour(R1, side_named(f"gossipsub-1.2+{edit}"), walks=1)
    assert not result.separations and not result.changes


def test_a_parameter_that_does_not_go_with_those_of_a_trace() -> None:
    """Some cases have a D for which this D_out is too many."""
    result = behaviour(side_named("gossipsub-1.1"), side_named("gossipsub-1.1+d_out=3"), walks=1)
    assert result.separations


def test_two_that_are_the_same_show_no_difference() -> None:
    """The control of the comparison: models with the same rules never part, on any case of the suite."""
    change = next(c for c in changes_between(DRAFT, R1) if c.handler == "relay")
    traces = [(parameters_of(case), events_of(case)) for _, case in suite_of("gossipsub-1.2")[::4]]
    assert len(traces) > 10
    assert not any(partings_of(change, R1, R1, trace) for trace in traces)
    pair = SidePair(R1, R1, Parameters(), 0)
    events = [Connect((1,), "/meshsub/1.2.0"), Join("t1"), Receive((1,), (Graft("t1"),)), Advance(500)]
    assert not any(pair.do(event) for event in events) and len(pair.moments) == len(events)


# -- declared changes ---------------------------------------------------------------------------------------


def test_what_is_written_is_read_and_met(mandatory_skip: BehaviourComparison, tmp_path: Path) -> None:
    path = tmp_path / "changes.toml"
    entries = [declared_of(s) for s in mandatory_skip.separations]
    path.write_text(render(DRAFT, R1, entries), encoding="utf-8")
    declared = load_declared(path)
    compared = compare(mandatory_skip.separations, declared, DRAFT, R1)
    assert compared.agrees and [d.key for d in declared] == [e.key for e in entries]
    # The trace alone shows the change, without a search.
    assert compare((), declared, DRAFT, R1).met == declared
    assert render(DRAFT, R1, declared) == path.read_text(encoding="utf-8")


def test_what_is_declared_is_met_without_a_walk() -> None:
    """Where it shows alone, too: or a file that is written could be found wanting at once."""
    path = ROOT / "counterexamples" / "regress" / "partial-messages-go--partial-messages.toml"
    old, new = sides_of(path)
    cause = "disconnect/forget_states"
    declared = [d for d in load_declared(path) if d.cause == cause]
    said: list[str] = []
    result = behaviour(
        old,
        new,
        declared=known_by_change(declared, new, path.name),
        only=cause,
        progress=said.append,
    )
    assert all(s.alone for s in result.separations)
    assert compare(result.separations, declared, old, new, path.name).agrees
    assert not any("of 12 walks" in text for text in said)
    without = behaviour(old, new, only=cause, walks=1, progress=said.append)
    assert without.separations and any("of 1 walks" in text for text in said)


def test_what_is_not_declared_and_what_did_not_happen_fail(mandatory_skip: BehaviourComparison) -> None:
    separation = the_skip(mandatory_skip)
    assert compare([separation], [], DRAFT, R1).undeclared == (separation,)
    other = evolve(declared_of(separation), verdict="newly-obligatory")
    compared = compare([separation], [other], DRAFT, R1)
    assert compared.gone == (other,) and compared.undeclared == (separation,)
    # Of two that are the same, nothing that is declared happens.
    assert compare([], [declared_of(separation)], R1, R1).gone


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("expect = 3", "expected at most"),
        ("[[expect]]\nclause = 'a'", ":1: expect 1: expected cause, reason, verdict, too"),
        ("expect = [5]", "expect 1: expected a table, got 5"),
        ("[[expect]]\nclause='a'\nclaus='b'", r":3: expect 1: no field 'claus' .did you mean clause.."),
        (
            "[[expect]]\nclause='a'\ncause='b'\nverdict='c'\nreason='d'",
            ":4: expect 1: no verdict 'c'; there are",
        ),
        (
            "[[expect]]\nclause='a'\ncause='b'\nverdict='newly-alowed'\nreason='d'",
            "no verdict 'newly-alowed' .did you mean newly-allowed..",
        ),
        ("not toml", "not TOML"),
        ("[[expect]]\nclause='a'\ncause='b'\nverdict='newly-allowed'\nreason='d'\n" * 2, "declared twice"),
    ],
)
def test_a_file_that_is_none_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "changes.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CaseError, match=said):
        load_declared(path)


def test_what_happens_otherwise_than_declared_fails(mandatory_skip: BehaviourComparison) -> None:
    entry = declared_of(the_skip(mandatory_skip))
    head, last = entry.trace.rstrip().rsplit("\n", 1)
    for wrong, said in (
        (evolve(entry, clause="bogus/clause"), "the clause is 'bogus/clause' there"),
        (evolve(entry, trace=f"{head}\n- a: message m2 t1"), "with - a: message m1 t1 when it is played"),
        (evolve(entry, trace="connect a /meshsub/1.2.0\n----\n- a: message m1 t1"), "shows nothing of it"),
    ):
        compared = compare([the_skip(mandatory_skip)], [wrong], DRAFT, R1)
        assert not compared.agrees and [o.declared for o in compared.otherwise] == [wrong]
        assert said in str(compared.otherwise[0])
    assert last == "- a: message m1 t1" and compare((), [entry], DRAFT, R1).agrees
    # Who writes by hand need not say what comes out of it.
    assert compare((), [evolve(entry, trace=head)], DRAFT, R1).agrees


def test_another_value_of_a_parameter_is_another_change() -> None:
    """What is newly owed is owed with 8 and with 9, on the same trace."""
    eight, nine = side_named("gossipsub-1.2+d=8"), side_named("gossipsub-1.2+d=9")
    separations = behaviour(R1, eight, walks=4).separations
    entries = [declared_of(s) for s in separations if s.verdict == "newly-obligatory"]
    assert entries and compare((), entries, R1, eight).agrees
    compared = compare(behaviour(R1, nine, walks=4).separations, entries, R1, nine)
    assert [o.declared for o in compared.otherwise] == entries
    assert "the default -> 8" in str(compared.otherwise[0])
    # Older files have the values in the reason alone, until somebody writes a better one.
    older = [evolve(e, change="") for e in entries]
    assert compare((), older, R1, nine).otherwise and compare((), older, R1, eight).agrees
    assert compare((), [evolve(e, reason="Why.") for e in older], R1, nine).agrees
    assert [o.instead.change for o in compared.otherwise if o.instead] == ["d: the default -> 9"] * len(
        entries
    )


def test_a_trace_that_cannot_be_read_is_refused() -> None:
    change = next(c for c in changes_between(DRAFT, R1) if c.handler == "relay")
    broken = DeclaredChange(
        clause=change.clause,
        cause=change.key,
        verdict="newly-forbidden",
        reason="Why.",
        trace="dance a\n----",
    )
    with pytest.raises(CaseError, match="the trace of relay/who_said_idontwant"):
        list(shown_by(broken, DRAFT, R1))


def sides_of(path: Path) -> tuple[Side, Side]:
    old, new = path.stem.split("--")
    return side_named(old), side_named(new)


def test_there_are_baselines() -> None:
    assert BASELINES


@pytest.mark.parametrize("path", BASELINES, ids=lambda p: p.stem)
def test_each_declared_trace_still_shows_its_change(path: Path) -> None:
    old, new = sides_of(path)
    declared = load_declared(path)
    assert declared and all(d.trace for d in declared)
    compared = compare((), declared, old, new, path.name)
    assert not compared.gone and not [str(each) for each in compared.otherwise]


@pytest.mark.parametrize("path", BASELINES, ids=lambda p: p.stem)
def test_no_declared_trace_shows_anything_between_a_protocol_and_itself(path: Path) -> None:
    _, new = sides_of(path)
    assert not [each for d in load_declared(path) for each in shown_by(d, new, new, path.name)]


def test_a_larger_number_is_demanded_where_the_suite_shows_it() -> None:
    """The shortest trace has one IHAVE more than was allowed; with more peers, one fewer is too few."""
    found = behaviour(side_named("gossipsub-1.2"), side_named("gossipsub-1.2+d_lazy=7"))
    assert [s.verdict for s in found.separations] == ["newly-obligatory", "newly-allowed"]
    assert [s.clauses for s in found.separations] == [("gs1.0/gossip.targets",), ("gs1.1/gossip.adaptive",)]
    assert "at least 7" in found.separations[0].found.parting.departure.reason
