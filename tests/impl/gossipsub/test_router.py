"""Our router as a whole: connections, streams, topics, time, and the parameters that it can run under."""

from __future__ import annotations

import pytest

from quidnunc.impl.gossipsub.core import FEATURES, MAX_TOPIC_BYTES, MAX_TOPICS_PER_PEER
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.impl.wire.malformed import MALFORMED, UNREADABLE
from quidnunc.model.events import FLOODSUB, MESHSUB_1_2
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Message, Subscribe, Unsubscribe
from tests.helpers.neighbourhood import STREAMS, Hood

# -- connections and topics --


@pytest.mark.parametrize("protocol", STREAMS)
def test_a_new_peer_is_told_every_topic_first_of_all(protocol: str) -> None:
    hood = Hood(protocol=protocol)
    hood.connect(1)
    assert hood.sent == {}, "there is nothing to tell"
    hood.join("t2")
    hood.join("t1")
    for peer, stream in enumerate(STREAMS[protocol], start=2):
        hood.connect(peer, stream=stream, topics="")
        assert hood.sent == {peer: [Subscribe("t1"), Subscribe("t2")]}
        assert len(hood.reply.out) == 1


@pytest.mark.parametrize("protocol", STREAMS)
def test_joins_and_leaves_are_announced_to_all(protocol: str) -> None:
    hood = Hood(protocol=protocol)
    hood.connect(1, topics="t1")
    hood.connect(2, topics="t2")
    hood.connect(3, topics="", stream=FLOODSUB)
    hood.join()
    assert hood.got(Subscribe("t1")) == {1, 2, 3}
    hood.leave()
    assert hood.got(Unsubscribe("t1")) == {1, 2, 3}


def test_who_disconnects_is_nowhere() -> None:
    hood = Hood()
    hood.connect(1, 2)
    hood.publish(Message("m1", "t1", 0))
    hood.note(hood.driver.disconnect(1))
    assert hood.fanout() == {2}
    hood.join()
    assert hood.mesh() == {2}
    hood.note(hood.driver.disconnect(2))
    assert hood.mesh() == set()
    hood.connect(1, topics="")
    hood.beat()
    assert hood.mesh() == set(), "what it had subscribed to is forgotten too"


def test_subscribing_twice_is_subscribing_once() -> None:
    hood = Hood()
    hood.connect(1, topics="t1 t1")
    hood.say(1, Subscribe("t1"), Unsubscribe("t1"))
    hood.join()
    assert hood.mesh() == set()


def test_topics_of_a_peer_are_bounded() -> None:
    hood = Hood()
    hood.connect(1, topics="")
    hood.say(1, *(Subscribe(f"x{number}") for number in range(MAX_TOPICS_PER_PEER + 5)))
    hood.say(1, Unsubscribe("x0"), Subscribe("y" * (MAX_TOPIC_BYTES + 1)), Subscribe("t1"))
    peers = hood.driver.state().state["peers"]
    assert isinstance(peers, dict)
    assert len(peers["1"]["topics"]) == MAX_TOPICS_PER_PEER
    assert "t1" in peers["1"]["topics"] and "x0" not in peers["1"]["topics"]


# -- explicit peers --


def test_explicit_peers_are_dialled_at_start_and_again_when_they_are_lost() -> None:
    hood = Hood(explicit_peers=frozenset({2, 5}))
    assert hood.driver.advance(0).dials == (2, 5)
    hood.connect(5)
    dials = [hood.driver.advance(ms).dials for ms in (299_000, 2000)]
    assert dials == [(), (2,)]


def test_v1_0_knows_no_explicit_peers() -> None:
    hood = Hood(protocol="gossipsub-1.0", explicit_peers=frozenset({2}))
    assert hood.driver.advance(0).dials == ()
    hood.connect(2)
    hood.join()
    assert hood.mesh() == {2}


# -- bytes --


@pytest.mark.parametrize("kind", sorted(MALFORMED))
@pytest.mark.parametrize("protocol", ["floodsub", "gossipsub-1.2"])
def test_malformed_bytes_close_their_own_stream_and_nothing_else(kind: str, protocol: str) -> None:
    hood = Hood(protocol=protocol, idontwant_min_bytes=1000)
    hood.connect(1, 2, 3)
    hood.join()
    hood.note(hood.driver.raw(1, MALFORMED[kind]()))
    assert hood.sent == {} and hood.delivered() == []
    # Of what the texts leave open, the router closes on a message without its required topic alone.
    closes = kind in UNREADABLE or kind == "message-without-topic"
    assert hood.reply.closed == ((1,) if closes else ())
    alive = () if closes else (1,)
    hood.say(2, Message("m1", "t1", 2))
    assert set(hood.sent) == {*alive, 3} and hood.delivered() == ["m1"]
    assert hood.say(1, Graft("t1")) == {}, "what a closed peer says reaches nobody"
    hood.note(hood.driver.disconnect(1))
    hood.connect(1)
    hood.say(1, Message("m2", "t1", 1))
    assert hood.delivered() == ["m2"]


def test_good_frames_before_a_bad_one_count() -> None:
    hood = Hood()
    hood.connect(1)
    hood.join()
    good = frame(hood.codec.encode([Message("m1", "t1", 1)], sender=1))
    hood.note(hood.driver.raw(1, good + MALFORMED["not-protobuf"]() + good))
    assert hood.delivered() == ["m1"] and hood.reply.closed == (1,)


def test_frames_may_come_in_pieces() -> None:
    hood = Hood()
    hood.connect(1)
    hood.join()
    stream = frame(hood.codec.encode([Message("m1", "t1", 1)], sender=1))
    for at in range(len(stream)):
        assert hood.delivered() == []
        hood.note(hood.driver.raw(1, stream[at : at + 1]))
    assert hood.delivered() == ["m1"]


def test_a_message_is_relayed_byte_for_byte() -> None:
    hood = Hood(signature_policy="StrictNoSign", message_id="content", idontwant_min_bytes=1000)
    hood.connect(1, 2)
    hood.join()
    extended = wire.Message(topic="t1", data=b"x").SerializeToString() + b"\xc2\x3e\x01z"
    reply = hood.driver.rpc(1, b"\x12" + bytes((len(extended),)) + extended)
    ((peer, _, data),) = reply.out
    assert peer == 2 and data == b"\x12" + bytes((len(extended),)) + extended


def test_a_topic_that_is_no_text_is_no_topic() -> None:
    for protocol in FEATURES:
        hood = Hood(protocol=protocol)
        hood.connect(1)
        hood.join()
        rpc = wire.RPC(control=wire.ControlMessage(graft=[wire.ControlGraft(topicID="..")]))
        data = rpc.SerializeToString().replace(b"..", b"\xff\xfe")
        assert hood.note(hood.driver.rpc(1, data)) == {}
        assert hood.note(hood.driver.rpc(1, data.replace(b"\x1a\x06\x1a", b"\x1a\x06\x22"))) == {}


def test_an_rpc_is_all_of_its_parts_in_one_frame() -> None:
    hood = Hood()
    hood.connect(1)
    assert len(hood.driver.join("t1").out) == 1, "subscription and GRAFT"


# -- time --


def test_heartbeats_fire_at_their_instants() -> None:
    router = GossipsubRouter(Parameters(heartbeat_delay_ms=300, heartbeat_interval_ms=700))
    fired: list[int] = []
    router.beats.append(lambda: fired.append(router.core.now_ms))
    for ms in (299, 1, 0, 699, 1, 1400, 0, 100):
        router.advance(ms)
    assert fired == [300, 1000, 1700, 2400]
    assert router.core.now_ms == 2500


# -- parameters --


def test_parameters_that_no_router_can_run_under() -> None:
    with pytest.raises(ValueError, match="message_id='content'"):
        GossipsubRouter(Parameters(signature_policy="StrictNoSign"))
    with pytest.raises(ValueError, match="heartbeat_interval_ms must be at least 1, got 0"):
        GossipsubRouter(Parameters(heartbeat_interval_ms=0))
    with pytest.raises(ValueError, match="opportunistic_graft_ticks must be at least 1"):
        GossipsubRouter(Parameters(opportunistic_graft_ticks=0))
    with pytest.raises(ValueError, match="'gossipsub-9' is none of floodsub, gossipsub-1.0"):
        GossipsubRouter(Parameters(), protocol="gossipsub-9")


def test_connections_that_make_no_sense() -> None:
    router = GossipsubRouter(Parameters(), protocol="gossipsub-1.1")
    with pytest.raises(ValueError, match="gossipsub-1.1 does not speak '/meshsub/1.2.0', only /floodsub"):
        router.connect(1, MESHSUB_1_2, outbound=False)
    router.connect(1, FLOODSUB, outbound=False)
    with pytest.raises(ValueError, match="peer 1 is connected already"):
        router.connect(1, FLOODSUB, outbound=False)
    router.disconnect(1)
    router.disconnect(1)


def test_what_was_taken_is_not_given_again() -> None:
    router = GossipsubRouter(Parameters())
    router.connect(1, MESHSUB_1_2, outbound=False)
    router.join("t1")
    ((peer, data),) = router.take().frames
    assert peer == 1 and len(FrameDecoder().feed(data)[0]) == 1
    assert router.take().frames == ()
