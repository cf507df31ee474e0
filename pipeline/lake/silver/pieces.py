"""From bronze towards silver: the rows of a folder of bronze, split by bucket, its ids as numbers of its own.

The way to silver is a shuffle through files, because its two halves then are Arrow from end to end and each
piece is there whole or not at all. Which bucket a peer is in depends on nothing but its id.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.pipeline.lake.bronze.events import blocks_in, run_starts
from quidnunc.pipeline.lake.run_folder import RunFolder, made_whole
from quidnunc.pipeline.lake.silver.columns import IdTables, piece_of
from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, TABLES, silver_schema
from quidnunc.properties.lazy import numpy, parquet, pyarrow

BLOCK_ROWS = 131_072
ROWS, BUCKETS = "rows.arrow", "buckets.npy"
"""All rows of a batch, a record batch of Arrow for each bucket in each block; and the bucket of each of them.
One file for each bucket would be millions of files."""
VALUE = {"peers": "binary", "messages": "binary", "names": "string"}


@frozen(kw_only=True)
class SilverPieceRequest:
    """What a worker is told: the rows of one folder of bronze, in so many buckets."""

    root: str
    key: str
    buckets: int


def pieces_folder(run: RunFolder, key: str, buckets: int) -> Path:
    """Where the pieces of one folder of bronze are."""
    return run.work / "pieces" / f"{key}-{buckets}"


def make_pieces(wanted: SilverPieceRequest) -> str:
    """The pieces of one folder of bronze, made or found; returns its key."""
    run = RunFolder(wanted.root)
    target = pieces_folder(run, wanted.key, wanted.buckets)
    if not target.is_dir():
        with made_whole(target, run.work) as part:
            _write(run.bronze(wanted.key), part, wanted.buckets)
    return wanted.key


def _write(bronze: Path, part: Path, buckets: int) -> None:
    ids = IdTables()
    met = {table: numpy.zeros(0, numpy.int64) for table in TABLES}
    bucket_of: list[int] = []
    of_batches: list[int] = []
    with pyarrow.ipc.new_file(part / ROWS, silver_schema()) as into:
        starts = run_starts(bronze)
        for kind, block in blocks_in(bronze, BLOCK_ROWS):
            piece = piece_of(kind, block, ids, starts)
            for table in TABLES:
                met[table] = _first_met(met[table], table, piece, len(ids.tables[table]))
            peers = list(ids.tables["peers"])
            bucket_of += [zlib.crc32(peer) % buckets for peer in peers[len(bucket_of) :]]
            for bucket, rows in _split(piece, bucket_of, buckets):
                into.write_batch(rows)
                of_batches.append(bucket)
    numpy.save(part / BUCKETS, numpy.array(of_batches, numpy.int32))
    _write_ids(ids, met, part)


def _first_met(met: Any, table: str, piece: Any, count: int) -> Any:
    """`met`, the first record that each id of a table is in, after one more piece; `count` ids are known."""
    grown = numpy.full(count, numpy.iinfo(numpy.int64).max)
    grown[: len(met)] = met
    records = piece["seq"].to_numpy()
    for column in IDS:
        if TABLE_OF[column] == table:
            numbers = piece[column].to_numpy()
            here = numbers >= 0
            numpy.minimum.at(grown, numbers[here], records[here])
    return grown


def _split(piece: Any, bucket_of: list[int], buckets: int) -> Iterator[tuple[int, Any]]:
    """Buckets, and their rows as record batches."""
    # The last is for rows without a peer, whose number is -1.
    where = numpy.array([*bucket_of, 0], numpy.int32)[piece["peer"].to_numpy()]
    order = numpy.argsort(where, kind="stable")
    piece = piece.take(pyarrow.array(order)).combine_chunks()
    ends = numpy.searchsorted(where[order], numpy.arange(buckets + 1))
    for bucket in numpy.flatnonzero(numpy.diff(ends)):
        start, end = int(ends[bucket]), int(ends[bucket + 1])
        for rows in piece.slice(start, end - start).to_batches():
            yield int(bucket), rows


def _write_ids(ids: IdTables, met: Mapping[str, Any], part: Path) -> None:
    """The ids in the order of the records that they are in, which depends on the files alone and not on how
    they were batched; beside each the number that it has in these pieces."""
    for table in TABLES:
        values = list(ids.tables[table])
        order = sorted(zip(met[table].tolist(), values, range(len(values)), strict=True))
        columns = {
            "value": pyarrow.array([value for _, value, _ in order], getattr(pyarrow, VALUE[table])()),
            "number": pyarrow.array([number for _, _, number in order], pyarrow.int32()),
        }
        parquet.write_table(pyarrow.table(columns), part / f"{table}.parquet", compression="lz4")


def read_piece_ids(folder: Path, table: str) -> tuple[Any, Any]:
    """The ids of a folder of pieces, in order: values, and the number of each in these pieces."""
    read = parquet.read_table(folder / f"{table}.parquet")
    return read["value"], read["number"].to_numpy()


def read_piece(folder: Path, bucket: int) -> Iterator[Any]:
    """The rows of one bucket in a folder of pieces, as tables."""
    wanted = numpy.flatnonzero(numpy.load(folder / BUCKETS) == bucket)
    if len(wanted):
        with pyarrow.memory_map(str(folder / ROWS)) as source:
            rows = pyarrow.ipc.open_file(source)
            yield pyarrow.Table.from_batches([rows.get_batch(int(at)) for at in wanted])
