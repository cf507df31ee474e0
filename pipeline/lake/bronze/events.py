"""The events of a batch of landing files in bronze: for each type a file of Parquet with its own columns.

An event of go's schema has the body of one type, and of the columns of all types nearly all would be null in
every row: they took half of the time of writing and of reading. The order of the events is in `record`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from quidnunc.pipeline.lake.bronze.schema import GO, HEAD, bronze_schema
from quidnunc.pipeline.trace.events import OURS, TYPE_OF_BODY, BodyType, RunStart
from quidnunc.properties.lazy import numpy, parquet, pyarrow

ROW_GROUP = 65_536
"""Rows that are written together."""


def event_file(folder: Path, kind: BodyType | None) -> Path:
    """Where the events of a type are in a bronze folder; None: those of our own types, which have no body."""
    return folder / f"events-{kind.enum if kind is not None else 'OURS'}.parquet"


@define
class _TypeFile:
    """The file of one type, and the rows that wait to be written to it."""

    path: Path
    schema: Any
    into: Any = None
    waiting: list[Any] = field(factory=list)
    count: int = 0

    def add(self, rows: Any) -> None:
        self.waiting.append(rows)
        self.count += rows.num_rows
        if self.count >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if not self.waiting:
            return
        if self.into is None:
            self.into = parquet.ParquetWriter(
                self.path,
                self.schema,
                compression="lz4",
                use_dictionary=["peerID", "file", "type"],
                write_statistics=False,
            )
        # Each batch of rows has a dictionary of its own.
        rows = pyarrow.Table.from_batches(self.waiting, self.schema).unify_dictionaries()
        self.into.write_table(rows.combine_chunks())
        self.waiting, self.count = [], 0

    def close(self) -> None:
        self.flush()
        if self.into is not None:
            self.into.close()


@define
class EventFiles:
    """Writes the events of a batch of landing files, numbered through all of them."""

    folder: Path
    records: int = 0
    _files: dict[str, _TypeFile] = field(factory=dict)

    def write(
        self,
        columns: Any,
        positions: Any,
        ours: Sequence[str | None] | None,
        files: Sequence[tuple[str, int]],
    ) -> None:
        """One record batch of go's columns, with the place of each row and its line of ours or None. `files`
        are the landing files that it is of, in their order: name, and how many rows."""
        count = columns.num_rows
        if not count:
            return
        names, rows = zip(*files, strict=True)
        file = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(numpy.repeat(numpy.arange(len(names), dtype=numpy.int32), rows)), list(names)
        )
        head = {
            "file": file,
            "position": pyarrow.array(positions, pyarrow.int64()),
            "record": pyarrow.array(numpy.arange(self.records, self.records + count)),
            "ours": pyarrow.nulls(count, pyarrow.string()) if ours is None else pyarrow.array(ours, "string"),
            **{name: columns[name] for name in ("type", "peerID", "timestamp")},
        }
        common = [head[name] for name in HEAD]
        numbers = columns["type"].to_numpy()
        here = set(numpy.unique(numbers).tolist())
        for each in (kind for kind in GO if kind.number in here):
            self._write(each, numbers == each.number, [*common, columns[each.field]])
        self._write(None, numbers >= OURS, common)
        self.records += count

    def _write(self, kind: BodyType | None, which: Any, arrays: Sequence[Any]) -> None:
        rows = numpy.flatnonzero(which)
        if not len(rows):
            return
        path = event_file(self.folder, kind)
        if path.name not in self._files:
            self._files[path.name] = _TypeFile(path, bronze_schema(kind))
        file = self._files[path.name]
        batch = pyarrow.RecordBatch.from_arrays(arrays, schema=file.schema)
        file.add(batch if len(rows) == batch.num_rows else batch.take(pyarrow.array(rows)))

    def close(self) -> None:
        """Write what waits. Without it the files are not whole."""
        for file in self._files.values():
            file.close()


def blocks_in(folder: Path, size: int) -> Iterator[tuple[BodyType | None, Any]]:
    """The type and the rows of record batches of at most `size`, all of one type and then all of the next;
    those of a type are in the order of the landing files."""
    for kind in (*GO, None):
        path = event_file(folder, kind)
        # A file without one good record has no events.
        if path.is_file():
            with parquet.ParquetFile(path) as file:
                for block in file.iter_batches(size, use_threads=False):
                    yield kind, block


def run_starts(folder: Path) -> Any:
    """The records that are RUN events, in their order, as an array of numpy."""
    path = event_file(folder, None)
    if not path.is_file():
        return numpy.zeros(0, numpy.int64)
    table = parquet.read_table(path, columns=["record", "type"])
    return table["record"].to_numpy()[table["type"].to_numpy() == TYPE_OF_BODY[RunStart].number]
