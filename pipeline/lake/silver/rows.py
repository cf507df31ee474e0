"""The rows of silver of one event, in plain Python.

This is what silver means. Columns of go's schema are made in blocks by `silver/columns.py`, which is held
against this; events with fields of our own come this way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs

from quidnunc.pipeline.lake.silver.schema import KIND_OF_NAME, RowKind, SilverRow
from quidnunc.pipeline.trace.events import (
    ApplicationScore,
    BackoffEvent,
    ClosedStream,
    DeliverMessage,
    DialEvent,
    DroppedRpc,
    DuplicateMessage,
    GraftEvent,
    JoinEvent,
    LeaveEvent,
    MempoolEvent,
    OpenedStream,
    PruneEvent,
    PublishMessage,
    ReceivedBytes,
    ReceivedRpc,
    RedundancyEvent,
    RejectMessage,
    ResumeEvent,
    RouteDisableEvent,
    RouteEnableEvent,
    ScoreSnapshot,
    SentRpc,
    StallEvent,
    TimeAdvance,
    TraceEvent,
    ValidationEvent,
)
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.metrics import kinds_of
from quidnunc.pipeline.trace.proto import go_form
from quidnunc.pipeline.trace.rpc import ControlMeta, RpcMeta
from quidnunc.pipeline.trace.shapes import INT64

TX_KINDS = {"txs", "haveTx", "resetRoute", "seenTx", "wantTx"}


def rows_of(event: TraceEvent) -> list[SilverRow]:
    """The rows of one event, at least one; those of an RPC in the order of their kinds."""
    body = event.body
    head: dict[str, Any] = {"type": event.type.number, "peer": event.peer, "at_ns": event.at_ns}
    if isinstance(body, ReceivedRpc | SentRpc | DroppedRpc):
        head["remote"] = body.peer
        items = sorted(_items(body.meta), key=lambda said: said["kind"])
        rows = [SilverRow(**head, **said) for said in items] or [SilverRow(**head, kind=RowKind.EVENT)]
        rows = _with_bytes(rows, body)
    else:
        rows = [SilverRow(**head, kind=RowKind.EVENT, **_fields(body))]
    if go_form(event) != event:
        rows[0] = attrs.evolve(rows[0], more=line_of(event))
    return rows


def _fields(body: Any) -> dict[str, Any]:
    """What the columns have of an event that is no RPC."""
    match body:
        case PublishMessage():
            return {"message": body.message_id, "topic": body.topic, "size": body.size}
        case DeliverMessage():
            said = {"message": body.message_id, "topic": body.topic, "size": body.size}
            return {**said, "remote": body.received_from}
        case DuplicateMessage():
            return {"message": body.message_id, "topic": body.topic, "remote": body.received_from}
        case RejectMessage():
            said = {"message": body.message_id, "topic": body.topic, "text": body.reason}
            return {**said, "remote": body.received_from}
        case OpenedStream():
            return {"remote": body.peer, "text": body.protocol}
        case JoinEvent() | LeaveEvent():
            return {"topic": body.topic}
        case GraftEvent() | PruneEvent():
            return {"remote": body.peer, "topic": body.topic}
        case BackoffEvent():
            until = None if body.until_ms is None else float(body.until_ms)
            return {"remote": body.peer, "topic": body.topic, "value": until}
        case ScoreSnapshot() | ApplicationScore():
            return {"remote": body.peer, "value": None if body.value is None else float(body.value)}
        case RouteDisableEvent() | RouteEnableEvent():
            return {"remote": body.target, "source": body.source}
        case RedundancyEvent():
            return {"value": body.value}
        case TimeAdvance():
            return {"value": None if body.ms is None else float(body.ms)}
        case ValidationEvent():
            return {"message": body.message_id, "text": body.judgement}
        case MempoolEvent():
            return {"message": body.tx, "text": body.act}
        case ReceivedBytes():
            return {"remote": body.peer, "text": body.kind}
        case ClosedStream() | StallEvent() | ResumeEvent() | DialEvent():
            return {"remote": body.peer}
        case _:
            return {}


def _items(meta: RpcMeta | None) -> Iterator[dict[str, Any]]:
    if meta is None:
        return
    for each in meta.messages:
        yield {"kind": RowKind.MESSAGE, "message": each.message_id, "topic": each.topic, "size": each.size}
    for said in meta.subscription:
        yield {"kind": RowKind.SUBSCRIBE if said.subscribe else RowKind.UNSUBSCRIBE, "topic": said.topic}
    control = meta.control or ControlMeta()
    for ihave in control.ihave:
        for name in ihave.message_ids or (None,):
            yield {"kind": RowKind.IHAVE, "message": name, "topic": ihave.topic}
    for iwant in control.iwant:
        yield from ({"kind": RowKind.IWANT, "message": name} for name in iwant.message_ids or (None,))
    for graft in control.graft:
        yield {"kind": RowKind.GRAFT, "topic": graft.topic}
    for prune in control.prune:
        backoff = None if prune.backoff_s is None else float(prune.backoff_s)
        yield {"kind": RowKind.PRUNE, "topic": prune.topic, "value": backoff}
    for idontwant in control.idontwant:
        yield from ({"kind": RowKind.IDONTWANT, "message": name} for name in idontwant.message_ids or (None,))
    yield from _later_items(meta, control)


def _later_items(meta: RpcMeta, control: ControlMeta) -> Iterator[dict[str, Any]]:
    yield from ({"kind": RowKind.EXTENSIONS} for _ in control.extensions)
    yield from ({"kind": RowKind.OTHER, "topic": each.topic} for each in control.others)
    yield from ({"kind": RowKind.TEST_EXTENSION} for _ in range(min(meta.test_extension or 0, 100)))
    yield from (
        {"kind": RowKind.PARTIAL, "topic": each.topic, "message": each.group} for each in meta.partial
    )
    for each in meta.mempool:
        kind = KIND_OF_NAME[each.kind] if each.kind in TX_KINDS else RowKind.OTHER
        yield {"kind": kind, "message": each.tx}


def _with_bytes(rows: list[SilverRow], body: ReceivedRpc | SentRpc | DroppedRpc) -> list[SilverRow]:
    """Bytes on the wire go to the first row of their kind; what has no row of its kind gets one."""
    counted: Counter[int] = Counter()
    if body.parts:
        for part in body.parts:
            counted[KIND_OF_NAME.get(part.kind or "", RowKind.OTHER)] += part.bytes or 0
    elif body.length is not None:
        kinds = kinds_of(body.meta)
        name = next(iter(kinds), "empty") if len(kinds) <= 1 else "mixed"
        counted[KIND_OF_NAME.get(name, RowKind.OTHER)] += body.length
    for kind, said in counted.items():
        # Each part has 64 bits, and so has the column: what a file may claim of them together has more.
        count = max(-INT64, min(said, INT64 - 1))
        same = {RowKind.SUBSCRIBE, RowKind.UNSUBSCRIBE} if kind == RowKind.SUBSCRIBE else {kind}
        at = next((i for i, row in enumerate(rows) if row.kind in same), None)
        if at is None:
            rows.append(
                attrs.evolve(rows[0], kind=kind, message=None, topic=None, size=None, value=None, wire=count)
            )
        else:
            rows[at] = attrs.evolve(rows[at], wire=count)
    return rows
