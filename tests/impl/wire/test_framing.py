"""Frames in and out: any chunking reads alike, and what is wrong is refused once and for all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quidnunc.impl.wire.framing import FrameDecoder, FrameError, frame, varint


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")]
)
def test_varint(value: int, encoded: bytes) -> None:
    assert varint(value) == encoded


def test_varint_refuses_negative_lengths() -> None:
    with pytest.raises(ValueError, match="0 or more, got -1"):
        varint(-1)


@settings(max_examples=100, deadline=None)
@given(payloads=st.lists(st.binary(max_size=400), max_size=6), cuts=st.lists(st.integers(1, 90), max_size=30))
def test_any_chunking_gives_the_payloads_back(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, payloads))
    decoder = FrameDecoder()
    found: list[bytes] = []
    for cut in [*cuts, len(stream)]:
        chunk, stream = stream[:cut], stream[cut:]
        got, error = decoder.feed(chunk)
        assert error is None
        found += got
    assert found == payloads
    assert decoder.held_bytes == 0


def test_one_byte_at_a_time() -> None:
    decoder = FrameDecoder()
    stream = frame(b"x" * 5000) + frame(b"")
    found = [payload for byte in stream for payload in decoder.feed(bytes([byte]))[0]]
    assert found == [b"x" * 5000, b""]


def test_a_varint_of_more_than_ten_bytes_is_an_error_after_good_frames() -> None:
    payloads, error = FrameDecoder().feed(frame(b"good") + b"\x80" * 10 + b"\x01")
    assert payloads == [b"good"]
    assert isinstance(error, FrameError)
    assert "more than 10 bytes" in str(error)


def test_an_unfinished_varint_is_no_error_yet() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(b"\x80" * 9) == ([], None)
    assert isinstance(decoder.feed(b"\x80")[1], FrameError)


def test_a_frame_over_the_limit_is_refused_before_its_bytes_come() -> None:
    payloads, error = FrameDecoder(max_bytes=100).feed(varint(101))
    assert payloads == []
    assert "101 bytes is announced; the limit is 100" in str(error)
    assert FrameDecoder(max_bytes=100).feed(frame(b"y" * 100)) == ([b"y" * 100], None)


def test_limits_are_checked_early() -> None:
    with pytest.raises(ValueError, match="max_bytes"):
        FrameDecoder(max_bytes=0)
