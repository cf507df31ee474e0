"""Bytes that are not an RPC, or look as if they were not, by name.

A name is what a case or a report may hold: the bytes themselves stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from quidnunc.impl.wire.framing import MAX_VARINT_BYTES, frame, varint


def _field(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def _nested(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return _field(number, 2) + varint(len(content)) + content


def _framed(payload: bytes) -> Callable[[], bytes]:
    return lambda: frame(payload)


_CONTROL = 3
_TOPIC = _nested(1, b"t1")

UNREADABLE: Mapping[str, Callable[[], bytes]] = {
    # The length does not end within 64 bits.
    "overlong-varint": lambda: b"\x80" * MAX_VARINT_BYTES + b"\x01",
    # A frame of 2 GiB is announced.
    "oversize-frame": lambda: varint((1 << 31) - 1) + bytes(64),
    "not-protobuf": _framed(b"\xff" * 8),  # no tag to be found
    "field-zero": _framed(b"\x00\x05"),
    "reserved-wire-type": _framed(_field(_CONTROL, 7)),
    "open-group": _framed(_field(20, 3)),  # it does not end
    # A GRAFT that lacks its last byte.
    "cut-short": _framed(_nested(_CONTROL, _nested(3, _TOPIC))[:-1]),
    # A field longer than its frame.
    "length-beyond": _framed(_field(_CONTROL, 2) + varint(1 << 20)),
}
"""What cannot be read: the stream may be closed, and nothing else."""
OPEN: Mapping[str, Callable[[], bytes]] = {
    # The README has `required string topic`.
    "message-without-topic": _framed(_nested(2, _nested(2, b"data"))),
    # Control as a number: an unknown field, or an error.
    "wrong-wire-type": _framed(_field(_CONTROL, 0) + b"\x05"),
    # A subscription to a topic that is no text.
    "topic-not-utf8": _framed(_nested(1, _field(1, 0) + b"\x01" + _nested(2, b"\xff\xfe"))),
}
"""The texts leave it open whether the stream is closed or the entry skipped."""
LEGAL: Mapping[str, Callable[[], bytes]] = {
    "empty-frame": _framed(b""),
    "unknown-field": _framed(_nested(4000, b"from the future")),  # proto2 skips it
    # Control of a later version.
    "unknown-control": _framed(_nested(_CONTROL, _nested(77, b"\x08\x01"))),
    "empty-control": _framed(_nested(_CONTROL, b"")),
    "bare-subscription": _framed(_nested(1, b"")),  # both of its fields are optional
}
"""What changes nothing, and must be taken."""
MALFORMED: Mapping[str, Callable[[], bytes]] = MappingProxyType({**UNREADABLE, **OPEN, **LEGAL})
"""Kind -> the bytes on a stream, framing included."""
