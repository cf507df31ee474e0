"""Traces written as each carrier has them: the kit itself writes lines of JSON alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from quidnunc.pipeline.trace.carriers import BATCH_EVENTS, MAX_RECORD_BYTES, Carrier, gzip_stream
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import side_of
from quidnunc.pipeline.trace.json_lines import Names, line_of, object_of
from quidnunc.pipeline.trace.proto import bytes_of, go_form, message_of
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.trace_pb2 import TraceEventBatch

CARRIERS: tuple[Carrier, ...] = ("json", "protobuf", "batches")


def write_trace(
    events: Iterable[TraceEvent], path: Path, carrier: Carrier = "json", names: Names = "new"
) -> int:
    """Write a trace, and its side file where it needs one; returns how many events. A name that ends in
    `.gz` is compressed. Both files appear when they are whole; an older side file is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part, side_part = (
        path.with_name(path.name + ".part"),
        side_of(path).with_name(side_of(path).name + ".part"),
    )
    counts = [0, 0]
    with part.open("wb") as raw, side_part.open("wb") as side:
        wanted = _kept(events, side, counts) if carrier != "json" else _counted(events, counts)
        if path.suffix == ".gz" and carrier != "batches":
            with gzip_stream(raw) as stream:
                write_events(wanted, stream, carrier, names)  # type: ignore[arg-type]
        else:
            write_events(wanted, raw, carrier, names)
    if counts[1]:
        os.replace(side_part, side_of(path))
    else:
        side_part.unlink()
        side_of(path).unlink(missing_ok=True)
    os.replace(part, path)
    return counts[0]


def _counted(events: Iterable[TraceEvent], counts: list[int]) -> Iterator[TraceEvent]:
    for event in events:
        counts[0] += 1
        yield event


def _kept(events: Iterable[TraceEvent], side: BinaryIO, counts: list[int]) -> Iterator[TraceEvent]:
    """What the file holds of `events`; whatever it cannot hold whole goes to `side`."""
    for event in events:
        reduced = go_form(event)
        if reduced != event:
            entry = {"at": counts[0], "reduced": reduced is not None, "event": object_of(event)}
            side.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
            counts[1] += 1
        counts[0] += 1
        if reduced is not None:
            yield reduced


def write_events(
    events: Iterable[TraceEvent], into: BinaryIO, carrier: Carrier = "json", names: Names = "new"
) -> None:
    """Write `events`. Raises TraceError for an event that a protobuf carrier cannot hold."""
    if carrier == "json":
        for event in events:
            into.write(line_of(event, names).encode() + b"\n")
    elif carrier == "protobuf":
        for event in events:
            into.write(_delimited(bytes_of(event)))
    else:
        with gzip_stream(into) as stream:
            waiting: list[TraceEvent] = []
            for event in events:
                waiting.append(event)
                if len(waiting) == BATCH_EVENTS:
                    stream.write(_delimited(batch_bytes(waiting)))
                    waiting = []
            if waiting:
                stream.write(_delimited(batch_bytes(waiting)))


def _delimited(data: bytes) -> bytes:
    if len(data) > MAX_RECORD_BYTES:
        raise TraceError(f"a record of {len(data)} bytes is longer than {MAX_RECORD_BYTES}, which are read")
    length, head = len(data), bytearray()
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + data


def batch_bytes(events: list[TraceEvent]) -> bytes:
    """Several events as one TraceEventBatch."""
    return TraceEventBatch(batch=[message_of(e) for e in events]).SerializeToString()
