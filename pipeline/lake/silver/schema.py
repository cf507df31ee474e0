"""Silver: one wide table, one row for each thing that an event says, ids as small integers.

An event has its rows together, `item` 0 and on; its own fields are in each of them. An RPC has one row for
each message, id or control entry in it, any other event one. Peers, messages and names (topics, reasons,
protocols) are numbers of the tables of ids beside it. Rows are sorted by peer and sequence, one file for each
bucket of peers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from quidnunc.properties.lazy import pyarrow


class RowKind:
    """What one row of an RPC is, by number; `EVENT` of all other events, and of an empty RPC."""

    EVENT: Final = 0
    MESSAGE: Final = 1
    IHAVE: Final = 2
    IWANT: Final = 3
    IDONTWANT: Final = 4
    GRAFT: Final = 5
    PRUNE: Final = 6
    SUBSCRIBE: Final = 7
    UNSUBSCRIBE: Final = 8
    HAVE_TX: Final = 9
    RESET_ROUTE: Final = 10
    TXS: Final = 11
    SEEN_TX: Final = 12
    WANT_TX: Final = 13
    EXTENSIONS: Final = 14
    TEST_EXTENSION: Final = 15
    PARTIAL: Final = 16
    MIXED: Final = 17
    """Bytes of an RPC of several kinds that does not say more."""
    OTHER: Final = 18


KIND_OF_NAME: Mapping[str, int] = {
    "message": RowKind.MESSAGE,
    "ihave": RowKind.IHAVE,
    "iwant": RowKind.IWANT,
    "idontwant": RowKind.IDONTWANT,
    "graft": RowKind.GRAFT,
    "prune": RowKind.PRUNE,
    "subscription": RowKind.SUBSCRIBE,
    "haveTx": RowKind.HAVE_TX,
    "resetRoute": RowKind.RESET_ROUTE,
    "txs": RowKind.TXS,
    "seenTx": RowKind.SEEN_TX,
    "wantTx": RowKind.WANT_TX,
    "extensions": RowKind.EXTENSIONS,
    "test_extension": RowKind.TEST_EXTENSION,
    "partial": RowKind.PARTIAL,
    "mixed": RowKind.MIXED,
    "empty": RowKind.EVENT,
}
"""The names that `trace metrics` has for them, and the parts of RPCs in our traces."""
NAME_OF_KIND: Mapping[int, str] = {kind: name for name, kind in KIND_OF_NAME.items()} | {
    RowKind.UNSUBSCRIBE: "subscription",
    RowKind.OTHER: "unknown",
}


@frozen(kw_only=True)
class SilverRow:
    """One row with the ids as they are in the trace: what `silver/rows.py` gives, and columns are held
    against."""

    type: int
    kind: int
    peer: bytes | None
    at_ns: int | None
    remote: bytes | None = None
    """The other peer: of whom it came, to whom it goes, who was grafted; of a route, its target."""
    source: bytes | None = None
    """The source of a route."""
    topic: str | None = None
    message: bytes | None = None
    """A message, a transaction, or an id of one."""
    text: str | None = None
    """A reason, or the protocol of a stream."""
    size: int | None = None
    """Bytes of a message."""
    wire: int | None = None
    """Bytes on the wire of all that is of this kind in the RPC, where this is the first of it."""
    value: float | None = None
    """A backoff in seconds (of a PRUNE) or its end in ms, a score, a redundancy, ms that passed."""
    more: str | None = None
    """The whole event as our line of JSON, in its first row, where the columns and go's schema have not
    all."""


IDS = ("peer", "remote", "source", "message", "topic", "text")
"""Columns of ids: -1 in pieces where there is none, null in silver."""
TABLE_OF = {
    "peer": "peers",
    "remote": "peers",
    "source": "peers",
    "message": "messages",
    "topic": "names",
    "text": "names",
}
TABLES = ("peers", "messages", "names")


def silver_schema() -> Any:
    """The columns of silver. `seq` counts the records of the whole run folder from 0, in the order of its
    files."""
    small, number, long = pyarrow.int8(), pyarrow.int32(), pyarrow.int64()
    return pyarrow.schema(
        [
            ("run", number),
            ("peer", number),
            ("seq", long),
            ("item", number),
            ("at_ns", long),
            ("type", small),
            ("kind", small),
            ("remote", number),
            ("source", number),
            ("message", number),
            ("topic", number),
            ("text", number),
            ("size", long),
            ("wire", long),
            ("value", pyarrow.float64()),
            ("more", pyarrow.string()),
        ]
    )
