"""Who is there and who is subscribed to what, clause by clause."""

from __future__ import annotations

import pytest

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_0,
    Closed,
    Connect,
    Dialled,
    Disconnect,
    Join,
    Leave,
    Raw,
    Score,
)
from quidnunc.model.pubsub.protocols import FLOODSUB as FLOODSUB_PROTOCOL
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_2, PUBSUB
from quidnunc.model.rpc import IDontWant, Message, Subscribe, Unsubscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    BEAT,
    MESH_VERSIONS,
    After,
    T,
    after,
    grafted,
    message,
    of,
    own,
    peers,
    sent,
)

EVERY = pytest.mark.parametrize("protocol", PUBSUB.values(), ids=list(PUBSUB))
MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])


@EVERY
class TestSubscriptions:
    def test_hello_names_every_topic(self, protocol: Protocol) -> None:
        end = after(Join("t1"), Join("t2"), Connect((1,), FLOODSUB), protocol=protocol)
        assert end.must == sent(Subscribe("t1"), 1) | sent(Subscribe("t2"), 1)

    def test_no_hello_without_topics(self, protocol: Protocol) -> None:
        assert not after(Connect((1,), FLOODSUB), protocol=protocol).all

    def test_hello_after_leave_is_without_the_topic(self, protocol: Protocol) -> None:
        end = after(Join("t1"), Join("t2"), Leave("t1"), Connect((1,), FLOODSUB), protocol=protocol)
        assert end.must == sent(Subscribe("t2"), 1)

    def test_join_is_told_to_peers_outside_the_topic_too(self, protocol: Protocol) -> None:
        base = [Connect((1, 2), FLOODSUB), of(1, Subscribe("t1"))]
        assert after(base, Join("t1"), protocol=protocol).must == sent(Subscribe("t1"), 1, 2)
        assert after(base, Join("t1"), Leave("t1"), protocol=protocol).must == sent(Unsubscribe("t1"), 1, 2)

    def test_subscriptions_are_followed(self, protocol: Protocol) -> None:
        def targets(*said: Subscribe | Unsubscribe) -> set[int]:
            events = [Connect((1,), FLOODSUB), of(1, *said), Join(T), own()]
            return set(after(events, protocol=protocol).due(Message))

        assert targets(Subscribe(T)) == {1}
        assert targets(Subscribe(T), Subscribe(T)) == {1}
        assert targets(Subscribe("t2")) == set()
        assert targets(Subscribe(T), Unsubscribe(T)) == set()
        assert targets(Subscribe(T), Subscribe(T), Unsubscribe(T)) == set()
        assert targets(Unsubscribe(T), Subscribe(T)) == {1}

    def test_subscriptions_go_with_the_connection(self, protocol: Protocol) -> None:
        again = [Disconnect((1,)), Connect((1,), FLOODSUB)]
        end = after(peers(1, stream=FLOODSUB), again, Join(T), own(), protocol=protocol)
        assert end.router.members(T) == frozenset()
        assert not end.due(Message)

    def test_malformed_bytes_close_at_most_that_stream(self, protocol: Protocol) -> None:
        base = peers(1, 2, stream=FLOODSUB)
        kept = after(base, Raw((1,), "not-protobuf"), protocol=protocol, seen=())
        assert set(kept.router.peers) == {1, 2}
        assert not kept.all
        closed = after(base, Raw((1,), "not-protobuf"), protocol=protocol, seen={Closed(1)})
        assert set(closed.router.peers) == {2}
        assert closed.must == {Closed(1)}

    @pytest.mark.parametrize("kind", ["empty-frame", "unknown-field", "empty-control"])
    def test_what_is_legal_closes_nothing(self, protocol: Protocol, kind: str) -> None:
        end = after(peers(1, stream=FLOODSUB), Raw((1,), kind), protocol=protocol, seen={Closed(1)})
        assert not end.all
        assert set(end.router.peers) == {1}


@MESHED
class TestLeavingTheMesh:
    def base(self, protocol: Protocol, last: object) -> After:
        return after(peers(1, 2, stream=MESHSUB_1_0), Join(T), last, protocol=protocol)  # type: ignore[arg-type]

    def test_unsubscribe_leaves_the_mesh(self, protocol: Protocol) -> None:
        assert self.base(protocol, of(1, Unsubscribe(T))).mesh() == {2}
        assert self.base(protocol, of(1, Unsubscribe("t2"))).mesh() == {1, 2}

    def test_unless_the_reading_says_so(self, protocol: Protocol) -> None:
        read = protocol.reading("unsubscribed-stays-in-mesh")
        assert self.base(read, of(1, Unsubscribe(T))).mesh() == {1, 2}

    def test_a_lost_peer_leaves_the_mesh(self, protocol: Protocol) -> None:
        assert self.base(protocol, Disconnect((1,))).mesh() == {2}

    def test_unsubscribe_and_loss_leave_the_fanout(self, protocol: Protocol) -> None:
        base = [*peers(1, 2, stream=MESHSUB_1_0), own("m1")]
        for last in (of(1, Unsubscribe(T)), Disconnect((1,))):
            end = after(base, last, protocol=protocol, flood_publish=False)
            assert end.router.fanout_of(T).all == {2}

    def test_backoff_and_score_stay_with_a_lost_peer(self, protocol: Protocol) -> None:
        if "backs_off" not in protocol.handlers:
            assert not after(peers(1), Join(T), Leave(T), protocol=protocol).router.backoff
            return
        back = [Leave(T), Score((1,), -3), Disconnect((1,)), *peers(1), Join(T)]
        end = after(peers(1), Join(T), back, protocol=protocol)
        assert end.router.score(1) == -3
        assert not end.mesh()


class TestExplicitPeers:
    def dialled(self, *events: object, protocol: Protocol = GOSSIPSUB_1_2) -> set[int]:
        end = after(*events, protocol=protocol, explicit_peers=frozenset({3, 5}))  # type: ignore[arg-type]
        assert not any(isinstance(o, Dialled) for o in end.must)
        return {o.peer for o in end.may if isinstance(o, Dialled)}

    def test_those_away_may_be_dialled_at_any_time(self) -> None:
        assert self.dialled(BEAT) == {3, 5}
        assert self.dialled(Join(T)) == {3, 5}

    def test_nobody_else_is_dialled(self) -> None:
        assert not any(isinstance(o, Dialled) for o in after(peers(1), BEAT).all)

    def test_who_is_connected_is_not(self) -> None:
        assert self.dialled(peers(3), BEAT) == {5}

    def test_a_dial_may_have_been_under_way_when_the_peer_came(self) -> None:
        assert self.dialled(Connect((3,))) == {3, 5}
        assert self.dialled(Connect((3,)), Disconnect((3,))) == {3, 5}

    @pytest.mark.parametrize("protocol", [FLOODSUB_PROTOCOL, GOSSIPSUB_1_0], ids=lambda p: p.name)
    def test_older_versions_have_none(self, protocol: Protocol) -> None:
        assert self.dialled(BEAT, protocol=protocol) == set()


def test_idontwant_goes_with_the_connection() -> None:
    base = [*peers(1, 2), Join(T), of(1, IDontWant(("m1",)))]
    again = [Disconnect((1,)), *peers(1), grafted(1)]
    assert after(base, of(2, message())).due(Message) == {}
    assert set(after(base, again, of(2, message())).due(Message)) == {1}
