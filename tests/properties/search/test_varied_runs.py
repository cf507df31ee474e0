"""The minimal run with one number changed at a time."""

from __future__ import annotations

from collections import defaultdict

import pytest
from attrs import evolve, fields

from quidnunc.impl.seam import Hello
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import (
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    Advance,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Receive,
    Score,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IDontWant, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.explain.hypotheses import standing
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.varied_runs import (
    AGAIN,
    TWINS,
    UNLIKE,
    WAITS_MS,
    VariedRun,
    runs_of_other_peers,
    varied_runs,
)

EVENTS: tuple[Event, ...] = (
    Join("t1"),
    Connect((1,)),
    Receive((1,), (Prune("t1", 9),)),
    Score((1,), -3),
    Advance(5000),
    Receive((1,), (Graft("t1"),)),
)
PARAMETERS = Parameters(graylist_threshold=-40, publish_threshold=-20, gossip_threshold=-10)


def by_number(*read: str) -> dict[str, list[VariedRun]]:
    found: dict[str, list[VariedRun]] = defaultdict(list)
    for each in varied_runs(EVENTS, PARAMETERS, read):
        found[each.what].append(each)
    return found


def test_a_backoff_is_varied_by_a_second_and_two_and_is_that_of_the_router_and_twice_that() -> None:
    """Some routers read whole minutes."""
    told = [run.events[2] for run in by_number()["event 2"]]
    assert told == [Receive((1,), (Prune("t1", seconds),)) for seconds in (7, 8, 10, 11, 60, 120)]


def test_a_score_is_at_each_threshold_and_below_it_and_then_the_run_goes_on() -> None:
    runs = by_number()["event 3"]
    values = [event.value for run in runs if isinstance(event := run.events[3], Score)]
    assert values == [-41, -40, -39, -21, -20, -19, -11, -10, -9, -1, 0, 1]
    assert all(run.goes_on for run in runs)


def test_a_wait_ends_up_to_a_second_sooner_or_later_and_far_off() -> None:
    """Its deadline may be at a part of it, or that of a backoff which was not taken from a PRUNE after it."""
    waits = [event.ms - 5000 for run in by_number()["event 4"] if isinstance(event := run.events[4], Advance)]
    assert tuple(waits) == (*WAITS_MS, -3750, -2500, -1250, 60_000)


def test_the_last_event_comes_again_up_to_a_heartbeat_in_a_topic_that_is_joined_too() -> None:
    told = [run.events for run in by_number()["the last event"]]
    assert [events.count(EVENTS[-1]) for events in told] == [*AGAIN, *AGAIN]
    assert all(events[-1] == Advance(PARAMETERS.heartbeat_interval_ms) for events in told)
    assert [events[0] for events in told[len(AGAIN) :]] == [Join("t1")] * len(AGAIN)


def test_the_parts_of_an_rpc_come_in_rpcs_of_their_own() -> None:
    parts = (IDontWant(("m1",)), IDontWant(("m2",)), IDontWant(("m3",)))
    events = (*EVENTS[:2], Receive((1,), parts), EVENTS[-1])
    (run,) = (run for run in varied_runs(events, PARAMETERS, ()) if run.what == "event 2 part by part")
    assert run.events == (*events[:2], *(Receive((1,), (part,)) for part in parts), events[-1])
    assert not [what for what in by_number() if what.endswith("part by part")]


def test_a_parameter_takes_the_value_of_one_that_it_is_taken_for() -> None:
    given = evolve(PARAMETERS, max_ihave_length=12)
    runs = [*varied_runs(EVENTS, given, {"max_ihave_length", "max_idontwant_messages"})]
    (like,) = (run for run in runs if run.what == "max_idontwant_messages like max_ihave_length")
    assert (like.parameters.max_idontwant_messages, like.parameters.max_ihave_length) == (12, 12)
    fixed = varied_runs(EVENTS, given, {"max_ihave_length", "max_idontwant_messages"}, {"max_ihave_length"})
    assert not [run for run in fixed if " like " in run.what]


def test_a_parameter_that_is_read_is_varied_where_it_may_be() -> None:
    found = by_number("prune_backoff_s", "d_lazy", "d_out")
    assert [run.parameters.prune_backoff_s for run in found["prune_backoff_s"]] == [58, 59, 61, 62, 30, 120]
    assert [run.parameters.d_out for run in found["d_out"]] == [0, 1, 3]
    smallest = evolve(PARAMETERS, d_out=0)
    runs = [run for run in varied_runs(EVENTS, smallest, {"d_out"}) if run.what == "d_out"]
    assert [run.parameters.d_out for run in runs] == [1, 2], "there is none less than 0"
    assert "d_low" not in found


def test_each_event_and_each_part_is_left_out_once() -> None:
    found = by_number()
    for at in range(len(EVENTS) - 1):
        assert [run.events for run in found[f"without event {at}"]] == [EVENTS[:at] + EVENTS[at + 1 :]]
    assert f"without event {len(EVENTS) - 1}" not in found, "without it nothing departs"
    two = (*EVENTS[:-1], Receive((1,), (Graft("t1"), Prune("t2"))))
    left = [run.events[-1] for run in varied_runs(two, PARAMETERS, ()) if "without part" in run.what]
    assert left == [Receive((1,), (Prune("t2"),)), Receive((1,), (Graft("t1"),))]


def test_who_leaves_and_comes_back_stays_in_one_run() -> None:
    gone, back = Disconnect((1,)), Connect((1,))
    events = (*EVENTS[:2], Leave("t1"), gone, Join("t2"), back, Join("t1"), EVENTS[-1])
    found = {r.what: r.events for r in varied_runs(events, PARAMETERS, ()) if r.what.startswith("without ")}
    assert found["without events 2 and 6"] == (*events[:2], *events[3:6], events[7])
    assert found["without events 3 and 5"] == (*events[:3], events[4], *events[6:])
    assert found["without events 0 and 2"] == (events[1], *events[3:]), "what came before the router left"
    assert found["without events 1 and 3"] == (events[0], events[2], *events[4:])
    assert len([what for what in found if " and " in what]) == 4
    met = (Connect((1, 2)), *EVENTS[1:2], gone, back, EVENTS[-1])
    what = "without the connection before event 3"
    (anew,) = (r.events for r in varied_runs(met, PARAMETERS, ()) if r.what == what)
    assert anew[0] == Connect((2,)) and anew[-2:] == (back, EVENTS[-1]) and gone not in anew
    at_the_end = (*EVENTS[:2], gone, Join("t2"), back)
    assert not [r for r in varied_runs(at_the_end, PARAMETERS, ()) if " and " in r.what], "it departs there"


def test_each_parameter_is_at_its_default_once_unless_the_router_fixes_it() -> None:
    told = evolve(PARAMETERS, mcache_len=9, scores=ScoreParameters(behaviour_penalty_weight=-1.0))

    def defaults(*fixed: str) -> set[str]:
        runs = varied_runs(EVENTS, told, (), fixed)
        return {run.what.split()[0] for run in runs if "at its default" in run.what}

    changed = {each.name for each in fields(Parameters) if getattr(told, each.name) != each.default}
    assert defaults() <= changed and {"mcache_len", "scores"} <= defaults()
    assert "mcache_len" not in defaults("mcache_len")
    plainer = [run for run in varied_runs(EVENTS, told, ()) if run.what == "a plainer score"]
    assert [run.parameters.scores for run in plainer] == [ScoreParameters()]


def test_a_heartbeat_passes_before_one_of_the_last_events() -> None:
    found = by_number()
    for at in (4, 5):
        [run] = found[f"later from event {at}"]
        assert run.events == (*EVENTS[:at], Advance(1000), *EVENTS[at:])


def test_without_the_last_act_heartbeats_pass_in_its_place() -> None:
    alone, met = by_number()["without the last act"]
    assert alone.events == (*EVENTS[:5], Advance(1000), Advance(1000))
    assert [e.parts for e in met.events if isinstance(e, Receive)][0] == (Subscribe("t1"),)
    assert met.events[-2:] == alone.events[-2:]
    waited = (*EVENTS, Advance(1000))
    runs = [run for run in varied_runs(waited, PARAMETERS, ()) if run.what == "without the last act"]
    assert runs[0].events == alone.events, "what departs after an act comes of it"


def test_sizes_of_a_mesh_are_unlike_where_d_is_read() -> None:
    runs = by_number("d")["the sizes of a mesh"]
    assert len(runs) == len(UNLIKE)
    for run, sizes in zip(runs, UNLIKE, strict=True):
        assert len(set(sizes.values())) == len(sizes)
        connected = run.events[1]
        assert isinstance(connected, Connect) and len(connected.peers) == 1 + TWINS
        assert run.parameters.d_high == sizes["d_high"] < len(connected.peers)


def test_more_peers_do_as_the_last_of_each_kind_does() -> None:
    events = (Connect((1, 2)), Connect((3,), outbound=True), Receive((2, 3), (Graft("t1"),)))
    found = {run.what: run for run in varied_runs(events, PARAMETERS, ())}
    inbound, outbound = found["how many do as peer 2"].events, found["how many do as peer 3"].events
    assert inbound[0] == Connect((1, 2, 4, 5, 6))
    assert inbound[2] == Receive((2, 3, 4, 5, 6), (Graft("t1"),))
    assert outbound[1] == Connect((3, 4, 5, 6), outbound=True) and outbound[0] == events[0]


def test_peers_of_one_kind_speak_an_older_or_a_newer_protocol_or_are_on_the_other_end() -> None:
    streams = STREAM_PROTOCOLS["gossipsub-1.2"]
    newest, dialled, inbound = Connect((1,)), Connect((2, 3), MESHSUB_1_1, True), Connect((4,), MESHSUB_1_1)
    found = [*runs_of_other_peers((newest, dialled, inbound), PARAMETERS, streams)]
    others = ((MESHSUB_1_2, True), (MESHSUB_1_0, True), (MESHSUB_1_1, False))
    assert [run.events for run in found] == [
        *[(newest, Connect((2, 3), *kind), inbound) for kind in others],
        *[(newest, dialled, Connect((4,), kind, not outbound)) for kind, outbound in others],
    ]
    assert len({run.what for run in found}) == len(found), "what one tells is not held against another"


def test_who_speaks_no_protocol_of_the_list_is_on_the_other_end_alone() -> None:
    (run,) = runs_of_other_peers((Connect((1,), "x"),), PARAMETERS, ())
    assert run.events == (Connect((1,), "x", True),)


@pytest.mark.parametrize("seed", [0, 10])
def test_what_a_router_does_to_peers_of_one_version_is_not_said_of_all(seed: int) -> None:
    """It starts no backoff for members of v1.0 when it leaves a topic; to start none at all explains that."""
    spec = protocol_named("gossipsub-1.2")
    narrow = "back-off-members-keeps-backoff-of-v1-0"
    wide = (
        "starts-no-backoff-for-mesh-when-it-leaves-topic",
        "back-off-members-unsubscribe-backoff-s-as-zero",
    )
    built = edited(spec, [edit_named(narrow, spec)])
    hunt = FindingSearch(
        spec.name,
        lambda config: ModelSubject(built, config.parameters, config.seed),
        Hello(name="x", version="1", protocols=()),
    )
    grafted = Receive((1,), (Subscribe("t1"), Graft("t1")))
    events = (Join("t1"), Connect((1,), MESHSUB_1_0), grafted, Leave("t1"), Join("t1"))
    run = play(events, ModelSubject(built, Parameters()), spec, Parameters())
    (departure,) = last_departures(run)
    fresh = FreshRuns(hunt, spec, events, (Parameters(),), seed)
    edits = [edit_named(name, spec) for name in (*wide, narrow)]
    assert [edit.name for edit in standing(edits, fresh, spec, departure)] == [narrow]
