"""The fanout: chosen when it is needed, kept, refilled and forgotten; and what of it can be known."""

from __future__ import annotations

import pytest

from quidnunc.model.choices import PartialSet
from quidnunc.model.edits.ambiguities import reading_named
from quidnunc.model.events import FLOODSUB, Advance, Disconnect, Event, Join, Leave, Output, Score
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Graft, Message, Unsubscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    MESH_VERSIONS,
    SINCE_1_1,
    After,
    T,
    after,
    of,
    onward,
    own,
    peers,
    pruned,
    sent,
    to_heartbeat,
)

MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])

TTL = {"flood_publish": False, "fanout_ttl_ms": 3000}


def mine(message_id: str, *numbers: int) -> frozenset[Output]:
    return sent(Message(message_id, T, 0), *numbers)


def chosen(protocol: Protocol, *numbers: int, there: int = 5) -> After:
    """The first own message went to these, of peers 1 to `there`; D is 3."""
    events = peers(*range(1, there + 1))
    return after(events, own("m1"), protocol=protocol, **TTL, seen=mine("m1", *numbers))


def beaten(r: Router, times: int = 1) -> Router:
    for _ in range(times):
        r = onward(r, to_heartbeat(r), seen=()).router
    return r


@MESHED
class TestChoice:
    def test_any_d_members(self, protocol: Protocol) -> None:
        for some in ((1, 2, 3), (2, 4, 5)):
            end = chosen(protocol, *some)
            assert (end.problems, end.must) == ((), mine("m1", *some))
            assert end.router.fanout_of(T) == PartialSet.of(some)

    @pytest.mark.parametrize("some", [(), (1,), (1, 2)])
    def test_fewer_are_noticed(self, protocol: Protocol, some: tuple[int, ...]) -> None:
        assert [p.name for p in chosen(protocol, *some).problems] == ["fanout.use"]

    def test_more_are_noticed(self, protocol: Protocol) -> None:
        assert len(chosen(protocol, 1, 2, 3, 4).must) == 3

    def test_as_many_as_there_are(self, protocol: Protocol) -> None:
        assert not chosen(protocol, 1, 2, there=2).problems

    def test_floodsub_peers_come_on_top(self, protocol: Protocol) -> None:
        events = [*peers(1, 2, 3), *peers(7, stream=FLOODSUB)]
        end = after(events, own("m1"), protocol=protocol, **TTL)
        assert end.must == mine("m1", 1, 2, 3, 7)
        assert end.router.fanout_of(T).all == {1, 2, 3}

    def test_it_is_kept(self, protocol: Protocol) -> None:
        r = chosen(protocol, 2, 3, 4).router
        assert onward(r, own("m2"), seen=mine("m2", 2, 3, 4)).must == mine("m2", 2, 3, 4)
        other = onward(r, own("m2"), seen=mine("m2", 1, 2, 3))
        assert other.must == mine("m2", 2, 3, 4)

    def test_two_topics_have_two(self, protocol: Protocol) -> None:
        r = onward(chosen(protocol, 1, 2, 3).router, peers(8, topic="t2"), own("m2", "t2")).router
        assert (r.fanout_of("t1").all, r.fanout_of("t2").all) == ({1, 2, 3}, {8})


@LATER
class TestChoiceSince11:
    @pytest.mark.parametrize(("score", "in_it"), [(-20, True), (-21, False)])
    def test_the_publish_threshold(self, protocol: Protocol, score: int, in_it: bool) -> None:
        end = after(peers(1, 2), Score((1,), score), own("m1"), protocol=protocol, **TTL)
        assert (1 in end.due(Message)) is in_it

    def test_who_falls_below_it_is_left_out_at_once(self, protocol: Protocol) -> None:
        r = chosen(protocol, 1, 2, there=2).router
        end = onward(r, Score((1,), -21), own("m2"), seen=mine("m2", 2))
        assert (end.problems, end.all & mine("m2", 1, 2)) == ((), mine("m2", 2))

    def test_backoff_is_said_of_graft_alone(self, protocol: Protocol) -> None:
        """Whether a peer in backoff may be chosen is open."""
        events = [*peers(1), Join(T), pruned(1), *peers(2)]
        r = after(events, protocol=protocol, **TTL, d=3).router
        r = onward(r, Leave(T)).router
        for some in ((2,), (1, 2)):
            assert not onward(r, own("m1"), seen=mine("m1", *some)).problems

    def test_explicit_members_get_it_in_any_case(self, protocol: Protocol) -> None:
        """Whether they are among the D is not said, so that it stays open afterwards."""
        events = peers(1, 2, 3, 4, 5)
        given = {**TTL, "explicit_peers": frozenset({5})}
        # Three of the four others are owed: with two of them it is the explicit peer that is the third.
        for some, known in (((1, 2, 5), {1, 2, 5}), ((1, 2, 3, 5), {1, 2, 3})):
            end = after(events, own("m1"), protocol=protocol, **given, seen=mine("m1", *some))
            assert (end.problems, end.router.fanout_of(T)) == ((), PartialSet.of(known))
        given |= {"d": 5, "d_high": 5}
        few = after(events, own("m1"), protocol=protocol, **given, seen=mine("m1", 1, 2, 3, 4, 5))
        assert few.router.fanout_of(T) == PartialSet(frozenset({1, 2, 3, 4}), frozenset({5}), 4, 5)


@MESHED
class TestWhoLeaves:
    @pytest.mark.parametrize("last", [of(2, Unsubscribe(T)), Disconnect((2,))])
    def test_at_once(self, protocol: Protocol, last: Event) -> None:
        r = onward(chosen(protocol, 1, 2, 3).router, last).router
        end = onward(r, own("m2"), seen=mine("m2", 1, 3))
        assert (end.problems, end.must) == ((), mine("m2", 1, 3))

    def test_or_at_the_heartbeat_under_the_reading(self, protocol: Protocol) -> None:
        late = reading_named("unsubscribed-stays-in-fanout").change(protocol)
        r = onward(chosen(late, 1, 2, 3, there=3).router, of(2, Unsubscribe(T))).router
        assert r.fanout_of(T).all == {1, 2, 3}
        assert beaten(r).fanout_of(T).all == {1, 3}


@MESHED
class TestRefill:
    def lost(self, protocol: Protocol) -> Router:
        """Of three, one is gone; five are in the topic; a heartbeat has passed."""
        r = onward(chosen(protocol, 1, 2, 3, there=6).router, Disconnect((3,))).router
        return beaten(r)

    def test_whom_it_took_stays_open(self, protocol: Protocol) -> None:
        known = self.lost(protocol).fanout_of(T)
        assert known == PartialSet(frozenset({1, 2}), frozenset({4, 5, 6}), 3, 3)

    @pytest.mark.parametrize("new", [4, 5, 6])
    def test_and_shows_with_the_next_message(self, protocol: Protocol, new: int) -> None:
        end = onward(self.lost(protocol), own("m2"), seen=mine("m2", 1, 2, new))
        assert (end.problems, end.must) == ((), mine("m2", 1, 2, new))
        assert end.router.fanout_of(T) == PartialSet.of({1, 2, new})

    def test_not_refilled_or_not_kept_is_noticed(self, protocol: Protocol) -> None:
        assert onward(self.lost(protocol), own("m2"), seen=mine("m2", 1, 2)).problems
        assert onward(self.lost(protocol), own("m2"), seen=mine("m2", 4, 5, 6)).problems

    def test_not_before_the_heartbeat(self, protocol: Protocol) -> None:
        r = onward(chosen(protocol, 1, 2, 3, there=6).router, Disconnect((3,))).router
        end = onward(r, own("m2"), seen=mine("m2", 1, 2))
        assert (end.problems, end.must) == ((), mine("m2", 1, 2))

    def test_twice_narrows_and_widens(self, protocol: Protocol) -> None:
        r = onward(self.lost(protocol), Disconnect((1,))).router
        assert beaten(r).fanout_of(T) == PartialSet(frozenset({2}), frozenset({4, 5, 6}), 3, 3)

    def test_who_is_left_alone_is_settled(self, protocol: Protocol) -> None:
        r = onward(chosen(protocol, 1, 2, 3, there=4).router, Disconnect((3,))).router
        assert beaten(r).fanout_of(T) == PartialSet.of({1, 2, 4})


@MESHED
class TestExpiry:
    """fanout_ttl 3 s; published at 0; heartbeats at 0.5, 1.5, 2.5, 3.5 s."""

    @pytest.mark.parametrize(("beats", "kept"), [(1, True), (3, True), (4, False)])
    def test_at_the_first_heartbeat_after_it(self, protocol: Protocol, beats: int, kept: bool) -> None:
        assert (T in beaten(chosen(protocol, 1, 2, 3).router, beats).fanout) is kept

    def test_exactly_at_the_ttl_it_is_kept(self, protocol: Protocol) -> None:
        r = onward(after(peers(1), Advance(500), protocol=protocol, **TTL).router, own("m1")).router
        assert T in beaten(r, 3).fanout
        assert T not in beaten(r, 4).fanout

    def test_each_message_prolongs_it(self, protocol: Protocol) -> None:
        r = beaten(chosen(protocol, 1, 2, 3).router, 3)
        r = onward(r, own("m2"), seen=mine("m2", 1, 2, 3)).router
        assert T in beaten(r, 3).fanout

    def test_afterwards_anybody_is_chosen(self, protocol: Protocol) -> None:
        r = beaten(chosen(protocol, 1, 2, 3).router, 4)
        assert not onward(r, own("m2"), seen=mine("m2", 3, 4, 5)).problems


def test_join_takes_it_over() -> None:
    r = chosen(GOSSIPSUB_1_0, 1, 4, 5).router
    end = onward(r, Join(T), seen=sent(Graft(T), 1, 4, 5))
    assert (end.problems, end.mesh()) == ((), {1, 4, 5})
    assert not end.router.fanout


class TestNobodyToChoose:
    """Whether a publication without anybody to choose makes a fanout is not said."""

    def start(self) -> Router:
        r = after(peers(1, topic="t2"), own("m1"), **TTL).router
        return beaten(onward(r, peers(2, 3, 4, 5)).router)

    @pytest.mark.parametrize("some", [(2, 3, 4), (3, 4, 5), (2,)])
    def test_then_or_later_it_is_filled(self, some: tuple[int, ...]) -> None:
        """Filled at the heartbeat with some of those who had come by then, or at the next message."""
        assert not onward(self.start(), own("m2"), seen=mine("m2", *some)).problems

    def test_whoever_else_is_lost(self) -> None:
        r = onward(self.start(), Disconnect((1,))).router
        assert not onward(r, own("m2"), seen=mine("m2", 3, 4, 5)).problems

    def test_but_something_is_sent(self) -> None:
        assert onward(self.start(), own("m2"), seen=()).problems
