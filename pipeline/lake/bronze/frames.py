"""Delimited protobuf in blocks: many records at a time, each with the byte at which it stands.

What `trace/carriers.py` does a record at a time, and to the same result: a record that is too long or cut off
is reported with its place, and nothing behind it is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from quidnunc.pipeline.trace.carriers import (
    MAX_RECORD_BYTES,
    MAX_VARINT_BYTES,
    cut_at_end,
    damage_of,
    not_believed,
    open_plain,
)

READ_BYTES = 16 << 20
BATCH_FIELD = 0x0A
"""Number 1, of bytes: an event in a batch of go's remote tracer."""

Bad: TypeAlias = tuple[int, str, bytes | None, int]
Block: TypeAlias = tuple[list[bytes], list[int], list[Bad]]
"""Records, the byte at which each begins, and bad records: place, problem, bytes, and how many
bytes are lost with it."""


def blocks_of(path: Path, size: int) -> Iterator[Block]:
    """The records of a file, about `size` at a time; the places are those of the decompressed file."""
    with path.open("rb") as raw:
        yield from _blocks(open_plain(raw), size)


def _blocks(stream: BinaryIO, size: int) -> Iterator[Block]:
    rest, base = b"", 0
    while True:
        new = stream.read(READ_BYTES)
        data = rest + new
        for frames, starts, used, problem in _split(data, size):
            bad: list[Bad] = []
            if problem:
                cut = not_believed(stream, len(data) - used, problem)
                bad = [(base + used, cut.problem, data[used : used + 64], cut.lost)]
            yield frames, [base + s for s in starts] if base else starts, bad
            if problem:
                return
        rest, base = data[used:], base + used
        if not new:
            if rest or damage_of(stream):
                cut = cut_at_end(stream, len(rest), _cut(rest) if rest else "")
                yield [], [], [(base, cut.problem, rest or None, cut.lost)]
            return


def _split(data: bytes, size: int) -> Iterator[tuple[list[bytes], list[int], int, str]]:
    """Whole records of `data`: they, where they begin, how many bytes are used up, and what is wrong
    there."""
    at, end = 0, len(data)
    frames: list[bytes] = []
    starts: list[int] = []
    add, place, left = frames.append, starts.append, size
    # Ten million times: names looked up once, and the usual lengths, of one byte and of two, first.
    while at < end:
        length = data[at]
        body = at + 1
        if length > 0x7F:
            if body < end and data[body] < 0x80:
                length += (data[body] << 7) - 0x80
                body += 1
            else:
                length, body = _varint(data, at)
                if body < 0:
                    break
                if length > MAX_RECORD_BYTES:
                    yield frames, starts, at, _too_long(length)
                    return
        stop = body + length
        if stop > end:
            break
        add(data[body:stop])
        place(at)
        at = stop
        left -= 1
        if not left:
            yield frames, starts, at, ""
            frames, starts = [], []
            add, place, left = frames.append, starts.append, size
    yield frames, starts, at, ""


def _too_long(length: int) -> str:
    if length >= 1 << 70:
        return "a record's length has no end"
    return f"a record of {length} bytes; the most that is read is {MAX_RECORD_BYTES}"


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, place behind it); the place is -1 where the bytes end before the number does."""
    value = 0
    for shift in range(MAX_VARINT_BYTES):
        if at + shift >= len(data):
            return 0, -1
        byte = data[at + shift]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return 1 << 70, at


def _cut(rest: bytes) -> str:
    length, body = _varint(rest, 0)
    if body < 0:
        return "cut off inside a record's length"
    return f"cut off: {len(rest) - body} of {length} bytes of the record are there"


def events_in(batch: bytes) -> list[bytes] | None:
    """The events of one batch, each as it stands; None where there is anything else in it."""
    found: list[bytes] = []
    at, end = 0, len(batch)
    while at < end:
        if batch[at] != BATCH_FIELD:
            return None
        length, body = _varint(batch, at + 1)
        if body < 0 or body + length > end:
            return None
        found.append(batch[body : body + length])
        at = body + length
    return found
