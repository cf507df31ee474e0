"""A campaign on disk: one file a result, whole or not there, so that it goes on where it was stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import field, mutable

from quidnunc.pipeline.simulation.scenario.values import ScenarioError
from quidnunc.pipeline.sweep.file import Job, Result, SweepPlan, id_of

RESULTS = "results"
PLAN = "sweep.json"
SCHEMA = 1


@mutable
class SweepStore:
    """The directory of one campaign."""

    folder: Path
    plan: SweepPlan
    had: int = 0
    """Results that were there before."""
    _known: set[str] = field(factory=set)

    def open(self) -> None:
        """Make the directory, or find what is in it. Raises ScenarioError where it is of another
        sweep or of another version of quidnunc."""
        place = self.folder / PLAN
        if self.folder.exists() and any(self.folder.iterdir()) and not place.is_file():
            raise ScenarioError(f"{self.folder}: is not the directory of a sweep; name another with -o")
        (self.folder / RESULTS).mkdir(parents=True, exist_ok=True)
        if place.is_file():
            elsewhere = f"name another place with -o, or remove {self.folder}"
            told = read_whole(place, elsewhere)
            if told.get("schema") != SCHEMA:
                raise ScenarioError(
                    f"{place}: expected schema {SCHEMA}, got {told.get('schema')!r}: another version of "
                    f"quidnunc wrote it; {elsewhere}"
                )
            if told.get("id") != self.plan.id:
                raise ScenarioError(
                    f"{self.folder}: holds another sweep, or one made by another version of quidnunc "
                    f"({told.get('name')}); {elsewhere}"
                )
        else:
            write_whole(place, {"schema": SCHEMA, "name": self.plan.name, "id": self.plan.id})
        self._known = {path.stem for path in (self.folder / RESULTS).glob("*.json")}
        self.had = len(self._known)

    def name_of(self, job: Job) -> str:
        return id_of(job, self.plan.sources)

    def missing(self, jobs: Iterable[Job]) -> list[tuple[str, Job]]:
        """Jobs without a result, each once, under their names."""
        named = {self.name_of(job): job for job in jobs}
        return [(name, job) for name, job in named.items() if name not in self._known]

    def keep(self, name: str, result: Result) -> None:
        write_whole(self.folder / RESULTS / f"{name}.json", result)
        self._known.add(name)

    def result(self, job: Job) -> Result:
        """Raises ScenarioError where the file is damaged, with what to do."""
        return read_whole(
            self.folder / RESULTS / f"{self.name_of(job)}.json", "remove it to compute that part again"
        )

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Those that are there: all, unless the campaign was interrupted."""
        for job in jobs:
            if self.name_of(job) in self._known:
                yield job, self.result(job)


def read_whole(path: Path, remedy: str) -> dict[str, Any]:
    """What `write_whole` wrote. Raises ScenarioError, which ends with `remedy`: what to do."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else error
        raise ScenarioError(f"{path}: {why}; {remedy}") from None
    if not isinstance(found, dict):
        raise ScenarioError(f"{path}: expected an object; {remedy}")
    return found


def write_whole(path: Path, value: Any) -> None:
    """JSON that appears at once: a process that is killed leaves the old file or the new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(part, path)
