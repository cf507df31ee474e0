"""Keys of the small integers that stand for peers: Ed25519, as gossipsub-interop derives them.

The libp2p peer id of a short key holds the key itself, so that the key need not be attached to a message.
Authors of `OTHER_AUTHORS` have keys of other types.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quidnunc.impl.wire import other_keys
from quidnunc.model.rpc import OTHER_AUTHORS, Peer

PEER_BITS = 32
CACHED_RESULTS = 1 << 14
"""Signatures and verdicts that are remembered. Simulated peers send the same bytes over and over."""

_KEY_HEAD = b"\x08\x01\x12\x20"
# The protobuf PublicKey of libp2p: type 1 (Ed25519), then 32 bytes of data.
MAX_INLINED_KEY_BYTES = 42
"""Peer id specification: a longer key is hashed."""


def _check(peer: Peer) -> None:
    if not 0 <= peer < 1 << PEER_BITS:
        raise ValueError(f"peer {peer} has no key: peers are integers from 0 to 2^{PEER_BITS} - 1")


@lru_cache(maxsize=4096)
def _private(peer: Peer) -> Ed25519PrivateKey:
    _check(peer)
    return Ed25519PrivateKey.from_private_bytes(peer.to_bytes(4, "little") + bytes(28))


@lru_cache(maxsize=4096)
def public_key(peer: Peer) -> bytes:
    """The protobuf PublicKey of `peer`, as it stands in the `key` field of a message."""
    if peer in OTHER_AUTHORS:
        return other_keys.public_key(peer)
    return _KEY_HEAD + _private(peer).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


_peers: dict[bytes, Peer] = {}


@lru_cache(maxsize=4096)
def peer_id(peer: Peer) -> bytes:
    """The libp2p peer id of `peer`: 38 bytes for an Ed25519 key. Raises ValueError where there is no such
    peer."""
    made = id_of_key(public_key(peer))
    if len(_peers) < 1 << 16:
        _peers[made] = peer
    return made


def id_of_key(key: bytes) -> bytes:
    """The peer id of a protobuf PublicKey: the key itself where it is short, else its hash."""
    return (
        bytes((0, len(key))) + key
        if len(key) <= MAX_INLINED_KEY_BYTES
        else b"\x12\x20" + sha256(key).digest()
    )


def peer_of(identity: bytes) -> Peer | None:
    """The integer of a peer id that `peer_id` has made before, else None."""
    return _peers.get(identity)


def key_in_id(identity: bytes) -> bytes | None:
    """The protobuf PublicKey inside a peer id, or None where the id holds none."""
    key = identity[2:]
    return key if identity[:2] == bytes((0, len(key) & 0xFF)) and other_keys.key_parts(key) else None


@lru_cache(maxsize=CACHED_RESULTS)
def _sign_short(peer: Peer, data: bytes) -> bytes:
    return _signed(peer, data)


def _signed(peer: Peer, data: bytes) -> bytes:
    return other_keys.sign(peer, data) if peer in OTHER_AUTHORS else _private(peer).sign(data)


@lru_cache(maxsize=CACHED_RESULTS)
def _verify_short(key: bytes, data: bytes, signature: bytes) -> bool:
    return _verify(key, data, signature)


_SHORT_BYTES = 2048
# What is longer is not remembered, so that the caches stay within some tens of MiB.


def sign(peer: Peer, data: bytes) -> bytes:
    """The signature of `peer` under `data`: 64 bytes for an Ed25519 key, the same every time."""
    return _sign_short(peer, data) if len(data) <= _SHORT_BYTES else _signed(peer, data)


def verify(key: bytes, data: bytes, signature: bytes) -> bool:
    """Whether `signature` is that of the protobuf PublicKey `key` under `data`. Any bytes may be given."""
    if len(data) > _SHORT_BYTES:
        return _verify(key, data, signature)
    return _verify_short(key, data, signature)


def _verify(key: bytes, data: bytes, signature: bytes) -> bool:
    if len(key) != 36 or not key.startswith(_KEY_HEAD):
        return other_keys.verify(key, data, signature)
    try:
        Ed25519PublicKey.from_public_bytes(key[len(_KEY_HEAD) :]).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True
