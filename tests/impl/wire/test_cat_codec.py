"""On which channels CAT's parts are taken from a router."""

from __future__ import annotations

import pytest

from quidnunc.impl.wire.cat_codec import VERSIONS, CatCodec, want_tx
from quidnunc.impl.wire.mempool_codec import StrayMessage, tx_key
from quidnunc.model.rpc import WantTx


def test_requests_may_come_on_the_channel_of_the_text_and_on_that_of_the_code() -> None:
    """Mutant: that of the code alone, so that a router that keeps to the text sends stray messages."""
    codec, key = CatCodec("cat"), tx_key(b"s1n0\n")
    codec.encode(WantTx("s1n0"))
    for channel in (0x31, 0x32):
        assert codec.decode(channel, want_tx(key)) == (WantTx("s1n0"),)
    with pytest.raises(StrayMessage, match="want_tx does not belong there"):
        codec.decode(0x30, want_tx(key))


def test_our_router_takes_them_where_the_code_does() -> None:
    assert VERSIONS["cat"].channels_of("want_tx") == {0x32}
    assert VERSIONS["cat"].may_carry("seen_tx") == {0x31} == VERSIONS["cat-classic"].may_carry("want_tx")
