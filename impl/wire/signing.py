"""What follows from the bytes of one message: its id, its signature, and what is wrong with it.

pubsub README, "Message Identification" and "Message Signing".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import id_of_key, key_in_id, peer_id, sign, verify
from quidnunc.impl.wire.other_keys import key_parts
from quidnunc.model.parameters import MessageIdFunction, SignaturePolicy
from quidnunc.model.rpc import Flaw, Peer

PREFIX = b"libp2p-pubsub:"
SEQNO_BYTES = 8


def author_bytes(message: wire.Message) -> bytes:
    """The `from` field, whose name is a word of the language; empty where it is absent."""
    found: bytes = getattr(message, "from")
    return found


def set_author(message: wire.Message, author: Peer) -> None:
    setattr(message, "from", peer_id(author))


def signed_bytes(message: wire.Message) -> bytes:
    """What a signature is made over.

    The README leaves out the signature alone; every implementation leaves out the key as well, and whoever
    does not can talk to none of them.
    """
    bare = wire.Message()
    bare.CopyFrom(message)
    bare.ClearField("signature")
    bare.ClearField("key")
    return PREFIX + bare.SerializeToString(deterministic=True)


def sign_as(message: wire.Message, peer: Peer) -> None:
    """Put the signature of `peer` on `message`. The key stays out."""
    message.signature = sign(peer, signed_bytes(message))


def id_function(name: MessageIdFunction) -> Callable[[wire.Message], bytes]:
    """The message id function of that name. A pure function of the message, as all peers must agree on it."""
    return ID_FUNCTIONS[name]


def _by_origin(message: wire.Message) -> bytes:
    return author_bytes(message) + message.seqno


def _by_content(message: wire.Message) -> bytes:
    return sha256(message.data).digest()


def _by_hex(message: wire.Message) -> bytes:
    return sha256(message.data).hexdigest().encode()


ID_FUNCTIONS: Mapping[MessageIdFunction, Callable[[wire.Message], bytes]] = {
    "origin": _by_origin,
    "content": _by_content,
    "hex": _by_hex,
}


def signature_fault(message: wire.Message, policy: SignaturePolicy, *, lax: bool = False) -> Flaw:
    """What is wrong with `message` under `policy`; empty where nothing is. `lax`: it need not be signed."""
    if lax:
        return _fault_strict_sign(message) if message.signature else ""
    return _fault_strict_sign(message) if policy == "StrictSign" else _fault_strict_no_sign(message)


def _fault_strict_sign(message: wire.Message) -> Flaw:
    author = author_bytes(message)
    if not author:
        return "no-author"
    if len(message.seqno) != SEQNO_BYTES:
        return "no-seqno"
    if not message.signature:
        return "unsigned"
    inlined = key_in_id(author)
    key = message.key if message.HasField("key") else inlined
    if key is None:
        return "no-key"
    if key_parts(key) is None:
        return "junk-key"
    if author != id_of_key(key):
        is_authors = inlined is not None and verify(inlined, signed_bytes(message), message.signature)
        return "other-key" if is_authors else "foreign-key"
    return "" if verify(key, signed_bytes(message), message.signature) else "forged"


def _fault_strict_no_sign(message: wire.Message) -> Flaw:
    # A field that is there and empty is not absent.
    stamped = any(message.HasField(name) for name in ("from", "seqno", "signature", "key"))
    return "stamped" if stamped else ""
