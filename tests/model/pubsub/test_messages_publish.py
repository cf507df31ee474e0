"""Own messages: to whom they go, in the topic and outside it."""

from __future__ import annotations

import pytest

from quidnunc.model.events import FLOODSUB, MESHSUB_1_2, Connect, Delivered, Event, Join, Publish, Score
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.pubsub.step import applicable
from quidnunc.model.rpc import ROUTER, IDontWant, Message
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    MESH_VERSIONS,
    SINCE_1_1,
    STREAM_OF,
    After,
    T,
    after,
    grafted,
    of,
    own,
    peers,
)

EVERY = pytest.mark.parametrize("protocol", PUBSUB.values(), ids=list(PUBSUB))
MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])


def published(protocol: Protocol, *before: Event | list[Event], flood: bool = False, **rest: object) -> After:
    given = {"flood_publish": flood, **rest}
    return after(*before, own(), protocol=protocol, **given)  # type: ignore[arg-type]


@EVERY
class TestEveryProtocol:
    def test_floodsub_members_get_it(self, protocol: Protocol) -> None:
        base = [*peers(1, 2, stream=FLOODSUB), *peers(3, topic="t2", stream=FLOODSUB)]
        assert set(published(protocol, base).due(Message)) == {1, 2}
        assert set(published(protocol, base, Join(T)).due(Message)) == {1, 2}

    def test_without_members_it_is_seen_and_that_is_all(self, protocol: Protocol) -> None:
        end = published(protocol, Connect((1,), STREAM_OF[protocol.name]))
        assert not end.due(Message) and Delivered(own().message) not in end.must
        assert set(end.router.seen) == {"m1"}

    def test_delivery_to_ourselves_is_free(self, protocol: Protocol) -> None:
        mine = Message("m1", T, ROUTER)
        assert Delivered(mine) in published(protocol, Join(T)).may

    def test_an_id_is_published_once(self, protocol: Protocol) -> None:
        end = published(protocol, Join(T))
        assert not applicable(end.router, own())
        assert not applicable(end.router, Publish(Message("m2", T, 7)))


@MESHED
class TestInTheTopic:
    def test_to_the_mesh_and_nobody_else(self, protocol: Protocol) -> None:
        base = [Join(T), *peers(1, 2, 3), grafted(1, 2)]
        end = published(protocol, base)
        assert set(end.due(Message)) == {1, 2}
        assert not end.free(Message)
        assert T not in end.router.fanout

    def test_an_empty_mesh_is_no_fanout(self, protocol: Protocol) -> None:
        end = published(protocol, Join(T), peers(1, 2))
        assert not end.due(Message)
        assert not end.router.fanout

    def test_it_is_cached(self, protocol: Protocol) -> None:
        assert set(published(protocol, Join(T)).router.cached) == {"m1"}


@LATER
class TestThresholds:
    @pytest.mark.parametrize(("score", "low"), [(-20, False), (-21, True)])
    def test_floodsub_peers_below_it_get_nothing(self, protocol: Protocol, score: int, low: bool) -> None:
        end = published(protocol, peers(1, stream=FLOODSUB), Score((1,), score), Join(T))
        assert set(end.due(Message)) == (set() if low else {1})
        assert not end.free(Message)

    @pytest.mark.parametrize(("score", "low"), [(-20, False), (-21, True)])
    def test_for_mesh_peers_below_it_the_text_says_nothing(
        self, protocol: Protocol, score: int, low: bool
    ) -> None:
        end = published(protocol, Join(T), peers(1, 2), grafted(1, 2), Score((1,), score))
        assert (set(end.due(Message)), set(end.free(Message))) == (({2}, {1}) if low else ({1, 2}, set()))

    def test_explicit_members_are_exempt(self, protocol: Protocol) -> None:
        base = [*peers(1), Connect((2,)), Score((1, 2), -99), Join(T)]
        for flood in (False, True):
            end = published(protocol, base, flood=flood, explicit_peers=frozenset({1, 2}))
            assert set(end.due(Message)) == {1}
            assert set(end.free(Message)) == {2}


class TestFloodPublishing:
    @LATER
    @pytest.mark.parametrize("joined", [True, False])
    def test_to_every_member_at_the_threshold_or_above(self, protocol: Protocol, joined: bool) -> None:
        base = [*peers(1, 2, 3), *peers(4, stream=FLOODSUB), *peers(5, topic="t2")]
        scores = [Score((2,), -20), Score((3,), -21)]
        end = published(protocol, base, scores, [Join(T)] if joined else [], flood=True)
        assert set(end.due(Message)) == {1, 2, 4}
        assert not end.free(Message)
        assert not end.router.fanout

    @LATER
    @pytest.mark.parametrize(("score", "free"), [(-20, {2}), (-21, set())])
    def test_a_member_that_announced_nothing_may_have_it(
        self, protocol: Protocol, score: int, free: set[int]
    ) -> None:
        """It took its place in the mesh by a GRAFT, and the text floods to those in the topic."""
        base = [*peers(1), Connect((2,)), Join(T), grafted(1, 2), Score((2,), score)]
        end = published(protocol, base, flood=True, publish_threshold=-20)
        assert (set(end.due(Message)), set(end.free(Message))) == ({1}, free)

    @LATER
    def test_what_others_wrote_is_not_flooded(self, protocol: Protocol) -> None:
        base = [Join(T), *peers(1, 2, 3), grafted(1, 2)]
        end = after(base, of(1, Message("m1", T, 9)), protocol=protocol, flood_publish=True)
        assert set(end.due(Message)) == {2}

    def test_v1_0_has_none(self) -> None:
        end = published(PUBSUB["gossipsub-1.0"], Join(T), peers(1, 2, 3), grafted(1, 2), flood=True)
        assert set(end.due(Message)) == {1, 2}


@pytest.mark.parametrize("name", ["gossipsub-1.2-draft", "gossipsub-1.2"])
def test_who_said_idontwant_may_be_spared_an_own_message(name: str) -> None:
    """The letter is about relay."""
    base = [Join(T), *peers(1, 2, stream=MESHSUB_1_2), grafted(1, 2), of(1, IDontWant(("m1",)))]
    end = published(PUBSUB[name], base)
    assert (set(end.due(Message)), set(end.free(Message))) == ({2}, {1})
