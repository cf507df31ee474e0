"""What can happen, and time."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.events import (
    FLOODSUB,
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Publish,
    Raw,
    Receive,
    Resume,
    Score,
    Stall,
    Submit,
    Verdict,
)
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_2, started
from quidnunc.model.pubsub.step import applicable, until_heartbeat_ms
from quidnunc.model.rpc import Graft, IWant, Message
from quidnunc.model.versions import STREAM_PROTOCOLS
from tests.helpers.pubsub_run import BEAT, T, after, message, of, onward, own, peers


class TestApplicable:
    R = after(peers(1), Connect((2,), FLOODSUB), Join(T), of(1, message()), validation="manual").router

    @pytest.mark.parametrize(
        "event",
        [
            Connect((3,)),
            Disconnect((1,)),
            Receive((1, 2), ()),
            Receive((2,), (message("m2"),)),
            Raw((1,), "not-protobuf"),
            Stall((1,)),
            Resume((1,)),
            Score((1, 2), -1),
            Join("t2"),
            Leave(T),
            Publish(Message("m9", "t9")),
            Verdict("m1", "ignore"),
            Advance(1),
            Advance(500),
        ],
        ids=repr,
    )
    def test_what_can_happen(self, event: Event) -> None:
        assert applicable(self.R, event)

    @pytest.mark.parametrize(
        "event",
        [
            Connect((1,)),
            Connect((3, 1)),
            Disconnect((3,)),
            Disconnect(()),
            Receive((3,), ()),
            Receive((), ()),
            # Nobody says what a control message of a floodsub peer means.
            Receive((2,), (Graft(T),)),
            Receive((1, 2), (IWant(("x",)),)),
            Raw((3,), "not-protobuf"),
            Stall((3,)),
            Score((3,), 0),
            Join(T),
            Leave("t2"),
            own("m1"),
            Publish(Message("m9", T, 4)),
            Verdict("m2", "accept"),
            Advance(0),
            Advance(-1),
            Advance(501),
            Submit("x"),
            Commit("x"),
            Adjust(),
        ],
        ids=repr,
    )
    def test_what_cannot(self, event: Event) -> None:
        assert not applicable(self.R, event)


class TestTime:
    @pytest.mark.parametrize(("now_ms", "left"), [(0, 500), (1, 499), (499, 1), (500, 1000), (1499, 1)])
    def test_until_the_heartbeat(self, now_ms: int, left: int) -> None:
        r = started(GOSSIPSUB_1_2, Parameters())
        if now_ms:
            r = onward(r, Advance(now_ms)).router
        assert (r.now_ms, until_heartbeat_ms(r)) == (now_ms, left)

    @pytest.mark.parametrize(("interval", "delay"), [(1000, 500), (700, 100), (1000, 0), (100, 2500)])
    def test_a_heartbeat_at_delay_and_every_interval(self, interval: int, delay: int) -> None:
        r = started(GOSSIPSUB_1_2, Parameters(heartbeat_interval_ms=interval, heartbeat_delay_ms=delay))
        beats = []
        for _ in range(4):
            before = r.heartbeats
            r = onward(r, Advance(until_heartbeat_ms(r))).router
            assert r.heartbeats == before + 1
            beats.append(r.now_ms)
        first = delay or interval
        assert beats == [first + k * interval for k in range(4)]

    def test_shorter_waits_run_none(self) -> None:
        r = started(GOSSIPSUB_1_2, Parameters())
        for _ in range(4):
            r = onward(r, Advance(100)).router
        assert (r.now_ms, r.heartbeats) == (400, 0)
        assert onward(r, Advance(100)).router.heartbeats == 1

    def test_several_in_one_advance(self) -> None:
        assert onward(started(GOSSIPSUB_1_2, Parameters()), Advance(3700)).router.heartbeats == 4


def test_stalling_is_seen_by_nobody_but_the_harness() -> None:
    r = after(peers(1)).router
    stalled = onward(r, Stall((1,)))
    assert stalled.router.peers[1].stalled
    assert not stalled.all
    assert not onward(stalled.router, Resume((1,))).router.peers[1].stalled


def test_mempool_streams_are_another_family() -> None:
    assert all(MEMPOOL not in streams for streams in STREAM_PROTOCOLS.values())
    assert all(streams[-1] == FLOODSUB for streams in STREAM_PROTOCOLS.values())


def test_a_heartbeat_without_anything_to_do_changes_the_clock_alone() -> None:
    r = after(BEAT).router
    later = onward(r, Advance(until_heartbeat_ms(r))).router
    assert evolve(later, now_ms=r.now_ms, heartbeats=r.heartbeats) == r
