"""What a mempool node of one protocol reads of the messages of another.

What one sends is put into bytes by the codec of its own protocol and read by that of the other's: CAT's
SeenTx is DOG's HaveTx, and what cannot be read closes the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from quidnunc.impl.wire.cat_codec import codec_of
from quidnunc.impl.wire.mempool_codec import TX_CHANNEL, MempoolCodec
from quidnunc.model.rpc import HaveTx, Part, Peer
from quidnunc.properties.networks.network import Read


def read_by(codecs: Mapping[Peer, str]) -> Read | None:
    """What each node makes of the messages of another, by the names of their protocols; None where all have
    one codec, so that each reads what was written."""
    if len({_kind(name) for name in codecs.values()}) == 1:
        return None
    return lambda writer, reader, part: carried(codecs[writer], codecs[reader], part)


def _kind(protocol: str) -> str:
    codec = codec_of(protocol)
    return "mempool" if isinstance(codec, MempoolCodec) else protocol


@lru_cache(maxsize=1000)
def carried(writer: str, reader: str, part: Part) -> tuple[Part, ...] | None:
    """What a reader of one protocol makes of a message of another; None where it closes the connection."""
    if _kind(writer) == _kind(reader):
        return (part,)
    channel, data = codec_of(writer).encode(part)
    codec: Any = codec_of(reader)
    name = getattr(part, "id", "")
    if name:
        # Known to the reader by its symbol; the key alone would tell nothing of it.
        codec.tx_bytes(name)
    if isinstance(codec, MempoolCodec) and channel != TX_CHANNEL and len(data) > _longest():
        return None
    try:
        return tuple(codec.decode(channel, data))
    except ValueError:
        return None


@lru_cache
def _longest() -> int:
    """Bytes of the longest control message that a node of Flood or DOG takes."""
    return len(MempoolCodec().encode(HaveTx("t1"))[1])
