"""From landing to gold: each stage finds what is there and makes what is not.

Whatever ends the process, the next one goes on from the pieces that are whole. Landing files are known by
what is in them: the same file twice, under any name, is counted once, and said.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import attrs
from attrs import evolve, frozen

from quidnunc.pipeline.lake.bronze.build import BATCH_FILES, BronzeEntry, batches_of, make_bronze
from quidnunc.pipeline.lake.engines.seam import Engine, Say, TaskRunner, in_this_process
from quidnunc.pipeline.lake.gold.build import GoldRequest, make_gold
from quidnunc.pipeline.lake.gold.claims import DAMAGED, DISORDERED, TraceSettings
from quidnunc.pipeline.lake.landing import LandingFile, landing_file
from quidnunc.pipeline.lake.run_folder import SCHEMA, RunFolder, is_run
from quidnunc.pipeline.lake.silver.build import (
    back_percent,
    buckets_for,
    clock_steps_back,
    lacking_fields,
    make_silver,
    odd_times,
    out_of_order,
    repeated,
)
from quidnunc.pipeline.trace.files import INCOMPLETE, LeftOut, SourceFile, State, in_order, listed, not_read
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.bounded import printable

Completeness: TypeAlias = Literal["full", "sampled", "filtered", "lossy"]
Clock: TypeAlias = Literal["unknown", "one", "own", "harness"]
"""`one` for all peers, each its `own`, or the `harness`'s; `unknown`: what the trace says, else their own."""

PORTION_BYTES = 16 << 30
"""Of landing files that go to silver together; the files on the way take about as much."""
QUIET_NS = 2 * 10**9
"""A directory that was changed before so long has no file that a listing could have missed."""
READ_BYTES = 64 << 20
"""What one task reads of new files to tell what they are, at least."""
ENTRY_FIELDS = tuple(each.name for each in attrs.fields(BronzeEntry))


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


@frozen
class Listing:
    """What is in `sources`, but for the files that a run has."""

    sources: Sequence[Path]
    fresh: Sequence[LandingFile]
    left_out: Sequence[LeftOut]
    later_bytes: int = 0
    """Of files that are found and come in a later portion."""

    def plain(self) -> dict[str, dict[str, str]]:
        """What is left out, as a manifest has it: place -> state and reason."""
        return {str(e.path.absolute()): {"state": e.state, "reason": e.reason} for e in self.left_out}


def find(
    sources: Sequence[Path],
    run: RunFolder,
    runner: TaskRunner = in_this_process,
    expect: Callable[[int], None] = lambda size: None,
    manifest: Mapping[str, Any] | None = None,
) -> Listing:
    """The files of `sources` that the run does not have, and what is in the sources and is not taken.

    A file is known by where it is: peers that each have a directory may call theirs alike. It is read only
    where its size or time is another than it was. `expect` is told how many bytes these are. `manifest`
    is the run's, where it is known.
    """
    if manifest is None:
        manifest = manifest_of(run)
    before = manifest.get("files", [])
    twins = {path for path, why in manifest.get("left_out", {}).items() if why["state"] == "duplicate"}
    known = {e["digest"]: (e["path"], e["name"]) for e in before}
    places = {e["path"]: e for e in before}
    taken = {e["name"] for e in before}
    files, left_out = listed(*sources)
    unread = _unread(files, places)
    expect(sum(size for _, _, size in unread))
    fresh: list[LandingFile] = []
    changed = []
    tasks = runner(_look_at, _shares(unread), "looking at files") if unread else []
    for place, found in zip((place for _, place, _ in unread), chain(*tasks), strict=True):
        if isinstance(found, LeftOut):
            left_out.append(found)
        elif places.get(place, {}).get("digest", found.digest) != found.digest:
            changed.append(str(found.path))
        elif found.kind == "unknown":
            left_out.append(LeftOut(found.path, "unreadable", found.problem))
        elif found.digest not in known and str(found.path.absolute()) in twins:
            # Taken under another name, as after a renaming.
            changed.append(str(found.path))
        elif found.digest not in known:
            name = _name_for(found.path, taken)
            taken.add(name)
            known[found.digest] = (place, name)
            fresh.append(evolve(found, name=name, place=place))
        elif known[found.digest][0] != place:
            left_out.append(LeftOut(found.path, "duplicate", f"the same as {known[found.digest][1]}"))
    if changed:
        raise TraceError(
            f"{', '.join(changed[:5])}: ingested before with other bytes. A landing file is never edited: "
            f"rename into place, or ingest into a new folder than {run.root}"
        )
    return Listing(sources, fresh, left_out)


Unread: TypeAlias = tuple[Path, str, int]
"""A file that has to be read: where it is as it was named and as the run has it, and its bytes."""


def _unread(files: Iterable[SourceFile], places: Mapping[str, Any]) -> list[Unread]:
    """Which files are not as the run knows them."""
    met: set[str] = set()
    unread: list[tuple[SourceFile, str]] = []
    folders: dict[str, str] = {}
    for file in files:
        # A link is a place of its own: what it leads to may be named as well.
        above, name = os.path.split(file.path)
        if above not in folders:
            folders[above] = os.path.realpath(above)
        place = os.path.join(folders[above], name)
        if place in met:
            continue
        met.add(place)
        had = places.get(place)
        if had is None or (had.get("size"), had.get("time_ns")) != (file.size, file.time_ns):
            unread.append((file, place))
    unread.sort(key=lambda each: in_order(each[0]))
    return [(Path(file.path), place, file.size) for file, place in unread]


def _shares(unread: Sequence[Unread]) -> list[list[Path]]:
    """Files that one task reads, in their order."""
    shares: list[list[Path]] = []
    size = 0
    for path, _, more in unread:
        if not shares or size >= READ_BYTES or len(shares[-1]) >= BATCH_FILES:
            shares.append([])
            size = 0
        shares[-1].append(path)
        size += more
    return shares


def _look_at(paths: Sequence[Path]) -> list[LandingFile | LeftOut]:
    """What files are, for a worker."""
    found: list[LandingFile | LeftOut] = []
    for path in paths:
        try:
            found.append(landing_file(path))
        except OSError as error:
            found.append(LeftOut(path, "unreadable", error.strerror or str(error)))
    return found


def _name_for(path: Path, taken: Container[str]) -> str:
    """What a file is called in reports: as much of its path as tells it from the others."""
    names = [printable(name) for name in (path.name, f"{path.parent.name}/{path.name}", str(path))]
    return next((name for name in names if name not in taken), names[-1])


def manifest_of(run: RunFolder) -> dict[str, Any]:
    """The manifest of a run, or nothing where it has none yet."""
    return run.read_manifest() if is_run(run.root) else {}


def to_silver(
    run: RunFolder,
    found: Listing,
    asked: SourceOptions,
    runner: TaskRunner,
    manifest: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Bronze of the fresh files, and the silver of all files of the run; returns the manifest, which says so.

    `manifest` is the run's until now, where it is known. Raises TraceError where not one event could be read.
    """
    if manifest is None:
        manifest = manifest_of(run)
    by_size = sorted(batches_of(found.fresh), key=lambda files: -sum(f.size for f in files))
    made = runner(_BronzeMaker(str(run.root)), by_size, "landing to bronze")
    by_digest = {entry.digest: entry for entries in made for entry in entries}
    entries = [BronzeEntry(**entry) for entry in manifest.get("files", [])]
    entries += [
        evolve(by_digest[f.digest], name=f.name, path=f.place, size=f.size, time_ns=f.time_ns)
        for f in found.fresh
    ]
    if not any(e.records for e in entries):
        bad = [e.problem for e in entries if e.problem] + [str(each) for each in found.left_out]
        names = ", ".join(map(str, found.sources[:3]))
        nothing = "the file has no rows" if found.fresh else "there is no file"
        raise TraceError(f"{names}: no trace event could be read; {bad[0] if bad else nothing}")
    size = sum(file.size for file in found.fresh)
    share = size / (size + found.later_bytes) if size else 1.0
    buckets = manifest.get("buckets") or asked.buckets or buckets_for(entries, share)
    silver = make_silver(run, entries, buckets, manifest.get("silver"), runner)
    left_out = _left_out_before(manifest, found.sources) | found.plain()
    folder = run.silver(silver)
    lacking = lacking_fields(folder)
    disorder = Disorder(out_of_order(folder), back_percent(folder), repeated(folder), *lacking)
    # A recorded or simulated run has a clock of its own, that begins at 0.
    odd = [] if any(e.runs for e in entries) else odd_times(folder).warnings()
    new = describe(entries, manifest, left_out, asked, disorder) | {
        "warnings": odd,
        "buckets": buckets,
        "silver": silver,
        "clock_steps_back": clock_steps_back(folder),
    }
    if new != manifest:
        run.write_manifest(new)
    _sweep(run, silver)
    return new


def _left_out_before(manifest: Mapping[str, Any], sources: Sequence[Path]) -> dict[str, Any]:
    """What was left out of other sources than these."""
    now = {source.absolute() for source in sources}
    before: dict[str, Any] = manifest.get("left_out", {})
    return {name: why for name, why in before.items() if not {Path(name), Path(name).parent} & now}


def names_of(manifest: Mapping[str, Any], *states: State) -> list[str]:
    """What a run has left out in these states: its place and the reason."""
    out = manifest.get("left_out", {})
    return [
        f"{printable(n)}: {why['state']}: {why['reason']}" for n, why in out.items() if why["state"] in states
    ]


@frozen
class _BronzeMaker:
    """`make_bronze` for one run, as what a worker can be sent."""

    root: str

    def __call__(self, files: Sequence[LandingFile]) -> list[BronzeEntry]:
        return make_bronze(files, RunFolder(self.root))


@frozen
class Disorder:
    """What tells that the events of a run are not in order, or there twice."""

    astray: int = 0
    """How often the clock of a peer steps far back."""
    back_percent: int = 0
    """How many of 100 changes of a node's clock go back; 0 where these are few."""
    again: int = 0
    """How many events are there twice."""
    nameless: int = 0
    untimed: int = 0
    """How many events do not say who logged them, or when, where others do."""


IN_ORDER = Disorder()


def describe(
    entries: Sequence[BronzeEntry],
    before: Mapping[str, Any],
    left_out: Mapping[str, Any],
    asked: SourceOptions,
    disorder: Disorder = IN_ORDER,
) -> dict[str, Any]:
    """The manifest of a run of these files."""
    bad = sum(e.bad for e in entries)
    lacking = sum(each["state"] in INCOMPLETE for each in left_out.values())
    lost = sum(e.lost for e in entries)
    completeness, why = _completeness(entries, bad, lacking, disorder, asked, before)
    return {
        "schema": SCHEMA,
        "files": [{name: getattr(e, name) for name in ENTRY_FIELDS} for e in entries],
        "records": sum(e.records for e in entries),
        "bad_records": bad,
        "lost_bytes": lost,
        "first_bad": next((e.problem for e in entries if e.problem), ""),
        "left_out": dict(left_out),
        "complete": not lacking and not bad,
        "completeness": completeness,
        "completeness_because": why,
        "clock": asked.clock or before.get("clock", "unknown"),
        "said": asked.completeness or before.get("said"),
        "settings": attrs.asdict(asked.settings_after(before)),
    }


def _completeness(
    entries: Sequence[BronzeEntry],
    bad: int,
    lacking: int,
    disorder: Disorder,
    asked: SourceOptions,
    before: Mapping[str, Any],
) -> tuple[str, str]:
    """How complete a trace is, and by what that is told."""
    said = asked.completeness or before.get("said")
    if said is not None:
        return said, "it was said to be so"
    if disorder.astray:
        beside = f"; {not_read(bad, 0)}" if bad else ""
        often = f"{disorder.astray} {'time' if disorder.astray == 1 else 'times'}"
        return DISORDERED, f"clocks step back by a second or more, {often}{beside}"
    # The rows of a table are in no order.
    if disorder.back_percent and any(e.kind != "deliveries" for e in entries):
        return DISORDERED, f"of the changes of a node's clock {disorder.back_percent} % are steps back"
    # In a simulation a router can do the same thing twice at one instant.
    if disorder.again and not any(e.runs for e in entries):
        events = "1 event is" if disorder.again == 1 else f"{disorder.again} events are"
        return DISORDERED, f"{events} there twice, at the same nanosecond"
    if corrupt := [e.name for e in entries if e.corrupt]:
        others = f" and {len(corrupt) - 1} more" if len(corrupt) > 1 else ""
        return (
            DAMAGED,
            f"{corrupt[0]}{others}: a gzip stream fails its checksum; any event of it may be wrong",
        )
    if any(e.kind == "batches" for e in entries):
        return "lossy", "go's remote tracer drops events when its queue is full"
    if bad:
        return "lossy", not_read(bad, 0)
    if said_less := _said_less(disorder):
        return "lossy", said_less
    if lacking:
        return "lossy", f"{lacking} {'file is' if lacking == 1 else 'files are'} unfinished or unreadable"
    if any(e.kind == "hermes" for e in entries):
        return "filtered", "Hermes sees one peer, and not its own messages"
    types = {int(number) for number in {number for entry in entries for number in entry.types}}
    if any(e.kind == "deliveries" for e in entries) or not types & {2, 6, 7} and types & {3, 11, 12}:
        return "filtered", "there are deliveries or mesh events, and neither duplicates nor RPCs"
    if len(types & {6, 7}) == 1:
        return "filtered", "there are RPCs of one direction only"
    return "full", "no sign of loss was found"


def _said_less(disorder: Disorder) -> str:
    """What some events do not say, in words; empty where all do."""
    counted = (
        (disorder.nameless, "names no peer", "name no peer"),
        (disorder.untimed, "has no time", "have no time"),
    )
    return ", ".join(f"1 event {one}" if n == 1 else f"{n} events {many}" for n, one, many in counted if n)


def _sweep(run: RunFolder, silver: str) -> None:
    """Forget what no manifest names any more."""
    shutil.rmtree(run.work, ignore_errors=True)
    for old in (run.root / "silver").iterdir():
        if old.name != silver:
            shutil.rmtree(old, ignore_errors=True)


def gold_wanted(run: RunFolder, settings: TraceSettings | None = None) -> GoldRequest:
    """The gold of a run under these settings, or those that it was ingested with. Raises TraceError."""
    manifest = run.read_manifest()
    said = manifest["settings"]
    return GoldRequest(
        silver=manifest["silver"],
        completeness=manifest["completeness"],
        clock=manifest["clock"],
        settings=settings or TraceSettings().changed(f"{n}={v}" for n, v in said.items() if v is not None),
    )


def ingest(
    sources: Sequence[Path],
    run: RunFolder,
    asked: SourceOptions,
    engine: Engine,
    *,
    gold: bool = True,
    follow: Follow | None = None,
) -> tuple[dict[str, Any], Path]:
    """All of it: the manifest and the folder of gold, which is there only if `gold` was asked for. Raises
    TraceError."""
    if run.root.resolve() in map(_resolved, sources):
        raise TraceError(f"{run.root} is the source as well as the run: name another folder for one of them")
    with run.locked():
        _clear(run)
        if follow is None:
            manifest = manifest_of(run)
            found = find(sources, run, engine.tasks, engine.expect, manifest)
            manifest = _take_in(found, run, asked, engine, manifest)
        else:
            manifest = _followed(follow, sources, run, asked, engine)
        wanted = gold_wanted(run)
        folder = make_gold(run, wanted, engine.queries) if gold else run.gold(wanted.version)
        shutil.rmtree(run.work, ignore_errors=True)
        return manifest, folder


def _resolved(source: Path) -> Path:
    """Raises TraceError for a link that leads to itself."""
    try:
        return source.resolve()
    except (OSError, RuntimeError):
        raise TraceError(f"{source}: a link that leads to itself") from None


def _take_in(
    found: Listing, run: RunFolder, asked: SourceOptions, engine: Engine, manifest: dict[str, Any]
) -> dict[str, Any]:
    for portion in portions(found):
        manifest = to_silver(run, portion, asked, engine.tasks, manifest)
    return manifest


@frozen
class Follow:
    """Look again and again for what is new, until told to stop."""

    every_s: float
    stop: threading.Event
    tell: Say


def _followed(
    follow: Follow, sources: Sequence[Path], run: RunFolder, asked: SourceOptions, engine: Engine
) -> dict[str, Any]:
    """What came until the stop; raises TraceError where nothing did."""
    manifest = manifest_of(run)
    looked: dict[Path, int] = {}
    while True:
        # What came before the stop is taken, also what came since the last look.
        last = follow.stop.is_set()
        if not last and looked and looked == _quiet_since(sources):
            follow.stop.wait(follow.every_s)
            continue
        looked = _quiet_since(sources)
        found = find(sources, run, engine.tasks, engine.expect, manifest)
        if found.fresh or (manifest and found.plain() != manifest["left_out"]) or last:
            had = manifest.get("records", 0)
            manifest = _take_in(found, run, asked, engine, manifest)
            if found.fresh:
                files = "file" if len(found.fresh) == 1 else "files"
                new = f"{len(found.fresh)} new {files}, {manifest['records'] - had} records"
                follow.tell(f"{new}; {len(manifest['files'])} files, {manifest['records']} records in all")
        if last:
            return manifest
        if any(each.state == "unfinished" for each in found.left_out):
            # It may be finished without a change of its directory.
            looked = {}
        follow.stop.wait(follow.every_s)


def _quiet_since(sources: Sequence[Path]) -> dict[Path, int]:
    """When each directory was last changed; nothing where one has just been, as times are coarse."""
    times = {source: source.stat().st_mtime_ns for source in sources if source.is_dir()}
    return {} if any(time.time_ns() - at < QUIET_NS for at in times.values()) else times


def portions(found: Listing) -> Iterator[Listing]:
    """What is found, so much at a time that what is made on the way fits on a disk. A manifest that is
    written in between says which files are still to come."""
    rest = list(found.fresh)
    while True:
        taken, size = 0, 0
        while taken < len(rest) and (not taken or size + rest[taken].size <= PORTION_BYTES):
            size += rest[taken].size
            taken += 1
        later = [LeftOut(file.path, "unfinished", "not taken in yet") for file in rest[taken:]]
        left = sum(file.size for file in rest[taken:])
        yield evolve(found, fresh=rest[:taken], left_out=[*found.left_out, *later], later_bytes=left)
        rest = rest[taken:]
        if not rest:
            return


def _clear(run: RunFolder) -> None:
    """Pieces that were cut off; what a next attempt can use is kept."""
    if run.work.is_dir():
        for each in run.work.glob("*.part"):
            shutil.rmtree(each, ignore_errors=True)
