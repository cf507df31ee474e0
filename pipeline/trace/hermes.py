"""Hermes's JSON lines as trace events. Untested against real files: the shape is that of Hermes's source.

One object a line: Type, Topic, PeerID (the observer), Timestamp (RFC 3339, nanoseconds), Data. Peer ids are
texts in base58 and are kept as they stand, in UTF-8; message ids are texts in hexadecimal. A type that is no
event of ours (a validation, a throttled peer) is passed over and counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import field, mutable

from quidnunc.pipeline.trace.carriers import CutRecord, lines_of, open_plain
from quidnunc.pipeline.trace.events import (
    Body,
    ClosedStream,
    DeliverMessage,
    DroppedRpc,
    DuplicateMessage,
    GraftEvent,
    JoinEvent,
    LeaveEvent,
    OpenedStream,
    PruneEvent,
    ReceivedRpc,
    RejectMessage,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.files import MAX_BAD_KEPT, BadRecord
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
from quidnunc.pipeline.trace.shapes import TraceError, read_int, read_text

PASSED_OVER = frozenset({"VALIDATE_MESSAGE", "THROTTLE_PEER", "UNDELIVERABLE_MESSAGE", "PUBLISH_MESSAGE"})
"""Of a publication the id is in another form than of all else, so that nothing could be matched with it."""
MAX_SKIPPED_KINDS = 100
GO_ZERO = "0001-01-01T00:00:00Z"
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


@mutable
class HermesLines:
    """Iterated over, it gives the events of `file` in their order; the rest is counted."""

    file: Path
    bad: list[BadRecord] = field(factory=list)
    bad_count: int = 0
    skipped: Counter[str] = field(factory=Counter)
    line: int = 0
    """Where the last event stood."""

    def __iter__(self) -> Iterator[TraceEvent]:
        with self.file.open("rb") as stream:
            for number, line in lines_of(open_plain(stream)):
                try:
                    if isinstance(line, CutRecord):
                        raise TraceError(line.problem)
                    event = self._event(line)
                except TraceError as error:
                    self.bad_count += 1
                    if len(self.bad) < MAX_BAD_KEPT:
                        lost = line.lost if isinstance(line, CutRecord) else 0
                        self.bad.append(BadRecord(self.file, number, str(error), lost))
                    continue
                if event is not None:
                    self.line = number
                    yield event

    def _event(self, line: bytes) -> TraceEvent | None:
        try:
            plain = json.loads(line)
        except ValueError:
            raise TraceError("not JSON") from None
        except RecursionError:
            raise TraceError("not JSON that is read here: nested too deep") from None
        if not isinstance(plain, dict):
            raise TraceError("expected an object")
        kind, data = _text(plain, "Type"), plain.get("Data")
        if kind in PASSED_OVER:
            self.skipped[kind] += 1
            return None
        body = _body(kind, data if isinstance(data, dict) else {})
        if body is None:
            if len(self.skipped) < MAX_SKIPPED_KINDS:
                self.skipped[kind[:100]] += 1
            return None
        return TraceEvent(body, _text(plain, "PeerID").encode(), nanoseconds(_text(plain, "Timestamp")))


def nanoseconds(text: str) -> int | None:
    """RFC 3339 with up to nine digits of a second, as nanoseconds since 1970; None for go's zero time, which
    stands for none. Raises TraceError."""
    if text == GO_ZERO:
        return None
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        at = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00"))
    except ValueError:
        raise TraceError(f"expected a time as RFC 3339 has it, got {text[:40]!r}") from None
    whole = int((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return read_int(whole * 1_000_000_000 + int((found[2] or "").ljust(9, "0")), f"Timestamp {text}")


def _body(kind: str, data: Mapping[str, Any]) -> Body | None:
    match kind:
        case "GRAFT":
            return GraftEvent(peer=_peer(data), topic=_text(data, "Topic"))
        case "PRUNE":
            return PruneEvent(peer=_peer(data), topic=_text(data, "Topic"))
        case "JOIN":
            return JoinEvent(topic=_text(data, "Topic"))
        case "LEAVE":
            return LeaveEvent(topic=_text(data, "Topic"))
        case "ADD_PEER":
            return OpenedStream(peer=_peer(data), protocol=_text(data, "Protocol"))
        case "REMOVE_PEER":
            return ClosedStream(peer=_peer(data))
        case "DELIVER_MESSAGE":
            size = data.get("MsgSize")
            known = None if size is None else read_int(size, "MsgSize")
            return DeliverMessage(**_of_message(data), size=known)
        case "DUPLICATE_MESSAGE":
            return DuplicateMessage(**_of_message(data))
        case "REJECT_MESSAGE":
            return RejectMessage(**_of_message(data), reason=_text(data, "Reason"))
        case "RECV_RPC":
            return ReceivedRpc(peer=_peer(data), meta=_meta(data))
        case "SEND_RPC":
            return SentRpc(peer=_peer(data), meta=_meta(data))
        case "DROP_RPC":
            return DroppedRpc(peer=_peer(data), meta=_meta(data))
        case _:
            return None


def _of_message(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"message_id": _id(data), "topic": _text(data, "Topic"), "received_from": _peer(data)}


def _meta(data: Mapping[str, Any]) -> RpcMeta:
    control = data.get("Control")
    said = control if isinstance(control, dict) else {}
    lists = ControlMeta(
        ihave=tuple(
            IHaveMeta(topic=_text(i, "TopicID"), message_ids=_ids(i)) for i in _objects(said, "IHave")
        ),
        iwant=tuple(IWantMeta(message_ids=_ids(i)) for i in _objects(said, "IWant")),
        graft=tuple(GraftMeta(topic=_text(g, "TopicID")) for g in _objects(said, "Graft")),
        prune=tuple(
            PruneMeta(topic=_text(p, "TopicID"), peers=tuple(i.encode() for i in _texts(p, "PeerIDs")))
            for p in _objects(said, "Prune")
        ),
        idontwant=tuple(IDontWantMeta(message_ids=_ids(i)) for i in _objects(said, "Idontwant")),
    )
    return RpcMeta(
        messages=tuple(
            MessageMeta(message_id=_id(m), topic=_text(m, "Topic")) for m in _objects(data, "Msgs")
        ),
        subscription=tuple(
            SubscriptionMeta(subscribe=s.get("Subscribe") is True, topic=_text(s, "TopicID"))
            for s in _objects(data, "Subs")
        ),
        control=lists if control is not None else None,
    )


def _text(plain: Mapping[str, Any], name: str) -> str:
    held = plain.get(name)
    return read_text(held, name)


def _texts(plain: Mapping[str, Any], name: str) -> Sequence[str]:
    held = plain.get(name) or []
    if not isinstance(held, list):
        raise TraceError(f"expected a list of texts as {name}")
    return [read_text(each, name) for each in held]


def _objects(plain: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    held = plain.get(name) or []
    if not isinstance(held, list) or not all(isinstance(i, dict) for i in held):
        raise TraceError(f"expected a list of objects as {name}")
    return held


def _peer(data: Mapping[str, Any]) -> bytes:
    return _text(data, "PeerID").encode()


def _id(data: Mapping[str, Any]) -> bytes:
    return _hex(_text(data, "MsgID"))


def _ids(data: Mapping[str, Any]) -> tuple[bytes, ...]:
    return tuple(map(_hex, _texts(data, "MsgIDs")))


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise TraceError(f"expected an id in hexadecimal, got {text[:40]!r}") from None
