"""Bronze: one row for each record of landing, nested as go's TraceEvent is, with its file and position.

What go's schema has no place for is in `ours`, the whole event as our line of JSON, so that nothing is lost.
The types of the columns are those of `trace.proto`, walked here once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from quidnunc.pipeline.trace.events import TYPES, BodyType
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire
from quidnunc.properties.lazy import pyarrow

GO = tuple(t for t in TYPES if not t.ours)


def schema_of() -> Any:
    """The Arrow schema of a TraceEvent: absent fields are null, repeated ones are lists and never
    null."""
    return pyarrow.schema([_field(each) for each in Wire.DESCRIPTOR.fields])


def _field(each: Any) -> Any:
    if each.message_type is not None:
        kind = pyarrow.struct([_field(inner) for inner in each.message_type.fields])
    else:
        kind = {
            FieldDescriptor.TYPE_BYTES: pyarrow.binary(),
            FieldDescriptor.TYPE_STRING: pyarrow.string(),
            FieldDescriptor.TYPE_INT32: pyarrow.int32(),
            FieldDescriptor.TYPE_INT64: pyarrow.int64(),
            FieldDescriptor.TYPE_BOOL: pyarrow.bool_(),
        }[each.type]
    if is_repeated(each):
        return pyarrow.field(each.name, pyarrow.list_(pyarrow.field("item", kind, False)), False)
    return pyarrow.field(each.name, kind)


def is_repeated(each: Any) -> bool:
    """protobuf 6 says so by a name of its own, and warns of the older way."""
    said = getattr(each, "is_repeated", None)
    return bool(said) if said is not None else getattr(each, "label", None) == FieldDescriptor.LABEL_REPEATED


HEAD = ("file", "position", "record", "ours", "type", "peerID", "timestamp")
"""What every row of bronze has: the landing file, the place of the record there, its number among the good
ones, the whole event as our line of JSON where go's schema has not all of it, and go's own three."""


def bronze_schema(kind: BodyType | None) -> Any:
    """The columns of the bronze file of one type; None: of our own types, which are all in `ours`."""
    kinds = {
        "file": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        "position": pyarrow.int64(),
        "record": pyarrow.int64(),
        "ours": pyarrow.string(),
    }
    go = schema_of()
    head = [pyarrow.field(name, kinds[name]) if name in kinds else go.field(name) for name in HEAD]
    return pyarrow.schema([*head, go.field(kind.field)] if kind is not None else head)


def bad_schema() -> Any:
    """The columns of quarantine: where a record stood, what is wrong with it, how it begins."""
    return pyarrow.schema(
        [
            ("file", pyarrow.string()),
            ("position", pyarrow.int64()),
            ("problem", pyarrow.string()),
            ("raw", pyarrow.binary()),
        ]
    )


def decode(frames: Sequence[bytes]) -> Any:
    """Serialised TraceEvents as a record batch of go's columns. Raises ValueError where one of them is
    none."""
    handler = _handler()
    if handler is None:
        return decode_slowly(frames)
    try:
        return handler.list_to_record_batch(list(frames))
    except BaseException as error:
        # A length that overflows makes ptars panic, which is no Exception; the slow way names the error.
        if type(error).__name__ != "PanicException":
            raise
        return decode_slowly(frames)


_handlers: list[Any] = []


def _handler() -> Any:
    if not _handlers:
        try:
            import ptars
        except ImportError:
            _handlers.append(None)
        else:
            pool = ptars.HandlerPool([Wire.DESCRIPTOR.file])
            _handlers.append(pool.get_for_message(Wire.DESCRIPTOR))
    return _handlers[0]


def decode_slowly(frames: Sequence[bytes]) -> Any:
    """`decode` without ptars, ten times slower: what it is held against, and what stands in for it."""
    from google.protobuf.message import DecodeError

    rows = []
    for frame in frames:
        try:
            rows.append(_plain(Wire.FromString(frame)))
        except DecodeError as error:
            raise ValueError(str(error)) from None
    return pyarrow.RecordBatch.from_pylist(rows, schema_of())


def _plain(message: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for each in message.DESCRIPTOR.fields:
        held = getattr(message, each.name)
        if is_repeated(each):
            row[each.name] = [_plain(v) if each.message_type is not None else v for v in held]
        elif message.HasField(each.name):
            row[each.name] = _plain(held) if each.message_type is not None else held
    return row
