"""An explanation stands if it predicts runs that it was not made for, and falls if it does not."""

from __future__ import annotations

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Event, Join
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Prune
from quidnunc.properties.explain.grouping import groups_by_rule
from quidnunc.properties.explain.hypotheses import FreshRun, agreement, standing
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=3, d_low=2, d_high=4, d_score=2, d_out=0, d_lazy=2, prune_backoff_s=6)
TRUE = edit_named("silent-while-backing-off", SPEC)


def run_of(events: tuple[Event, ...], edit: str = TRUE.name) -> FreshRun:
    """What a router with the edit does."""
    subject = ModelSubject(edit_named(edit, SPEC).change(SPEC), SMALL)
    return FreshRun(tuple((event, subject.do(event)) for event in events), SMALL)


def regraft(after_ms: int, announced_s: int = 6) -> tuple[Event, ...]:
    waits = (Advance(500), *[Advance(1000)] * (after_ms // 1000))
    return (
        Connect((1,)),
        Join(T),
        of(1, Graft(T)),
        of(1, Prune(T, announced_s)),
        *waits,
        of(1, Graft(T)),
        Advance(1000),
    )


INSIDE = [run_of(regraft(ms)) for ms in (0, 1000, 2000, 3000)]


def departure_of(run: FreshRun) -> Departure:
    return agreement(run, SPEC).departures[0]


def test_the_true_one_stands() -> None:
    assert standing([TRUE], INSIDE, SPEC, departure_of(INSIDE[0])) == [TRUE]


def test_one_that_is_wrong_where_the_run_goes_on_falls() -> None:
    """Without the rule nothing is sent either, and in a run of a router that does send that is wrong."""
    lucky = edit_named("accepts-graft-inside-backoff", SPEC)
    departure = departure_of(INSIDE[0])
    assert lucky in standing([lucky], INSIDE, SPEC, departure), "the runs are too short to tell"
    conforming = run_of(regraft(0), edit="unknown-topic-graft-pruned")
    assert not standing([lucky], [*INSIDE, conforming], SPEC, departure)


def test_one_that_says_less_than_the_specification_in_any_run_falls() -> None:
    conforming = run_of(regraft(1000), edit="unknown-topic-graft-pruned")
    assert agreement(conforming, SPEC).agreed == len(conforming.steps)
    assert not standing([TRUE], [*INSIDE, conforming], SPEC, departure_of(INSIDE[0]))


def test_one_run_is_not_enough() -> None:
    assert not standing([TRUE], INSIDE[:1], SPEC, departure_of(INSIDE[0]))


def test_of_two_that_stand_the_order_given_is_kept() -> None:
    twin = edit_named("while-backing-off-to-others", SPEC)
    other = edit_named("while-backing-off-to-mesh", SPEC)
    departure = departure_of(INSIDE[0])
    both = [e for e in (twin, other, TRUE) if standing([e], INSIDE, SPEC, departure)]
    assert len(both) >= 2
    for order in (both, both[::-1]):
        assert standing(order, INSIDE, SPEC, departure) == order


class TestGroups:
    def test_findings_that_one_rule_could_be_behind_are_one(self) -> None:
        suspects = {1: frozenset("ab"), 2: frozenset("bc"), 3: frozenset("b"), 4: frozenset("d")}
        assert groups_by_rule(suspects) == [("b", (1, 2, 3))]

    def test_each_is_in_one_group(self) -> None:
        suspects = {n: frozenset(rules) for n, rules in enumerate(("ab", "ab", "bc", "c", "c"))}
        groups = groups_by_rule(suspects)
        told = [key for _, keys in groups for key in keys]
        assert sorted(told) == sorted(set(told))

    def test_a_rule_through_which_everything_passes_is_behind_nothing(self) -> None:
        assert not groups_by_rule({1: frozenset({"take"}), 2: frozenset({"take"})})
