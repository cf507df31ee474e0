"""The parts of a silver: rows that were taken in together have files of their own, until parts are merged.

So an addition costs what it adds. What was there is written again whenever `FAN` parts of about a size have
come together, which is a few times however a run grows.

    bucket-BBBBB-PPPPPPPPP.parquet   rows of one bucket of peers, sorted by peer and sequence
    TABLE-PPPPPPPPP.parquet          the ids that are new with the part, with their numbers
    last-BBBBB.parquet               of each peer and run in the bucket, the time of its last event

P is the number of the part's first file among the files of the run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.pipeline.lake.silver.schema import TABLES
from quidnunc.properties.lazy import parquet, pyarrow

FAN = 8
SMALL_RECORDS = 65_536
"""Parts of fewer records are of one size."""


@frozen
class SilverPart:
    """Rows that are in files of their own."""

    first: int
    """The number of its first file among the files of the run."""
    records: int

    @property
    def tier(self) -> int:
        """Its size, as a number of steps of which each is `FAN` times the one before."""
        tier = 0
        while self.records > SMALL_RECORDS * FAN**tier:
            tier += 1
        return tier


@frozen
class MergePlan:
    """What becomes of the parts of a silver when another comes."""

    kept: tuple[SilverPart, ...]
    merged: tuple[SilverPart, ...]
    """Those that go into the new part."""
    made: SilverPart


def merge_plan(parts: Sequence[SilverPart], new: SilverPart, full: int) -> MergePlan:
    """Merge the last parts with a new one where they are many of its size. One of `full` records or more is
    never written again, so that a bucket of a part always fits in memory."""
    made, at = new, len(parts)
    while True:
        start = at
        while start and parts[start - 1].tier <= made.tier and parts[start - 1].records < full:
            start -= 1
        if at - start < FAN - 1:
            break
        made = SilverPart(parts[start].first, made.records + sum(p.records for p in parts[start:at]))
        at = start
    return MergePlan(tuple(parts[:at]), tuple(parts[at:]), made)


def bucket_file(folder: Path, bucket: int, part: SilverPart) -> Path:
    """Where one bucket of a part is in the folder of a silver."""
    return folder / f"bucket-{bucket:05}-{part.first:09}.parquet"


def ids_file(folder: Path, table: str, part: SilverPart) -> Path:
    """Where the ids are that are new with a part."""
    return folder / f"{table}-{part.first:09}.parquet"


def last_file(folder: Path, bucket: int) -> Path:
    """Where the last times of the peers of a bucket are."""
    return folder / f"last-{bucket:05}.parquet"


def bucket_files(silver: Path) -> list[Path]:
    """All files of rows, those of a bucket together, in the order of its parts."""
    return sorted(silver.glob("bucket-*.parquet"))


def buckets_in(silver: Path) -> list[tuple[Path, ...]]:
    """The files of each bucket."""
    found: dict[str, list[Path]] = {}
    for path in bucket_files(silver):
        found.setdefault(path.name.split("-")[1], []).append(path)
    return [tuple(paths) for paths in found.values()]


def id_values(silver: Path, table: str) -> Any:
    """The ids of a table by their numbers, as an Arrow array in chunks."""
    kind = pyarrow.string() if table == "names" else pyarrow.binary()
    files = sorted(silver.glob(f"{table}-*.parquet"))
    chunks = [c for f in files for c in parquet.read_table(f, columns=["value"])["value"].chunks]
    return pyarrow.chunked_array(chunks, kind)


def read_ids(silver: Path) -> dict[str, list[Any]]:
    """The tables of ids of a silver: the value of each number."""
    return {table: id_values(silver, table).to_pylist() for table in TABLES}


def keep_parts(old: Path, into: Path, kept: Sequence[SilverPart]) -> None:
    """The files of some parts in another folder too; they are never edited, so a link will do."""
    names = {f"{part.first:09}" for part in kept}
    for path in old.glob("*-*.parquet"):
        if path.stem.rsplit("-", 1)[1] in names and not path.name.startswith("last-"):
            try:
                os.link(path, into / path.name)
            except FileExistsError:
                pass
            except OSError:
                # A file system without links.
                shutil.copyfile(path, into / path.name)
