"""The bytes that a message's symbol stands for: data, sequence number, and a stamp, good or bad."""

from __future__ import annotations

import ast
import re
from zlib import crc32

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import key_in_id, peer_id, public_key, sign
from quidnunc.impl.wire.signing import SEQNO_BYTES, set_author, sign_as, signed_bytes
from quidnunc.model.parameters import SignaturePolicy
from quidnunc.model.rpc import Flaw, Message, Peer

_SYMBOL = re.compile(r"[!-~]{1,64}")
_NUMBERED = re.compile(r"(.*?)([1-9][0-9]{0,8})")
UNKNOWN = re.compile(r"x(?:[0-9a-f]{2})*")

_NEEDS_SIGNATURES: frozenset[Flaw] = frozenset(
    {"unsigned", "forged", "foreign-key", "other-key", "junk-key", "no-key", "no-author", "no-seqno"}
)
JUNK_KEY = b"\x08\x07\x12\x03key"
"""A protobuf PublicKey of a type that there is not."""


def seqno_of(symbol: str) -> bytes:
    """The sequence number of a peer's message: 8 bytes, increasing along m1, m2, ..., m10."""
    numbered = _NUMBERED.fullmatch(symbol)
    stem, number = (numbered[1], int(numbered[2])) if numbered else (symbol, 0)
    return (number << 32 | crc32(stem.encode())).to_bytes(SEQNO_BYTES, "big")


def data_bytes(symbol: str, size: int) -> bytes:
    """The data of a message: `size` bytes, or as many as the symbol needs. What fills it up is no text."""
    return (symbol.encode() + b"\n").ljust(size, b"\xff")


def stamp(made: wire.Message, author: Peer, flaw: Flaw, *, key: bool = False) -> None:
    """Author, seqno, signature and key, as the flaw has them. The key of the author is there where its id
    does not hold it, and where `key` asks for it."""
    if flaw != "no-author":
        set_author(made, author)
    if flaw != "no-seqno":
        made.seqno = seqno_of(symbol_in(made.data) or "")
    match flaw:
        case "unsigned":
            return
        case "foreign-key":
            # A good signature, and the key to it, of someone else.
            made.signature = sign(author ^ 1, signed_bytes(made))
            made.key = public_key(author ^ 1)
        case "no-author":
            made.signature = sign(author, signed_bytes(made))
            made.key = public_key(author)
        case "forged":
            good = sign(author, signed_bytes(made))
            made.signature = bytes((good[0] ^ 1,)) + good[1:]
        case _:
            sign_as(made, author)
    match flaw:
        case "junk-key":
            made.key = JUNK_KEY
        case "other-key":
            made.key = public_key(author ^ 1)
        case "" | "forged" | "no-seqno" if key or not holds_key(author):
            made.key = public_key(author)


def holds_key(author: Peer) -> bool:
    """Whether the peer id of `author` holds its public key."""
    return key_in_id(peer_id(author)) is not None


def symbol_in(data: bytes) -> str | None:
    """The symbol that data of our making starts with."""
    text = data[:65].partition(b"\n")[0].decode("latin-1")
    return text if _SYMBOL.fullmatch(text) and not UNKNOWN.fullmatch(text) else None


def check_symbol(symbol: str) -> None:
    if not _SYMBOL.fullmatch(symbol) or UNKNOWN.fullmatch(symbol):
        raise ValueError(
            f"message id {symbol!r}: need 1 to 64 printable ASCII characters, no space, not x and hex digits"
        )


def check_flaw(message: Message, policy: SignaturePolicy) -> None:
    """Raises ValueError where `message`, with its flaw, cannot be put into bytes under `policy`."""
    if policy == "StrictSign" and message.author is None:
        raise ValueError(f"message {message.id!r} by nobody: under StrictSign each has an author")
    if message.flaw in ("altered", "stale-seqno"):
        raise ValueError(f"flaw {message.flaw!r} of {message.id!r} can be seen, but not sent")
    meant_for = "StrictSign" if message.flaw in _NEEDS_SIGNATURES else "StrictNoSign"
    if message.key and (policy != "StrictSign" or message.flaw):
        raise ValueError(f"key of {message.id!r}: only a message that is signed and has no flaw can have it")
    if message.flaw == "no-key" and message.author is not None and holds_key(message.author):
        raise ValueError(f"flaw 'no-key' of {message.id!r}: the peer id of its author holds the key")
    if message.flaw and meant_for != policy:
        raise ValueError(f"flaw {message.flaw!r} of {message.id!r} means nothing under {policy}")


MAX_SPELLED_BYTES = 1024
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")


def id_and_spelling(id_bytes: bytes) -> tuple[bytes, str]:
    """A message id that was written as text: the id itself, and how it was spelled.

    `hexed`: in hexadecimal digits. `text`: as Python shows the pair of seqno and author. The bytes as they
    are, and no spelling, where it is neither.
    """
    if len(id_bytes) > MAX_SPELLED_BYTES:
        return id_bytes, ""
    if _HEX.fullmatch(id_bytes):
        return bytes.fromhex(id_bytes.decode()), "hexed"
    if id_bytes.startswith(b"(b"):
        try:
            seqno, author = ast.literal_eval(id_bytes.decode())
            return bytes(author) + bytes(seqno), "text"
        except (ValueError, SyntaxError, TypeError):
            return id_bytes, ""
    return id_bytes, ""
