"""The diff of two protocols as tuples of rules; each change can be made, and taken back, alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Phases
from quidnunc.properties.regress.diff import ProtocolChange, change_named, changes_between
from quidnunc.properties.regress.diff_clauses import (
    clause_changes,
    not_read_lines,
    parameter_changes,
    parameters_read,
)
from quidnunc.properties.regress.expect import load_declared
from quidnunc.properties.regress.sides import side_named

DECLARED = Path(__file__).parents[3] / "counterexamples" / "regress"

PAIRS = [
    ("gossipsub-1.0", "gossipsub-1.1"),
    ("gossipsub-1.1", "gossipsub-1.2-draft"),
    ("gossipsub-1.2-draft", "gossipsub-1.2"),
    ("gossipsub-1.2", "gossipsub-1.3"),
    ("gossipsub-1.3", "partial-messages"),
    ("flood", "dog"),
    ("dog", "dog-go"),
    ("dog-adr", "dog"),
    ("cat-classic", "cat"),
    ("gossipsub-1.2", "gossipsub-1.2+d=8+without:graylisted"),
]


def between(old: str, new: str) -> tuple[ProtocolChange, ...]:
    return changes_between(side_named(old), side_named(new))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_nothing_differs_from_itself(name: str) -> None:
    assert not between(name, name)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_all_changes_made_in_turn_give_the_new_one(old: str, new: str) -> None:
    side, target = side_named(old), side_named(new)
    changes = changes_between(side, target)
    assert changes and len({c.key for c in changes}) == len(changes)
    for change in changes:
        side = change.made(side, target)
    assert not changes_between(side, target)


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_change_taken_back_is_there_no_more_and_the_others_are(old: str, new: str) -> None:
    was, now = side_named(old), side_named(new)
    changes = changes_between(was, now)
    for change in changes:
        left = {c.rule or c.key for c in changes_between(was, change.undone(was, now))}
        assert (change.rule or change.key) not in left or sum(c.rule == change.rule for c in changes) > 1
        assert len(left) <= len(changes)


def test_changes_that_would_share_a_key_are_told_apart_by_their_kinds() -> None:
    old = side_named("gossipsub-1.1")
    rules = old.protocol.handlers["graft"].rules
    handlers = {**old.protocol.handlers, "graft": Phases((rules[1], rules[0], *rules[2:]))}
    new = evolve(old, protocol=evolve(old.protocol, handlers=handlers))
    changes = changes_between(old, new)
    assert [c.key for c in changes] == ["graft/graft:recombined", "graft/graft:reordered"]
    for change in changes:
        assert change_named(change.key, changes) is change
    together = ProtocolChange.together(changes)
    assert change_named(together.key, changes) == together
    assert not changes_between(changes[1].made(changes[0].made(old, new), new), new)


@pytest.mark.parametrize("path", sorted(DECLARED.glob("*.toml")), ids=lambda path: path.stem)
def test_what_is_declared_names_changes_of_its_pair(path: Path) -> None:
    changes = between(*path.stem.split("--"))
    for declared in load_declared(path):
        assert change_named(declared.cause, changes) is not None, declared.cause


def test_a_rule_that_comes_for_another_is_told_from_one_that_is_added() -> None:
    found = {c.key: c for c in between("gossipsub-1.0", "gossipsub-1.1") if c.handler == "graft"}
    replaced = found["graft/unknown_topic"]
    assert replaced.kind == "replaced" and replaced.old is not None
    assert replaced.old.name == "prune_unsubscribed" and replaced.clause == "gs1.1/graft.unknown-topic"
    assert found["graft/while_backing_off"].kind == "added"


def test_another_order_is_told() -> None:
    found = between("gossipsub-1.2", "gossipsub-1.2+control-before-payload")
    assert [(c.kind, c.handler) for c in found] == [("reordered", "intake")]


def test_readings_and_parameters_are_told() -> None:
    found = between("dog", "dog-adr-prose")
    assert "reading/starts-blocked" in {c.key for c in found}
    [change] = between("gossipsub-1.2+d=7", "gossipsub-1.2+d=8")
    assert (change.key, change.values) == ("parameter/d", (7, 8))
    assert side_named("gossipsub-1.2+flood_publish=false").overrides == (("flood_publish", False),)


def test_parameters_are_written_as_in_cases_too() -> None:
    for text in ("gossipsub-1.2+flood_publish=no", "gossipsub-1.2+flood_publish=false"):
        assert side_named(text).overrides == (("flood_publish", False),)
    assert side_named("gossipsub-1.2+D=8").overrides == side_named("gossipsub-1.2+d=8").overrides


def test_what_a_protocol_does_not_read_is_said() -> None:
    sides = side_named("floodsub"), side_named("floodsub+d=8")
    assert not_read_lines(*sides) == ("No rule of floodsub reads d: to set it changes nothing.",)
    assert not not_read_lines(side_named("gossipsub-1.2+d=8+max_message_bytes=9"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gossipsub-9", "no protocol"),
        ("gossipsub-1.2+no-such-thing", "has no edit"),
        ("gossipsub-1.2+dd=8", "'dd' is not a parameter"),
        ("gossipsub-1.2+d=many", "needs a number"),
        ("gossipsub-1.2+flood_publish=1", "flood_publish is yes or no, not '1'"),
        ("gossipsub-1.2+D_lov=3", r"'D_lov' is not a parameter of gossipsub-1.2 \(did you mean d_low\?\)"),
        ("gossipsub-1.2+d=99", "D_low <= D <= D_high"),
        ("+".join(["dog"] * 30), "at most"),
    ],
)
def test_a_side_that_is_not_known_is_named(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        side_named(text)


def test_two_families_are_not_compared() -> None:
    with pytest.raises(SpecError, match="family"):
        between("gossipsub-1.2", "dog")


# -- clauses and parameters ---------------------------------------------------------------------------------


def test_the_draft_loses_two_strategies_and_gains_the_mandatory_skip() -> None:
    found = clause_changes(side_named("gossipsub-1.2-draft"), side_named("gossipsub-1.2"))
    assert {c.id for c in found.removed} == {
        "gs1.2-draft/idontwant.on-ihave",
        "gs1.2-draft/ihave.instead-of-message",
    }
    levels = {was.id: (was.ground, now.id, now.ground) for was, now in found.levels}
    assert levels["gs1.2-draft/idontwant.may-skip"] == (
        "the text permits it",
        "gs1.2/idontwant.skip",
        "MUST",
    )


def test_what_no_rule_formalises_any_more_is_told() -> None:
    found = clause_changes(side_named("gossipsub-1.0"), side_named("gossipsub-1.1"))
    assert "gs1.0/graft.unsubscribed" in found.no_longer_ruled
    assert "gs1.1/backoff.regraft" in {c.id for c in found.added}


def test_parameters_that_one_side_alone_reads_are_told() -> None:
    found = {p.name: (p.old, p.new) for p in parameter_changes(side_named("flood"), side_named("dog"))}
    assert found["target_redundancy"] == (None, 1.0)
    read = parameters_read(PROTOCOLS["gossipsub-1.1"])
    assert {"prune_backoff_s", "publish_threshold", "graylist_threshold", "d_out"} <= set(read)
    assert "max_idontwant_messages" not in read
    assert "prune_backoff_s" not in parameters_read(PROTOCOLS["floodsub"])
