"""The directed search: where a change is at work, and what is aimed at from there."""

from __future__ import annotations

import random
from typing import Any

import pytest
from attrs import evolve

from quidnunc.model.choices import Choose
from quidnunc.model.events import Advance, Connect, Join, Publish, Receive
from quidnunc.model.parameters import Parameters
from quidnunc.model.permits import Step
from quidnunc.model.pubsub import messages
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.rpc import IHave, Message, Subscribe
from quidnunc.model.rules import Rule, rule
from quidnunc.properties.regress.compare import behaviour
from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.directed import DirectedSearch, FewestDraws, directed_traces, fresh
from quidnunc.properties.regress.expect import DeclarationComparison
from quidnunc.properties.regress.pair import SidePair, partings_of
from quidnunc.properties.regress.reads import count_of, names_read, time_ms
from quidnunc.properties.regress.search import related_traces
from quidnunc.properties.regress.sides import Side, levelled_sides, side_named
from quidnunc.properties.suite.traces import Trace
from quidnunc.reports.regress import RegressReport

OLD = side_named("gossipsub-1.0")
STREAM = "/meshsub/1.0.0"
M1 = Message("m1", "t1", author=2)


def candidates(old: Side, new: Side) -> Any:
    """The change between two sides, and what a directed search proposes for it."""
    old, new = levelled_sides(old, new)
    (change,) = changes_between(old, new)
    return change, old, new, directed_traces(change, old, new, *related_traces(change, old, new))


def shown(old: Side, new: Side) -> tuple[Trace, set[str]]:
    """The first candidate on which the two part, and the directions in which they do."""
    change, old, new, traces = candidates(old, new)
    for trace in traces:
        for die in range(4):
            found = partings_of(change, old, new, trace, die)
            if found:
                return trace, {*found}
    pytest.fail("no candidate shows the change")


def replaced(name: str, by: Rule) -> Side:
    return evolve(OLD, name=f"gossipsub-1.0, {name}", protocol=OLD.protocol.with_rule(name, by))


# -- what is aimed at --------------------------------------------------------------------------------------


def test_what_a_changed_rule_reads_is_found_in_its_code() -> None:
    changes = {c.key: c for c in changes_between(side_named("gossipsub-1.0"), side_named("gossipsub-1.1"))}
    assert any("prune_backoff_s" in names_read(change) for change in changes.values())
    p = Parameters()
    assert (time_ms(p, "prune_backoff_s"), time_ms(p, "opportunistic_graft_ticks")) == (60_000, 60_000)
    assert time_ms(p, "d") is None and count_of(p, "d") == 6 and count_of(p, "seen_ttl_ms") is None


def test_an_act_is_repeated_about_another_message() -> None:
    """A router refuses to publish a message again."""
    publish, rpc = Publish(Message("m1", "t1")), Receive((1,), (IHave("t1", ("m1",)),))
    assert fresh(publish, [publish]) == Publish(Message("m101", "t1"))
    assert fresh(rpc, [publish, rpc]) == Receive((1,), (IHave("t1", ("m102",)),))
    assert fresh(Join("t1"), [publish]) == Join("t1")


def test_a_wait_between_heartbeats_loses_no_time() -> None:
    pair = SidePair(OLD, OLD, Parameters(), 0)
    for event in (Join("t1"), Advance(499), Advance(60_200)):
        for single in pair.singles(event):
            pair.do(single)
    assert [oracle.state.now_ms for oracle in pair.oracles] == [60_699, 60_699]


def test_two_that_are_the_same_have_no_candidates() -> None:
    """With whatever draws: the two draw the same."""
    new = evolve(OLD, name="the same")
    change = changes_between(OLD, side_named("gossipsub-1.0+seen_ttl_ms=121000"))[0]
    trace: Trace = (Parameters(), (Join("t1"), Connect((1, 2), STREAM), Receive((1, 2), (Subscribe("t1"),))))
    for draws in (random.Random, lambda seed: FewestDraws(), lambda seed: FewestDraws(most=True)):
        assert not list(DirectedSearch(change, OLD, new, draws, steps=2000).traces([], [trace]))


# -- what is found -----------------------------------------------------------------------------------------


def test_a_fanout_that_lives_for_a_second_longer() -> None:
    """It shows a minute later, and after a peer has come that only a new fanout takes in, or to gossip."""
    trace, directions = shown(side_named("gossipsub-1.2"), side_named("gossipsub-1.2+fanout_ttl_ms=61000"))
    assert "newly-forbidden" in directions
    assert sum(e.ms for e in trace[1] if isinstance(e, Advance)) > 59_000


@rule("gs1.0/seen.ttl")
def seen_slides(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Each copy renews the entry."""
    step: Any = messages.seen_before.apply(r, m, choose)
    return None if step is None else Step(step.router.with_seen(m.part.id), step.permits)


def test_a_seen_cache_whose_entries_slide() -> None:
    """The two states differ at the second copy, and nothing shows before the end of the first one's time."""
    trace, directions = shown(OLD, replaced("seen_before", seen_slides))
    assert directions == {"newly-forbidden"}
    assert [type(e) for e in trace[1]].count(Advance) >= 2


def test_a_time_between_its_two_values() -> None:
    found = behaviour(OLD, side_named("gossipsub-1.0+seen_ttl_ms=121000"), walks=0, steps=1)
    assert [each.direction for each in found.separations] == ["newly-forbidden"]


# -- what is not -------------------------------------------------------------------------------------------


def reported(found: Any) -> RegressReport:
    nothing: Any = ()
    compared = DeclarationComparison((), (), ())
    return RegressReport(found, (), None, nothing, (), (), None, compared, False, "")


def test_a_change_that_was_never_at_work_is_inconclusive() -> None:
    new = side_named("gossipsub-1.0+max_groups_per_peer=9")
    found = behaviour(OLD, new, walks=0, steps=1)
    assert not found.separations and [each.never_at_work for each in found.unseparated] == [True]
    assert reported(found).exit_status == 3
    assert reported(found).inconclusive == ("max_groups_per_peer: the default -> 9",)
    same = behaviour(OLD, OLD, walks=0)
    assert reported(same).exit_status == 0 and not reported(same).inconclusive
