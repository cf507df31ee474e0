"""What `quidnunc check --record` writes: every run of a search, as trace events of the router under test.

One batch of a campaign is one file of lines; they are joined in the order of the batches. A run starts with
a RUN event, whose manifest says of which kind it is:

- `batch`: no run; the router's hello, and the quirks that earlier batches had found;
- `look`: a run before the search, for explanations to be held against;
- `run`: one run of the search, to its first departure;
- `shrunk`, `plain`: the run before, minimised, and with parameters nearer to the defaults;
- `fresh`, `varied`: runs that an explanation of it has to predict; of the latter the manifest says of what
  the one number is that was changed.

The clock is the harness's: it starts with the run and has no other events.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from attrs import field, frozen, mutable

from quidnunc.impl.seam import Hello
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.events import Advance, Event, Output
from quidnunc.model.rpc import ROUTER
from quidnunc.pipeline.trace.events import RunStart, TraceEvent
from quidnunc.pipeline.trace.files import TraceReader
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.vocabulary import body_of_event, body_of_output, event_of_body, output_of_body
from quidnunc.properties.judge.play import RecordedStep
from quidnunc.properties.notation.parameters import parameters_read, parameters_text

SCHEMA = 1
KINDS = ("batch", "run", "shrunk", "plain", "fresh", "varied")
NS_PER_MS = 1_000_000
MAX_MOMENTS = 100_000
"""Of one run."""


@mutable
class Recorder:
    """Writes the runs of one batch. `asked` is its request; see
    `quidnunc.properties.search.machine.Records`."""

    path: Path
    asked: Mapping[str, Any]
    hello: Hello
    _into: IO[bytes] = field(init=False)
    _runs: int = 0

    def __attrs_post_init__(self) -> None:
        self._into = self.path.open("wb")
        self._start(
            {
                "kind": "batch",
                "quirks": list(self.asked["quirks"]),
                "profile": self.asked["profile"],
                "without": list(self.asked["without"]),
                "name": self.hello.name,
                "version": self.hello.version,
                "protocols": list(self.hello.protocols),
                "capabilities": sorted(self.hello.capabilities),
                "fixed": dict(self.hello.fixed),
                "seed": self.asked["seed"],
                "clock": "harness",
                "completeness": "full",
            }
        )

    def __call__(self, kind: str, steps: Sequence[RecordedStep], parameters: Any, seed: int) -> None:
        """One run of `kind`, which says after a colon what is varied in it."""
        kind, _, varied = kind.partition(":")
        told = {"kind": kind, "seed": seed, "parameters": parameters_text(parameters)}
        self._start(told | ({"of": varied} if varied else {}))
        at_ms, observer = 0, peer_id(ROUTER)
        for event, outputs in steps:
            if isinstance(event, Advance):
                at_ms += event.ms
            bodies = [body_of_event(event), *map(body_of_output, outputs)]
            for body in bodies:
                self._write(TraceEvent(body, observer, at_ms * NS_PER_MS))

    def _start(self, manifest: Mapping[str, Any]) -> None:
        full = {"schema": SCHEMA, "source": "check"} | {k: self.asked[k] for k in ("protocol", "against")}
        name = f"{self.asked['protocol']}/{self.asked['seed']}/{self._runs}"
        self._runs += 1
        text = json.dumps({**full, **manifest}, sort_keys=True)
        self._write(TraceEvent(RunStart(name=name, manifest=text), peer_id(ROUTER), 0))

    def _write(self, event: TraceEvent) -> None:
        self._into.write(line_of(event).encode() + b"\n")

    def close(self) -> None:
        self._into.close()


def open_recorder(path: str, asked: Mapping[str, Any], hello: Hello) -> Recorder:
    """What a worker is told to call, by name
    (`quidnunc.properties.search.campaign.BatchRequest.recorder`)."""
    return Recorder(Path(path), asked, hello)


def join_parts(parts: Sequence[Path], path: Path) -> None:
    """One trace of the batches' files, in their order; it appears when it is whole, and they go.

    A batch whose worker ended early may have left none.
    """
    parts = [part for part in parts if part.exists()]
    unfinished = path.with_name(path.name + ".part")
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(unfinished, "wb") as into:
        for part in parts:
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, into)
    os.replace(unfinished, path)
    for part in parts:
        part.unlink()


# -- reading ------------------------------------------------------------------------------------------------


@frozen
class RecordedEvent:
    """One event of a recorded run and what the router did."""

    event: Event
    outputs: tuple[Output, ...]


@frozen(kw_only=True)
class RecordedRun:
    """One run of a trace."""

    name: str
    manifest: Mapping[str, Any]
    told: tuple[RecordedEvent, ...]
    place: str
    """File and line where it starts."""

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def parameters(self) -> Any:
        """Raises TraceError."""
        try:
            return parameters_read(str(self.manifest["parameters"]), str(self.manifest["protocol"]))
        except (KeyError, ValueError) as error:
            raise TraceError(f"{self.place}: the manifest's parameters: {error}") from None

    @property
    def seed(self) -> int:
        return int(self.manifest.get("seed", 0))


@mutable
class _OpenRun:
    name: str
    manifest: Mapping[str, Any]
    place: str
    told: list[tuple[Event, list[Output]]] = field(factory=list)

    def closed(self) -> RecordedRun:
        told = tuple(RecordedEvent(event, tuple(outputs)) for event, outputs in self.told)
        return RecordedRun(name=self.name, manifest=self.manifest, told=told, place=self.place)


def runs_of(reading: TraceReader) -> Iterator[RecordedRun]:
    """The runs of a recorded trace, one at a time. Raises TraceError with the place of what is no such run:
    a run with a record missing cannot be judged."""
    run: _OpenRun | None = None
    for record in reading:
        place = f"{record.file}:{record.position}"
        body = record.event.body
        if isinstance(body, RunStart):
            if run is not None:
                yield run.closed()
            run = _OpenRun(body.name or "", _manifest(body, place), place)
            continue
        if run is None:
            raise TraceError(
                f"{place}: a recorded trace begins with a RUN event, got {record.event.type.enum}; for a "
                f"trace of another program: `quidnunc ingest {shlex.quote(str(record.file))} -o RUN`, then "
                "`quidnunc trace check RUN`"
            )
        try:
            event, outputs = event_of_body(body), output_of_body(body)
        except TraceError as error:
            raise TraceError(f"{place}: {error}") from None
        if event is not None:
            run.told.append((event, []))
        elif outputs and run.told:
            run.told[-1][1].extend(outputs)
        elif outputs:
            raise TraceError(f"{place}: the router acts before anything has happened to it")
        if len(run.told) > MAX_MOMENTS:
            raise TraceError(f"{place}: a run of more than {MAX_MOMENTS} events")
    if run is not None:
        yield run.closed()
    if reading.bad:
        cut = all(bad.is_cut for bad in reading.bad)
        raise TraceError(
            f"{reading.bad_count} of the records cannot be read; the first: {reading.bad[0]}", is_cut=cut
        )


def _manifest(body: RunStart, place: str) -> Mapping[str, Any]:
    try:
        manifest = json.loads(body.manifest or "")
    except (ValueError, RecursionError):
        raise TraceError(f"{place}: the run's manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise TraceError(f"{place}: expected a manifest of schema {SCHEMA}")
    if manifest.get("source") == "check" and manifest.get("kind") not in KINDS:
        raise TraceError(f"{place}: expected a run of kind {', '.join(KINDS)}, got {manifest.get('kind')!r}")
    return manifest
