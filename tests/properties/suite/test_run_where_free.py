"""Routers that do otherwise where the text is silent are accused of nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from quidnunc.impl.seam import Config
from quidnunc.model.events import Advance, Event, Join, Leave, Score, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Prune
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import Play, play
from quidnunc.properties.suite.run import run_suite
from tests.helpers.free_routers import CONFORMING, REGRAFT_PRUNED_LATE, Edit, opener_of
from tests.helpers.pubsub_run import BEAT, SMALL, T, grafted, message, of, peers

PROTOCOL = "gossipsub-1.2"
DEFICIT = TopicScoreParameters(
    topic=T,
    mesh_message_deliveries_weight=-1.0,
    mesh_message_deliveries_threshold=2.0,
    mesh_message_deliveries_activation_ms=1000,
    mesh_failure_penalty_weight=0.0,
)

Shown = tuple[Sequence[Event], Mapping[str, Any]]
"""Events in which it shows, and parameters."""
SHOWS: Mapping[str, Shown] = {
    "offers-heeded-after-the-prune": (
        [
            *(Join(T), *peers(1), grafted(1), Score((1,), 9), Advance(2500)),
            *(Score((1,), 2), of(1, Prune(T, 5, (20,), "signed"))),
        ],
        {"scores": ScoreParameters(topics=(DEFICIT,)), "prune_peers": 2},
    ),
    "quota-in-the-next-heartbeat": (
        [Join(T), *peers(1), grafted(1), *peers(2, 3), *peers(20, outbound=True), Advance(500)],
        {"d_low": 2, "d": 2, "d_out": 1},
    ),
    "late-verdict-not-cached": (
        [
            *(Join(T), *peers(1, 2), of(1, message("m1")), Leave(T), Verdict("m1", "accept")),
            *peers(3, 4, 5),
            *(Join(T), BEAT),
        ],
        {"validation": "manual", "unsubscribe_backoff_s": 0},
    ),
}


def played(edit: Edit, name: str) -> Play:
    events, changed = SHOWS[name]
    parameters = Parameters(**{**SMALL, **changed})
    subject = opener_of(edit)(Config(protocol=PROTOCOL, parameters=parameters, seed=1))
    return play(events, subject, protocol_named(PROTOCOL), parameters)


def outputs(run: Play) -> list[Any]:
    return [moment.outputs for moment in run.moments]


@pytest.mark.parametrize("name", CONFORMING)
def test_the_suite_accuses_them_of_nothing(name: str) -> None:
    found = run_suite(PROTOCOL, "ours", opener_of(CONFORMING[name]))
    assert not found.roots, [*found.roots.values()]


@pytest.mark.parametrize("name", CONFORMING)
def test_nor_is_it_a_departure_where_it_shows(name: str) -> None:
    usual, free = played(lambda _: None, name), played(CONFORMING[name], name)
    assert outputs(usual) != outputs(free), "it does not show here"
    for run in (usual, free):
        assert len(run.moments) == len(usual.moments) and not last_departures(run)


def test_a_prune_that_answers_a_graft_inside_the_backoff_may_not_wait() -> None:
    """v1.1: such a GRAFT is pruned "immediately"."""
    found = run_suite(PROTOCOL, "ours", opener_of(REGRAFT_PRUNED_LATE))
    assert {row.clause for row in found.roots.values()} == {"gs1.1/backoff.regraft"}
