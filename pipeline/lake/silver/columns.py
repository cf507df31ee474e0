"""A block of bronze as rows of silver, a column at a time.

What `silver/rows.py` does for one event is done here for many, where go's schema has all of them; the others
are given to it. Ids are numbers of tables that grow with the file.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field

from quidnunc.pipeline.lake.silver.rows import rows_of
from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, TABLES, RowKind, silver_schema
from quidnunc.pipeline.trace.events import BodyType
from quidnunc.pipeline.trace.json_lines import event_of_line
from quidnunc.properties.lazy import compute, numpy, pyarrow

Columns = dict[str, Any]
"""Name -> array of numpy; `at` is the place of the row's event in its block."""

REMOTE_OF = {
    "rejectMessage": "receivedFrom",
    "duplicateMessage": "receivedFrom",
    "deliverMessage": "receivedFrom",
    "onNewOutboundStream": "peerID",
    "onClosedOutboundStream": "peerID",
    "recvRPC": "receivedFrom",
    "sendRPC": "sendTo",
    "dropRPC": "sendTo",
    "graft": "peerID",
    "prune": "peerID",
}
MESSAGE_OF = ("publishMessage", "rejectMessage", "duplicateMessage", "deliverMessage")
TOPIC_OF = (*MESSAGE_OF, "join", "leave", "graft", "prune")
TEXT_OF = {"rejectMessage": "reason", "onNewOutboundStream": "proto"}
RPCS = ("recvRPC", "sendRPC", "dropRPC")


@define
class IdTables:
    """The numbers of peers, messages and names of one file, in the order in which blocks name them."""

    tables: dict[str, dict[Any, int]] = field(factory=lambda: {name: {} for name in TABLES})

    def of(self, column: str, values: Any) -> Any:
        """The numbers of an Arrow array of bytes or text, -1 where it is null."""
        table = self.tables[TABLE_OF[column]]
        encoded = values.dictionary_encode()
        known = encoded.dictionary.to_pylist()
        numbers = numpy.fromiter((table.setdefault(v, len(table)) for v in known), numpy.int32, len(known))
        places = encoded.indices.fill_null(len(known)).to_numpy()
        return numpy.append(numbers, numpy.int32(-1))[places]

    def one(self, column: str, value: Any) -> int:
        table = self.tables[TABLE_OF[column]]
        return -1 if value is None else table.setdefault(value, len(table))


def piece_of(kind: BodyType | None, block: Any, ids: IdTables, starts: Any) -> Any:
    """The rows of a record batch of bronze, as a table of silver with the numbers of `ids`.

    `seq` is the record in its file, and `run` counts the RUN events of the file, whose records are `starts`,
    up to it. Rows of one event are together and in their order, events are in any.
    """
    ours = block["ours"].is_valid().to_numpy(zero_copy_only=False)
    tables = []
    if kind is not None and not ours.all():
        plain = block if not ours.any() else block.filter(pyarrow.array(~ours))
        tables.append(_plain_table(kind, plain, ids))
    if ours.any():
        tables.append(_special_table(block.filter(pyarrow.array(ours)), ids))
    table = pyarrow.concat_tables(tables)
    runs = numpy.searchsorted(starts, table["seq"].to_numpy(), side="right")
    return table.set_column(0, "run", pyarrow.array(runs.astype(numpy.int32)))


def _special_table(block: Any, ids: IdTables) -> Any:
    rows: list[dict[str, Any]] = []
    for record, line in zip(block["record"].to_pylist(), block["ours"].to_pylist(), strict=True):
        for item, row in enumerate(rows_of(event_of_line(line.encode()))):
            said = {name: ids.one(name, getattr(row, name)) for name in IDS}
            kept = {n: getattr(row, n) for n in ("at_ns", "type", "kind", "size", "wire", "value", "more")}
            rows.append({"run": 0, "seq": record, "item": item, **kept, **said})
    return pyarrow.Table.from_pylist(rows, silver_schema())


def _plain_table(kind: BodyType, block: Any, ids: IdTables) -> Any:
    peers = ids.of("peer", block["peerID"])
    rows = _of_body(kind.field, block.column(kind.field), ids)
    at = rows["at"]
    first = numpy.flatnonzero(numpy.diff(at, prepend=-1))
    item = numpy.arange(len(at)) - numpy.repeat(first, numpy.diff(first, append=len(at)))
    count = len(at)
    places = pyarrow.array(at)
    arrays = {
        "run": numpy.zeros(count, numpy.int32),
        "peer": peers[at],
        "seq": block["record"].take(places),
        "item": item.astype(numpy.int32),
        "at_ns": block["timestamp"].take(places),
        "type": numpy.full(count, kind.number, numpy.int8),
        **{name: rows[name] for name in ("kind", "remote", "message", "topic", "text")},
        "source": numpy.full(count, -1, numpy.int32),
    }
    schema = silver_schema()
    columns = [arrays[f.name] if f.name in arrays else pyarrow.nulls(count, f.type) for f in schema]
    return pyarrow.Table.from_arrays(
        [c if isinstance(c, pyarrow.Array | pyarrow.ChunkedArray) else pyarrow.array(c) for c in columns],
        schema=schema,
    )


def _of_body(name: str, body: Any, ids: IdTables) -> Columns:
    """The rows of all events of one type in a block."""

    def said(column: str, member: str | None) -> Any:
        if member is None:
            return numpy.full(len(body), -1, numpy.int32)
        return ids.of(column, compute.struct_field(body, member))

    remote = said("remote", REMOTE_OF.get(name))
    if name in RPCS:
        return _of_rpcs(remote, compute.struct_field(body, "meta"), ids)
    return {
        "at": numpy.arange(len(body)),
        "kind": numpy.full(len(body), RowKind.EVENT, numpy.int8),
        "remote": remote,
        "message": said("message", "messageID" if name in MESSAGE_OF else None),
        "topic": said("topic", "topic" if name in TOPIC_OF else None),
        "text": said("text", TEXT_OF.get(name)),
    }


def _of_rpcs(remote: Any, meta: Any, ids: IdTables) -> Columns:
    """The items of RPCs, and one row for each RPC without any."""
    control = compute.struct_field(meta, "control")
    found = [_messages(compute.struct_field(meta, "messages"), ids)]
    found += _subscriptions(compute.struct_field(meta, "subscription"), ids)
    for kind, member in (
        (RowKind.IHAVE, "ihave"),
        (RowKind.IWANT, "iwant"),
        (RowKind.GRAFT, "graft"),
        (RowKind.PRUNE, "prune"),
        (RowKind.IDONTWANT, "idontwant"),
    ):
        found.append(_control(kind, compute.struct_field(control, member), ids))
    empty = numpy.ones(len(remote), bool)
    for _, parent, _, _ in found:
        empty[parent] = False
    parts = [_rows(parent, kind, remote, message, topic) for kind, parent, message, topic in found]
    parts.append(_rows(numpy.flatnonzero(empty), RowKind.EVENT, remote, None, None))
    parts = [part for part in parts if len(part["at"])]
    if not parts:
        return _rows(numpy.zeros(0, numpy.int64), RowKind.EVENT, remote, None, None)
    joined = {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = numpy.argsort(joined["at"] * 32 + joined["kind"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


Items = tuple[int, Any, Any, Any]
"""Kind, the RPC of each item by its place, numbers of messages and of topics (None: there are none)."""


def _rows(at: Any, kind: int, remote: Any, message: Any, topic: Any) -> Columns:
    nothing = numpy.full(len(at), -1, numpy.int32)
    return {
        "at": at.astype(numpy.int64, copy=False),
        "kind": numpy.full(len(at), kind, numpy.int8),
        "remote": remote[at],
        "message": nothing if message is None else message,
        "topic": nothing if topic is None else topic,
        "text": nothing,
    }


def _flat(lists: Any) -> tuple[Any, Any]:
    """The place of the list that each element is in, and the elements."""
    return compute.list_parent_indices(lists).to_numpy(), compute.list_flatten(lists)


def _messages(lists: Any, ids: IdTables) -> Items:
    parent, inner = _flat(lists)
    message = ids.of("message", compute.struct_field(inner, "messageID"))
    return RowKind.MESSAGE, parent, message, ids.of("topic", compute.struct_field(inner, "topic"))


def _subscriptions(lists: Any, ids: IdTables) -> list[Items]:
    parent, inner = _flat(lists)
    topic = ids.of("topic", compute.struct_field(inner, "topic"))
    joins = compute.struct_field(inner, "subscribe").fill_null(False).to_numpy(zero_copy_only=False)
    return [
        (RowKind.SUBSCRIBE, parent[joins], None, topic[joins]),
        (RowKind.UNSUBSCRIBE, parent[~joins], None, topic[~joins]),
    ]


def _control(kind: int, lists: Any, ids: IdTables) -> Items:
    """Entries of one kind; of those that carry ids, one item for each id, and one for an entry without
    any."""
    parent, inner = _flat(lists)
    has_topic = kind not in (RowKind.IWANT, RowKind.IDONTWANT)
    topic = ids.of("topic", compute.struct_field(inner, "topic")) if has_topic else None
    if kind in (RowKind.GRAFT, RowKind.PRUNE):
        return kind, parent, None, topic
    names = compute.struct_field(inner, "messageIDs")
    which, each = _flat(names)
    message = ids.of("message", each)
    none = numpy.flatnonzero(names.value_lengths().to_numpy() == 0)
    if len(none):
        which = numpy.concatenate([which, none])
        message = numpy.concatenate([message, numpy.full(len(none), -1, numpy.int32)])
        order = numpy.argsort(which, kind="stable")
        which, message = which[order], message[order]
    return kind, parent[which], message, None if topic is None else topic[which]
