"""Traces as files: read with every bad record kept aside and counted.

Beside a file of go's protobuf stands a side file for what go's schema cannot hold: each such event, with its
place among the others, and whether the file has it too, reduced.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import field, frozen, mutable

from quidnunc.pipeline.trace.carriers import (
    MAX_RECORD_BYTES,
    CarrierRecord,
    carrier_of,
    damage_of,
    found_in,
    open_plain,
)
from quidnunc.pipeline.trace.clocks import TimeWatch
from quidnunc.pipeline.trace.events import RunStart, TraceEvent
from quidnunc.pipeline.trace.json_lines import event_of
from quidnunc.pipeline.trace.proto import go_form
from quidnunc.pipeline.trace.shapes import CORRUPT, CUT_OFF, TraceError, read_int
from quidnunc.properties.bounded import printable

SIDE = ".side.jsonl"
UNFINISHED = (".part", ".tmp")
BESIDE = frozenset({"scenario.yaml", "scenario.json", "summary.json"})
"""Files that stand beside a simulated trace in its directory, and are none."""
HEAD_BYTES = 4096
"""Of a file, what is looked at to tell what it is."""
LIVE = "current"
"""The file that go's `traced` is writing to."""
MAX_FILES = 1_000_000
MAX_BAD_KEPT = 1000
"""Bad records that are kept with their places; the rest is counted."""
MAX_UNKNOWN_KEPT = 100
MAX_PEERS = 100_000


EMPTY = "empty so far"
State: TypeAlias = Literal["unfinished", "duplicate", "unreadable", "ignored"]
"""Why a file of a directory is not taken."""
INCOMPLETE: tuple[State, ...] = ("unfinished", "unreadable")
"""The states that leave a run incomplete."""


@frozen
class LeftOut:
    """One entry of a directory that is not taken, and the reason."""

    path: Path
    state: State
    reason: str

    def __str__(self) -> str:
        return f"{printable(str(self.path))}: {self.state}: {self.reason}"


@frozen
class BadRecord:
    """One record that could not be read: file, line (from 1) or byte (from 0), and why."""

    file: Path
    position: int
    problem: str
    lost: int = 0

    def __str__(self) -> str:
        return f"{printable(str(self.file))}:{self.position}: {self.problem}"

    @property
    def is_cut(self) -> bool:
        """Whether the file ends within it."""
        return self.problem.startswith(CUT_OFF)


@frozen
class TraceRecord:
    """One event, and where it stood."""

    event: TraceEvent
    file: Path
    position: int


@mutable
class TraceReader:
    """Iterated over, it gives the records of `files` in their order; what was met on the way is counted."""

    files: Sequence[Path]
    bad: list[BadRecord] = field(factory=list)
    bad_count: int = 0
    lost: int = 0
    """Bytes in which more records may have been."""
    good_count: int = 0
    unknown: Counter[str] = field(factory=Counter)
    """Fields that no schema here has, by their place."""
    duplicates: list[tuple[Path, Path]] = field(factory=list)
    """Files left out because an earlier one has the same bytes: (file, the earlier one)."""
    left_out: list[LeftOut] = field(factory=list)
    """What is in a directory and is not taken, and files in which there is nothing."""
    steps_back: Counter[bytes] = field(factory=Counter)
    """How often a peer's clock stood before that of its event before. Their order is that of the file."""
    has_runs: bool = False
    """Whether a recorded or simulated run begins in it."""
    _last_ns: dict[bytes, int] = field(factory=dict)
    _watch: TimeWatch = field(factory=TimeWatch)

    def __iter__(self) -> Iterator[TraceRecord]:
        seen: dict[bytes, Path] = {}
        for file in self.files:
            digest = digest_of(file)
            if digest in seen:
                self.duplicates.append((file, seen[digest]))
                continue
            seen[digest] = file
            had = self.good_count + self.bad_count
            for found in found_with_side(file, self):
                if found.event is None:
                    self._reject(BadRecord(file, found.position, found.problem, found.lost))
                    continue
                self.good_count += 1
                self._note_clock(found.event)
                yield TraceRecord(found.event, file, found.position)
            if had == self.good_count + self.bad_count:
                self.left_out.append(LeftOut(file, "unfinished", nothing_in(file)))
            while len(self.unknown) > MAX_UNKNOWN_KEPT:
                self.unknown.popitem()

    def events(self) -> Iterator[TraceEvent]:
        """The events alone."""
        for record in self:
            yield record.event

    def _reject(self, bad: BadRecord) -> None:
        self.bad_count += 1
        self.lost += bad.lost
        if len(self.bad) < MAX_BAD_KEPT:
            self.bad.append(bad)

    def _note_clock(self, event: TraceEvent) -> None:
        if isinstance(event.body, RunStart):
            # Each recorded run has a clock of its own, that begins at 0.
            self._last_ns.clear()
            self.has_runs = True
        if event.at_ns is None:
            return
        self._watch.note(event.at_ns)
        if event.peer is None:
            return
        last = self._last_ns.get(event.peer)
        if last is not None and event.at_ns < last:
            self.steps_back[event.peer] += 1
        if last is not None or len(self._last_ns) < MAX_PEERS:
            self._last_ns[event.peer] = event.at_ns

    def warnings(self) -> list[str]:
        """What is odd about the times, a line for each."""
        return [] if self.has_runs else self._watch.odd().warnings()

    def not_whole(self) -> str:
        """What was not read that may have been part of the trace, in a line; empty where all was."""
        found = []
        if cut := next((bad for bad in self.bad if bad.is_cut), None):
            found.append(f"the trace is cut off at {printable(str(cut.file))}:{cut.position}")
        if self.bad_count:
            found.append(not_read(self.bad_count, self.lost))
        if any(CORRUPT in bad.problem for bad in self.bad):
            found.append("a gzip stream fails its checksum, so that any event of it may be wrong")
        if lacking := [each for each in self.left_out if each.state in INCOMPLETE]:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            found.append(f"{lacking[0]}{more}")
        return "; ".join(found)

    def demand_some(self) -> None:
        """Raises TraceError, with the first bad record, where not one event could be read."""
        if not self.good_count:
            first = "".join(f"; {each.state}: {each.reason}" for each in self.left_out[:1])
            if self.bad:
                records = "record" if self.bad_count == 1 else "records"
                first = f"; the first of {self.bad_count} bad {records}: {self.bad[0]}"
            names = ", ".join(map(str, self.files[:3]))
            raise TraceError(f"{names}: contains no trace event{first}")


def nothing_in(file: Path) -> str:
    """How to say that there is no record in a file."""
    return "a gzip stream of nothing so far" if file.stat().st_size else EMPTY


def not_read(records: int, lost: int) -> str:
    """`2 records could not be read, at least 9 bytes lost`."""
    said = f"{records} {'record' if records == 1 else 'records'} could not be read"
    return f"{said}, at least {lost} {'byte' if lost == 1 else 'bytes'} lost" if lost else said


def read_trace(*paths: Path) -> TraceReader:
    """A reading of `files_in` these paths. Raises TraceError."""
    files, left_out = files_in(*paths)
    if not files:
        said = "; ".join(map(str, left_out[:3]))
        raise TraceError(f"{', '.join(map(str, paths))}: contains no trace{said and f' ({said})'}")
    return TraceReader(files, left_out=left_out)


@frozen
class SourceFile:
    """A file that may be a trace, as its directory has it."""

    source: int
    """The number of the path, among those that were asked for, that led to it."""
    path: str
    size: int
    """Bytes of it and of its side file."""
    time_ns: int
    """When the later of the two was last written."""


def files_in(*paths: Path) -> tuple[list[Path], list[LeftOut]]:
    """Files and the files in directories, each directory's `in_order`; and what else is in these, with the
    reason why it is no trace to be read.

    Raises TraceError for a path that is no file and no directory.
    """
    files, left_out = listed(*paths)
    return [Path(each.path) for each in sorted(files, key=in_order)], left_out


def listed(*paths: Path) -> tuple[list[SourceFile], list[LeftOut]]:
    """As `files_in`, and in no order: of many files, few are new at a time."""
    files: list[SourceFile] = []
    left_out: list[LeftOut] = []
    for source, path in enumerate(paths):
        if path.is_dir():
            with os.scandir(path) as scanned:
                entries = {entry.name: entry for entry in scanned}
            for name, entry in entries.items():
                found = _looked_at(entry, source, f"{name}{SIDE}" in entries)
                if isinstance(found, SourceFile):
                    files.append(found)
                else:
                    left_out.append(found)
        elif path.is_file():
            files.append(_with_side(str(path), path.stat(), source, Path(f"{path}{SIDE}").exists()))
        else:
            raise TraceError(
                f"{path}: {'is no regular file' if path.exists() else 'no such file or directory'}"
            )
        if len(files) > MAX_FILES:
            raise TraceError(f"{path}: more than {MAX_FILES} files; give them a directory at a time")
    return files, sorted(left_out, key=lambda each: _by_name(each.path.name))


def in_order(file: SourceFile) -> tuple[int, list[str | int], str]:
    """Of the files that are listed: as their sources were named, and by name in each, digits read as
    numbers, so that bob-10 is after bob-9."""
    parts, name = _by_name(os.path.basename(file.path))
    return file.source, parts, name


def _by_name(name: str) -> tuple[list[str | int], str]:
    parts = re.split(r"([0-9]+)", name)
    return [int(part) if at % 2 else part for at, part in enumerate(parts)], name


def size_and_time(path: Path) -> tuple[int, int]:
    """Of a file with its side file: what tells whether it can be another than it was."""
    found = _with_side(str(path), os.stat(path), 0, os.access(f"{path}{SIDE}", os.F_OK))
    return found.size, found.time_ns


def _with_side(path: str, own: os.stat_result, source: int, has_side: bool) -> SourceFile:
    if not has_side:
        return SourceFile(source, path, own.st_size, own.st_mtime_ns)
    side = os.stat(f"{path}{SIDE}")
    return SourceFile(source, path, own.st_size + side.st_size, max(own.st_mtime_ns, side.st_mtime_ns))


def _looked_at(entry: os.DirEntry[str], source: int, has_side: bool) -> SourceFile | LeftOut:
    """One entry of a directory."""
    try:
        if (why := _left_out(entry)) is None:
            return _with_side(entry.path, entry.stat(), source, has_side)
        return LeftOut(Path(entry.path), *why)
    except OSError as error:
        return LeftOut(Path(entry.path), "unreadable", error.strerror or str(error))


def _left_out(entry: os.DirEntry[str]) -> tuple[State, str] | None:
    """Why one entry of a directory is not read; None where it is. Raises OSError."""
    name = entry.name
    if entry.is_symlink() and not _is_inside(Path(entry.path)):
        # A stranger's directory may lead anywhere.
        return "unreadable", "a link out of the directory: name what it leads to as a source of its own"
    found = entry.stat()
    if stat.S_ISDIR(found.st_mode):
        return "ignored", "a directory: name it as a source of its own"
    if not stat.S_ISREG(found.st_mode):
        return "ignored", "no regular file"
    if name in BESIDE:
        return "ignored", "describes a simulated run"
    if name.endswith(SIDE):
        main = Path(entry.path.removesuffix(SIDE))
        return (
            ("ignored", f"read with {main.name}")
            if main.is_file()
            else ("unfinished", f"{main.name} is not there")
        )
    if name.startswith(".") and not _begins_as_trace(Path(entry.path)):
        return "ignored", "hidden, and does not begin as a trace does"
    if name == LIVE or name.startswith(".") or name.endswith(UNFINISHED):
        return "unfinished", "its name says that it is still written"
    return None if found.st_size else ("unfinished", EMPTY)


def _is_inside(link: Path) -> bool:
    """Whether what a link leads to is below its own directory. A loop of links is, as it leads nowhere."""
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(link.parent))


def _begins_as_trace(path: Path) -> bool:
    try:
        with path.open("rb") as raw:
            carrier_of(open_plain(raw).read(64))
    except TraceError:
        return False
    return True


def digest_of(file: Path) -> bytes:
    """SHA-256 of what is in it."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _found(file: Path, reading: TraceReader) -> Iterator[CarrierRecord]:
    with file.open("rb") as raw:
        plain = open_plain(raw)
        head = plain.peek(HEAD_BYTES)[:HEAD_BYTES]  # type: ignore[attr-defined]
        if not head and (damage := damage_of(plain)):
            yield CarrierRecord(0, None, damage.problem, damage.lost)
        if not head:
            return
        try:
            carrier = carrier_of(head)
        except TraceError as error:
            yield CarrierRecord(0, None, str(error))
            return
        yield from found_in(plain, carrier, reading.unknown)


# -- what go's schema cannot hold --------------------------------------------------------------------------


@frozen
class _SideEvent:
    """One event of a side file."""

    at: int
    reduced: bool
    event: TraceEvent
    line: int


def found_with_side(file: Path, reading: TraceReader) -> Iterator[CarrierRecord]:
    """The records of a file, those of its side file put in their places; what is bad in the side file is
    noted in `reading`."""
    side = side_of(file)
    asides = iter(_asides(side, reading) if side.is_file() else ())
    with closing(_found(file, reading)) as main:  # type: ignore[type-var]
        aside = next(asides, None)
        at = 0
        while True:
            if aside is not None and aside.at == at and not aside.reduced:
                yield CarrierRecord(aside.line, aside.event)
                aside, at = next(asides, None), at + 1
                continue
            found = next(main, None)
            if found is None:
                break
            if aside is not None and aside.at == at:
                found = _restored(found, aside)
                aside = next(asides, None)
            yield found
            at += 1
    while aside is not None:
        # The file has fewer records than its side file counts on: it was cut off.
        if aside.reduced:
            yield CarrierRecord(
                aside.line, None, f"{side.name}:{aside.line}: belongs to a record that is not there"
            )
        else:
            yield CarrierRecord(aside.line, aside.event)
        aside = next(asides, None)


def _restored(found: CarrierRecord, aside: _SideEvent) -> CarrierRecord:
    if found.event is None or go_form(aside.event) == found.event:
        return found if found.event is None else CarrierRecord(found.position, aside.event)
    return CarrierRecord(found.position, None, f"another event than line {aside.line} of the side file says")


def _asides(side: Path, reading: TraceReader) -> Iterator[_SideEvent]:
    last = -1
    with side.open("rb") as stream:
        line = 0
        while data := stream.readline(MAX_RECORD_BYTES + 1):
            line += 1
            try:
                read = _aside(data, line, last)
            except TraceError as error:
                reading._reject(BadRecord(side, line, str(error)))
                continue
            last = read.at
            yield read


def _aside(data: bytes, line: int, last: int) -> _SideEvent:
    try:
        plain = json.loads(data)
    except (ValueError, RecursionError):
        raise TraceError("not JSON, or longer than what is read") from None
    if not isinstance(plain, dict) or not isinstance(plain.get("reduced"), bool):
        raise TraceError("expected an object with at, reduced and event")
    at = read_int(plain.get("at"), "at")
    if at <= last:
        raise TraceError(f"place {at} comes after place {last}")
    return _SideEvent(at, plain["reduced"], event_of(plain.get("event")), line)


def side_of(file: Path) -> Path:
    """Where the side file of a trace stands."""
    return file.with_name(file.name + SIDE)
