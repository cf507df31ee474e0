"""What bytes are in each family of protocols: codec, messages and malformed bytes, side by side.

In pubsub an RPC carries any number of parts; in a mempool each part is a message of its own, on its own
channel. A codec serves one run against one router.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import frozen

from quidnunc.impl.wire.cat_codec import MALFORMED_CAT, codec_of
from quidnunc.impl.wire.codec import Codec, WireError
from quidnunc.impl.wire.malformed import MALFORMED
from quidnunc.impl.wire.mempool_codec import StrayMessage
from quidnunc.model.rpc import Message, Part, Peer, Stray


@frozen(kw_only=True)
class WireFamily:
    """How one family puts parts into bytes and reads them."""

    codec: Callable[[str, Any, bool], Any]
    """(protocol, parameters, whether extensions are read) -> a codec."""
    messages: Callable[[Any, Sequence[Part], Peer], Sequence[tuple[int, bytes]]]
    """(codec, parts, sender) -> channel and protobuf of each message that carries the parts.
    Raises ValueError for what cannot be put into bytes."""
    parts: Callable[[Any, int, bytes], tuple[Part, ...]]
    """(codec, channel, protobuf) -> what the message says; a `Stray` where its bytes break the format: that
    is nothing that a router may send, and no fault of its driver."""
    declare: Callable[[Any, Message], None]
    """(codec, message): its id is known from now on, though nobody has sent it."""
    id_bytes: Callable[[Any, str], bytes]
    """(codec, symbol) -> the bytes by which routers name that message or transaction."""
    has_channels: bool
    """Whether messages go by channels; where they do not, all go by channel 0."""
    malformed: Mapping[str, Callable[[], bytes]]
    """Bytes for `Driver.raw`, by kind: what no honest peer sends."""


def _pubsub_parts(codec: Any, channel: int, data: bytes) -> tuple[Part, ...]:
    try:
        parts: tuple[Part, ...] = codec.decode(data)
    except WireError:
        return (Stray("bytes"),)
    return parts


def _mempool_parts(codec: Any, channel: int, data: bytes) -> tuple[Part, ...]:
    try:
        parts: tuple[Part, ...] = codec.decode(channel, data)
    except StrayMessage as fault:
        return (Stray(fault.fault),)
    return parts


WIRES: Mapping[str, WireFamily] = MappingProxyType(
    {
        "pubsub": WireFamily(
            codec=lambda protocol, parameters, extended: Codec(parameters, extended=extended),
            messages=lambda codec, parts, sender: ((0, codec.encode(parts, sender=sender)),),
            parts=_pubsub_parts,
            declare=lambda codec, message: codec.declare(message),
            id_bytes=lambda codec, symbol: codec.id_bytes(symbol),
            has_channels=False,
            malformed=MALFORMED,
        ),
        "mempool": WireFamily(
            codec=lambda protocol, parameters, extended: codec_of(protocol),
            messages=lambda codec, parts, sender: tuple(map(codec.encode, parts)),
            parts=_mempool_parts,
            # What a transaction is called is what it is.
            declare=lambda codec, message: None,
            id_bytes=lambda codec, symbol: codec.key_of(symbol),
            has_channels=True,
            malformed={kind: data.__bytes__ for kind, data in MALFORMED_CAT.items()},
        ),
    }
)
"""By the family's name, as `Protocol.family` has it in the model."""
