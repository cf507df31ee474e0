"""Landing: files as they were received, never edited. What each one is, and its records in their order.

Known are the carriers of go-libp2p-pubsub's trace and ours, Hermes's lines of JSON, and tables of deliveries.
Which of them a file is, its first bytes say and not its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from quidnunc.pipeline.trace.carriers import (
    Carrier,
    CarrierRecord,
    begins_table,
    carrier_of,
    damage_of,
    open_plain,
)
from quidnunc.pipeline.trace.deliveries import COLUMNS, Deliveries
from quidnunc.pipeline.trace.files import (
    BadRecord,
    TraceReader,
    digest_of,
    found_with_side,
    nothing_in,
    side_of,
    size_and_time,
)
from quidnunc.pipeline.trace.hermes import HermesLines
from quidnunc.pipeline.trace.shapes import TraceError

Kind: TypeAlias = Carrier | Literal["hermes", "deliveries", "unknown"]
HEAD_BYTES = 4096


@frozen(kw_only=True)
class LandingFile:
    """One file of a landing folder."""

    path: Path
    digest: str
    """SHA-256 of it and of its side file, in hexadecimal."""
    kind: Kind
    size: int
    time_ns: int = 0
    """When it was last written."""
    problem: str = ""
    """Of a file of unknown kind: what it starts with."""
    name: str = ""
    """What the run calls it that takes it in."""
    place: str = ""
    """Where the run has it from: its path, of which the folder is free of links."""

    @property
    def key(self) -> str:
        """Its name wherever the pipeline keeps something of it."""
        return self.digest[:32]

    @property
    def fast(self) -> bool:
        """All of it is in go's schema, as protobuf: it can be read a block at a time."""
        return self.kind in ("protobuf", "batches") and not side_of(self.path).is_file()


def landing_file(path: Path) -> LandingFile:
    """What one file is."""
    size, time_ns = size_and_time(path)
    digest = digest_of(path).hex()
    if side_of(path).is_file():
        digest = _joined(digest, digest_of(side_of(path)).hex())
    made = LandingFile(path=path, digest=digest, kind="unknown", size=size, time_ns=time_ns)
    try:
        return evolve(made, kind=_kind_of(path))
    except TraceError as error:
        return evolve(made, problem=str(error))


def _joined(first: str, second: str) -> str:
    import hashlib

    return hashlib.sha256(f"{first} {second}".encode()).hexdigest()


def _kind_of(path: Path) -> Kind:
    with path.open("rb") as raw:
        plain = open_plain(raw)
        head = plain.read(HEAD_BYTES)
    if not head and (damage := damage_of(plain)):
        raise TraceError(damage.problem)
    if not head:
        if side_of(path).is_file():
            return "json"
        raise TraceError(nothing_in(path))
    first = head.split(b"\n", 1)[0]
    lacking = [name for name in COLUMNS if name.encode() not in first]
    if not lacking:
        return "deliveries"
    if begins_table(first):
        raise TraceError(f"a table of deliveries without the column {', '.join(lacking)}")
    kind = carrier_of(head)
    return "hermes" if kind == "json" and _of_hermes(first) else kind


def _of_hermes(line: bytes) -> bool:
    """Hermes writes `Type` where go writes `type`; its first line may be longer than what was looked at."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        return line.startswith(b'{"Type"')
    return isinstance(plain, dict) and "Type" in plain and "type" not in plain


def records_of(file: LandingFile) -> Iterator[CarrierRecord]:
    """Every record, good and bad, in the order of the file. Of what is broken for good, the place is the
    last."""
    if file.kind == "unknown":
        yield CarrierRecord(0, None, file.problem)
    elif file.kind == "hermes" or file.kind == "deliveries":
        yield from _of_others(file)
    else:
        reading = TraceReader([file.path])
        for found in found_with_side(file.path, reading):
            yield from _drained(reading.bad)
            yield found
        yield from _drained(reading.bad)


def _of_others(file: LandingFile) -> Iterator[CarrierRecord]:
    events = HermesLines(file.path) if file.kind == "hermes" else Deliveries(file.path)
    try:
        for event in events:
            yield from _drained(events.bad)
            yield CarrierRecord(events.line, event)
    except TraceError as error:
        yield CarrierRecord(events.line, None, str(error))
    yield from _drained(events.bad)


def _drained(bad: list[BadRecord]) -> Iterator[CarrierRecord]:
    for each in bad:
        yield CarrierRecord(each.position, None, f"{each.file.name}: {each.problem}", each.lost)
    bad.clear()
