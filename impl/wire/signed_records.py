"""Signed peer records: addresses of a peer, in an envelope with its signature.

libp2p RFC 0002 (signed envelopes) and RFC 0003 (routing records). For domain and payload type the RFC has two
strings of its own; every implementation uses those below, and who does not understands nobody's records.
"""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.impl.wire.keys import key_in_id, peer_id, public_key, sign, verify
from quidnunc.model.rpc import Peer, RecordKind

DOMAIN = b"libp2p-peer-record"
PAYLOAD_TYPE = b"\x03\x01"
MAX_RECORD_BYTES = 8192
MAX_VARINT_BYTES = 10

_KEY, _TYPE, _PAYLOAD, _SIGNATURE = 1, 2, 3, 5
_PEER_ID, _SEQ, _ADDRESSES = 1, 2, 3
_BYTES = 2


def record_of(peer: Peer, kind: RecordKind = "signed", *, seq: int = 1) -> bytes:
    """The record of `peer` as an offer of that kind carries it.

    `signed` verifies; `forged` has another payload than was signed; `foreign` is that of another peer.
    """
    owner = peer + 1 if kind == "foreign" else peer
    payload = _payload(owner, seq)
    signature = sign(owner, _signed_bytes(payload))
    if kind == "forged":
        payload = _payload(owner, seq + 1)
    return b"".join(
        (
            _field(_KEY, public_key(owner)),
            _field(_TYPE, PAYLOAD_TYPE),
            _field(_PAYLOAD, payload),
            _field(_SIGNATURE, signature),
        )
    )


def is_valid(record: bytes, identity: bytes) -> bool:
    """Whether `record` verifies and is that of the peer id `identity`. Any bytes may be given."""
    if len(record) > MAX_RECORD_BYTES:
        return False
    try:
        envelope = dict(_fields(record))
        key, payload = envelope.get(_KEY, b""), envelope.get(_PAYLOAD, b"")
        good = envelope.get(_TYPE) == PAYLOAD_TYPE and key == key_in_id(identity)
        # Nothing is read of a payload before its signature is known to be good.
        if not good or not verify(key, _signed_bytes(payload), envelope.get(_SIGNATURE, b"")):
            return False
        return dict(_fields(payload)).get(_PEER_ID) == identity
    except ValueError:
        return False


def kind_of(record: bytes, identity: bytes) -> RecordKind:
    """What an offered record is; empty where there is none."""
    if not record:
        return ""
    return "signed" if is_valid(record, identity) else "forged"


def _payload(peer: Peer, seq: int) -> bytes:
    # 192.0.2.0/24 is for documentation: /ip4/192.0.2.N/tcp/4001.
    address = b"\x04\xc0\x00\x02" + bytes((peer % 256,)) + b"\x06\x0f\xa1"
    seq_field = _varint(_SEQ << 3) + _varint(seq)
    return _field(_PEER_ID, peer_id(peer)) + seq_field + _field(_ADDRESSES, _field(1, address))


def _signed_bytes(payload: bytes) -> bytes:
    return b"".join(_varint(len(each)) + each for each in (DOMAIN, PAYLOAD_TYPE, payload))


# -- protobuf, as far as two small messages need it ---------------------------------------------------------


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*found, value))


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of each field that holds bytes. Raises ValueError where `data` is no message."""
    at = 0
    while at < len(data):
        tag, at = _varint_at(data, at)
        value, at = _varint_at(data, at)
        if tag & 7 == _BYTES:
            if at + value > len(data):
                raise ValueError("a field is longer than its message")
            yield tag >> 3, data[at : at + value]
            at += value
        elif tag & 7:
            raise ValueError(f"wire type {tag & 7} is none of a record")


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[at : at + MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    raise ValueError("a number does not end")
