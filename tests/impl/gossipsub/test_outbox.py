"""What our router has to say: gathered, split where it is long, and kept for those who do not read."""

from __future__ import annotations

from quidnunc.impl.gossipsub.outbox import MAX_QUEUED_RPCS, MAX_RPC_BYTES, Outbox, split
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import FrameDecoder
from quidnunc.model.events import FLOODSUB
from quidnunc.model.rpc import Graft, Message, Prune, Subscribe, Unsubscribe
from tests.helpers.neighbourhood import Hood


def read(outbox: Outbox, peer: int = 1) -> list[wire.RPC]:
    """What the peer was sent, and empty the outbox."""
    decoder = FrameDecoder(max_bytes=1 << 30)
    found = []
    for to, data in outbox.frames:
        if to == peer:
            payloads, error = decoder.feed(data)
            assert error is None
            found += [wire.RPC.FromString(payload) for payload in payloads]
    outbox.frames = []
    return found


def test_all_that_is_gathered_is_one_rpc_and_idontwant_another() -> None:
    outbox = Outbox()
    outbox.to(1).subscriptions["t1"] = True
    outbox.graft(1, "t1")
    outbox.to(1).messages.append(wire.Message(topic="t1"))
    outbox.idontwant(1, b"m1")
    outbox.flush()
    first, second = read(outbox)
    assert [list(e.messageIDs) for e in first.control.idontwant] == [[b"m1"]]
    assert len(second.publish) == len(second.subscriptions) == len(second.control.graft) == 1
    outbox.flush()
    assert read(outbox) == []


def test_a_later_graft_or_prune_replaces_an_earlier_one() -> None:
    outbox = Outbox()
    outbox.graft(1, "t1")
    outbox.prune(1, "t1", 5)
    outbox.prune(1, "t2", None)
    outbox.graft(1, "t2")
    outbox.flush()
    (rpc,) = read(outbox)
    assert [(p.topicID, p.backoff) for p in rpc.control.prune] == [("t1", 5)]
    assert [g.topicID for g in rpc.control.graft] == ["t2"]


def test_a_bare_prune_has_no_backoff_field() -> None:
    outbox = Outbox()
    outbox.prune(1, "t1", None)
    outbox.flush()
    (rpc,) = read(outbox)
    assert not rpc.control.prune[0].HasField("backoff")


def test_a_long_rpc_is_split_and_nothing_is_lost() -> None:
    outbox = Outbox()
    pending = outbox.to(1)
    pending.subscriptions["t1"] = True
    pending.messages += [wire.Message(topic="t1", data=bytes(400_000)) for _ in range(6)]
    pending.messages.append(wire.Message(topic="t1", data=bytes(2 * MAX_RPC_BYTES)))
    pending.ihave["t1"] = [number.to_bytes(40, "big") for number in range(60_000)]
    pending.iwant = {number.to_bytes(40, "big"): None for number in range(20_000)}
    pending.idontwant += [b"a", b"b"]
    outbox.graft(1, "t1")
    outbox.prune(1, "t2", 5)
    whole = pending.rpc(ids_per_idontwant=1)
    outbox.flush()
    rpcs = read(outbox)
    assert all(rpc.ByteSize() <= MAX_RPC_BYTES or len(rpc.publish) == 1 for rpc in rpcs)
    merged = wire.RPC()
    for rpc in rpcs:
        merged.MergeFrom(rpc)
    for field in ("ihave", "iwant"):
        ids = [[i for e in getattr(each.control, field) for i in e.messageIDs] for each in (merged, whole)]
        assert ids[0] == ids[1]
        merged.control.ClearField(field)
        whole.control.ClearField(field)
    assert [e.messageIDs[0] for e in whole.control.idontwant] == [b"a", b"b"]
    merged.control.ClearField("idontwant")
    whole.control.ClearField("idontwant")
    assert merged == whole


def test_splitting_a_short_rpc_gives_it_back() -> None:
    rpc = wire.RPC(publish=[wire.Message(topic="t1")])
    assert list(split(rpc)) == [rpc]
    assert list(split(wire.RPC())) == []


# -- peers that do not read --


def test_who_stalls_gets_everything_in_order_when_it_reads_again() -> None:
    hood = Hood(idontwant_min_bytes=1000)
    hood.connect(1, 2)
    hood.join()
    hood.note(hood.driver.stall(2))
    messages = [Message(f"m{number}", "t1", 1) for number in range(1, 5)]
    for message in messages:
        assert hood.say(1, message) == {}
    hood.leave()
    assert 2 not in hood.sent
    hood.note(hood.driver.resume(2))
    assert hood.sent == {2: [*messages, Unsubscribe("t1"), Prune("t1", 3)]}
    assert hood.note(hood.driver.resume(2)) == {}


def test_a_full_queue_loses_the_oldest_messages_and_no_mesh_control() -> None:
    hood = Hood(signature_policy="StrictNoSign", message_id="content", prune_backoff_s=1)
    hood.connect(1, stream=FLOODSUB, topics="t2")
    hood.connect(2, topics="t1 t2")
    hood.note(hood.driver.stall(2))
    hood.join()
    hood.join("t2")
    hood.leave()
    for number in range(1, MAX_QUEUED_RPCS + 100):
        hood.say(1, Message(f"m{number}", "t2", None))
        if number == 20:
            hood.join("t3")
    hood.note(hood.driver.resume(2))
    parts = hood.sent[2]
    control = [p for p in parts if not isinstance(p, Message)]
    assert {Subscribe("t2"), Graft("t2"), Prune("t1", 3), Unsubscribe("t1"), Subscribe("t3")} <= set(control)
    assert Subscribe("t1") not in control and Graft("t1") not in control, "both are out of date"
    messages = [p.id for p in parts if isinstance(p, Message)]
    assert messages[-1] == f"m{MAX_QUEUED_RPCS + 99}"
    assert len(messages) <= MAX_QUEUED_RPCS and messages == sorted(messages, key=lambda i: int(i[1:]))


def test_the_queue_is_bounded_and_goes_with_its_peer() -> None:
    outbox = Outbox()
    outbox.stall(1)
    for _ in range(3 * MAX_QUEUED_RPCS):
        outbox.to(1).messages.append(wire.Message(topic="t1"))
        outbox.idontwant(1, b"m1")
        outbox.flush()
    assert outbox.queued(1) == MAX_QUEUED_RPCS
    outbox.forget(1)
    assert outbox.queued(1) == 0
    outbox.to(1).iwant[b"m1"] = None
    outbox.forget(1)
    outbox.flush()
    assert outbox.frames == []
