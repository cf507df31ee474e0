"""Landing to bronze: one file at a time, its bad records put aside, with their places, and counted.

A file of protobuf is read a block at a time and decoded in columns; a block with a bad record in it is looked
at record by record. Everything else goes the long way, event by event, through the reader of traces.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen, mutable

from quidnunc.pipeline.lake.bronze.events import EventFiles
from quidnunc.pipeline.lake.bronze.frames import blocks_of, events_in
from quidnunc.pipeline.lake.bronze.schema import GO, bad_schema, decode
from quidnunc.pipeline.lake.landing import LandingFile, records_of
from quidnunc.pipeline.lake.run_folder import RunFolder, made_whole, write_json
from quidnunc.pipeline.trace.carriers import BATCH_EVENTS
from quidnunc.pipeline.trace.events import OURS, RunStart, TraceEvent
from quidnunc.pipeline.trace.files import printable
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.proto import bytes_of, event_of_bytes, events_of_batch, go_form
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire
from quidnunc.properties.lazy import numpy, parquet, pyarrow

MAX_BAD_KEPT = 100_000
"""Bad records of one file that are kept with their places; all are counted."""
MAX_RAW_BYTES = 256
"""How much of a bad record is kept."""
BATCH = 131_072
"""Records that are decoded at once."""
BAD, ENTRY = "bad.parquet", "entry.json"


@frozen(kw_only=True)
class BronzeEntry:
    """What bronze has of one landing file."""

    key: str
    digest: str
    name: str
    kind: str
    records: int
    bad: int
    runs: int
    """How many runs begin in it."""
    problem: str
    """The first bad record, or nothing."""
    types: dict[str, int]
    """How many events of each type."""
    lost: int = 0
    """Bytes in which records may have been that nobody can read."""
    path: str = ""
    """Where it landed; a run says it, and size and time, and bronze does not."""
    size: int = 0
    time_ns: int = 0


@mutable
class _Writer:
    """Collects rows of one bronze file."""

    folder: Path
    name: str
    events: EventFiles = field(init=False)
    bad: int = 0
    runs: int = 0
    lost: int = 0
    problem: str = ""
    _kept: list[tuple[int, str, bytes | None]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.events = EventFiles(self.folder, self.name)

    def reject(self, position: int, problem: str, raw: bytes | None = None, lost: int = 0) -> None:
        self.bad += 1
        self.lost += lost
        self.problem = self.problem or f"{self.name}:{position}: {problem}"
        if len(self._kept) < MAX_BAD_KEPT:
            self._kept.append((position, problem, raw[:MAX_RAW_BYTES] if raw is not None else None))

    def close(self) -> None:
        self.events.close()
        if self._kept:
            position, problem, raw = zip(*self._kept, strict=True)
            columns = [[self.name] * len(self._kept), position, problem, raw]
            table = pyarrow.Table.from_arrays(
                [pyarrow.array(c, f.type) for c, f in zip(columns, bad_schema(), strict=True)],
                schema=bad_schema(),
            )
            parquet.write_table(table, self.folder / BAD, compression="zstd")


def make_bronze(file: LandingFile, run: RunFolder) -> BronzeEntry:
    """Bronze of one landing file, made or found. What cannot be read is in its quarantine, not an error."""
    target = run.bronze(file.key)
    if not (target / ENTRY).is_file():
        with made_whole(target, run.work) as part:
            writer = _Writer(part, printable(file.path.name))
            if file.fast:
                _write_fast(file, writer)
            else:
                _write_slowly(records_of(file), writer)
            writer.close()
            entry = _entry(file, writer)
            write_json(part / ENTRY, {**entry, "name": writer.name})
    return read_entry(target)


def _entry(file: LandingFile, writer: _Writer) -> dict[str, Any]:
    return {
        "key": file.key,
        "digest": file.digest,
        "kind": file.kind,
        "records": writer.events.records,
        "bad": writer.bad,
        "runs": writer.runs,
        "lost": writer.lost,
        "problem": writer.problem,
        "types": {str(number): count for number, count in sorted(writer.events.types.items())},
    }


def read_entry(folder: Path) -> BronzeEntry:
    """What `make_bronze` wrote beside the events."""
    return BronzeEntry(**json.loads((folder / ENTRY).read_bytes()))


def _write_fast(file: LandingFile, writer: _Writer) -> None:
    batches = file.kind == "batches"
    for frames, starts, bad in blocks_of(file.path, BATCH // BATCH_EVENTS if batches else BATCH):
        if batches:
            inside = [events_in(batch) for batch in frames]
            pairs = [(f, s) for within, s in zip(inside, starts, strict=True) for f in within or ()]
            good = ([f for f, _ in pairs], [s for _, s in pairs])
            careful = partial(_of_batches, frames, starts, writer)
            _write_frames(good, careful, writer, sure=None not in inside)
        else:
            careful = partial(_of_single, frames, starts, writer)
            _write_frames((frames, starts), careful, writer, sure=True)
        for each in bad:
            writer.reject(*each)


Placed: TypeAlias = tuple[list[bytes], list[int]]
"""Events, and for each the place of its record."""


def _write_frames(placed: Placed, careful: Callable[[], Placed], writer: _Writer, *, sure: bool) -> None:
    """Write a block; where anything in it is bad, what the reader of single records makes of it."""
    columns = _decoded(placed[0]) if sure else None
    if columns is None:
        placed = careful()
        columns = _decoded(placed[0])
        assert columns is not None, "what was read one by one can be read together"
    writer.events.write(columns, placed[1], None)


def _decoded(events: list[bytes]) -> Any:
    try:
        columns = decode(events)
    except ValueError:
        return None
    return columns if _all_whole(columns) else None


def _of_single(frames: Sequence[bytes], starts: Sequence[int], writer: _Writer) -> Placed:
    good: Placed = [], []
    for frame, start in zip(frames, starts, strict=True):
        try:
            event = event_of_bytes(frame)
        except TraceError as error:
            writer.reject(start, str(error), frame)
        else:
            # Written anew: of a record that says a thing twice, decoders differ on what is wrong with it.
            good[0].append(bytes_of(event))
            good[1].append(start)
    return good


def _of_batches(batches: Sequence[bytes], starts: Sequence[int], writer: _Writer) -> Placed:
    good: Placed = [], []
    for batch, start in zip(batches, starts, strict=True):
        try:
            events = events_of_batch(batch)
        except TraceError as error:
            writer.reject(start, str(error), batch)
            continue
        for event in events:
            if isinstance(event, TraceEvent):
                good[0].append(bytes_of(event))
                good[1].append(start)
            else:
                writer.reject(start, str(event), batch)
    return good


def _all_whole(columns: Any) -> bool:
    """Every row has a type of go's and the body of that type alone."""
    kinds = columns["type"]
    if kinds.null_count:
        return False
    numbers = kinds.to_numpy(zero_copy_only=False)
    if ((numbers < 0) | (numbers >= len(GO))).any():
        return False
    for each in GO:
        body = columns[each.field]
        here = body.null_count < len(body)
        wanted = numbers == each.number
        if not here:
            if wanted.any():
                return False
        elif not numpy.array_equal(body.is_valid().to_numpy(zero_copy_only=False), wanted):
            return False
    return True


def _write_slowly(records: Iterable[Any], writer: _Writer) -> None:
    frames: list[bytes] = []
    starts: list[int] = []
    ours: list[str | None] = []
    for found in records:
        if found.event is None:
            writer.reject(found.position, found.problem, lost=found.lost)
            continue
        frame, line = _frame(found.event)
        writer.runs += isinstance(found.event.body, RunStart)
        frames.append(frame)
        starts.append(found.position)
        ours.append(line)
        if len(frames) == BATCH:
            writer.events.write(decode(frames), starts, ours)
            frames, starts, ours = [], [], []
    if frames:
        writer.events.write(decode(frames), starts, ours)


def _frame(event: TraceEvent) -> tuple[bytes, str | None]:
    """As much of an event as go's schema holds, and the whole of it where that is less."""
    reduced = go_form(event)
    if reduced is None:
        head = Wire(type=event.type.number)
        if event.peer is not None:
            head.peerID = event.peer
        if event.at_ns is not None:
            head.timestamp = event.at_ns
        assert event.type.number >= OURS
        return head.SerializeToString(), line_of(event)
    return bytes_of(reduced), None if reduced == event else line_of(event)
