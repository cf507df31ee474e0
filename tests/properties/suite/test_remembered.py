"""A router is played again only where what is known of it ends."""

from __future__ import annotations

import pytest
from attrs import field, mutable

from quidnunc.impl.seam import Hello
from quidnunc.model.events import Advance, Event, Output, Publish
from quidnunc.model.rpc import Message
from quidnunc.properties.judge.play import RecordedStep
from quidnunc.properties.suite.remembered import PlayedOtherwiseError, RememberedSubject
from tests.helpers.pubsub_run import T

HELLO = Hello(name="x", version="1", protocols=())
STEPS = tuple(Advance(ms) for ms in (1, 2, 3, 4))


@mutable
class Counting:
    """A router that says how much it was asked."""

    said: int = 0
    hello: Hello = HELLO
    done: list[Event] = field(factory=list)
    declared: list[Message] = field(factory=list)
    closed: bool = False

    def do(self, event: Event) -> tuple[Output, ...]:
        self.done.append(event)
        return () if self.said else tuple(self.done)  # type: ignore[return-value]

    def declare(self, messages: list[Message]) -> None:
        self.declared += messages

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def known() -> list[RecordedStep]:
    router, steps = Counting(), list[RecordedStep]()
    for event in STEPS[:3]:
        steps.append((event, router.do(event)))
    return steps


def never() -> Counting:
    pytest.fail("opened")


def test_what_is_known_opens_nothing(known: list[RecordedStep]) -> None:
    again = RememberedSubject(HELLO, never, known)
    assert [(event, again.do(event)) for event in STEPS[:3]] == known
    again.close()


def test_what_comes_next_is_asked_of_the_router_in_the_state_it_was_in(known: list[RecordedStep]) -> None:
    router, message = Counting(), Message("m1", T, 1)
    again = RememberedSubject(HELLO, lambda: router, known)
    again.declare([message])
    for event in STEPS:
        again.do(event)
    assert router.done == [*STEPS] and router.declared == [message]
    assert known[3] == (STEPS[3], STEPS), "the next play knows it"
    again.declare([message])
    again.close()
    assert len(router.declared) == 2 and router.closed
    assert RememberedSubject(HELLO, never, known).do(STEPS[0]) == known[0][1]


def test_another_run_is_not_taken_for_this_one(known: list[RecordedStep]) -> None:
    before, router = [*known], Counting()
    again = RememberedSubject(HELLO, lambda: router, known)
    other = Publish(Message("m1", T, 0))
    for event in (STEPS[0], other, *STEPS[1:]):
        again.do(event)
    assert router.done == [STEPS[0], other, *STEPS[1:]]
    assert known == before


def test_a_router_that_plays_otherwise_is_told(known: list[RecordedStep]) -> None:
    again = RememberedSubject(HELLO, lambda: Counting(said=1), known)
    for event in STEPS[:3]:
        again.do(event)
    with pytest.raises(PlayedOtherwiseError):
        again.do(STEPS[3])
