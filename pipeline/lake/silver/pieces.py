"""From bronze towards silver: the rows of one landing file, split by bucket, its ids as numbers of its own.

The way to silver is a shuffle through files, because its two halves then are Arrow from end to end and each
piece is there whole or not at all. Which bucket a peer is in depends on nothing but its id.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.pipeline.lake.bronze.events import blocks_in, run_starts
from quidnunc.pipeline.lake.run_folder import RunFolder, made_whole
from quidnunc.pipeline.lake.silver.columns import IdTables, piece_of
from quidnunc.pipeline.lake.silver.schema import TABLES, silver_schema
from quidnunc.properties.lazy import numpy, parquet, pyarrow

BLOCK_ROWS = 131_072
VALUE = {"peers": "binary", "messages": "binary", "names": "string"}


@frozen(kw_only=True)
class SilverPieceRequest:
    """What a worker is told: the rows of one bronze file, in so many buckets."""

    root: str
    key: str
    buckets: int


def pieces_folder(run: RunFolder, key: str, buckets: int) -> Path:
    """Where the pieces of one landing file are."""
    return run.work / "pieces" / f"{key}-{buckets}"


def make_pieces(wanted: SilverPieceRequest) -> str:
    """The pieces of one bronze file, made or found; returns its key."""
    run = RunFolder(wanted.root)
    target = pieces_folder(run, wanted.key, wanted.buckets)
    if not target.is_dir():
        with made_whole(target, run.work) as part:
            _write(run.bronze(wanted.key), part, wanted.buckets)
    return wanted.key


def _write(bronze: Path, part: Path, buckets: int) -> None:
    ids = IdTables()
    bucket_of: list[int] = []
    into: dict[int, Any] = {}
    try:
        starts = run_starts(bronze)
        for kind, block in blocks_in(bronze, BLOCK_ROWS):
            piece = piece_of(kind, block, ids, starts)
            peers = list(ids.tables["peers"])
            bucket_of += [zlib.crc32(peer) % buckets for peer in peers[len(bucket_of) :]]
            _split(piece, bucket_of, buckets, part, into)
    finally:
        for writer in into.values():
            writer.close()
    _write_ids(ids, part)


def _split(piece: Any, bucket_of: list[int], buckets: int, part: Path, into: dict[int, Any]) -> None:
    # The last is for rows without a peer, whose number is -1.
    where = numpy.array([*bucket_of, 0], numpy.int32)[piece["peer"].to_numpy()]
    order = numpy.argsort(where, kind="stable")
    piece = piece.take(pyarrow.array(order))
    ends = numpy.searchsorted(where[order], numpy.arange(buckets + 1))
    for bucket in range(buckets):
        start, end = int(ends[bucket]), int(ends[bucket + 1])
        if start == end:
            continue
        if bucket not in into:
            into[bucket] = pyarrow.ipc.new_file(part / f"bucket-{bucket:05}.arrow", silver_schema())
        into[bucket].write_table(piece.slice(start, end - start))


def _write_ids(ids: IdTables, part: Path) -> None:
    for table in TABLES:
        kind = getattr(pyarrow, VALUE[table])()
        values = pyarrow.array(list(ids.tables[table]), kind)
        parquet.write_table(pyarrow.table({"value": values}), part / f"{table}.parquet", compression="lz4")


def read_ids(folder: Path) -> dict[str, list[Any]]:
    """The tables of ids in a folder of pieces or of silver: the value of each number."""
    return {
        t: parquet.read_table(folder / f"{t}.parquet", columns=["value"])["value"].to_pylist() for t in TABLES
    }
