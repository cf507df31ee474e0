"""An explanation has to say when: what it allows where the router does not do it, it does not explain."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named, hypotheses_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_2,
    Advance,
    Connect,
    Delivered,
    Disconnect,
    Event,
    Join,
    Publish,
    Sent,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import ROUTER, Graft, IDontWant, Subscribe
from quidnunc.properties.explain.counterfactuals import AddedActs, Counterfactuals
from quidnunc.properties.explain.followed import WITHOUT, FollowedRun, FreshRun, agreement
from quidnunc.properties.judge.oracle import is_left_out
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, message, of

SPEC = protocol_named("gossipsub-1.2")
GIVEN = Parameters()
OPEN = edit_named("who-said-idontwant-sees-no-mesh", SPEC)
"""Outside a mesh a router is free to heed an IDONTWANT: it allows both."""
DEMANDS = edit_named("without:who_said_idontwant", SPEC)
COMES, BACK = Connect((1,), MESHSUB_1_2), (Disconnect((1,)), Connect((1,), MESHSUB_1_2))
MESSAGE = message("m1")


def run(events: tuple[Event, ...], *, sends: bool, varied: str = "later") -> FreshRun:
    """A router that follows the protocol up to the last event, by which it may send the message to who asked
    it not to."""
    subject = ModelSubject(SPEC, GIVEN)
    *steps, (event, outputs) = [(event, tuple(subject.do(event))) for event in events]
    assert Sent(1, MESSAGE) not in outputs
    last = (*outputs, Sent(1, MESSAGE)) if sends else outputs
    return FreshRun((*steps, (event, last)), GIVEN, varied)


def meets(*first: Event) -> tuple[Event, ...]:
    asks = (of(1, Subscribe(T), Graft(T)), of(1, IDontWant(("m1",))), of(2, MESSAGE))
    return (Connect((2,), MESHSUB_1_2), Join(T), *first, *asks)


AGAIN = run(meets(COMES, *BACK), sends=True)
ONCE = run(meets(COMES), sends=False, varied=f"{WITHOUT} events 2 and 3")
ONCE_TOO = evolve(run(meets(COMES), sends=True), varied=ONCE.varied)


def asked(*runs: FreshRun) -> Counterfactuals:
    departure = agreement(AGAIN, SPEC).departures[0]
    return Counterfactuals.of([FollowedRun.of(run, SPEC) for run in runs], SPEC, departure)


def test_one_that_allows_the_act_where_the_router_does_not_do_it_falls() -> None:
    assert agreement(AGAIN, OPEN.change(SPEC)).agreed == len(AGAIN.steps)
    assert agreement(ONCE, OPEN.change(SPEC)).agreed == len(ONCE.steps), "it errs in neither"
    assert not asked(AGAIN, ONCE).says_when(OPEN)


@pytest.mark.parametrize("others", [(), (ONCE_TOO,), (evolve(ONCE, varied="later"),)])
def test_nothing_is_known_where_no_run_lacks_what_the_departure_needs(others: tuple[FreshRun, ...]) -> None:
    assert asked(AGAIN, *others).says_when(OPEN)


def test_one_that_demands_the_act_says_when() -> None:
    """By the heartbeat: it errs where that comes and the router has not done it."""
    assert asked(AGAIN, ONCE).says_when(DEMANDS)
    beat = evolve(ONCE, steps=(*ONCE.steps, (Advance(500), ())))
    assert agreement(beat, DEMANDS.change(SPEC)).departures and not agreement(beat, SPEC).departures


def test_a_reading_leaves_it_open() -> None:
    assert asked(AGAIN, ONCE).says_when(evolve(OPEN, kind="reading"))


FANOUT = Parameters(d=2, d_low=1, d_high=3, d_score=1, d_out=0, flood_publish=False)


def test_one_that_says_how_many_are_chosen_says_what() -> None:
    """A peer that speaks floodsub alone is one of the D: the rest are too few, and one less would be fewer.

    Mutant: it is passed over as an edit that may leave out anything.
    """
    floodsub = edit_named("fanout-speakers-sees-all-newest", SPEC)
    peers = (Connect((1,), MESHSUB_1_2), Connect((2,), MESHSUB_1_2), Connect((3,), FLOODSUB))
    events = (*peers, *(of(p, Subscribe(T)) for p in (1, 2, 3)))
    subject = ModelSubject(SPEC, FANOUT)
    steps = tuple((event, tuple(subject.do(event))) for event in events)
    own = message("m1", ROUTER)
    sent = (Sent(2, own), Sent(3, own), Delivered(own))
    departs = FreshRun((*steps, (Publish(own), sent)), FANOUT)
    (departure,) = agreement(departs, SPEC).departures
    assert departure.kind == "choice" and is_left_out(departure)
    told = Counterfactuals.of([FollowedRun.of(departs, SPEC)], SPEC, departure)
    assert agreement(departs, floodsub.change(SPEC)).agreed == len(departs.steps)
    assert told.says_what(floodsub, demands=False)
    anyone = edit_named("publish-to-fanout-d-as-zero", SPEC)
    assert not told.says_what(anyone, demands=False)


LONGER = run((*meets(COMES), Advance(500), Advance(1000), Advance(1000)), sends=False, varied=ONCE.varied)


def with_act(at: int) -> FreshRun:
    """The longer run up to step `at`, in which the router sends the message."""
    event, outputs = LONGER.steps[at]
    return evolve(LONGER, steps=(*LONGER.steps[:at], (event, (*outputs, Sent(1, MESSAGE)))))


@pytest.mark.parametrize("at", range(3, len(LONGER.steps)))
def test_a_run_with_other_outputs_in_one_step_is_what_it_is_judged_from_its_start(at: int) -> None:
    run = with_act(at)
    changed = FollowedRun.of(LONGER, SPEC).with_outputs(at, run.steps[at][1])
    assert changed == FollowedRun.of(run, SPEC)


def test_whether_an_act_is_allowed_is_what_it_is_judged_from_the_start() -> None:
    base, steps = FollowedRun.of(LONGER, SPEC), range(3, len(LONGER.steps))
    with_acts = tuple((at, base.with_outputs(at, with_act(at).steps[at][1])) for at in steps)
    edits = [made.edit for made in operated(SPEC).values()][::40]
    edits += [edit for edit in hypotheses_of(SPEC) if "idontwant" in edit.name or edit.kind == "dropped"]
    found = list[bool]()
    for edit in edits:
        changed = edit.applied_to(SPEC)
        whole = [agreement(with_act(at), changed).agreed == at + 1 for at in steps if changed]
        allowed = [may for _, may in AddedActs(base, with_acts).allowed_by(edit)]
        assert allowed == whole[: len(allowed)] and not any(whole[len(allowed) :]), edit.name
        found.append(any(allowed))
    assert 0 < sum(found) < len(found)
