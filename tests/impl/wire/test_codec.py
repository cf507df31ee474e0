"""Symbols to bytes and back: what a case says is what a router reads, and the other way round."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.codec import NO_PEER, Codec, WireError
from quidnunc.impl.wire.framing import FrameDecoder
from quidnunc.impl.wire.keys import peer_id, public_key
from quidnunc.impl.wire.malformed import LEGAL, MALFORMED, UNREADABLE
from quidnunc.impl.wire.signing import id_function, set_author, sign_as, signature_fault
from quidnunc.impl.wire.symbols import data_bytes, seqno_of, symbol_in
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    Flaw,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Prune,
    Subscribe,
    Unsubscribe,
)

SIGNED = Parameters()
UNSIGNED = Parameters(signature_policy="StrictNoSign", message_id="content")
POLICIES = pytest.mark.parametrize("parameters", [SIGNED, UNSIGNED], ids=["StrictSign", "StrictNoSign"])

TOPICS = st.sampled_from(["t1", "t2", "größer"])
IDS = st.lists(st.sampled_from(["m1", "m2", "m10", "other"]), max_size=3).map(tuple)
CONTROL: st.SearchStrategy[Part] = st.one_of(
    st.builds(IHave, TOPICS, IDS),
    st.builds(IWant, IDS),
    st.builds(Graft, TOPICS),
    st.builds(Prune, TOPICS, st.none() | st.integers(0, 2**64 - 1), st.lists(st.integers(0, 9)).map(tuple)),
    st.builds(IDontWant, IDS),
    st.builds(Subscribe, TOPICS),
    st.builds(Unsubscribe, TOPICS),
)
ORDER = (Subscribe, Unsubscribe, Message, IHave, IWant, Graft, Prune, IDontWant)


def as_written(parts: list[Part]) -> tuple[Part, ...]:
    """In the order of the fields of an RPC; both kinds of subscription share one."""
    return tuple(sorted(parts, key=lambda p: max(1, ORDER.index(type(p)))))


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(CONTROL, max_size=8), signed=st.booleans())
def test_parts_come_back(parts: list[Part], signed: bool) -> None:
    codec = Codec(SIGNED if signed else UNSIGNED)
    data = codec.encode(parts, sender=1)
    assert codec.decode(data) == as_written(parts)
    assert codec.encode(parts, sender=2) == data, "the sender matters for the first mention of an id alone"


@pytest.mark.parametrize("flaw", ["", "unsigned", "forged", "foreign-key", "no-author", "no-seqno"])
def test_each_flaw_is_in_the_bytes_under_strict_sign(flaw: Flaw) -> None:
    codec = Codec(SIGNED)
    message = Message("m1", "t1", 4, 100, flaw)
    rpc = wire.RPC.FromString(codec.encode([message], sender=2))
    assert signature_fault(rpc.publish[0], "StrictSign") == flaw
    assert codec.decode(rpc.SerializeToString()) == (message,)


def test_a_signed_message_has_an_author() -> None:
    """Somebody's name would be in the bytes whom the model does not know for the author."""
    with pytest.raises(ValueError, match="m1.*by nobody"):
        Codec(SIGNED).encode([Message("m1", "t1")], sender=2)
    assert Codec(UNSIGNED).encode([Message("m1", "t1")], sender=2)


@pytest.mark.parametrize("flaw", ["no-author", "no-seqno"])
def test_a_message_is_known_by_the_id_that_it_has_without_a_field(flaw: Flaw) -> None:
    codec = Codec(SIGNED)
    rpc = wire.RPC.FromString(codec.encode([Message("m1", "t1", 4, 100, flaw)], sender=2))
    other = getattr(rpc.publish[0], "from") + rpc.publish[0].seqno
    assert other != codec.id_bytes("m1")
    assert codec.symbol_of(other) == "m1"


@pytest.mark.parametrize("flaw", ["", "stamped"])
def test_each_flaw_is_in_the_bytes_under_strict_no_sign(flaw: Flaw) -> None:
    codec = Codec(UNSIGNED)
    message = Message("m1", "t1", None, 0, flaw)
    rpc = wire.RPC.FromString(codec.encode([message], sender=2))
    assert signature_fault(rpc.publish[0], "StrictNoSign") == flaw
    assert codec.decode(rpc.SerializeToString()) == (message,)
    assert rpc.publish[0].HasField("signature") == bool(flaw)


@pytest.mark.parametrize("field", ["from", "seqno", "signature", "key"])
def test_an_empty_field_is_not_an_absent_one(field: str) -> None:
    message = wire.Message(topic="t1", data=b"x")
    assert signature_fault(message, "StrictNoSign") == ""
    setattr(message, field, b"")
    assert signature_fault(message, "StrictNoSign") == "stamped"


def test_a_key_that_is_attached_must_be_the_authors() -> None:
    message = wire.Message(topic="t1", data=b"x", seqno=bytes(8), key=public_key(3))
    set_author(message, 3)
    sign_as(message, 3)
    assert signature_fault(message, "StrictSign") == ""
    message.key = public_key(4)
    assert signature_fault(message, "StrictSign") == "other-key"
    sign_as(message, 4)
    assert signature_fault(message, "StrictSign") == "foreign-key"


@POLICIES
@pytest.mark.parametrize("flaw", ["unsigned", "stamped", "altered"])
def test_a_flaw_without_a_meaning_is_refused(parameters: Parameters, flaw: Flaw) -> None:
    meant = {"unsigned": SIGNED, "stamped": UNSIGNED}.get(flaw)
    message = Message("m1", "t1", 3, 0, flaw)
    if parameters is meant:
        assert Codec(parameters).encode([message], sender=3)
    else:
        with pytest.raises(ValueError, match="'m1'"):
            Codec(parameters).encode([message], sender=3)


@POLICIES
def test_equal_values_are_equal_bytes_in_any_codec(parameters: Parameters) -> None:
    message = Message("m1", "t1", 3, 50)
    assert Codec(parameters).encode([message], sender=1) == Codec(parameters).encode([message], sender=9)


def test_an_id_is_that_of_the_message_bytes() -> None:
    for parameters in (SIGNED, UNSIGNED):
        codec = Codec(parameters)
        wired = codec.message(Message("m1", "t1", 3, 50), sender=1)
        assert codec.id_bytes("m1") == id_function(parameters.message_id)(wired)
        assert codec.symbol_of(codec.id_bytes("m1")) == "m1"


def test_sequence_numbers_grow_along_the_symbols_of_one_stem() -> None:
    numbers = [int.from_bytes(seqno_of(f"m{i}"), "big") for i in range(1, 120)]
    assert numbers == sorted(set(numbers))
    assert all(len(seqno_of(s)) == 8 for s in ("m999999999", "m9999999999", "a", "~" * 64))


def test_data_is_padded_to_size_and_shows_its_symbol() -> None:
    assert data_bytes("m1", 0) == b"m1\n"
    assert data_bytes("m1", 5) == b"m1\n\xff\xff"
    assert symbol_in(data_bytes("m" * 64, 500)) == "m" * 64
    assert symbol_in(b"\xff\xff") is None


def test_an_id_that_is_declared_or_sent_stands_for_its_message_before_and_after() -> None:
    codec = Codec(SIGNED)
    codec.declare(Message("m1", "t1", 5, 10))
    before = codec.encode([IWant(("m1",))], sender=2)
    message = wire.RPC.FromString(codec.encode([Message("m1", "t1", 5, 10)], sender=2)).publish[0]
    assert wire.RPC.FromString(before).control.iwant[0].messageIDs[0] == peer_id(5) + message.seqno


def test_an_id_that_is_named_first_is_taken_for_the_senders() -> None:
    codec = Codec(SIGNED)
    guessed = codec.encode([IHave("t1", ("m1",))], sender=2)
    assert codec.id_bytes("m1").startswith(peer_id(2))
    codec.encode([Message("m1", "t1", 7)], sender=2)
    assert codec.id_bytes("m1").startswith(peer_id(7))
    assert codec.encode([IHave("t1", ("m1",))], sender=2) != guessed
    assert codec.decode(guessed) == (IHave("t1", ("m1",)),), "both ids are known by the symbol"


def test_one_symbol_is_not_two_ids() -> None:
    codec = Codec(SIGNED)
    codec.encode([Message("m1", "t1", 5)], sender=5)
    with pytest.raises(ValueError, match="'m1' was 0 bytes of peer 5 before.*another symbol"):
        codec.encode([Message("m1", "t1", 6)], sender=5)
    assert codec.encode([Message("m1", "t2", 5, 80)], sender=5), "the same id over other data is a message"
    with pytest.raises(ValueError, match="was 10 bytes"):
        by_content = Codec(UNSIGNED)
        by_content.declare(Message("m1", "t1", None, 10))
        by_content.encode([Message("m1", "t1", None, 11)], sender=5)


@pytest.mark.parametrize("symbol", ["", "a b", "xabcd", "x", "m\n", "ü", "m" * 65])
def test_what_cannot_be_a_symbol(symbol: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        Codec(SIGNED).encode([Message(symbol, "t1", 1)], sender=1)


def test_unknown_ids_are_shown_in_hex_and_can_be_sent_back() -> None:
    codec = Codec(SIGNED)
    rpc = wire.RPC()
    rpc.control.iwant.add(messageIDs=[b"\x01\xff", b""])
    assert codec.decode(rpc.SerializeToString()) == (IWant(("x01ff", "x")),)
    assert codec.encode([IWant(("x01ff", "x"))], sender=1) == rpc.SerializeToString()


# -- messages of the router's own ----


def published(parameters: Parameters, codec: Codec, value: Message, seqno: int) -> wire.Message:
    """What a router of its own numbering makes of `value`."""
    message = wire.Message(topic=value.topic, data=codec.data_of(value))
    if parameters.signature_policy == "StrictSign":
        message.seqno = seqno.to_bytes(8, "big")
        set_author(message, 0)
        sign_as(message, 0)
    return message


@POLICIES
def test_the_routers_own_message_is_known_when_it_shows(parameters: Parameters) -> None:
    codec = Codec(parameters)
    value = Message("m1", "t1", 0 if parameters is SIGNED else None, 30)
    message = published(parameters, codec, value, 17)
    assert codec.decode(wire.RPC(publish=[message]).SerializeToString()) == (value,)
    assert codec.id_bytes("m1") == id_function(parameters.message_id)(message)
    echoed = wire.RPC.FromString(codec.encode([value], sender=3)).publish[0]
    assert echoed == message, "an echo has the router's bytes"
    message.topic = "t2"
    assert codec.decode(wire.RPC(publish=[message]).SerializeToString())[0].flaw == "altered"  # type: ignore[union-attr]


def test_the_routers_own_flaw_is_noticed() -> None:
    codec = Codec(SIGNED)
    message = published(SIGNED, codec, Message("m1", "t1", 0), 17)
    message.ClearField("signature")
    assert codec.decode(wire.RPC(publish=[message]).SerializeToString()) == (
        Message("m1", "t1", 0, 0, "unsigned"),
    )


def test_own_ids_that_show_before_the_message_go_by_order() -> None:
    codec = Codec(SIGNED)
    for number, topic in enumerate(("t1", "t2", "t1"), start=1):
        codec.data_of(Message(f"m{number}", topic, 0))
    ids = [peer_id(0) + seqno.to_bytes(8, "big") for seqno in (5, 9)]
    rpc = wire.RPC()
    rpc.control.ihave.add(topicID="t1", messageIDs=reversed(ids))
    assert codec.decode(rpc.SerializeToString()) == (IHave("t1", ("m3", "m1")),)
    assert codec.id_bytes("m1") == ids[0]


def named(codec: Codec, topic: str, *seqnos: int) -> tuple[str, ...]:
    """What the codec takes own ids with these numbers for, in an IHAVE about a topic."""
    rpc = wire.RPC()
    ids = [peer_id(0) + each.to_bytes(8, "big") for each in seqnos]
    rpc.control.ihave.add(topicID=topic, messageIDs=ids)
    (ihave,) = codec.decode(rpc.SerializeToString())
    assert isinstance(ihave, IHave)
    return ihave.ids


def authored(*topics: str) -> Codec:
    codec = Codec(SIGNED)
    for number, topic in enumerate(topics, start=1):
        codec.data_of(Message(f"m{number}", topic, 0))
    return codec


def test_own_ids_in_gossip_about_another_topic_go_by_their_numbers() -> None:
    assert named(authored("t1", "t3", "t1"), "t2", 7, 9) == ("m1", "m3")
    assert named(authored("t1", "t3", "t1", "t1"), "t2", 7, 9) == ("m2", "m4")


def test_an_own_id_that_is_known_says_which_the_others_are() -> None:
    codec = authored("t1", "t3", "t1")
    codec.decode(wire.RPC(publish=[published(SIGNED, codec, Message("m3", "t1", 0), 9)]).SerializeToString())
    assert named(codec, "t2", 9, 7) == ("m3", "m1")


def test_own_ids_whose_numbers_are_not_consecutive_go_by_order() -> None:
    assert named(authored("t1", "t3", "t1"), "t2", 7, 700) == ("m2", "m3")


# -- what a router may do to a message ----


def relayed(codec: Codec, value: Message) -> wire.Message:
    return wire.RPC.FromString(codec.encode([value], sender=2)).publish[0]


@POLICIES
def test_a_copy_unlike_all_that_were_sent_is_altered(parameters: Parameters) -> None:
    codec = Codec(parameters)
    value = Message("m1", "t1", 3 if parameters is SIGNED else None, 40)
    message = relayed(codec, value)
    assert codec.decode(wire.RPC(publish=[message]).SerializeToString()) == (value,)
    message.key = b""
    (seen,) = codec.decode(wire.RPC(publish=[message]).SerializeToString())
    assert seen == Message("m1", "t1", value.author, 40, "altered")
    message.ClearField("key")
    message.data += b"!"
    (seen,) = codec.decode(wire.RPC(publish=[message]).SerializeToString())
    assert isinstance(seen, Message)
    assert (seen.id, seen.flaw) == ("m1", "altered")


def test_fields_in_another_order_are_the_same_message_and_unknown_ones_are_not() -> None:
    codec = Codec(SIGNED)
    value = Message("m1", "t1", 3)
    message = relayed(codec, value)
    topic = wire.Message(topic="t1").SerializePartialToString()
    message_without = wire.Message()
    message_without.CopyFrom(message)
    message_without.ClearField("topic")
    turned = message_without.SerializePartialToString() + topic
    framed = b"\x12" + bytes((len(turned) & 0x7F | 0x80, len(turned) >> 7)) + turned
    assert codec.decode(framed) == (value,)
    extended = turned + b"\xc2\x3e\x01z"
    framed = b"\x12" + bytes((len(extended) & 0x7F | 0x80, len(extended) >> 7)) + extended
    assert codec.decode(framed) == (Message("m1", "t1", 3, 0, "altered"),)


def test_each_copy_comes_back_as_itself() -> None:
    codec = Codec(SIGNED)
    copies = [Message("m1", "t1", 3, 0, flaw) for flaw in ("forged", "", "unsigned")]
    for copy in copies:
        assert codec.decode(codec.encode([copy], sender=2)) == (copy,)
    assert codec.delivered("t1", b"m1\n") == copies[1], "what is delivered is taken for the good copy"
    assert codec.delivered("t1", b"m1\nx").flaw == "altered"


def test_peers_that_are_none_of_ours() -> None:
    rpc = wire.RPC()
    prune = rpc.control.prune.add(topicID="t1", backoff=9)
    prune.peers.add(peerID=b"\x12\x20 a hash")
    prune.peers.add(peerID=peer_id(0))
    assert Codec(SIGNED).decode(rpc.SerializeToString()) == (Prune("t1", 9, (NO_PEER, 0)),)


# -- errors ----


def test_bytes_that_are_no_rpc() -> None:
    with pytest.raises(WireError, match="3 bytes are not an RPC"):
        Codec(SIGNED).decode(b"\xff\xff\xff")


def test_parts_that_no_rpc_carries() -> None:
    with pytest.raises(ValueError, match="MempoolCodec"):
        Codec(SIGNED).encode([HaveTx("a")], sender=1)
    with pytest.raises(ValueError, match="2\\^64"):
        Codec(SIGNED).encode([Prune("t1", 1 << 64)], sender=1)


def test_parameters_that_give_all_messages_one_id() -> None:
    with pytest.raises(ValueError, match="message_id='content'"):
        Codec(Parameters(signature_policy="StrictNoSign"))


def test_what_a_codec_remembers_is_bounded() -> None:
    codec = Codec(UNSIGNED, max_entries=10)
    for number in range(1, 100):
        codec.decode(codec.encode([Message(f"m{number}", "t1")], sender=1))
    assert codec.symbol_of(codec.id_bytes("m99")) == "m99"
    assert len(codec._bound) <= 10 and len(codec._value_of) <= 10 and len(codec._symbols) <= 11


# -- bytes that are no RPC ----


@pytest.mark.parametrize("kind", sorted(MALFORMED))
def test_malformed_bytes_are_what_their_standing_says(kind: str) -> None:
    payloads, error = FrameDecoder().feed(MALFORMED[kind]())
    unreadable = error is not None
    for payload in payloads:
        try:
            readable = wire.RPC.FromString(payload)
        except Exception:
            unreadable = True
        else:
            assert kind not in LEGAL or readable.IsInitialized()
    assert unreadable == (kind in UNREADABLE)
