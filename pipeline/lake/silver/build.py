"""Bronze to silver: one file for each bucket of peers, sorted by peer and sequence, and the tables of ids.

What is added later comes behind what was there: files keep their order, and ids their numbers. A new silver
is made of the one before and the new files, under a name of its own, and the manifest then points to it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.pipeline.lake.bronze.build import BronzeEntry
from quidnunc.pipeline.lake.engines.seam import TaskRunner
from quidnunc.pipeline.lake.run_folder import SCHEMA, RunFolder, version_of, write_json
from quidnunc.pipeline.lake.silver.pieces import (
    SilverPieceRequest,
    make_pieces,
    pieces_folder,
    read_ids,
    read_piece_ids,
)
from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, TABLES, silver_schema
from quidnunc.properties.lazy import numpy, parquet, pyarrow

ROW_GROUP = 262_144
ROWS_PER_BUCKET = 2_000_000
MIN_BUCKETS = 8
DESCRIPTION = "silver.json"
STEPS_BACK = "clock_steps_back"


@frozen(kw_only=True)
class FilePlace:
    """Where the records of one folder of bronze are among all: the first's number, and how many RUN events
    before."""

    key: str
    first: int
    runs: int


@frozen(kw_only=True)
class SilverBucketRequest:
    """What a worker is told: one bucket of a silver, made of the silver before and the pieces of new
    files."""

    root: str
    target: str
    before: str | None
    files: tuple[FilePlace, ...]
    maps: str
    bucket: int
    buckets: int


def buckets_for(entries: Sequence[BronzeEntry]) -> int:
    """How many buckets a run of this size gets, once and for all."""
    records = sum(e.records for e in entries)
    return max(MIN_BUCKETS, -(-records // ROWS_PER_BUCKET))


def silver_name(entries: Sequence[BronzeEntry], buckets: int) -> str:
    """The version of the silver of these files in this order."""
    return version_of("silver", SCHEMA, buckets, _files(entries))


def _files(entries: Sequence[BronzeEntry]) -> list[str]:
    """What tells the files of a silver, however they were batched."""
    return [entry.digest[:32] for entry in entries]


def places_of(entries: Sequence[BronzeEntry], known: int = 0) -> list[FilePlace]:
    """Where the records of each batch begin, without the batches of the first `known` files."""
    places: dict[str, FilePlace] = {}
    first = runs = 0
    for at, entry in enumerate(entries):
        if at >= known and entry.key not in places:
            places[entry.key] = FilePlace(key=entry.key, first=first, runs=runs)
        first, runs = first + entry.records, runs + entry.runs
    return list(places.values())


def make_silver(
    run: RunFolder, entries: Sequence[BronzeEntry], buckets: int, before: str | None, runner: TaskRunner
) -> str:
    """The silver of all `entries`, made or found; returns its version.

    `before` is the silver of the first so many of them, or None.
    """
    version = silver_name(entries, buckets)
    target = run.silver(version)
    if (target / DESCRIPTION).is_file():
        return version
    known = 0
    if before is not None and run.silver(before).is_dir():
        known = len(json.loads((run.silver(before) / DESCRIPTION).read_bytes())["keys"])
    old = run.silver(before) if before is not None and known else None
    places = places_of(entries, known)
    wanted = [SilverPieceRequest(root=str(run.root), key=p.key, buckets=buckets) for p in places]
    runner(make_pieces, wanted, "bronze to pieces")
    # Buckets that a former attempt has finished are kept: the folder is found by its version.
    making = run.work / f"silver-{version}.making"
    making.mkdir(parents=True, exist_ok=True)
    maps = making / "maps"
    counts = _merge_ids(run, old, places, buckets, making, maps)
    asked = [
        SilverBucketRequest(
            root=str(run.root),
            target=str(making),
            before=None if old is None else str(old),
            files=tuple(places),
            maps=str(maps),
            bucket=bucket,
            buckets=buckets,
        )
        for bucket in range(buckets)
    ]
    rows = runner(make_bucket, asked, "pieces to silver")
    _finish(run, making, target, entries, {**counts, "rows": sum(rows), "buckets": buckets})
    return version


def _finish(
    run: RunFolder, making: Path, target: Path, entries: Sequence[BronzeEntry], counts: dict[str, int]
) -> None:
    shutil.rmtree(making / "maps", ignore_errors=True)
    buckets = [parquet.read_schema(bucket_file(making, at)).metadata for at in range(counts["buckets"])]
    counts["clock_steps_back"] = sum(int((each or {}).get(STEPS_BACK.encode(), 0)) for each in buckets)
    write_json(making / DESCRIPTION, {"keys": _files(entries), **counts})
    target.parent.mkdir(parents=True, exist_ok=True)
    making.rename(target)
    shutil.rmtree(run.work / "pieces", ignore_errors=True)


# -- ids ----------------------------------------------------------------------------------------------------


def _merge_ids(
    run: RunFolder, old: Path | None, places: Sequence[FilePlace], buckets: int, making: Path, maps: Path
) -> dict[str, int]:
    """The tables of ids of a silver, and of each new file the numbers that its own numbers stand for."""
    known: dict[str, dict[Any, int]] = {}
    before = read_ids(old) if old is not None else {t: [] for t in TABLES}
    for table in TABLES:
        known[table] = {value: at for at, value in enumerate(before[table])}
    maps.mkdir(exist_ok=True)
    for place in places:
        ids = read_piece_ids(pieces_folder(run, place.key, buckets))
        for table in TABLES:
            values, own = ids[table]
            numbers = known[table]
            mapped = numpy.empty(len(values), numpy.int32)
            mapped[own] = [numbers.setdefault(value, len(numbers)) for value in values]
            numpy.save(maps / f"{place.key}-{table}.npy", mapped)
    for table in TABLES:
        kind = pyarrow.string() if table == "names" else pyarrow.binary()
        columns = {
            "id": pyarrow.array(numpy.arange(len(known[table]), dtype=numpy.int32)),
            "value": pyarrow.array(list(known[table]), kind),
        }
        parquet.write_table(pyarrow.table(columns), making / f"{table}.parquet", compression="zstd")
    return {table: len(known[table]) for table in TABLES}


# -- one bucket ---------------------------------------------------------------------------------------------


def bucket_file(folder: Path, bucket: int) -> Path:
    """Where one bucket is in the folder of a silver."""
    return folder / f"bucket-{bucket:05}.parquet"


def make_bucket(wanted: SilverBucketRequest) -> int:
    """One bucket, made or found; returns how many rows it has."""
    target = bucket_file(Path(wanted.target), wanted.bucket)
    if target.is_file():
        return int(parquet.read_metadata(target).num_rows)
    tables = [*_before(wanted), *_new(wanted)]
    table = pyarrow.concat_tables(tables) if tables else silver_schema().empty_table()
    table = table.take(_by_peer_and_sequence(table))
    table = table.replace_schema_metadata({STEPS_BACK: str(_steps_back(table))})
    part = target.with_suffix(".part")
    plain = ["seq", "at_ns"]
    parquet.write_table(
        table,
        part,
        compression="zstd",
        compression_level=1,
        row_group_size=ROW_GROUP,
        use_dictionary=[n for n in table.column_names if n not in (*plain, "value", "more")],
        column_encoding=dict.fromkeys(plain, "DELTA_BINARY_PACKED"),
    )
    part.rename(target)
    return int(table.num_rows)


def _steps_back(table: Any) -> int:
    """How often, within a run, an event of a peer is earlier by its clock than the one before it."""
    known = table.select(["run", "peer", "at_ns"]).filter(table["at_ns"].is_valid())
    run, peer = (known[name].fill_null(-1).to_numpy() for name in ("run", "peer"))
    same = (run[1:] == run[:-1]) & (peer[1:] == peer[:-1]) & (peer[1:] >= 0)
    return int(numpy.count_nonzero(same & (numpy.diff(known["at_ns"].to_numpy()) < 0)))


def clock_steps_back(silver: Path) -> int:
    """How often clocks stepped back, in the order of the files of a silver."""
    return int(json.loads((silver / DESCRIPTION).read_bytes()).get("clock_steps_back", 0))


def _by_peer_and_sequence(table: Any) -> Any:
    """Where each row of the order is; rows of one event stay as they are."""
    by_seq = numpy.argsort(table["seq"].to_numpy(), kind="stable")
    peers = table["peer"].fill_null(-1).combine_chunks().dictionary_encode()
    rank = numpy.argsort(numpy.argsort(peers.dictionary.to_numpy()))
    # Of 16 bits numpy sorts by counting, seven times as fast.
    rank = rank.astype(numpy.int16 if len(rank) < 1 << 15 else numpy.int32)
    peer = rank[peers.indices.to_numpy()]
    return pyarrow.array(by_seq[numpy.argsort(peer[by_seq], kind="stable")])


def _before(wanted: SilverBucketRequest) -> Iterator[Any]:
    if wanted.before is not None:
        yield parquet.read_table(bucket_file(Path(wanted.before), wanted.bucket))


def _new(wanted: SilverBucketRequest) -> Iterator[Any]:
    run = RunFolder(wanted.root)
    for place in wanted.files:
        piece = pieces_folder(run, place.key, wanted.buckets) / f"bucket-{wanted.bucket:05}.arrow"
        if piece.is_file():
            with pyarrow.memory_map(str(piece)) as source:
                yield _global(pyarrow.ipc.open_file(source).read_all(), place, Path(wanted.maps))


def _global(table: Any, place: FilePlace, maps: Path) -> Any:
    """The rows of a piece with the numbers of the whole."""
    known = {t: numpy.append(numpy.load(maps / f"{place.key}-{t}.npy"), numpy.int32(-1)) for t in TABLES}
    columns = []
    for each in silver_schema():
        column = table[each.name]
        if each.name in IDS:
            numbers = known[TABLE_OF[each.name]][column.to_numpy()]
            column = pyarrow.array(numbers, each.type, mask=numbers < 0)
        elif each.name in ("seq", "run"):
            column = pyarrow.array(
                column.to_numpy() + (place.first if each.name == "seq" else place.runs), each.type
            )
        columns.append(column)
    return pyarrow.Table.from_arrays(columns, schema=silver_schema())
