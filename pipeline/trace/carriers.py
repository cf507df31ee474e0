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
from typing import Any, BinaryIO, Literal, TypeAlias

from attrs import evolve, frozen

from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.json_lines import event_of_line
from quidnunc.pipeline.trace.proto import event_of_bytes, events_of_batch
from quidnunc.pipeline.trace.shapes import CORRUPT, CUT_OFF, TraceError

Carrier: TypeAlias = Literal["json", "protobuf", "batches"]
"""`json`: go's JSONTracer, and ours. `protobuf`: go's PBTracer, and `traced`, which compresses it. `batches`:
what go's RemoteTracer sends, always compressed."""

MAX_RECORD_BYTES = 4 << 20
"""Of one event, or of one batch of them."""
MAX_VARINT_BYTES = 10
BATCH_EVENTS = 16
"""How many events go's remote tracer waits for."""
GZIP = b"\x1f\x8b"
TABLE_COLUMN = b"col1_peer"
"""The first column of a table of deliveries (`pipeline/trace/deliveries.py`)."""
GZIP_CHUNK = 1 << 14
BUFFER = 1 << 18


@frozen
class CarrierRecord:
    """One record: its event, or what is wrong with it; its line, from 1, or its byte, from 0."""

    position: int
    event: TraceEvent | None
    problem: str = ""
    lost: int = 0
    """Bytes in which more records may have been."""


@frozen
class CutRecord:
    """Bytes that are no record, and why."""

    problem: str
    lost: int = 0


# -- writing ------------------------------------------------------------------------------------------------


def gzip_stream(into: BinaryIO) -> gzip.GzipFile:
    """A gzip stream that says nothing of when it was written."""
    return gzip.GzipFile(filename="", mode="wb", fileobj=into, mtime=0)


# -- reading ------------------------------------------------------------------------------------------------


class Gunzip(io.RawIOBase):
    """A gzip stream, decompressed up to its end, or up to the very byte where it is damaged: then `problem`
    says how, and `lost` how many compressed bytes are behind that place."""

    def __init__(self, stream: BinaryIO) -> None:
        self.problem = ""
        self.lost = 0
        self._stream = stream
        self._left = b""
        self._inflate: Any = None
        self._near_damage = False
        self._in_member = False
        """Whether the member that is read has given a byte."""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        found = b""
        while (not found or self._near_damage and len(found) < len(into)) and not self.problem:
            self._left = self._left or self._stream.read(GZIP_CHUNK)
            if self._inflate is None:
                # Members may follow one another, and zeros behind the last.
                self._left = self._left.lstrip(b"\0")
                if not self._left and self._stream.peek(1):  # type: ignore[attr-defined]
                    continue
                if not self._left:
                    break
                self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
            ended = not self._left
            found += self._some(len(into) - len(found))
            if ended and not found and not self.problem:
                self.problem = "cut off: the gzip stream has no end"
        into[: len(found)] = found
        return len(found)

    def _some(self, most: int) -> bytes:
        step = 1 if self._near_damage else len(self._left)
        before = self._inflate.copy()
        try:
            found: bytes = self._inflate.decompress(self._left[:step], most)
        except zlib.error as error:
            if self._near_damage:
                here = self._stream.tell()
                self.lost = len(self._left) + self._stream.seek(0, io.SEEK_END) - here
                why = str(error).rpartition(": ")[2]
                what = f"{CORRUPT}: {why}" if self._in_member else f"bytes that are no gzip stream: {why}"
                self.problem = f"{what}; {self.lost} compressed bytes are lost"
            # What precedes the damage comes out a byte at a time.
            self._near_damage, self._inflate = True, before
            return b""
        rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        self._left = rest + self._left[step:]
        if self._inflate.eof:
            self._inflate, self._near_damage, self._in_member = None, False, False
        else:
            self._in_member |= bool(found)
        return found


def open_plain(stream: BinaryIO) -> BinaryIO:
    """`stream` from its start, decompressed where it is a gzip stream."""
    head = stream.read(2)
    stream.seek(0)
    return io.BufferedReader(Gunzip(stream), BUFFER) if head == GZIP else stream


def damage_of(stream: BinaryIO) -> CutRecord | None:
    """Why a stream of `open_plain` has ended too early; None where it has not."""
    raw = getattr(stream, "raw", None)
    return CutRecord(raw.problem, raw.lost) if isinstance(raw, Gunzip) and raw.problem else None


def cut_at_end(stream: BinaryIO, rest: int, otherwise: str = "") -> CutRecord:
    """What is wrong with the last `rest` bytes of a stream, whose records nobody can tell apart."""
    damage = damage_of(stream) or CutRecord(otherwise)
    return CutRecord(damage.problem, damage.lost + rest)


def not_believed(stream: BinaryIO, rest: int, problem: str) -> CutRecord:
    """What is wrong from a place on behind which nothing can be believed: `rest` bytes and all that the
    stream still has. It is read to its end, where a checksum may say why."""
    lost = rest + bytes_behind(stream)
    damage = damage_of(stream)
    return (
        CutRecord(f"{problem}; {damage.problem}", damage.lost + lost) if damage else CutRecord(problem, lost)
    )


def bytes_behind(stream: BinaryIO) -> int:
    """How many bytes a stream still has; it is read to its end."""
    return sum(map(len, iter(lambda: stream.read(BUFFER), b"")))


BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
ONE_A_LINE = "write one event a line, in UTF-8"


def begins_table(head: bytes) -> bool:
    """Whether the first bytes of a file are the header of a table of deliveries, whole or in part."""
    first = head.split(b"\n", 1)[0]
    # An event may have a peer or a topic of that name.
    return TABLE_COLUMN in first and b"{" not in first and b"\x08" not in first


def _mistaken(head: bytes) -> str:
    """What else the first bytes of a file are, and what to do about it; empty where they may be a trace."""
    if head and not head.strip():
        return "has no record: all of it is blank"
    if begins_table(head):
        return "a table of deliveries: `quidnunc ingest` it first"
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return f"begins with a byte-order mark of {encoding}: {ONE_A_LINE} without such a mark"
    if len(head) >= 8 and any(head[:8:2]) != any(head[1:8:2]):
        return f"looks like UTF-16: {ONE_A_LINE}"
    text = head.lstrip()
    # Of a batch of 91 bytes the first event may be shorter than 123, which is the brace.
    if text[:1] == b"[" and text[1:].lstrip()[:1] == b"{":
        return f"a JSON array: {ONE_A_LINE}"
    return ""


def carrier_of(head: bytes) -> Carrier:
    """What the first bytes of a decompressed trace are. Raises TraceError where they are none of the three.

    A record begins with its length, then with the number of its first field: the type of an event, or a
    batch's first event. A line of JSON begins with a brace, which is also the length 123.
    """
    if said := _mistaken(head):
        raise TraceError(said)
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
    records = lines_of(stream) if carrier == "json" else _frames(stream)
    while True:
        try:
            position, data = next(records)
        except StopIteration:
            return
        if isinstance(data, CutRecord):
            yield CarrierRecord(position, None, data.problem, data.lost)
        elif carrier == "batches":
            yield from _of_batch(position, data, unknown)
        elif carrier == "json":
            found = _found(position, data, event_of_line, unknown)
            cut = found.event is None and not data.endswith(b"\n")
            said = f"{CUT_OFF}: the last line has no end ({found.problem})"
            yield evolve(found, problem=said, lost=len(data)) if cut else found
        else:
            yield _found(position, data, event_of_bytes, unknown)


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


def lines_of(stream: BinaryIO) -> Iterator[tuple[int, bytes | CutRecord]]:
    """The lines of a stream that are not blank, with their numbers from 1."""
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if len(line) > MAX_RECORD_BYTES:
            lost = len(line)
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_RECORD_BYTES)
                lost += len(line)
            yield number, CutRecord(f"a line of more than {MAX_RECORD_BYTES} bytes", lost)
        elif not line.endswith(b"\n") and damage_of(stream):
            yield number, cut_at_end(stream, len(line))
            return
        elif line.strip():
            yield number, line
    if damage := damage_of(stream):
        yield number + 1, damage


def _frames(stream: BinaryIO) -> Iterator[tuple[int, bytes | CutRecord]]:
    at = 0
    while True:
        start = at
        length, used, broken = _varint(stream)
        at += used
        if broken:
            yield start, cut_at_end(stream, used + bytes_behind(stream), broken)
            return
        if length is None:
            if damage := damage_of(stream):
                yield start, damage
            return
        if length > MAX_RECORD_BYTES:
            # Where the next record begins is said by this one's length, which cannot be believed.
            said = f"a record of {length} bytes; the most that is read is {MAX_RECORD_BYTES}"
            yield start, not_believed(stream, used, said)
            return
        data = stream.read(length)
        at += len(data)
        if len(data) < length:
            said = f"cut off: {len(data)} of {length} bytes of the record are there"
            yield start, cut_at_end(stream, at - start, said)
            return
        yield start, data


def _varint(stream: BinaryIO) -> tuple[int | None, int, str]:
    """(value, bytes used, what is wrong); the value is None at the end."""
    value = 0
    for at in range(MAX_VARINT_BYTES):
        byte = stream.read(1)
        if not byte:
            return None, at, "cut off inside a record's length" if at else ""
        value |= (byte[0] & 0x7F) << 7 * at
        if not byte[0] & 0x80:
            return value, at + 1, ""
    return None, MAX_VARINT_BYTES, "a record's length has no end"
