"""Mempool parts as bytes: the only place where a transaction's symbol meets its bytes.

A transaction is its symbol and a newline; its key is the SHA-256 of that. A key tells nothing of its
transaction, so the codec remembers those it has met, and shows a key that it has not as `x` and the hex.
Channels: 0x30 for Tx, 0x31 for HaveTx and ResetRoute (ADR-119, read as hexadecimal).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType

from google.protobuf.message import DecodeError

from quidnunc.impl.wire import mempool_pb2
from quidnunc.model.rpc import Fault, HaveTx, Part, ResetRoute, Tx

TX_CHANNEL = 0x30
CONTROL_CHANNEL = 0x31

MAX_SYMBOL = 64
"""One less than the rendering of a key, so that no symbol can be taken for one."""
MAX_KEYS = 65_536

_SYMBOL = re.compile(rf"[!-~]{{1,{MAX_SYMBOL}}}")
_BY_KEY = re.compile(r"x[0-9a-f]{64}")


def tx_bytes(symbol: str) -> bytes:
    """The transaction of that symbol: what `Driver.submit` and `Driver.commit` take.

    Raises ValueError where the symbol is not 1 to 64 printable ASCII characters: the rendering of a key, say,
    from which no transaction follows.
    """
    if not _SYMBOL.fullmatch(symbol):
        raise ValueError(
            f"transaction id {symbol!r}: need 1 to {MAX_SYMBOL} printable ASCII characters, no space"
        )
    return symbol.encode() + b"\n"


def is_key(symbol: str) -> bool:
    """Whether it renders a key of which no transaction is known."""
    return _BY_KEY.fullmatch(symbol) is not None


def tx_key(tx: bytes) -> bytes:
    """32 bytes: what HaveTx names `tx` by."""
    return hashlib.sha256(tx).digest()


def framed_message(channel: int, data: bytes) -> bytes:
    """One message for `Driver.raw` of a mempool: the channel's byte, then the message."""
    return bytes((channel,)) + data


class StrayMessage(ValueError):
    """A mempool message that breaks the format: `fault` as `quidnunc.model.rpc.Stray` has it."""

    def __init__(self, fault: Fault, text: str) -> None:
        super().__init__(text)
        self.fault: Fault = fault


class MempoolCodec:
    """Parts to bytes and back. One per run, so that its table holds the transactions of that run."""

    def __init__(self, *, max_keys: int = MAX_KEYS) -> None:
        self._symbols: dict[bytes, str] = {}
        self._max_keys = max_keys

    def tx_bytes(self, symbol: str) -> bytes:
        """The bytes of that transaction (as `tx_bytes`); from now on its key is known by its symbol."""
        tx = tx_bytes(symbol)
        self._remember(tx_key(tx), symbol)
        return tx

    def symbol(self, tx: bytes) -> str:
        """The symbol of a transaction's bytes: its text where a codec made it, else that of its key."""
        key = tx_key(tx)
        known = self._symbols.get(key)
        if known is not None:
            return known
        text = tx[:-1].decode("latin-1") if len(tx) <= MAX_SYMBOL + 1 and tx.endswith(b"\n") else ""
        if not _SYMBOL.fullmatch(text):
            return f"x{key.hex()}"
        self._remember(key, text)
        return text

    def encode(self, part: Part) -> tuple[int, bytes]:
        """(channel, one Message). Raises ValueError for a part that no mempool message can carry."""
        match part:
            case Tx(symbol):
                message = mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[self.tx_bytes(symbol)]))
                return TX_CHANNEL, message.SerializeToString()
            case HaveTx(symbol):
                have = mempool_pb2.HaveTx(tx_key=self.key_of(symbol))
                return CONTROL_CHANNEL, mempool_pb2.Message(have_tx=have).SerializeToString()
            case ResetRoute():
                message = mempool_pb2.Message(reset_route=mempool_pb2.ResetRoute())
                return CONTROL_CHANNEL, message.SerializeToString()
            case _:
                raise ValueError(
                    f"{type(part).__name__} is no mempool message: use Tx, HaveTx or ResetRoute, "
                    "or a pubsub protocol"
                )

    def decode(self, channel: int, data: bytes) -> tuple[Part, ...]:
        """The parts of one Message; a Txs of several transactions gives one Tx each, an empty one none.

        Raises StrayMessage, naming channel and fault, where the bytes are no message of that channel.
        """
        if channel not in (TX_CHANNEL, CONTROL_CHANNEL):
            raise StrayMessage("channel", f"channel {channel:#x} is not of the mempool: 0x30 and 0x31 are")
        try:
            message = mempool_pb2.Message.FromString(data)
        except DecodeError as fault:
            said = f"channel {channel:#x}: {len(data)} bytes that are no protobuf message"
            raise StrayMessage("bytes", said) from fault
        kind = message.WhichOneof("sum")
        if kind == "txs" and channel == TX_CHANNEL:
            return tuple(Tx(self.symbol(tx)) for tx in message.txs.txs)
        if kind == "have_tx" and channel == CONTROL_CHANNEL:
            return (HaveTx(self.shown(channel, message.have_tx.tx_key)),)
        if kind == "reset_route" and channel == CONTROL_CHANNEL:
            return (ResetRoute(),)
        said = f"channel {channel:#x}: {kind or 'an unknown message'} does not belong there"
        raise StrayMessage("channel" if kind else "bytes", said)

    def key_of(self, symbol: str) -> bytes:
        """The key of the transaction of that symbol, or of that rendering of a key."""
        return bytes.fromhex(symbol[1:]) if _BY_KEY.fullmatch(symbol) else tx_key(self.tx_bytes(symbol))

    def shown(self, channel: int, key: bytes) -> str:
        """The symbol of the transaction of that key. Raises ValueError where it is no key."""
        if len(key) != 32:
            raise StrayMessage("key", f"channel {channel:#x}: a transaction key of {len(key)} bytes, need 32")
        return self._symbols.get(key, f"x{key.hex()}")

    def _remember(self, key: bytes, symbol: str) -> None:
        if key not in self._symbols and len(self._symbols) >= self._max_keys:
            # The oldest goes: a run that needs it again learns it again when it encodes it.
            del self._symbols[next(iter(self._symbols))]
        self._symbols[key] = symbol


def _have(key: bytes) -> bytes:
    return mempool_pb2.Message(have_tx=mempool_pb2.HaveTx(tx_key=key)).SerializeToString()


_TXS = mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[b"t\n"])).SerializeToString()
_RESET = mempool_pb2.Message(reset_route=mempool_pb2.ResetRoute()).SerializeToString()

MALFORMED_MEMPOOL: Mapping[str, bytes] = MappingProxyType(
    {
        "empty-txs": framed_message(
            TX_CHANNEL, mempool_pb2.Message(txs=mempool_pb2.Txs()).SerializeToString()
        ),
        "empty-message": framed_message(TX_CHANNEL, b""),
        "unknown-message": framed_message(TX_CHANNEL, b"\x7a\x00"),
        "unknown-control": framed_message(CONTROL_CHANNEL, b"\x7a\x00"),
        "not-protobuf": framed_message(TX_CHANNEL, b"\xff\xff\xff\xff"),
        "truncated-txs": framed_message(TX_CHANNEL, _TXS[:-1]),
        "txs-on-control": framed_message(CONTROL_CHANNEL, _TXS),
        "have-tx-on-txs": framed_message(TX_CHANNEL, _have(bytes(32))),
        "reset-route-on-txs": framed_message(TX_CHANNEL, _RESET),
        "unknown-channel": framed_message(0x40, _TXS),
        "no-channel": b"",
        "have-tx-empty": framed_message(CONTROL_CHANNEL, _have(b"")),
        "have-tx-31-bytes": framed_message(CONTROL_CHANNEL, _have(bytes(31))),
        "have-tx-33-bytes": framed_message(CONTROL_CHANNEL, _have(bytes(33))),
    }
)
"""Bytes for `Driver.raw`, by kind: what no honest mempool sends."""

IGNORED_MEMPOOL = frozenset({"empty-txs"})
"""The kinds that are no reason to close the connection: a Txs of nothing is logged and dropped."""
