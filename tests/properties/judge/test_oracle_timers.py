"""A wait that goes past a timer, which an edit has made shorter than that of the protocol of the run."""

from __future__ import annotations

import pytest

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import MEMPOOL, Advance, Connect, Event, Output, Receive, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Peer, SeenTx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import MAX_TIMERS, Departure, Oracle
from quidnunc.properties.judge.play import Moment, rejudge

SPEC = protocol_named("cat")
SOON = edit_named("after-a-minute-as-after-a-moment", SPEC).change(SPEC)


def asked(*peers: Peer) -> tuple[Output, ...]:
    return tuple(Sent(peer, WantTx("x1t")) for peer in peers)


def after_announcements(protocol: Protocol, *peers: Peer) -> Oracle:
    """Each has announced a transaction, of which the first was asked."""
    oracle = Oracle(protocol, DogParameters())
    for peer in peers:
        assert not oracle.judge(Connect((peer,), MEMPOOL), ()).departures
    for peer in peers:
        assert not oracle.judge(
            Receive((peer,), (SeenTx("x1t"),)), asked(*peers[:1] if peer == 1 else ())
        ).departures
    return oracle


def test_the_clock_is_right_after_a_wait_that_went_wrong() -> None:
    """Mutant: the wait ends at the first timer at which something is missing."""
    oracle = after_announcements(SOON, 1, 2, 3)
    before_ms = oracle.state.now_ms
    assert oracle.judge(Advance(500), ()).departures
    assert oracle.state.now_ms == before_ms + 500


@pytest.mark.parametrize(("sent", "kinds"), [((2, 3), []), ((2,), ["choice"]), ((2, 3, 3), ["unexpected"])])
def test_each_timer_has_its_turn(sent: tuple[Peer, ...], kinds: list[str]) -> None:
    """After 200 ms the second is asked, and after 400 ms the third. Mutant: what came is the first one's."""
    oracle = after_announcements(SOON, 1, 2, 3)
    assert not oracle.applicable(Advance(500)) and oracle.follows(Advance(500))
    judged = oracle.judge(Advance(500), asked(*sent))
    assert [departure.kind for departure in judged.departures] == kinds
    assert kinds or sum(permit.must for permit in judged.permits) == 2


def test_the_protocol_of_the_run_does_not_wait_so_long() -> None:
    oracle = after_announcements(SPEC, 1, 2)
    assert oracle.follows(Advance(60_000)) and oracle.applicable(Advance(60_000))
    assert [d.kind for d in oracle.judge(Advance(500), asked(2)).departures] == ["unexpected"]


def test_a_run_with_a_long_wait_is_judged_by_an_edit_with_a_short_timer() -> None:
    events: list[tuple[Event, tuple[Output, ...]]] = [
        (Connect((1,), MEMPOOL), ()),
        (Connect((2,), MEMPOOL), ()),
        (Receive((1,), (SeenTx("x1t"),)), asked(1)),
        (Receive((2,), (SeenTx("x1t"),)), ()),
        (Advance(500), asked(2)),
    ]
    oracle = Oracle(SPEC, DogParameters())
    moments = [Moment(event, outputs, oracle.judge(event, outputs)) for event, outputs in events]
    assert rejudge(moments, SOON, DogParameters()) == (5, ())
    agreed, departures = rejudge(moments, SPEC, DogParameters())
    assert agreed == 4 and isinstance(departures[0], Departure)


def test_too_many_timers_are_not_looked_into() -> None:
    every_moment = edit_named("after-a-minute-negated", SPEC).change(SPEC)
    many = range(1, MAX_TIMERS + 3)
    oracle = after_announcements(every_moment, *many)
    assert oracle.judge(Advance(500), asked(*many[1:])).blurred
