"""The mempool's parts as bytes: round trips, keys of unknown transactions, and what is refused."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quidnunc.impl.wire.mempool_codec import (
    CONTROL_CHANNEL,
    IGNORED_MEMPOOL,
    MALFORMED_MEMPOOL,
    TX_CHANNEL,
    MempoolCodec,
    framed_message,
    tx_bytes,
    tx_key,
)
from quidnunc.model.rpc import Graft, HaveTx, Part, ResetRoute, Tx

SYMBOLS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=64)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Tx, SYMBOLS), st.builds(HaveTx, SYMBOLS), st.just(ResetRoute())
)


@given(PARTS)
def test_what_is_encoded_is_decoded(part: Part) -> None:
    codec = MempoolCodec()
    assert codec.decode(*codec.encode(part)) == (part,)


@given(st.lists(SYMBOLS, unique=True, max_size=20))
def test_a_codec_that_met_the_transaction_knows_its_key(symbols: list[str]) -> None:
    writer, reader = MempoolCodec(), MempoolCodec()
    for symbol in symbols:
        assert reader.decode(*writer.encode(Tx(symbol))) == (Tx(symbol),)
    for symbol in symbols:
        assert reader.decode(*writer.encode(HaveTx(symbol))) == (HaveTx(symbol),)


@given(st.sampled_from([TX_CHANNEL, CONTROL_CHANNEL, 0, 0x40]), st.binary(max_size=80))
def test_any_bytes_are_decoded_or_refused_with_a_value_error(channel: int, data: bytes) -> None:
    codec = MempoolCodec()
    try:
        parts = codec.decode(channel, data)
    except ValueError as refusal:
        assert f"{channel:#x}" in str(refusal)
    else:
        # What reads at all can be written again, but for a transaction whose text is not ours.
        assert all(isinstance(part, Tx) or codec.decode(*codec.encode(part)) == (part,) for part in parts)


def test_the_wire_is_that_of_the_reactor_in_use() -> None:
    codec = MempoolCodec()
    assert codec.encode(Tx("a")) == (0x30, b"\x0a\x04\x0a\x02a\n")
    assert codec.encode(HaveTx("a")) == (0x31, b"\x12\x22\x0a\x20" + hashlib.sha256(b"a\n").digest())
    assert codec.encode(ResetRoute()) == (0x31, b"\x1a\x00")


def test_an_unknown_key_is_shown_and_sent_as_hexadecimal() -> None:
    have = MempoolCodec().encode(HaveTx("a"))
    stranger = MempoolCodec()
    shown = stranger.decode(*have)
    assert shown == (HaveTx("x" + tx_key(b"a\n").hex()),)
    assert stranger.encode(shown[0]) == have


def test_a_transaction_of_others_is_shown_by_its_key() -> None:
    assert MempoolCodec().symbol(b"\x00\xff") == "x" + tx_key(b"\x00\xff").hex()
    assert MempoolCodec().symbol(b"no newline") == "x" + tx_key(b"no newline").hex()


def test_txs_of_several_and_of_none() -> None:
    both = b"\x0a\x08\x0a\x02a\n\x0a\x02b\n"
    assert MempoolCodec().decode(TX_CHANNEL, both) == (Tx("a"), Tx("b"))
    assert MempoolCodec().decode(TX_CHANNEL, b"\x0a\x00") == ()


def test_the_table_forgets_the_oldest() -> None:
    codec = MempoolCodec(max_keys=2)
    first = codec.encode(HaveTx("a"))
    codec.encode(HaveTx("b"))
    assert codec.decode(*first) == (HaveTx("a"),)
    codec.encode(HaveTx("c"))
    assert codec.decode(*first) == (HaveTx("x" + tx_key(tx_bytes("a")).hex()),)


@pytest.mark.parametrize("symbol", ["", " ", "two words", "ä", "a\n", "t" * 65, "x" + "0" * 64])
def test_symbols_that_are_none(symbol: str) -> None:
    with pytest.raises(ValueError, match="transaction id"):
        MempoolCodec().encode(Tx(symbol))


def test_pubsub_parts_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Graft is no mempool message"):
        MempoolCodec().encode(Graft("t"))


@pytest.mark.parametrize("kind", sorted(MALFORMED_MEMPOOL))
def test_what_is_malformed_does_not_decode(kind: str) -> None:
    data = MALFORMED_MEMPOOL[kind]
    channel = data[0] if data else -1
    if kind in IGNORED_MEMPOOL:
        assert MempoolCodec().decode(channel, data[1:]) == ()
    else:
        with pytest.raises(ValueError, match="channel"):
            MempoolCodec().decode(channel, data[1:])


def test_framed_puts_the_channel_first() -> None:
    assert framed_message(0x31, b"\x1a\x00") == b"1\x1a\x00"
