"""Bronze to silver: rows in buckets of peers, sorted by peer and sequence, and the tables of ids.

What is added later comes behind what was there: files keep their order, and ids their numbers. A new silver
has the parts of the one before (`parts.py`) and one of the new files, under a name of its own. The manifest
then points to it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import field, frozen

from quidnunc.pipeline.lake.bronze.build import BronzeEntry
from quidnunc.pipeline.lake.engines.seam import TaskRunner
from quidnunc.pipeline.lake.run_folder import SCHEMA, RunFolder, version_of, write_json
from quidnunc.pipeline.lake.silver.parts import (
    MergePlan,
    SilverPart,
    bucket_file,
    id_values,
    ids_file,
    keep_parts,
    last_file,
    merge_plan,
)
from quidnunc.pipeline.lake.silver.pieces import (
    SilverPieceRequest,
    make_pieces,
    pieces_folder,
    read_piece,
    read_piece_ids,
)
from quidnunc.pipeline.lake.silver.schema import IDS, TABLE_OF, TABLES, silver_schema
from quidnunc.pipeline.trace.clocks import EARLY_NS, OddTimes
from quidnunc.pipeline.trace.events import OURS
from quidnunc.properties.lazy import compute, numpy, parquet, pyarrow

ROW_GROUP = 262_144
ROWS_PER_BUCKET = 2_000_000
MIN_BUCKETS, MAX_BUCKETS = 8, 10_000
DESCRIPTION = "silver.json"
STEPS_BACK, OUT_OF_ORDER, REPEATED = "clock_steps_back", "out_of_order", "repeated"
BACK_PERCENT = "back_percent"
ODD = ("early", "negative", "zero")
"""As `OddTimes` counts them."""
LACKING = ("nameless", "untimed", "logged")
"""Fields of `MadeBucket`."""
OUT_OF_ORDER_NS = 1_000_000_000
"""A clock that is set right goes back by less, and so do events that a router writes from several threads."""
MANY_STEPS_BACK, MANY_PERCENT = 5, 10
"""Steps back of one clock that are many, and of 100 changes of it. Threads of a router, of which each takes a
time and then waits for its turn to write, give few: a trace that is written backwards has nothing else."""
COARSE_NS = 1_000_000
"""A clock whose times are multiples of it may say one time of several events."""
MAPS, PLACES = "maps", "places.json"


@frozen(kw_only=True)
class BatchPlace:
    """Where the records of one folder of bronze are among all: the first's number, and how many RUN events
    before. `ids` says by table where its ids begin in the maps."""

    key: str
    first: int
    runs: int
    ids: dict[str, int] = field(factory=dict)


@frozen(kw_only=True)
class SilverBucketRequest:
    """What a worker is told: one bucket of a silver, made of the silver before and the pieces of new
    files."""

    root: str
    target: str
    before: str | None
    plan: MergePlan
    bucket: int
    buckets: int


def buckets_for(entries: Sequence[BronzeEntry], share: float = 1.0) -> int:
    """How many buckets a run gets, once and for all, of which these are such a share."""
    records = int(sum(e.records for e in entries) / share)
    return max(MIN_BUCKETS, min(MAX_BUCKETS, -(-records // ROWS_PER_BUCKET)))


def silver_name(entries: Sequence[BronzeEntry], buckets: int) -> str:
    """The version of the silver of these files in this order."""
    return version_of("silver", SCHEMA, buckets, _files(entries))


def _files(entries: Sequence[BronzeEntry]) -> list[str]:
    """What tells the files of a silver, however they were batched."""
    return [entry.digest[:32] for entry in entries]


def places_of(entries: Sequence[BronzeEntry], known: int = 0) -> list[BatchPlace]:
    """Where the records of each batch begin, without the batches of the first `known` files."""
    places: dict[str, BatchPlace] = {}
    first = runs = 0
    for at, entry in enumerate(entries):
        if at >= known and entry.key not in places:
            places[entry.key] = BatchPlace(key=entry.key, first=first, runs=runs)
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
        if not unreadable_files(target):
            return version
        # It is made again, of all that is in bronze.
        shutil.rmtree(target)
    old = run.silver(before) if before is not None and run.silver(before).is_dir() else None
    said = _description(old)
    places = places_of(entries, said["files"])
    new = SilverPart(said["files"], sum(e.records for e in entries[said["files"] :]))
    plan = merge_plan([SilverPart(**p) for p in said["parts"]], new, buckets * ROWS_PER_BUCKET)
    wanted = [SilverPieceRequest(root=str(run.root), key=p.key, buckets=buckets) for p in places]
    runner(make_pieces, wanted, "bronze to pieces")
    # Buckets that a former attempt has finished are kept: the folder is found by its version.
    making = run.work / f"silver-{version}-{before}.making"
    making.mkdir(parents=True, exist_ok=True)
    if old is not None:
        keep_parts(old, making, plan.kept)
    counts = _merge_ids(run, old, places, buckets, making, plan)
    asked = [
        SilverBucketRequest(
            root=str(run.root),
            target=str(making),
            before=None if old is None else str(old),
            plan=plan,
            bucket=bucket,
            buckets=buckets,
        )
        for bucket in range(buckets)
    ]
    made = runner(make_bucket, asked, "pieces to silver")
    parts = [attrs.asdict(part) for part in (*plan.kept, plan.made)]
    description = {**counts, "files": len(entries), "buckets": buckets, **_sums(said, made), "parts": parts}
    _finish(run, making, target, description)
    return version


def _sums(said: Mapping[str, Any], made: Sequence[MadeBucket]) -> dict[str, Any]:
    """What the buckets come to, with what was said of the silver before."""
    return {
        "rows": said["rows"] + sum(b.rows for b in made) - sum(b.rows_before for b in made),
        STEPS_BACK: said[STEPS_BACK] + sum(b.steps_back for b in made),
        OUT_OF_ORDER: said.get(OUT_OF_ORDER, 0) + sum(b.out_of_order for b in made),
        REPEATED: said.get(REPEATED, 0) + sum(b.repeated for b in made),
        BACK_PERCENT: max([said.get(BACK_PERCENT, 0), *(b.back_percent for b in made)]),
        **{name: said.get(name, 0) + sum(getattr(b, name) for b in made) for name in (*ODD, *LACKING)},
    }


def unreadable_files(silver: Path) -> list[Path]:
    """The files of rows of a silver that are missing, or cannot be read to their end."""
    said = _description(silver)
    parts = [SilverPart(**part) for part in said["parts"]]
    named = (bucket_file(silver, bucket, part) for part in parts for bucket in range(said["buckets"]))
    return [path for path in named if not _is_readable(path)]


def _is_readable(path: Path) -> bool:
    try:
        parquet.read_metadata(path)
    except (OSError, pyarrow.ArrowException):
        return False
    return True


def _description(silver: Path | None) -> dict[str, Any]:
    if silver is None:
        return {"files": 0, "rows": 0, STEPS_BACK: 0, "parts": []}
    found: dict[str, Any] = json.loads((silver / DESCRIPTION).read_bytes())
    return found


def _finish(run: RunFolder, making: Path, target: Path, description: Mapping[str, Any]) -> None:
    shutil.rmtree(making / MAPS, ignore_errors=True)
    write_json(making / DESCRIPTION, description)
    target.parent.mkdir(parents=True, exist_ok=True)
    making.rename(target)
    shutil.rmtree(run.work / "pieces", ignore_errors=True)


# -- ids ----------------------------------------------------------------------------------------------------


def _merge_ids(
    run: RunFolder,
    old: Path | None,
    places: Sequence[BatchPlace],
    buckets: int,
    making: Path,
    plan: MergePlan,
) -> dict[str, int]:
    """Write the ids of the new part, and the numbers that the numbers of each new batch stand for; how many
    ids of each table there are."""
    maps = making / MAPS
    maps.mkdir(exist_ok=True)
    counts = {}
    for table in TABLES:
        known = id_values(old or making / "none", table)
        read = [read_piece_ids(pieces_folder(run, place.key, buckets), table) for place in places]
        values = pyarrow.chunked_array([each for some, _ in read for each in some.chunks], known.type)
        numbers, fresh = _numbered(known, values)
        mapped = numpy.empty(len(values), numpy.int32)
        at = 0
        for place, (_, own) in zip(places, read, strict=True):
            place.ids[table] = at
            mapped[at + own] = numbers[at : at + len(own)]
            at += len(own)
        numpy.save(maps / f"{table}.npy", mapped)
        counts[table] = len(known) + len(fresh)
        _write_ids(old, making, table, plan, pyarrow.table({"id": fresh_ids(known, fresh), "value": fresh}))
    write_json(maps / PLACES, [attrs.asdict(place) for place in places])
    return counts


def fresh_ids(known: Any, fresh: Any) -> Any:
    """The numbers of ids that come behind those that are known."""
    return pyarrow.array(numpy.arange(len(known), len(known) + len(fresh), dtype=numpy.int32))


def _numbered(known: Any, values: Any) -> tuple[Any, Any]:
    """The number of each of `values`, and those that are not `known`, once, in the order in which they
    come."""
    found = compute.index_in(values, value_set=known).combine_chunks()
    new = found.is_null()
    fresh = values.combine_chunks().filter(new).dictionary_encode()
    numbers = found.fill_null(0).to_numpy().astype(numpy.int32)
    numbers[new.to_numpy(zero_copy_only=False)] = len(known) + fresh.indices.to_numpy()
    return numbers, fresh.dictionary


def _write_ids(old: Path | None, making: Path, table: str, plan: MergePlan, fresh: Any) -> None:
    before = [parquet.read_table(ids_file(old, table, part)) for part in plan.merged] if old else []
    whole = pyarrow.concat_tables([*before, fresh.cast(before[0].schema) if before else fresh])
    target = ids_file(making, table, plan.made)
    parquet.write_table(whole, target.with_suffix(".part"), compression="zstd")
    target.with_suffix(".part").rename(target)


# -- one bucket ---------------------------------------------------------------------------------------------


@frozen
class MadeBucket:
    """What a bucket of a part has."""

    rows: int
    rows_before: int
    """How many of them are of parts that were merged."""
    steps_back: int
    """How often, within a run, one of the other events of a peer is earlier by its clock than the one
    before."""
    out_of_order: int = 0
    """How often by `OUT_OF_ORDER_NS` or more."""
    repeated: int = 0
    """How many of the other events of a peer in a run are there before, at the same nanosecond."""
    back_percent: int = 0
    """Of the changes of a clock, how many go back, of 100: the most of any with `MANY_STEPS_BACK`."""
    early: int = 0
    negative: int = 0
    zero: int = 0
    """How many of the other events have such a time, as `OddTimes` has it."""
    nameless: int = 0
    untimed: int = 0
    logged: int = 0
    """How many of the other events that routers log do not say who logged them, or when, and how many there
    are."""

    def metadata(self) -> dict[str, str]:
        return {name: str(value) for name, value in attrs.asdict(self).items()}


def make_bucket(wanted: SilverBucketRequest) -> MadeBucket:
    """One bucket of the new part, made or found."""
    target = bucket_file(Path(wanted.target), wanted.bucket, wanted.plan.made)
    if target.is_file():
        said = parquet.read_schema(target).metadata
        return MadeBucket(*(int(said.get(each.name.encode(), 0)) for each in attrs.fields(MadeBucket)))
    before = list(_before(wanted))
    new = pyarrow.concat_tables([silver_schema().empty_table(), *_new(wanted)])
    steps_back, out_of_order, back_percent = _note_times(wanted, new)
    table = pyarrow.concat_tables([*before, new])
    table = table.take(_by_peer_and_sequence(table))
    known = _repeated(table) - sum(map(_repeated, before))
    odd = (*_odd_times(new), *_lacking(new))
    made = MadeBucket(len(table), len(table) - len(new), steps_back, out_of_order, known, back_percent, *odd)
    table = table.replace_schema_metadata(made.metadata())
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
    return made


def _note_times(wanted: SilverBucketRequest, new: Any) -> tuple[int, int, int]:
    """Write the time of the last event of each peer in each run; returns how often clocks stepped back, how
    often by `OUT_OF_ORDER_NS` or more, and `MadeBucket.back_percent`."""
    names = ["run", "peer", "seq", "at_ns"]
    tables = [new.select(names)]
    if wanted.before is not None:
        tables.insert(0, parquet.read_table(last_file(Path(wanted.before), wanted.bucket)))
    known = pyarrow.concat_tables([t.replace_schema_metadata(None) for t in tables])
    known = known.filter(compute.and_(known["at_ns"].is_valid(), known["peer"].is_valid()))
    run, peer, seq, at = (known[name].to_numpy() for name in names)
    order = numpy.lexsort((seq, run, peer))
    same = (numpy.diff(run[order]) == 0) & (numpy.diff(peer[order]) == 0)
    last = order[numpy.append(~same, True)] if len(order) else order
    target = last_file(Path(wanted.target), wanted.bucket)
    parquet.write_table(known.take(pyarrow.array(last)), target.with_suffix(".part"))
    target.with_suffix(".part").rename(target)
    later_ns = numpy.diff(at[order])
    back, far = same & (later_ns < 0), same & (later_ns <= -OUT_OF_ORDER_NS)
    percent = _back_percent(numpy.cumsum(~same), same & (later_ns != 0), back)
    return int(numpy.count_nonzero(back)), int(numpy.count_nonzero(far)), percent


def _back_percent(clock: Any, changed: Any, back: Any) -> int:
    """Of the clocks with `MANY_STEPS_BACK`, the largest share of changes that go back, in percent. The arrays
    say of each step which clock it is of, whether it changes, and whether it goes back."""
    if not back.any():
        return 0
    changes, steps = numpy.bincount(clock, changed), numpy.bincount(clock, back)
    many = steps >= MANY_STEPS_BACK
    return int((100 * steps[many] // changes[many]).max(initial=0))


def _odd_times(new: Any) -> tuple[int, int, int]:
    """How many events are early, before 1970, and at 0."""
    first = new.filter(compute.and_(new["at_ns"].is_valid(), compute.equal(new["item"], 0)))
    at = first["at_ns"].to_numpy()
    counted = ((at > 0) & (at < EARLY_NS), at < 0, at == 0)
    early, negative, zero = (int(numpy.count_nonzero(each)) for each in counted)
    return early, negative, zero


def _lacking(new: Any) -> tuple[int, int, int]:
    """How many events that routers log name no peer, have no time, and are there."""
    logged = new.filter(compute.and_(compute.equal(new["item"], 0), compute.less(new["type"], OURS)))
    return logged["peer"].null_count, logged["at_ns"].null_count, len(logged)


def _repeated(table: Any) -> int:
    """How many events are there before: the same run, peer and time, and the same first thing in them."""
    timed = compute.and_(table["at_ns"].is_valid(), table["peer"].is_valid())
    events = table.filter(compute.and_(timed, compute.equal(table["item"], 0)))
    run, peer, at = (events[name].to_numpy() for name in ("run", "peer", "at_ns"))
    order = numpy.lexsort((at, run, peer))
    same = numpy.ones(max(0, len(order) - 1), bool)
    for each in (run, peer, at):
        same &= numpy.diff(each[order]) == 0
    again = same & (at[order][1:] % COARSE_NS != 0)
    if not again.any():
        return 0
    times = pyarrow.array(numpy.unique(at[order][1:][again]))
    suspected = events.filter(compute.is_in(events["at_ns"], times))
    alike = suspected.group_by([name for name in suspected.column_names if name != "seq"])
    return len(suspected) - len(alike.aggregate([("seq", "count")]))


def repeated(silver: Path) -> int:
    """How many events of a silver are there before."""
    return int(_description(silver).get(REPEATED, 0))


def clock_steps_back(silver: Path) -> int:
    """How often clocks stepped back, in the order of the files of a silver."""
    return int(_description(silver)[STEPS_BACK])


def back_percent(silver: Path) -> int:
    """How many of 100 changes of a node's clock go back, where these are many; else 0."""
    found = int(_description(silver).get(BACK_PERCENT, 0))
    return found if found >= MANY_PERCENT else 0


def lacking_fields(silver: Path) -> tuple[int, int]:
    """How many events of a silver do not say who logged them, and how many not when, where others do."""
    nameless, untimed, logged = (int(_description(silver).get(name, 0)) for name in LACKING)
    return (nameless if nameless < logged else 0), (untimed if untimed < logged else 0)


def odd_times(silver: Path) -> OddTimes:
    """How many events of a silver have a time that is odd."""
    said = _description(silver)
    return OddTimes(*(int(said.get(name, 0)) for name in ODD))


def out_of_order(silver: Path) -> int:
    """How often they did by so much that the order of the events is not that of the files."""
    return int(_description(silver).get(OUT_OF_ORDER, 0))


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
    """The rows of the parts that are merged."""
    if wanted.before is not None:
        for part in wanted.plan.merged:
            table = parquet.read_table(bucket_file(Path(wanted.before), wanted.bucket, part))
            yield table.replace_schema_metadata(None)


def _new(wanted: SilverBucketRequest) -> Iterator[Any]:
    """The rows of the new files, with the numbers of the whole."""
    run = RunFolder(wanted.root)
    maps = Path(wanted.target) / MAPS
    numbers = {table: numpy.load(maps / f"{table}.npy", mmap_mode="r") for table in TABLES}
    for each in json.loads((maps / PLACES).read_bytes()):
        place = BatchPlace(**each)
        for table in read_piece(pieces_folder(run, place.key, wanted.buckets), wanted.bucket):
            yield _global(table, place, numbers)


def _global(table: Any, place: BatchPlace, numbers: Mapping[str, Any]) -> Any:
    """The rows of a piece with the numbers of the whole."""
    columns = []
    for each in silver_schema():
        column = table[each.name]
        if each.name in IDS:
            name = TABLE_OF[each.name]
            own = column.to_numpy()
            there = own >= 0
            known = numpy.full(len(own), -1, numpy.int32)
            known[there] = numbers[name][own[there] + place.ids[name]]
            column = pyarrow.array(known, each.type, mask=~there)
        elif each.name in ("seq", "run"):
            column = pyarrow.array(
                column.to_numpy() + (place.first if each.name == "seq" else place.runs), each.type
            )
        columns.append(column)
    return pyarrow.Table.from_arrays(columns, schema=silver_schema())
