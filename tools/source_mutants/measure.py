"""Runs mutants, each in processes of its own, and keeps a journal, so that a stopped measurement goes on."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from attrs import asdict, frozen

from quidnunc.properties.sources import SEARCHED, digest_of_sources
from tools.journal import end_last_line
from tools.source_mutants.mutants import Mutant
from tools.source_mutants.outcomes import FOLDER, Comparison, How, Outcome, Row
from tools.source_mutants.protocols import Lines, executed_lines, protocols_of

ROOT = FOLDER.parents[1]
JOURNAL = Path(".quidnunc/source-mutants.jsonl")
LIMIT_S = 1800.0
"""A stage is stopped after so long: far more than one takes, on a busy machine too."""
HANG_S = 10.0
"""Processor time after which one event hangs. A heartbeat of our router takes less than a thousandth."""
RUNS = 200

Key: TypeAlias = tuple[tuple[str, ...], int, int]
"""Ids, seed, runs."""


@lru_cache
def code() -> str:
    """Digest of the sources that an outcome rests on: the kit's, and ours."""
    found = hashlib.sha256(digest_of_sources(SEARCHED).encode())
    for name in ("operators", "mutants", "protocols", "hook", "worker"):
        found.update((FOLDER / f"{name}.py").read_bytes())
    found.update((ROOT / "tools" / "reported.py").read_bytes())
    return found.hexdigest()[:12]


# -- one mutant ---------------------------------------------------------------------------------------------


@frozen
class StageAnswer:
    """The lines of one stage, and whether it was stopped."""

    lines: tuple[dict[str, Any], ...]
    stopped: bool = False

    @property
    def how(self) -> How:
        """How the mutant was noticed. A stage that had to be stopped before it noticed anything hangs."""
        said = [line["noticed"] for line in self.lines if line.get("noticed")]
        last: How = said[-1] if said else ""
        return last or ("hangs" if self.stopped else "")

    @property
    def rows(self) -> tuple[Row, ...]:
        found = [(line["protocol"], *row) for line in self.lines for row in line.get("rows", ())]
        return tuple(dict.fromkeys(found))

    @property
    def allowed(self) -> int:
        return sum(line.get("allowed", 0) for line in self.lines)


def run_stage(
    stage: str,
    ids: Sequence[str],
    protocols: Sequence[str],
    *,
    runs: int = RUNS,
    seed: int = 0,
    limit_s: float = LIMIT_S,
    hang_s: float = HANG_S,
    cases: Sequence[str] = (),
) -> StageAnswer:
    """Ask a worker. `cases` are those of the suite to play; all where none is named.

    Raises RuntimeError where it fails in a way that is not the mutant's.
    """
    asked: dict[str, Any] = {"stage": stage, "ids": ids, "protocols": protocols, "cases": cases}
    asked |= {"runs": runs, "seed": seed, "hang_s": hang_s}
    command = [sys.executable, "-m", "tools.source_mutants.worker"]
    settings = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked).encode(),
            capture_output=True,
            cwd=ROOT,
            env=settings,
            timeout=limit_s,
        )
    except subprocess.TimeoutExpired as late:
        return StageAnswer(tuple(_read(late.stdout or b"")), stopped=True)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise RuntimeError(
            f"{', '.join(ids) or 'the original'}, {stage}: the worker failed: {' / '.join(last)}"
        )
    return StageAnswer(tuple(_read(done.stdout)))


def _read(said: bytes) -> Iterator[dict[str, Any]]:
    for line in said.decode(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            # The last line, where the worker was stopped in the middle of it.
            continue


def outcome_of(
    ids: tuple[str, ...], protocols: tuple[str, ...], *, seed: int, runs: int, hang_s: float = HANG_S
) -> Outcome:
    """Run the suite and the search on one mutant, or on several at once."""
    started = time.monotonic()
    suite = run_stage("suite", ids, protocols, hang_s=hang_s)
    search = suite
    if suite.how != "start":
        search = run_stage("search", ids, protocols, runs=runs, seed=seed, hang_s=hang_s)
    explained = suite
    if suite.how == "rows" and not search.rows:
        explained = run_stage("suite-rows", ids, protocols, hang_s=hang_s)
    return Outcome(
        ids=ids,
        code=code(),
        seed=seed,
        runs=runs,
        protocols=protocols,
        suite=suite.how,
        search=search.how,
        suite_rows=explained.rows,
        search_rows=search.rows,
        allowed=search.allowed,
        seconds=round(time.monotonic() - started, 1),
    )


# -- the same runs as the original --------------------------------------------------------------------------


@cache
def _digests(ids: tuple[str, ...], protocol: str, runs: int, seed: int) -> tuple[str, ...]:
    limit_s = max(LIMIT_S, float(runs))
    answer = run_stage("outputs", ids, (protocol,), runs=runs, seed=seed, limit_s=limit_s)
    return tuple(line.get("digest", "") for line in answer.lines)


def compared(mutant: Mutant, protocol: str, *, runs: int, seed: int) -> Comparison:
    """Whether the outputs of a mutant are those of the original, run by run, under one protocol."""
    original, changed = (_digests(ids, protocol, runs, seed) for ids in ((), (mutant.id,)))
    pairs = zip(original, changed, strict=False)
    differs = next((at for at, (one, other) in enumerate(pairs, 1) if one != other), None)
    if differs is None and len(changed) < len(original):
        differs = len(changed) + 1
    return Comparison(id=mutant.id, code=code(), protocol=protocol, runs=runs, differs_in=differs)


# -- the journal --------------------------------------------------------------------------------------------


@frozen
class Journal:
    """Outcomes and comparisons of these sources, one a line. Those of other sources are not read."""

    path: Path

    def outcomes(self) -> dict[Key, Outcome]:
        """By ids, seed and runs."""
        found = (Outcome(**_tuples(line)) for line in self._lines("outcome"))
        return {(o.ids, o.seed, o.runs): o for o in found}

    def comparisons(self) -> dict[str, Comparison]:
        """The longest of each mutant under each protocol, or the one that found a difference."""
        found: dict[str, Comparison] = {}
        for line in self._lines("comparison"):
            each = Comparison(**line)
            old = found.get(each.id)
            if old is None or old.differs_in is None:
                found[each.id] = each
        return found

    def add(self, result: Outcome | Comparison) -> None:
        """Write one down."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        end_last_line(self.path)
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"kind": type(result).__name__.lower(), **asdict(result)}) + "\n")

    def lines(self, modules: Sequence[str]) -> Lines:
        """The lines that the routers execute, measured once for these sources."""
        path = self.path.with_name(f"lines-{code()}-{len(modules)}.json")
        if path.exists():
            kept = json.loads(path.read_text("utf-8"))
        else:
            kept = {name: sorted(lines) for name, lines in executed_lines(modules).items()}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(kept), encoding="utf-8")
        return {name: frozenset((module, line) for module, line in lines) for name, lines in kept.items()}

    def _lines(self, kind: str) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for text in self.path.read_text("utf-8").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                # Cut short by a stop.
                continue
            if isinstance(line, dict) and line.pop("kind", "") == kind and line.get("code") == code():
                yield line


def _tuples(line: Mapping[str, Any]) -> dict[str, Any]:
    rows = {name: tuple(map(tuple, line[name])) for name in ("suite_rows", "search_rows")}
    return {**line, **rows, "ids": tuple(line["ids"]), "protocols": tuple(line["protocols"])}


# -- many mutants -------------------------------------------------------------------------------------------

Told: TypeAlias = Callable[[int, int, Outcome], None]
"""How many are done, of how many, and the last."""


def run_all(
    wanted: Sequence[tuple[Mutant, ...]],
    journal: Journal,
    lines: Lines,
    *,
    seed: int,
    runs: int,
    until: Callable[[], bool],
    tell: Told,
) -> list[Outcome]:
    """Outcomes of what is wanted, in that order, as far as they are known when `until` says stop."""
    known, found = journal.outcomes(), []
    for mutants in wanted:
        ids = tuple(mutant.id for mutant in mutants)
        outcome = known.get((ids, seed, runs))
        if outcome is None:
            if until():
                break
            shared = [p for p in protocols_of(mutants[0], lines)]
            for other in mutants[1:]:
                shared = [p for p in shared if p in protocols_of(other, lines)]
            outcome = outcome_of(ids, tuple(shared), seed=seed, runs=runs)
            journal.add(outcome)
        found.append(outcome)
        tell(len(found), len(wanted), outcome)
    return found
