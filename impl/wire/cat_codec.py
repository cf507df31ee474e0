"""CAT's parts as bytes, and the choice between the codecs of the mempool protocols.

The classic version (v0.34 line of celestia-core) has transactions on channel 0x30, SeenTx and WantTx on 0x31;
the current one takes transactions on 0x30 and 0x31, sends them on 0x31 beside SeenTx, and has WantTx on 0x32
by its code, or on 0x31 by its text: a router may do either, and the kit sends it on 0x32.
Its SeenTx names a signer and a sequence: those that a transaction's name has (`account_in`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen
from google.protobuf.message import DecodeError

from quidnunc.impl.wire import cat_pb2
from quidnunc.impl.wire.mempool_codec import (
    MALFORMED_MEMPOOL,
    MempoolCodec,
    StrayMessage,
    framed_message,
    is_key,
    tx_bytes,
    tx_key,
)
from quidnunc.model.rpc import Part, SeenTx, Tx, WantTx, account_of

MAX_SIGNER_BYTES = 64
SIGNER_BYTES = 20


@frozen(kw_only=True)
class CatVersion:
    """In what the versions of CAT differ on the wire, and what follows from it."""

    tx_channel: int = 0x30
    state_channel: int = 0x31
    want_channel: int = 0x31
    tx_channels: frozenset[int] = frozenset({0x30})
    """Where transactions are taken."""
    signed: bool = False
    """SeenTx names a signer."""
    pushes: bool = True
    """What comes from a user is sent whole, and what comes unasked is taken."""
    bounded: bool = False
    """A bounded number of peers is told."""
    asks_once: bool = False
    timeout_ms: int = 200

    def channels_of(self, kind: str) -> frozenset[int]:
        """The channels on which a kind of message (`txs`, `seen_tx`, `want_tx`) is taken."""
        if kind == "txs":
            return self.tx_channels
        return frozenset({self.state_channel if kind == "seen_tx" else self.want_channel})

    def may_carry(self, kind: str) -> frozenset[int]:
        """The channels on which a router may send it: the text has requests beside announcements, the code on
        a channel of their own."""
        both = {self.state_channel} if kind == "want_tx" else set()
        return self.channels_of(kind) | both


VERSIONS: Mapping[str, CatVersion] = MappingProxyType(
    {
        "cat-classic": CatVersion(),
        "cat": CatVersion(
            tx_channel=0x31,
            want_channel=0x32,
            tx_channels=frozenset({0x30, 0x31}),
            signed=True,
            pushes=False,
            bounded=True,
            asks_once=True,
            timeout_ms=60_000,
        ),
    }
)


Account = tuple[bytes, int]
"""A signer, and the place of a transaction among its own."""


def account_in(tx: bytes) -> Account:
    """What the application reads in a transaction: here, in its name."""
    name = tx[:-1].decode("latin-1")
    signer, place = account_of(name)
    return (tx_key(tx)[:SIGNER_BYTES], 0) if signer == name else (signer.encode(), place)


def seen_tx(key: bytes, *, signed: bool, account: Account | None = None) -> bytes:
    """The announcement of that key; where it is to name a signer and no account is given, it is the first
    transaction of a signer of its own."""
    signer, place = account or (key[:SIGNER_BYTES], 0)
    if not signed:
        signer, place = b"", 0
    said = cat_pb2.SeenTx(tx_key=key, signer=signer, sequence=place)
    return cat_pb2.Message(seen_tx=said).SerializeToString()


def want_tx(key: bytes) -> bytes:
    return cat_pb2.Message(want_tx=cat_pb2.WantTx(tx_key=key)).SerializeToString()


def _on(channel: int, message: cat_pb2.Message) -> bytes:
    return framed_message(channel, message.SerializeToString())


_SHORT = cat_pb2.SeenTx(tx_key=bytes(31), signer=bytes(SIGNER_BYTES))

MALFORMED_CAT: Mapping[str, bytes] = MappingProxyType(
    {
        **MALFORMED_MEMPOOL,
        "seen-tx-31-bytes": _on(0x31, cat_pb2.Message(seen_tx=_SHORT)),
        "two-txs": _on(0x30, cat_pb2.Message(txs=cat_pb2.Txs(txs=[b"one\n", b"two\n"]))),
        "empty-tx": _on(0x30, cat_pb2.Message(txs=cat_pb2.Txs(txs=[b""]))),
    }
)
"""Bytes for `Driver.raw`, by kind: those of every mempool, and what CAT refuses besides."""


class CatCodec:
    """Parts to bytes and back, as `MempoolCodec`. One per run."""

    def __init__(self, version: str) -> None:
        self._version = VERSIONS[version]
        self._symbols = MempoolCodec()

    def tx_bytes(self, symbol: str) -> bytes:
        return self._symbols.tx_bytes(symbol)

    def key_of(self, symbol: str) -> bytes:
        return self._symbols.key_of(symbol)

    def encode(self, part: Part) -> tuple[int, bytes]:
        """(channel, one Message). Raises ValueError for a part that no message of CAT can carry."""
        version = self._version
        match part:
            case Tx(symbol):
                message = cat_pb2.Message(txs=cat_pb2.Txs(txs=[self.tx_bytes(symbol)]))
                return version.tx_channel, message.SerializeToString()
            case SeenTx(symbol):
                key, account = self._symbols.key_of(symbol), self._account(symbol)
                return version.state_channel, seen_tx(key, signed=version.signed, account=account)
            case WantTx(symbol):
                return version.want_channel, want_tx(self._symbols.key_of(symbol))
            case _:
                raise ValueError(f"{type(part).__name__} is no message of CAT: use Tx, SeenTx or WantTx")

    def read(self, channel: int, data: bytes) -> tuple[Part, ...]:
        """As a node of this version reads it; raises StrayMessage for a message that it does not take."""
        parts = self.decode(channel, data)
        kind = cat_pb2.Message.FromString(data).WhichOneof("sum")
        if channel not in self._version.channels_of(kind):
            raise StrayMessage("channel", f"channel {channel:#x}: {kind} is not taken there")
        return parts

    def decode(self, channel: int, data: bytes) -> tuple[Part, ...]:
        """The parts of one Message. Raises StrayMessage, naming channel and fault, for what is none."""
        try:
            message = cat_pb2.Message.FromString(data)
        except DecodeError as fault:
            said = f"channel {channel:#x}: {len(data)} bytes that are no protobuf message"
            raise StrayMessage("bytes", said) from fault
        kind = message.WhichOneof("sum")
        if kind is None:
            raise StrayMessage("bytes", f"channel {channel:#x}: an unknown message")
        if channel not in self._version.may_carry(kind):
            raise StrayMessage("channel", f"channel {channel:#x}: {kind} does not belong there")
        if kind == "txs":
            return tuple(Tx(self._symbols.symbol(tx)) for tx in message.txs.txs)
        if kind == "seen_tx":
            signer = message.seen_tx.signer
            if self._version.signed and not 0 < len(signer) <= MAX_SIGNER_BYTES:
                raise StrayMessage("signer", f"channel {channel:#x}: a signer of {len(signer)} bytes")
            symbol = self._symbols.shown(channel, message.seen_tx.tx_key)
            account = self._account(symbol)
            if self._version.signed and account and account != (signer, message.seen_tx.sequence):
                raise StrayMessage("signer", f"channel {channel:#x}: not the account of {symbol}")
            return (SeenTx(symbol),)
        return (WantTx(self._symbols.shown(channel, message.want_tx.tx_key)),)

    def _account(self, symbol: str) -> Account | None:
        """None where the transaction of that key is not known."""
        return None if is_key(symbol) else account_in(tx_bytes(symbol))


def codec_of(protocol: str) -> MempoolCodec | CatCodec:
    """The codec of a mempool protocol, by its name."""
    return CatCodec(protocol) if protocol in VERSIONS else MempoolCodec()
