"""The minimal run with one number changed at a time."""

from __future__ import annotations

from collections import defaultdict

from attrs import evolve

from quidnunc.model.events import Advance, Connect, Event, Join, Receive, Score
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Prune
from quidnunc.properties.search.varied_runs import AGAIN, TWINS, UNLIKE, WAITS_MS, VariedRun, varied_runs

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


def test_a_backoff_is_varied_by_a_second() -> None:
    told = [run.events[2] for run in by_number()["event 2"]]
    assert told == [Receive((1,), (Prune("t1", seconds),)) for seconds in (8, 10)]


def test_a_score_is_at_each_threshold_and_below_it_and_then_the_run_goes_on() -> None:
    runs = by_number()["event 3"]
    values = [event.value for run in runs if isinstance(event := run.events[3], Score)]
    assert values == [-41, -40, -21, -20, -11, -10, -1, 0]
    assert all(run.goes_on for run in runs)


def test_a_wait_ends_up_to_a_second_sooner_or_later() -> None:
    waits = [event.ms - 5000 for run in by_number()["event 4"] if isinstance(event := run.events[4], Advance)]
    assert tuple(waits) == WAITS_MS


def test_the_last_event_comes_again() -> None:
    assert [len(run.events) - len(EVENTS) + 1 for run in by_number()["the last event"]] == [*AGAIN]


def test_a_parameter_that_is_read_is_varied_where_it_may_be() -> None:
    found = by_number("prune_backoff_s", "d_lazy", "d_out")
    assert [run.parameters.prune_backoff_s for run in found["prune_backoff_s"]] == [59, 61]
    assert [run.parameters.d_out for run in found["d_out"]] == [1, 3]
    smallest = evolve(PARAMETERS, d_out=0)
    runs = [run for run in varied_runs(EVENTS, smallest, {"d_out"}) if run.what == "d_out"]
    assert [run.parameters.d_out for run in runs] == [1], "there is none less than 0"
    assert "d_low" not in found


def test_sizes_of_a_mesh_are_unlike_where_d_is_read() -> None:
    runs = by_number("d")["the sizes of a mesh"]
    assert len(runs) == len(UNLIKE)
    for run, sizes in zip(runs, UNLIKE, strict=True):
        assert len(set(sizes.values())) == len(sizes)
        connected = run.events[1]
        assert isinstance(connected, Connect) and len(connected.peers) == 1 + TWINS
        assert run.parameters.d_high == sizes["d_high"] < len(connected.peers)
