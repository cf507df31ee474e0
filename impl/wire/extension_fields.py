"""Extensions and partial messages as fields of an RPC: gossipsub v1.3 and the partial messages extension.

What the application puts into a group, a payload or metadata is opaque; here it is text for itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from google.protobuf.unknown_fields import UnknownFieldSet

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import varint
from quidnunc.model.rpc import PARTIAL_EXTENSION, TEST_EXTENSION, Extensions, Partial

FIELD_OF: Mapping[str, str] = MappingProxyType(
    {PARTIAL_EXTENSION: "partialMessages", TEST_EXTENSION: "testExtension"}
)
"""Name of an extension -> its field in the registry."""

MAX_FIELD_NUMBER = (1 << 29) - 1
_UNKNOWN = re.compile(r"x([1-9][0-9]{0,8})")
_PLAIN = re.compile(rb"[!-~]{1,256}")


def extensions_of(part: Extensions) -> wire.ControlExtensions:
    """Raises ValueError for a name that is neither known nor `x` and a field number."""
    made = wire.ControlExtensions()
    unknown = b""
    for name in part.names:
        if name in FIELD_OF:
            setattr(made, FIELD_OF[name], True)
            continue
        number = _UNKNOWN.fullmatch(name)
        if number is None or int(number[1]) > MAX_FIELD_NUMBER:
            raise ValueError(
                f"extension {name!r}: there are {', '.join(FIELD_OF)}, and x with a field number for others"
            )
        unknown += varint(int(number[1]) << 3) + b"\x01"
    made.MergeFromString(unknown)
    return made


def extensions_value(extensions: wire.ControlExtensions) -> Extensions:
    """Those that are named, in the order of their names. A flag that is there and off names none."""
    known = [name for name, field in FIELD_OF.items() if getattr(extensions, field)]
    unknown = UnknownFieldSet(extensions)
    others = (f"x{unknown[at].field_number}" for at in range(len(unknown)))
    return Extensions(tuple(sorted({*known, *others})))


def partial_of(part: Partial) -> wire.PartialMessagesExtension:
    made = wire.PartialMessagesExtension(topicID=part.topic, groupID=opaque(part.group))
    if part.payload is not None:
        made.partialMessage = opaque(part.payload)
    if part.metadata is not None:
        made.partsMetadata = opaque(part.metadata)
    return made


def partial_value(partial: wire.PartialMessagesExtension) -> Partial:
    topic = partial.topicID
    return Partial(
        # What protobuf gives for a string that is not UTF-8 is bytes.
        topic if isinstance(topic, str) else repr(topic),
        opaque_value(partial.groupID),
        opaque_value(partial.partialMessage) if partial.HasField("partialMessage") else None,
        opaque_value(partial.partsMetadata) if partial.HasField("partsMetadata") else None,
    )


def opaque(text: str) -> bytes:
    """Its UTF-8; `x` and hexadecimal digits stand for those bytes."""
    if re.fullmatch(r"x(?:[0-9a-f]{2})+", text):
        return bytes.fromhex(text[1:])
    return text.encode()


def opaque_value(data: bytes) -> str:
    if not data or (_PLAIN.fullmatch(data) and opaque(data.decode()) == data):
        return data.decode()
    return f"x{data.hex()}"
