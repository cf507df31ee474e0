"""Runs in which an explanation has to prove itself: what they change of the minimal run."""

from __future__ import annotations

import pytest

from quidnunc.model.events import Advance, Connect, Event, Join, Publish, Receive, Submit
from quidnunc.model.rpc import Graft, Message, Subscribe
from quidnunc.properties.search.fresh_runs import ACTS_BEFORE, AROUND, ELSEWHERE_FROM, in_more_topics

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
