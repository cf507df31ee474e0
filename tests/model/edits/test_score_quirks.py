"""Edits of how a score is counted: each beside the specification, in a life in which only one term counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Disconnect, Event, Join, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.rpc import Graft, IHave, Message, Prune, Subscribe
from quidnunc.model.score_interval import ScoreInterval, interval
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers.pubsub_run import T, after, grafted, of, peers

SPEC = protocol_named("gossipsub-1.2")
TIME: dict[str, Any] = {"time_in_mesh_weight": 1, "time_in_mesh_quantum_ms": 100, "time_in_mesh_cap": 1000}
FIRST: dict[str, Any] = {"first_message_deliveries_weight": 1}
OWED: dict[str, Any] = {"mesh_message_deliveries_weight": -1, "mesh_message_deliveries_threshold": 4}
INVALID: dict[str, Any] = {"invalid_message_deliveries_weight": -1}


def score(name: str, events: Sequence[Event], of_topic: dict[str, Any], **of_all: float) -> ScoreInterval:
    """What the first peer has in the end, under the specification or an edit of it."""
    protocol = edit_named(name, SPEC).change(SPEC) if name else SPEC
    scores = ScoreParameters(topics=(TopicScoreParameters(topic=T, **of_topic),), **of_all)  # type: ignore[arg-type]
    met = (Join(T), *peers(1, 2), grafted(1, 2))
    return after(*met, *events, protocol=protocol, scores=scores, validation="manual").router.bounds(1)


def brings(peer: int, name: str, judgement: str = "") -> tuple[Event, ...]:
    verdict = (Verdict(name, judgement),) if judgement else ()  # type: ignore[arg-type]
    return (of(peer, Message(name, T, 1)), *verdict)


AGAIN = (Advance(3200), of(1, Prune(T, 1)), Advance(4000))
"""In the mesh from 0 to 3.2 s, which decays see as 3 s; and from 4.5 s, when the router grafts it, to 7.2 s,
which the last of three decays sees as 2.5 s."""


@pytest.mark.parametrize(
    ("name", "quanta"),
    [
        ("", 25),
        ("time-in-mesh-adds-up", 55),
        ("time-in-mesh-adds-up-by-intervals", 60),
        ("time-in-mesh-by-intervals", 30),
        ("time-in-mesh-counted-twice", 50),
    ],
)
def test_time_in_two_memberships(name: str, quanta: int) -> None:
    assert score(name, AGAIN, TIME) == interval(quanta)


def test_time_adds_up_over_a_connection_that_is_remembered_and_no_longer() -> None:
    """Mutant: what is kept of a peer outlives what the specification keeps of it."""
    for away_ms, quanta in ((2500, 43), (15_000, 8)):
        back = (*peers(1), of(1, Subscribe(T)), of(1, Graft(T)), Advance(1500))
        events = (Advance(3200), Disconnect((1,)), Advance(away_ms), *back)
        assert score("time-in-mesh-adds-up", events, TIME).hi == interval(quanta).hi


def test_time_counted_twice_is_capped() -> None:
    assert score(
        "time-in-mesh-counted-twice", (Advance(3200),), {**TIME, "time_in_mesh_cap": 40}
    ) == interval(40)


@pytest.mark.parametrize(("judgement", "spec"), [("", 0), ("accept", 1), ("reject", 0), ("ignore", 0)])
def test_a_first_delivery_counts_when_it_comes(judgement: str, spec: int) -> None:
    events = brings(1, "m1", judgement)
    assert score("", events, FIRST) == interval(spec)
    assert score("first-deliveries-before-verdict", events, FIRST) == interval(1)


def test_a_copy_counts_as_a_first_delivery() -> None:
    """Mutant: only while the window of mesh deliveries is open, or of the peer that was first."""
    copy, name = of(1, Message("m1", T, 1)), "copies-are-first-deliveries"
    came = (*brings(2, "m1", "accept"), Advance(2200))
    for copies in ((copy,), (copy, copy)):
        assert score("", (*came, *copies), FIRST) == interval(0)
        assert score(name, (*came, *copies), FIRST) == interval(len(copies))
    assert score(name, (*brings(1, "m1", "accept"), copy), FIRST) == interval(1)
    assert score(name, (*brings(2, "m1", "reject"), copy), FIRST) == interval(0)


def test_each_first_delivery_counts_twice() -> None:
    assert score("first-deliveries-counted-twice", brings(1, "m1", "accept"), FIRST) == interval(2)


OWES = (Advance(2100), of(2, Message("m1", T, 2)), Verdict("m1", "accept"), of(1, Message("m1", T, 2)))


@pytest.mark.parametrize(
    ("name", "copies", "owed"),
    [("", 1, 3), ("", 3, 3), ("mesh-deliveries-counted-twice", 1, 2), ("copies-counted-again", 3, 1)],
)
def test_copies_of_a_message_count_for_what_a_member_owes(name: str, copies: int, owed: int) -> None:
    events = (*OWES, *OWES[-1:] * (copies - 1))
    assert score(name, events, OWED) == interval(-(owed**2))


def test_each_invalid_message_counts_twice() -> None:
    events = brings(1, "m1", "reject")
    assert score("", events, INVALID) == interval(-1)
    assert score("invalid-messages-counted-twice", events, INVALID) == interval(-4)


def test_each_broken_promise_counts_twice_and_once_alone() -> None:
    """Mutant: a promise that is not due yet is doubled again with each heartbeat."""
    events = (of(1, IHave(T, ("m9",))), Advance(3600))
    for name, penalties in (("", 1), ("broken-promises-counted-twice", 2)):
        found = score(name, events, {}, behaviour_penalty_weight=-1, behaviour_penalty_decay=0.5)
        assert found == interval(-(penalties**2))
