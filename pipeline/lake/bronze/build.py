"""Landing to bronze: a batch of files at a time, bad records put aside, with their places, and counted.

A file of protobuf is read a block at a time, and the blocks of small files are decoded together, in columns;
a block with a bad record in it is looked at record by record. Everything else goes the long way, event by
event, through the reader of traces.
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
from quidnunc.pipeline.lake.run_folder import RunFolder, made_whole, version_of, write_json
from quidnunc.pipeline.trace.carriers import BATCH_EVENTS
from quidnunc.pipeline.trace.events import OURS, TYPES, RunStart, TraceEvent
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.proto import bytes_of, event_of_bytes, events_of_batch, go_form
from quidnunc.pipeline.trace.shapes import CORRUPT, TraceError
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire
from quidnunc.properties.bounded import printable
from quidnunc.properties.lazy import numpy, parquet, pyarrow

MAX_BAD_KEPT = 100_000
"""Bad records of one file that are kept with their places; all are counted."""
MAX_RAW_BYTES = 256
"""How much of a bad record is kept."""
BATCH = 131_072
"""Records that are decoded at once."""
BATCH_BYTES = 8 << 20
BATCH_FILES = 1000
"""What is taken together of small files, at most."""
TYPE_NUMBERS = 1 + max(kind.number for kind in TYPES)
BAD, ENTRY = "bad.parquet", "entry.json"


@frozen(kw_only=True)
class BronzeEntry:
    """What bronze has of one landing file."""

    key: str
    """Of the folder that it is in, with the other files of its batch."""
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
    corrupt: bool = False
    """Whether records before the damage may be others than were written."""
    path: str = ""
    """Where it landed; a run says it, and size and time, and bronze does not."""
    size: int = 0
    time_ns: int = 0


@mutable
class _FileCounts:
    """What is counted of one landing file while its batch is written."""

    file: LandingFile
    name: str
    records: int = 0
    bad: int = 0
    runs: int = 0
    lost: int = 0
    corrupt: bool = False
    problem: str = ""
    types: Any = 0
    """Events of each type, as an array by its number; 0 where there is none."""
    kept: list[tuple[str, int, str, bytes | None]] = field(factory=list)

    def reject(self, position: int, problem: str, raw: bytes | None = None, lost: int = 0) -> None:
        self.bad += 1
        self.lost += lost
        self.corrupt |= CORRUPT in problem
        self.problem = self.problem or f"{self.name}:{position}: {problem}"
        if len(self.kept) < MAX_BAD_KEPT:
            self.kept.append((self.name, position, problem, raw[:MAX_RAW_BYTES] if raw is not None else None))

    def entry(self, key: str) -> dict[str, Any]:
        return {
            "key": key,
            "digest": self.file.digest,
            "name": self.name,
            "kind": self.file.kind,
            "records": self.records,
            "bad": self.bad,
            "runs": self.runs,
            "lost": self.lost,
            "corrupt": self.corrupt,
            "problem": self.problem,
            "types": {str(n): int(count) for n, count in enumerate(numpy.atleast_1d(self.types)) if count},
        }


Placed: TypeAlias = tuple[list[bytes], list[int]]
"""Events, and for each the place of its record."""


@frozen
class _Block:
    """Some of the events of a file, that wait to be decoded."""

    counts: _FileCounts
    placed: Placed
    careful: Callable[[], Placed]
    """Reads them one by one, and counts the bad ones."""


@mutable
class _Writer:
    """Collects rows of the files of one batch."""

    folder: Path
    files: list[_FileCounts] = field(factory=list)
    events: EventFiles = field(init=False)
    _waiting: list[_Block] = field(factory=list)
    _events: int = 0

    def __attrs_post_init__(self) -> None:
        self.events = EventFiles(self.folder)

    def begin(self, file: LandingFile) -> _FileCounts:
        counts = _FileCounts(file, printable(file.path.name))
        self.files.append(counts)
        return counts

    def add(self, block: _Block) -> None:
        """Events of a file, behind those of before."""
        if block.placed[0]:
            self._waiting.append(block)
            self._events += len(block.placed[0])
        if self._events >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Decode what waits together; where that fails, block by block, and the bad ones with care."""
        blocks, self._waiting, self._events = self._waiting, [], 0
        columns = _decoded([frame for block in blocks for frame in block.placed[0]]) if blocks else None
        if columns is not None:
            self._write(columns, [(block.counts, block.placed[1]) for block in blocks], None)
            return
        for block in blocks:
            frames, places = block.placed
            columns = _decoded(frames)
            if columns is None:
                frames, places = block.careful()
                columns = _decoded(frames)
                assert columns is not None, "what was read one by one can be read together"
            self._write(columns, [(block.counts, places)], None)

    def add_read(self, counts: _FileCounts, placed: Placed, ours: list[str | None]) -> None:
        """Events that the reader of traces has read, each with its line of ours or None."""
        self.flush()
        self._write(decode(placed[0]), [(counts, placed[1])], ours)

    def _write(
        self, columns: Any, files: Sequence[tuple[_FileCounts, list[int]]], ours: list[str | None] | None
    ) -> None:
        """Rows of some files, and the place of each row in its file."""
        places = [place for _, some in files for place in some]
        self.events.write(columns, places, ours, [(counts.name, len(some)) for counts, some in files])
        numbers, at = columns["type"].to_numpy(), 0
        for counts, some in files:
            counts.records += len(some)
            counts.types = counts.types + numpy.bincount(numbers[at : at + len(some)], minlength=TYPE_NUMBERS)
            at += len(some)

    def close(self) -> None:
        self.flush()
        self.events.close()
        kept = [each for counts in self.files for each in counts.kept]
        if kept:
            columns = zip(zip(*kept, strict=True), bad_schema(), strict=True)
            table = pyarrow.Table.from_arrays(
                [pyarrow.array(column, kind.type) for column, kind in columns], schema=bad_schema()
            )
            parquet.write_table(table, self.folder / BAD, compression="zstd")


def batches_of(files: Sequence[LandingFile]) -> list[tuple[LandingFile, ...]]:
    """Files in their order, small ones together: each batch is a task, and a folder of bronze."""
    batches: list[list[LandingFile]] = []
    size = 0
    for file in files:
        if not batches or size + file.size > BATCH_BYTES or len(batches[-1]) >= BATCH_FILES:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return [tuple(batch) for batch in batches]


def key_of(files: Sequence[LandingFile]) -> str:
    """The folder of a batch in bronze; of one file its own key."""
    return files[0].key if len(files) == 1 else version_of("batch", [file.key for file in files])


def make_bronze(files: Sequence[LandingFile], run: RunFolder) -> list[BronzeEntry]:
    """Bronze of a batch of files, made or found. What cannot be read is in quarantine, not an error."""
    key = key_of(files)
    target = run.bronze(key)
    if not (target / ENTRY).is_file():
        with made_whole(target, run.work) as part:
            writer = _Writer(part)
            for file in files:
                counts = writer.begin(file)
                if file.fast:
                    _write_fast(file, counts, writer)
                else:
                    _write_slowly(records_of(file), counts, writer)
            writer.close()
            write_json(part / ENTRY, {"files": [counts.entry(key) for counts in writer.files]})
    return read_entries(target)


def read_entries(folder: Path) -> list[BronzeEntry]:
    """What `make_bronze` wrote beside the events."""
    found = json.loads((folder / ENTRY).read_bytes())
    # A folder of before there were batches has one file.
    return [BronzeEntry(**each) for each in found.get("files", [found])]


def _write_fast(file: LandingFile, counts: _FileCounts, writer: _Writer) -> None:
    batches = file.kind == "batches"
    for frames, starts, bad in blocks_of(file.path, BATCH // BATCH_EVENTS if batches else BATCH):
        if batches:
            inside = [events_in(batch) for batch in frames]
            pairs = [(f, s) for within, s in zip(inside, starts, strict=True) for f in within or ()]
            good = ([f for f, _ in pairs], [s for _, s in pairs])
            careful = partial(_of_batches, frames, starts, counts)
            # Where a batch has something else in it, nothing of the block can be decoded together.
            writer.add(_Block(counts, ([b""], [0]) if None in inside else good, careful))
        else:
            writer.add(_Block(counts, (frames, starts), partial(_of_single, frames, starts, counts)))
        for each in bad:
            # Behind the bad records of the block.
            writer.flush()
            counts.reject(*each)


def _decoded(events: list[bytes]) -> Any:
    try:
        columns = decode(events)
    except ValueError:
        return None
    return columns if _all_whole(columns) else None


def _of_single(frames: Sequence[bytes], starts: Sequence[int], counts: _FileCounts) -> Placed:
    good: Placed = [], []
    for frame, start in zip(frames, starts, strict=True):
        try:
            event = event_of_bytes(frame)
        except TraceError as error:
            counts.reject(start, str(error), frame)
        else:
            # Written anew: of a record that says a thing twice, decoders differ on what is wrong with it.
            good[0].append(bytes_of(event))
            good[1].append(start)
    return good


def _of_batches(batches: Sequence[bytes], starts: Sequence[int], counts: _FileCounts) -> Placed:
    good: Placed = [], []
    for batch, start in zip(batches, starts, strict=True):
        try:
            events = events_of_batch(batch)
        except TraceError as error:
            counts.reject(start, str(error), batch)
            continue
        for event in events:
            if isinstance(event, TraceEvent):
                good[0].append(bytes_of(event))
                good[1].append(start)
            else:
                counts.reject(start, str(event), batch)
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


def _write_slowly(records: Iterable[Any], counts: _FileCounts, writer: _Writer) -> None:
    placed: Placed = [], []
    ours: list[str | None] = []
    for found in records:
        if found.event is None:
            counts.reject(found.position, found.problem, lost=found.lost)
            continue
        frame, line = _frame(found.event)
        counts.runs += isinstance(found.event.body, RunStart)
        placed[0].append(frame)
        placed[1].append(found.position)
        ours.append(line)
        if len(ours) == BATCH:
            writer.add_read(counts, placed, ours)
            placed, ours = ([], []), []
    if ours:
        writer.add_read(counts, placed, ours)


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
