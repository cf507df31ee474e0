"""Runs in which an explanation has to prove itself: what they change of the minimal run."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Event, Join, Leave, Publish, Receive, Submit
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Message, Subscribe
from quidnunc.model.rules import Protocol as Rules
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.separating import separating_traces
from quidnunc.properties.explain.followed import PROBE, FollowedRun, FreshRun, agreement
from quidnunc.properties.search.fresh_runs import (
    ACTS_BEFORE,
    APART,
    AROUND,
    ELSEWHERE_FROM,
    FreshRuns,
    PlayedApart,
    in_more_topics,
)
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.worker import hello_of, opener_of

EVENTS: tuple[Event, ...] = (
    Connect((1, 2)),
    Receive((1,), (Graft("t1"),)),
    Publish(Message("m1", "t2")),
    Advance(500),
)


def test_there_are_as_many_as_are_laid_out() -> None:
    assert len(ACTS_BEFORE) == AROUND > ELSEWHERE_FROM + 3


def test_peers_are_in_every_topic_that_is_named() -> None:
    told = in_more_topics(EVENTS, peers=True)
    assert told == [EVENTS[0], Receive((1, 2), (Subscribe("t1"), Subscribe("t2"))), *EVENTS[1:]]


def test_the_router_is_in_every_topic_that_is_named() -> None:
    assert in_more_topics(EVENTS, peers=False) == [Join("t1"), Join("t2"), *EVENTS]


@pytest.mark.parametrize("peers", [True, False])
def test_without_topics_nothing_changes(peers: bool) -> None:
    events: tuple[Event, ...] = (Connect((1,)), Submit("x1"))
    assert in_more_topics(events, peers=peers) == list(events)


def test_a_run_of_which_notes_were_kept_is_followed_as_one_that_is_judged_again() -> None:
    """Mutant: what is watched before the judge is asked counts as well, or what comes after the departure."""
    protocol, against = protocol_named("gossipsub-1.2"), "ours:leave-silently"
    search = FindingSearch("gossipsub-1.2", opener_of(against), hello_of(against, "gossipsub-1.2"))
    events = (Join("t1"), Connect((1,)), Receive((1,), (Subscribe("t1"), Graft("t1"))), Leave("t1"))
    fresh = FreshRuns(search, protocol, events, (Parameters(),), 0)
    departed = 0
    for run in [*fresh.around(), *fresh.varied(("d",))]:
        seen, again = (FollowedRun.of(r, protocol) for r in (run, evolve(run, notes=None)))
        assert (seen.plain, seen.uses) == (again.plain, again.uses)
        assert [still_open for _, still_open in seen.states] == [still_open for _, still_open in again.states]
        departed += bool(seen.plain.departures) and seen.plain.agreed + 1 < len(run.steps)
    assert departed > 10


def test_runs_that_hold_nothing_of_the_finding_are_played_once_for_all_of_one_seed() -> None:
    """Mutant: what is kept is known by its number alone, and another seed or other rules get the same."""
    spec, against = protocol_named("gossipsub-1.2"), "ours"
    search = FindingSearch("gossipsub-1.2", opener_of(against), hello_of(against, "gossipsub-1.2"))
    other = edit_named("cut-at-d-high", spec).change(spec)
    played: PlayedApart = {}

    def around(rules: Rules, topic: str, seed: int, apart: PlayedApart) -> list[FreshRun]:
        return [*FreshRuns(search, rules, (Join(topic),), (Parameters(),), seed, apart=apart).around()]

    first, second = (around(spec, topic, 0, played)[-APART:] for topic in ("t1", "t2"))
    assert len(played) == APART and all(one is same for one, same in zip(first, second, strict=True))
    for rules, seed in ((spec, 0), (spec, 1), (other, 0)):
        assert around(rules, "t3", seed, played) == around(rules, "t3", seed, {})


def test_a_router_that_follows_the_protocol_departs_in_no_probe() -> None:
    """Mutant: the messages of probes have no author, so that a router of signed messages takes them for its
    own and drops them. Each probe with a message then departs, whatever the explanation."""
    protocol = protocol_named("gossipsub-1.2")
    search = FindingSearch("gossipsub-1.2", opener_of("ours"), hello_of("ours", "gossipsub-1.2"))
    events = (Join("t1"), Connect((1, 2)), Receive((1, 2), (Subscribe("t1"),)), Receive((1,), (Graft("t1"),)))
    fresh = FreshRuns(search, protocol, events, (Parameters(),), 0)
    probes = [run for run in fresh.varied(()) if run.varied == PROBE]
    parts = [p for run in probes for event, _ in run.steps for p in getattr(event, "parts", ())]
    assert sum(isinstance(part, Message) for part in parts) > 10
    assert [agreement(run, protocol).departures for run in probes] == [()] * len(probes)


def test_a_reading_has_the_trace_that_separates_it_if_the_router_can_be_played_it() -> None:
    protocol = protocol_named("gossipsub-1.2")
    search = FindingSearch("gossipsub-1.2", opener_of("ours"), hello_of("ours", "gossipsub-1.2"))
    recorded = list[FreshRun]()
    fresh = FreshRuns(search, protocol, (Join("t1"),), (Parameters(),), 0, record=recorded.append)
    told = fresh.varied((), ["idontwant-evicts-oldest", "no-such-reading"])
    (trace,) = [run for run in told if run.separates]
    assert (trace.separates, trace.varied) == ("idontwant-evicts-oldest", PROBE)
    told_by = events_of(separating_traces()["idontwant-evicts-oldest"])
    named = [
        {i for e in run for p in getattr(e, "parts", ()) for i in getattr(p, "ids", ())}
        for run in (told_by, [event for event, _ in trace.steps])
    ]
    assert named[0] == named[1] == {"m1", "m2", "m3", "m4"}
    assert agreement(trace, protocol).departures == ()
    assert recorded and trace.steps not in [run.steps for run in recorded]
