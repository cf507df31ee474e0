"""Bytes that are not an RPC, or look as if they were not, by name.

A name is what a case or a report may hold: the bytes themselves stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.impl.wire.framing import MAX_VARINT_BYTES, frame, varint

Standing: TypeAlias = Literal["legal", "either", "malformed"]


@frozen
class MalformedBytes:
    """One kind of bytes on a stream, framing included."""

    bytes: Callable[[], bytes]
    standing: Standing
    """`legal`: changes nothing and must be taken. `either`: the texts leave it open whether the stream is
    closed or the entry skipped. `malformed`: cannot be read; the stream may be closed, and nothing else."""
    summary: str


def _field(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def _nested(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return _field(number, 2) + varint(len(content)) + content


def _framed(payload: bytes) -> Callable[[], bytes]:
    return lambda: frame(payload)


_CONTROL = 3
_TOPIC = _nested(1, b"t1")

MALFORMED: Mapping[str, MalformedBytes] = MappingProxyType(
    {
        "overlong-varint": MalformedBytes(
            lambda: b"\x80" * MAX_VARINT_BYTES + b"\x01",
            "malformed",
            "the length does not end within 64 bits",
        ),
        "oversize-frame": MalformedBytes(
            lambda: varint((1 << 31) - 1) + bytes(64), "malformed", "a frame of 2 GiB is announced"
        ),
        "not-protobuf": MalformedBytes(_framed(b"\xff" * 8), "malformed", "no tag to be found"),
        "field-zero": MalformedBytes(_framed(b"\x00\x05"), "malformed", "field number 0"),
        "reserved-wire-type": MalformedBytes(_framed(_field(_CONTROL, 7)), "malformed", "wire type 7"),
        "open-group": MalformedBytes(_framed(_field(20, 3)), "malformed", "a group that does not end"),
        "cut-short": MalformedBytes(
            _framed(_nested(_CONTROL, _nested(3, _TOPIC))[:-1]),
            "malformed",
            "a GRAFT that lacks its last byte",
        ),
        "length-beyond": MalformedBytes(
            _framed(_field(_CONTROL, 2) + varint(1 << 20)), "malformed", "a field longer than its frame"
        ),
        "message-without-topic": MalformedBytes(
            _framed(_nested(2, _nested(2, b"data"))), "either", "the README has `required string topic`"
        ),
        "wrong-wire-type": MalformedBytes(
            _framed(_field(_CONTROL, 0) + b"\x05"), "either", "control as a number: unknown field or error"
        ),
        "topic-not-utf8": MalformedBytes(
            _framed(_nested(1, _field(1, 0) + b"\x01" + _nested(2, b"\xff\xfe"))),
            "either",
            "a subscription to a topic that is no text",
        ),
        "empty-frame": MalformedBytes(_framed(b""), "legal", "an RPC without any part"),
        "unknown-field": MalformedBytes(
            _framed(_nested(4000, b"from the future")), "legal", "proto2 skips it"
        ),
        "unknown-control": MalformedBytes(
            _framed(_nested(_CONTROL, _nested(77, b"\x08\x01"))), "legal", "control of a later version"
        ),
        "empty-control": MalformedBytes(
            _framed(_nested(_CONTROL, b"")), "legal", "a control part without entries"
        ),
        "bare-subscription": MalformedBytes(
            _framed(_nested(1, b"")), "legal", "neither subscribe nor topic: both are optional"
        ),
    }
)
"""By kind."""
