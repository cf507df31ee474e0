"""From landing to gold: each stage finds what is there and makes what is not.

Whatever ends the process, the next one goes on from the pieces that are whole. Landing files are known by
what is in them: the same file twice, under any name, is counted once, and said.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from attrs import evolve, frozen

from quidnunc.pipeline.lake.bronze.build import BronzeEntry, make_bronze, read_entry
from quidnunc.pipeline.lake.gold.build import GoldRequest, make_gold
from quidnunc.pipeline.lake.gold.build import on_spark as gold_engine
from quidnunc.pipeline.lake.gold.claims import TraceSettings
from quidnunc.pipeline.lake.landing import LandingFile, landed_in
from quidnunc.pipeline.lake.run_folder import SCHEMA, RunFolder, version_of, write_json
from quidnunc.pipeline.lake.silver.build import buckets_for, clock_steps_back, make_silver
from quidnunc.pipeline.lake.tasks import Say, TaskRunner, ignore_task_progress, on_spark
from quidnunc.pipeline.trace.shapes import TraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Completeness: TypeAlias = Literal["full", "sampled", "filtered", "lossy"]
Clock: TypeAlias = Literal["unknown", "one", "own", "harness"]
"""`one` for all peers, each its `own`, or the `harness`'s; `unknown`: what the trace says, else their own."""


@frozen(kw_only=True)
class SourceOptions:
    """What a user says of a source."""

    completeness: Completeness | None = None
    """None: what can be seen of it."""
    clock: Clock | None = None
    buckets: int | None = None
    settings: TraceSettings | None = None
    """None: those of the run, or where it has none yet the defaults."""
    changes: tuple[str, ...] = ()
    """`name=value`, of single settings."""

    def settings_after(self, before: Mapping[str, Any]) -> TraceSettings:
        """The settings of a run whose manifest was `before`. Raises TraceError for a change of none."""
        known = TraceSettings(**before["settings"]) if "settings" in before else TraceSettings()
        return (self.settings or known).changed(self.changes)


def find(sources: Sequence[Path], run: RunFolder) -> tuple[list[LandingFile], dict[str, Any]]:
    """The files of `sources` that the run does not have, and what was left out: names by the reason.

    A file is known by where it is: peers that each have a directory may call theirs alike.
    """
    files, live = landed_in(*sources)
    before = manifest_of(run).get("files", [])
    known = {e["digest"]: (_place_in(e), e["name"]) for e in before}
    places = {_place_in(e): e["digest"] for e in before}
    taken = {e["name"] for e in before}
    fresh: list[LandingFile] = []
    twice: dict[str, str] = {}
    changed = []
    for file in files:
        place = str(file.path.resolve())
        # A run of before places were written has names in their stead.
        place = file.path.name if place not in places and file.path.name in places else place
        if places.get(place, file.digest) != file.digest:
            changed.append(str(file.path))
        elif file.digest not in known:
            name = _name_for(file.path, taken)
            taken.add(name)
            known[file.digest] = (place, name)
            fresh.append(evolve(file, name=name))
        elif known[file.digest][0] != place:
            twice[_name_for(file.path, taken)] = known[file.digest][1]
    if changed:
        raise TraceError(
            f"{', '.join(changed[:5])}: ingested before with other bytes. A landing file is never edited: "
            f"rename into place, or ingest into a new folder than {run.root}"
        )
    return fresh, {"duplicates": twice, "unfinished": [p.name for p in live]}


def _place_in(entry: Mapping[str, Any]) -> str:
    return str(entry.get("path") or entry["name"])


def _name_for(path: Path, taken: Container[str]) -> str:
    """What a file is called in reports: as much of its path as tells it from the others."""
    names = (path.name, f"{path.parent.name}/{path.name}", str(path))
    return next((name for name in names if name not in taken), names[-1])


def manifest_of(run: RunFolder) -> dict[str, Any]:
    """The manifest of a run, or nothing where it has none yet."""
    return run.read_manifest() if run.manifest.is_file() else {}


def to_silver(
    run: RunFolder,
    fresh: Sequence[LandingFile],
    left_out: Mapping[str, Any],
    asked: SourceOptions,
    runner: TaskRunner,
) -> dict[str, Any]:
    """Bronze of `fresh`, and the silver of all files of the run; returns the manifest, which says so.

    Raises TraceError where not one event could be read.
    """
    manifest = manifest_of(run)
    made = runner(_BronzeMaker(str(run.root)), sorted(fresh, key=lambda f: -f.size), "landing to bronze")
    by_key = {entry.key: entry for entry in made}
    entries = _entries(run, manifest)
    entries += [evolve(by_key[f.key], name=f.name, path=str(f.path.resolve())) for f in fresh]
    if not any(e.records for e in entries):
        bad = next((e.problem for e in entries if e.problem), "the files are empty")
        raise TraceError(f"no trace event could be read; the first bad record: {bad}")
    buckets = manifest.get("buckets") or asked.buckets or buckets_for(entries)
    silver = make_silver(run, entries, buckets, manifest.get("silver"), runner)
    new = describe(entries, manifest, left_out, asked) | _of_silver(run, buckets, silver)
    if new != manifest:
        write_json(run.manifest, new)
    _sweep(run, silver)
    return new


def _entries(run: RunFolder, manifest: Mapping[str, Any]) -> list[BronzeEntry]:
    """What bronze has of the files of a run, in their order and by their names there."""
    files = manifest.get("files", [])
    return [evolve(read_entry(run.bronze(e["key"])), name=e["name"], path=e.get("path", "")) for e in files]


def _of_silver(run: RunFolder, buckets: int, silver: str) -> dict[str, Any]:
    """What a manifest says of the silver of its files."""
    stepped = clock_steps_back(run.silver(silver))
    return {"buckets": buckets, "silver": silver, "clock_steps_back": stepped}


@frozen
class _BronzeMaker:
    """`make_bronze` for one run, as what a worker can be sent."""

    root: str

    def __call__(self, file: LandingFile) -> BronzeEntry:
        return make_bronze(file, RunFolder(self.root))


def describe(
    entries: Sequence[BronzeEntry],
    before: Mapping[str, Any],
    left_out: Mapping[str, Any],
    asked: SourceOptions,
) -> dict[str, Any]:
    """The manifest of a run of these files."""
    bad = sum(e.bad for e in entries)
    completeness, why = _completeness(entries, bad, asked, before)
    return {
        "schema": SCHEMA,
        "files": [
            {
                "name": e.name,
                "path": e.path,
                "key": e.key,
                "digest": e.digest,
                "kind": e.kind,
                "records": e.records,
                "bad": e.bad,
            }
            for e in entries
        ],
        "records": sum(e.records for e in entries),
        "bad_records": bad,
        "first_bad": next((e.problem for e in entries if e.problem), ""),
        "duplicates": {**before.get("duplicates", {}), **left_out.get("duplicates", {})},
        "unfinished": list(left_out.get("unfinished", [])),
        "completeness": completeness,
        "completeness_because": why,
        "clock": asked.clock or before.get("clock", "unknown"),
        "said": asked.completeness or before.get("said"),
        "settings": attrs.asdict(asked.settings_after(before)),
    }


def _completeness(
    entries: Sequence[BronzeEntry], bad: int, asked: SourceOptions, before: Mapping[str, Any]
) -> tuple[str, str]:
    said = asked.completeness or before.get("said")
    if said is not None:
        return said, "it was said to be so"
    if any(e.kind == "batches" for e in entries):
        return "lossy", "go's remote tracer drops events when its queue is full"
    if bad:
        return "lossy", f"{bad} records could not be read"
    if any(e.kind == "hermes" for e in entries):
        return "filtered", "Hermes sees one peer, and not its own messages"
    types: Counter[int] = Counter()
    for entry in entries:
        types.update({int(number): count for number, count in entry.types.items()})
    if (
        any(e.kind == "deliveries" for e in entries)
        or not types.keys() & {2, 6, 7}
        and types.keys() & {3, 11, 12}
    ):
        return "filtered", "there are deliveries or mesh events, and neither duplicates nor RPCs"
    if len(types.keys() & {6, 7}) == 1:
        return "filtered", "there are RPCs of one direction only"
    return "full", "nothing says otherwise"


def _sweep(run: RunFolder, silver: str) -> None:
    """Forget what no manifest names any more."""
    shutil.rmtree(run.work, ignore_errors=True)
    for old in (run.root / "silver").iterdir():
        if old.name != silver:
            shutil.rmtree(old, ignore_errors=True)


def gold_wanted(run: RunFolder, settings: TraceSettings | None = None) -> GoldRequest:
    """The gold of a run under these settings, or those that it was ingested with. Raises TraceError."""
    manifest = run.read_manifest()
    return GoldRequest(
        silver=manifest["silver"],
        completeness=manifest["completeness"],
        clock=manifest["clock"],
        settings=TraceSettings(**manifest["settings"]) if settings is None else settings,
    )


def to_gold(run: RunFolder, session: SparkSession, say: Say = ignore_task_progress) -> Path:
    """Make or find it, under the settings of the run; returns its folder."""
    return make_gold(run, gold_wanted(run), gold_engine(session, say))


def ingest(
    sources: Sequence[Path],
    run: RunFolder,
    asked: SourceOptions,
    session: SparkSession,
    say: Say = ignore_task_progress,
) -> tuple[dict[str, Any], Path]:
    """All of it, on Spark: the manifest and the folder of gold.

    One directory is read as a stream of files, so that each call takes what is new in it. Raises TraceError.
    """
    from quidnunc.pipeline.lake.landing_stream import each_batch

    if run.root.resolve() in [s.resolve() for s in sources]:
        raise TraceError(f"{run.root} is the source as well as the run: name another folder for one of them")
    with run.locked():
        runner = on_spark(session, say)
        _clear(run)

        def take(paths: Sequence[Path]) -> None:
            fresh, left_out = find(paths, run)
            if fresh or not run.manifest.is_file():
                to_silver(run, fresh, left_out, asked, runner)

        if len(sources) == 1 and sources[0].is_dir():
            landed_in(*sources)
            each_batch(session, sources[0], run.root / "stream" / version_of(str(sources[0].resolve())), take)
        else:
            take(sources)
        _note(run, find(sources, run)[1], asked)
        gold = to_gold(run, session, say)
        shutil.rmtree(run.work, ignore_errors=True)
        return run.read_manifest(), gold


def _clear(run: RunFolder) -> None:
    """Pieces that were cut off; what a next attempt can use is kept."""
    if run.work.is_dir():
        for each in run.work.glob("*.part"):
            shutil.rmtree(each, ignore_errors=True)


def _note(run: RunFolder, left_out: Mapping[str, Any], asked: SourceOptions) -> None:
    """Put into the manifest what is said of the source now, and what was left out."""
    manifest = run.read_manifest()
    entries = _entries(run, manifest)
    kept = _of_silver(run, manifest["buckets"], manifest["silver"])
    new = describe(entries, manifest, left_out, asked) | kept
    if new != manifest:
        write_json(run.manifest, new)
