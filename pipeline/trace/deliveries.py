"""Deliveries of gossipsub-testing (Whiteblock, 2019) as trace events: a CSV file, `.gz` or not.

One row is one delivery: at `col1_peer`, of message `msg_uuid`, received from `col2_peer` (the peer itself, of
its own message) at `t_recv_ns`. `t_sent_ns` is when a load generator queued it, long before, and is left
out: the publisher's own delivery stands for the publication. There is one clock, that of the host.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from attrs import field, mutable

from quidnunc.pipeline.trace.carriers import TABLE_COLUMN, damage_of, not_believed, open_plain
from quidnunc.pipeline.trace.events import DeliverMessage, PublishMessage, TraceEvent
from quidnunc.pipeline.trace.files import MAX_BAD_KEPT, BadRecord
from quidnunc.pipeline.trace.shapes import CUT_OFF, INT64, TraceError

COLUMNS = (TABLE_COLUMN.decode(), "col2_peer", "msg_uuid", "t_recv_ns")
MAX_LINE_CHARACTERS = 4096
_NO_TEXT = re.compile("[\ud800-\udfff]")
"""What a byte is read as that is no UTF-8: no text in UTF-8 has it."""


@mutable
class Deliveries:
    """Iterated over, it gives the events of `file`; bad rows are counted, and the first kept aside."""

    file: Path
    bad: list[BadRecord] = field(factory=list)
    bad_count: int = 0
    line: int = 0
    """Where the last event stood."""
    _unended: int = 0
    """Bytes of the last line, where nothing ends it."""

    def __iter__(self) -> Iterator[TraceEvent]:
        """Raises TraceError where the file is no table of deliveries. A table that is cut off has lost at
        least the row in which it ends."""
        with self.file.open("rb") as raw:
            plain = open_plain(raw)
            try:
                rows = csv.DictReader(self._lines(plain), skipinitialspace=True)
                rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
                lacking = [c for c in COLUMNS if c not in (rows.fieldnames or ())]
                if lacking and self.bad:
                    raise TraceError(f"{self.file}: its header cannot be read: {self.bad.pop().problem}")
                if lacking and (damage := damage_of(plain)):
                    raise TraceError(f"{self.file}: its header cannot be read: {damage.problem}")
                if lacking:
                    raise TraceError(f"{self.file}:1: no column {', '.join(lacking)}: no table of deliveries")
                twice = [c for c in COLUMNS if list(rows.fieldnames or ()).count(c) > 1]
                if twice:
                    raise TraceError(
                        f"{self.file}:1: column {twice[0]} is there twice: which one counts is not said"
                    )
                for row in rows:
                    self.line = rows.line_num
                    yield from self._row(row, rows.line_num)
            except csv.Error as error:
                cut = not_believed(plain, 0, f"cannot be read to its end: {error}")
                raise TraceError(f"{self.file}: {cut.problem}") from None
            if damage := damage_of(plain):
                self._reject(self.line + 1, damage.problem, max(1, damage.lost + self._unended))

    def _row(self, row: dict[str | None, str | None], line: int) -> Iterator[TraceEvent]:
        if None in row or None in row.values():
            self._reject_width(row, line)
            return
        # Who writes a blank behind a comma does not name another peer.
        values = [(row[c] or "").strip() for c in COLUMNS]
        peer, sender, message, at = values
        if empty := [c for c, value in zip(COLUMNS, values, strict=True) if not value]:
            self._reject(line, f"a row without {', '.join(empty)}")
            return
        if not at.isdecimal() or int(at) >= INT64:
            self._reject(line, f"t_recv_ns is no time in ns from 0 to 2^63 - 1: {at[:40]!r}")
            return
        if self._unended and next(reversed(row)) in COLUMNS:
            self._reject(
                line, f"{CUT_OFF}: the last line has no end, and what it ends in may go on", self._unended
            )
            return
        observer, name, at_ns = peer.encode(), message.encode(), int(at)
        if peer == sender:
            yield TraceEvent(PublishMessage(message_id=name), observer, at_ns)
        yield TraceEvent(DeliverMessage(message_id=name, received_from=sender.encode()), observer, at_ns)

    def _reject_width(self, row: Mapping[str | None, Any], line: int) -> None:
        """A row whose fields are not those of the header: which is which nobody can tell."""
        own = sum(name is not None and value is not None for name, value in row.items()) + len(
            row.get(None) or ()
        )
        of = sum(name is not None for name in row)
        said = f"{own} fields, where the header has {of}"
        if self._unended:
            self._reject(line, f"{CUT_OFF}: the last row has {said}", self._unended)
        else:
            self._reject(line, f"a row of {said}")

    def _reject(self, line: int, problem: str, lost: int = 0) -> None:
        self.bad_count += 1
        if len(self.bad) < MAX_BAD_KEPT:
            self.bad.append(BadRecord(self.file, line, problem, lost))

    def _lines(self, plain: BinaryIO) -> Iterator[str]:
        """The lines of the table, a blank one in place of one that is too long."""
        number = 0
        stream = io.TextIOWrapper(plain, encoding="utf-8-sig", errors="surrogateescape", newline="")
        while line := stream.readline(MAX_LINE_CHARACTERS + 1):
            number += 1
            if len(line) > MAX_LINE_CHARACTERS:
                lost = len(line)
                while line and not line.endswith("\n"):
                    line = stream.readline(MAX_LINE_CHARACTERS)
                    lost += len(line)
                self._reject(number, f"a line of more than {MAX_LINE_CHARACTERS} characters", lost)
                line = "\n"
            size = len(line.encode(errors="surrogateescape"))
            self._unended = 0 if line.endswith(("\n", "\r")) else size
            if self._unended and damage_of(plain):
                # Half of a number is another number.
                return
            if _NO_TEXT.search(line):
                # Characters in place of the bytes would make one peer of several.
                self._reject(number, "not UTF-8")
                line = "\n"
            elif line.count('"') % 2:
                # It would take the rows that follow into one field, up to the next quote.
                self._reject(number, "a quote that is not closed in its row", size)
                line = "\n"
            yield line
