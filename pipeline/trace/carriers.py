"""The carriers of traces: lines of JSON, protobuf after its length, and batches of it in a gzip stream.

A reader of bytes yields one `CarrierRecord` per record, good or bad, with its place; a record that is too
long, cut off or corrupt is one bad record, and reading goes on behind it where a carrier says where that is.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO, Literal, TypeAlias

from attrs import frozen

from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.json_lines import event_of_line
from quidnunc.pipeline.trace.proto import event_of_bytes, events_of_batch
from quidnunc.pipeline.trace.shapes import TraceError

Carrier: TypeAlias = Literal["json", "protobuf", "batches"]
"""`json`: go's JSONTracer, and ours. `protobuf`: go's PBTracer, and `traced`, which compresses it. `batches`:
what go's RemoteTracer sends, always compressed."""

MAX_RECORD_BYTES = 4 << 20
"""Of one event, or of one batch of them."""
MAX_VARINT_BYTES = 10
BATCH_EVENTS = 16
"""How many events go's remote tracer waits for."""
GZIP = b"\x1f\x8b"


@frozen
class CarrierRecord:
    """One record: its event, or what is wrong with it; its line, from 1, or its byte, from 0."""

    position: int
    event: TraceEvent | None
    problem: str = ""


@frozen
class CutRecord:
    """Bytes that are no record, and why."""

    problem: str


# -- writing ------------------------------------------------------------------------------------------------


def gzip_stream(into: BinaryIO) -> gzip.GzipFile:
    """A gzip stream that says nothing of when it was written."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=into, mtime=0)


# -- reading ------------------------------------------------------------------------------------------------


def open_plain(stream: BinaryIO) -> BinaryIO:
    """`stream` from its start, decompressed where it is a gzip stream."""
    head = stream.read(2)
    stream.seek(0)
    return io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb")) if head == GZIP else stream


def carrier_of(head: bytes) -> Carrier:
    """What the first bytes of a decompressed trace are. Raises TraceError where they are none of the three.

    A record begins with its length, then with the number of its first field: the type of an event, or a
    batch's first event. A line of JSON begins with a brace, which is also the length 123.
    """
    at = 0
    while at < min(len(head), MAX_VARINT_BYTES) and head[at] & 0x80:
        at += 1
    first = head[at + 1 : at + 2]
    blank = head[:1] in (b" ", b"\r", b"\n", b"\t") and head.lstrip()[:1] == b"{"
    if blank or head[:1] == b"{" and first not in (b"\x08", b"\n"):
        return "json"
    if first == b"\x08":
        return "protobuf"
    if first == b"\n":
        return "batches"
    raise TraceError(
        f"starts with {head[:12].hex(' ')}, which is no line of JSON, delimited protobuf or gzip stream of "
        "go-libp2p-pubsub's trace"
    )


def found_in(
    stream: BinaryIO, carrier: Carrier, unknown: Counter[str] | None = None
) -> Iterator[CarrierRecord]:
    """Every record of a decompressed stream, good and bad, in its order."""
    records = _lines(stream) if carrier == "json" else _frames(stream)
    while True:
        try:
            position, data = next(records)
        except StopIteration:
            return
        if isinstance(data, CutRecord):
            yield CarrierRecord(position, None, data.problem)
        elif carrier == "batches":
            yield from _of_batch(position, data, unknown)
        else:
            read = event_of_line if carrier == "json" else event_of_bytes
            yield _found(position, data, read, unknown)


def _found(
    position: int,
    data: bytes,
    read: Callable[[bytes, Counter[str] | None], TraceEvent],
    unknown: Counter[str] | None,
) -> CarrierRecord:
    try:
        return CarrierRecord(position, read(data, unknown))
    except TraceError as error:
        return CarrierRecord(position, None, str(error))


def _of_batch(position: int, data: bytes, unknown: Counter[str] | None) -> Iterator[CarrierRecord]:
    try:
        events = events_of_batch(data, unknown)
    except TraceError as error:
        yield CarrierRecord(position, None, str(error))
        return
    for each in events:
        good = isinstance(each, TraceEvent)
        yield CarrierRecord(
            position, each if isinstance(each, TraceEvent) else None, "" if good else str(each)
        )


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | CutRecord]]:
    number = 0
    while True:
        line, broken = _careful(lambda: stream.readline(MAX_RECORD_BYTES + 1))
        number += 1
        if broken:
            yield number, CutRecord(broken)
            return
        if not line:
            return
        if len(line) > MAX_RECORD_BYTES:
            yield number, CutRecord(f"a line of more than {MAX_RECORD_BYTES} bytes")
            while line and not line.endswith(b"\n"):
                line, broken = _careful(lambda: stream.readline(MAX_RECORD_BYTES))
                if broken:
                    yield number, CutRecord(broken)
                    return
        elif line.strip():
            yield number, line


def _frames(stream: BinaryIO) -> Iterator[tuple[int, bytes | CutRecord]]:
    at = 0
    while True:
        start = at
        length, used, broken = _varint(stream)
        at += used
        if broken:
            yield start, CutRecord(broken)
            return
        if length is None:
            return
        if length > MAX_RECORD_BYTES:
            # Where the next record begins is said by this one's length, which cannot be believed.
            yield start, CutRecord(f"a record of {length} bytes; the most that is read is {MAX_RECORD_BYTES}")
            return
        data, broken = _careful(lambda wanted=length: stream.read(wanted))  # type: ignore[misc]
        at += len(data)
        if broken or len(data) < length:
            yield (
                start,
                CutRecord(broken or f"cut off: {len(data)} of {length} bytes of the record are there"),
            )
            return
        yield start, data


def _varint(stream: BinaryIO) -> tuple[int | None, int, str]:
    """(value, bytes used, what broke); the value is None at the end."""
    value = 0
    for at in range(MAX_VARINT_BYTES):
        byte, broken = _careful(lambda: stream.read(1))
        if broken or not byte:
            return None, at, broken or ("cut off inside a record's length" if at else "")
        value |= (byte[0] & 0x7F) << 7 * at
        if not byte[0] & 0x80:
            return value, at + 1, ""
    return None, MAX_VARINT_BYTES, "a record's length has no end"


def _careful(read: Callable[[], bytes]) -> tuple[bytes, str]:
    """What was read, and what broke in a compressed stream."""
    try:
        return read(), ""
    except EOFError:
        return b"", "cut off: the gzip stream has no end"
    except (gzip.BadGzipFile, zlib.error) as error:
        return b"", f"the gzip stream is corrupt: {error}"
