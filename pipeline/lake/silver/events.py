"""Rows of silver as the events that they were made of: the way back from `silver/rows.py`.

An event that go's schema does not hold is in its first row as a whole. Of go's own, silver leaves out which
peers a PRUNE names; what has those is not given back as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any

from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, RowKind
from quidnunc.pipeline.trace.events import (
    ClosedStream,
    DeliverMessage,
    DroppedRpc,
    DuplicateMessage,
    GraftEvent,
    JoinEvent,
    LeaveEvent,
    OpenedStream,
    PruneEvent,
    PublishMessage,
    ReceivedRpc,
    RejectMessage,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.json_lines import event_of_line
from quidnunc.pipeline.trace.rpc import (
    ControlMeta,
    GraftMeta,
    IDontWantMeta,
    IHaveMeta,
    IWantMeta,
    MessageMeta,
    PruneMeta,
    RpcMeta,
    SubscriptionMeta,
)
from quidnunc.properties.lazy import parquet

Plain = Mapping[str, Any]


def events_of_bucket(bucket: Sequence[Path]) -> Iterator[tuple[int, int, TraceEvent]]:
    """(run, sequence, event) of every event in the files of one bucket, each peer's in their order."""
    from quidnunc.pipeline.lake.silver.parts import read_ids

    ids = read_ids(bucket[0].parent)
    rows = merge(*map(_rows_of_file, bucket), key=_place_of)
    for (run, _, sequence), together in groupby(rows, key=lambda r: (r["run"], r["peer"], r["seq"])):
        yield run, sequence, event_of_rows([_named(row, ids) for row in together])


def _place_of(row: Plain) -> tuple[int, int]:
    """Where a row is among those of its bucket."""
    return -1 if row["peer"] is None else row["peer"], row["seq"]


def _rows_of_file(file: Path) -> Iterator[dict[str, Any]]:
    for batch in parquet.ParquetFile(file).iter_batches(16_384):
        yield from batch.to_pylist()


def _named(row: dict[str, Any], ids: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    for name in IDS:
        if row[name] is not None:
            row[name] = ids[TABLE_OF[name]][row[name]]
    return row


def event_of_rows(rows: Sequence[Plain]) -> TraceEvent:
    """The event of its rows, ids in the place of numbers."""
    first = rows[0]
    if first["more"] is not None:
        return event_of_line(first["more"].encode())
    return TraceEvent(_BODY[first["type"]](first, rows), first["peer"], first["at_ns"])


def _message(kind: type[Any], **said: str) -> Callable[[Plain, Sequence[Plain]], Any]:
    names = {"message_id": "message", "topic": "topic", **said}
    return lambda first, rows: kind(**{name: first[column] for name, column in names.items()})


def _rpc(kind: type[Any]) -> Callable[[Plain, Sequence[Plain]], Any]:
    return lambda first, rows: kind(peer=first["remote"], meta=_meta(rows))


def _meta(rows: Sequence[Plain]) -> RpcMeta | None:
    bins: dict[int, list[Plain]] = {}
    for row in rows:
        bins.setdefault(row["kind"], []).append(row)
    if bins.keys() == {RowKind.EVENT}:
        return None
    control = ControlMeta(
        ihave=tuple(IHaveMeta(topic=r["topic"], message_ids=_ids(r)) for r in bins.get(RowKind.IHAVE, ())),
        iwant=tuple(IWantMeta(message_ids=_ids(r)) for r in bins.get(RowKind.IWANT, ())),
        graft=tuple(GraftMeta(topic=r["topic"]) for r in bins.get(RowKind.GRAFT, ())),
        prune=tuple(PruneMeta(topic=r["topic"]) for r in bins.get(RowKind.PRUNE, ())),
        idontwant=tuple(IDontWantMeta(message_ids=_ids(r)) for r in bins.get(RowKind.IDONTWANT, ())),
    )
    told = [(True, r) for r in bins.get(RowKind.SUBSCRIBE, ())] + [
        (False, r) for r in bins.get(RowKind.UNSUBSCRIBE, ())
    ]
    return RpcMeta(
        messages=tuple(
            MessageMeta(message_id=r["message"], topic=r["topic"]) for r in bins.get(RowKind.MESSAGE, ())
        ),
        subscription=tuple(SubscriptionMeta(subscribe=yes, topic=r["topic"]) for yes, r in told),
        control=control if control != ControlMeta() else None,
    )


def _ids(row: Plain) -> tuple[bytes, ...]:
    return () if row["message"] is None else (row["message"],)


_BODY: Mapping[int, Callable[[Plain, Sequence[Plain]], Any]] = {
    0: _message(PublishMessage),
    1: _message(RejectMessage, received_from="remote", reason="text"),
    2: _message(DuplicateMessage, received_from="remote"),
    3: _message(DeliverMessage, received_from="remote"),
    4: lambda first, rows: OpenedStream(peer=first["remote"], protocol=first["text"]),
    5: lambda first, rows: ClosedStream(peer=first["remote"]),
    6: _rpc(ReceivedRpc),
    7: _rpc(SentRpc),
    8: _rpc(DroppedRpc),
    9: lambda first, rows: JoinEvent(topic=first["topic"]),
    10: lambda first, rows: LeaveEvent(topic=first["topic"]),
    11: lambda first, rows: GraftEvent(peer=first["remote"], topic=first["topic"]),
    12: lambda first, rows: PruneEvent(peer=first["remote"], topic=first["topic"]),
}
