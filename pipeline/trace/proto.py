"""One event as protobuf, in go's field numbers. What go's schema has no place for is not written."""

from __future__ import annotations

from collections import Counter
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from quidnunc.pipeline.trace.events import TYPE_OF_NUMBER, TYPES, TraceEvent
from quidnunc.pipeline.trace.shapes import TraceError, as_go, shapes
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire
from quidnunc.pipeline.trace.trace_pb2 import TraceEventBatch

_GO = tuple(t for t in TYPES if not t.ours)


def go_form(event: TraceEvent) -> TraceEvent | None:
    """The event as far as go's schema holds it; None where it has no such type."""
    if event.type.ours:
        return None
    return TraceEvent(as_go(event.body), event.peer, event.at_ns)


def bytes_of(event: TraceEvent) -> bytes:
    """The event as a TraceEvent of go. Raises TraceError for a type of our own."""
    return message_of(event).SerializeToString()


def message_of(event: TraceEvent) -> Wire:
    """The event as the generated class. Raises TraceError for a type that go does not have."""
    kind = event.type
    if kind.ours:
        raise TraceError(f"go's schema has no {kind.enum} event: it belongs in a side file")
    made = Wire(type=kind.number)
    if event.peer is not None:
        made.peerID = event.peer
    if event.at_ns is not None:
        made.timestamp = event.at_ns
    _fill(getattr(made, kind.field), event.body)
    return made


def _fill(made: Any, value: object) -> None:
    made.SetInParent()
    for name, shape in shapes(type(value)):
        held = getattr(value, name)
        if shape.ours or held is None:
            continue
        if shape.kind == "value":
            for each in held if shape.many else (held,):
                _fill(getattr(made, shape.name).add() if shape.many else getattr(made, shape.name), each)
        elif shape.many:
            getattr(made, shape.name).extend(held)
        else:
            setattr(made, shape.name, held)


def event_of_bytes(data: bytes, unknown: Counter[str] | None = None) -> TraceEvent:
    """The event of one record. `unknown` counts field numbers that go's schema did not have when this was
    written. Raises TraceError."""
    try:
        read = Wire.FromString(data)
    except DecodeError as error:
        raise TraceError(f"not a protobuf of TraceEvent: {error}") from None
    return event_of_message(read, unknown)


def events_of_batch(data: bytes, unknown: Counter[str] | None = None) -> list[TraceEvent | TraceError]:
    """The events of one TraceEventBatch; an error in the place of one that is none."""
    try:
        batch = TraceEventBatch.FromString(data)
    except DecodeError as error:
        raise TraceError(f"not a protobuf of TraceEventBatch: {error}") from None
    result: list[TraceEvent | TraceError] = []
    for read in batch.batch:
        try:
            result.append(event_of_message(read, unknown))
        except TraceError as error:
            result.append(error)
    return result


def event_of_message(read: Wire, unknown: Counter[str] | None = None) -> TraceEvent:
    """The event of a parsed record. Raises TraceError."""
    if not read.HasField("type"):
        raise TraceError("the event has no type")
    kind = TYPE_OF_NUMBER.get(read.type)
    if kind is None or kind.ours:
        raise TraceError(f"type {read.type} is not in go's schema, whose types are 0 to 12")
    there = [t.field for t in _GO if read.HasField(t.field)]
    if there != [kind.field]:
        said = ", ".join(there) or "none"
        raise TraceError(f"a {kind.enum} event has one body, {kind.field}; there is {said}")
    if unknown is not None:
        _count_unknown(read, "event", unknown)
    body = _value(kind.kind, getattr(read, kind.field), kind.field, unknown)
    return TraceEvent(
        body,
        read.peerID if read.HasField("peerID") else None,
        read.timestamp if read.HasField("timestamp") else None,
    )


def _value(kind: type, read: Any, where: str, unknown: Counter[str] | None) -> Any:
    given: dict[str, Any] = {}
    for name, shape in shapes(kind):
        if shape.ours:
            continue
        here = f"{where}.{shape.name}"
        if not shape.many and not read.HasField(shape.name):
            continue
        try:
            held = getattr(read, shape.name)
            held = tuple(held) if shape.many else held
        except UnicodeDecodeError:
            raise TraceError(f"{here}: not UTF-8") from None
        # Some builds of protobuf give the bytes of a text that is none.
        if shape.kind == "text" and isinstance(held, bytes):
            raise TraceError(f"{here}: not UTF-8")
        if shape.of is not None:
            of = shape.of
            within = [_value(of, v, here, unknown) for v in (held if shape.many else (held,))]
            held = tuple(within) if shape.many else within[0]
        given[name] = held
    if unknown is not None:
        _count_unknown(read, where, unknown)
    return kind(**given)


def _count_unknown(read: Any, where: str, unknown: Counter[str]) -> None:
    strange = UnknownFieldSet(read)
    for at in range(len(strange)):
        unknown[f"{where} field {strange[at].field_number}"] += 1
