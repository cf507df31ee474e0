"""`make mutants`: every planted departure from several seeds, a journal to go on from, and a table.

python -m tools.mutation --seeds 20 --table docs/mutants.md
python -m tools.mutation --write counterexamples/mutants
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from attrs import asdict, evolve

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from quidnunc.properties.sources import SEARCHED, digest_of_sources
from tools.journal import end_last_line
from tools.mutation.first_notice import runs_to_notice_each
from tools.mutation.mutants import (
    RUNS,
    KilledMutant,
    killing_case,
    limit_of,
    opener_of,
    problem_with,
    search_mutant,
)
from tools.mutation.table import Key, Kind, MutantSearch, table

JOURNAL = Path(".quidnunc/mutants.jsonl")
PROGRESS_S = 5.0
BATCH = 30
"""Mutants that are asked together how soon they are noticed."""


def look(keys: Sequence[Key], limit: int, code: str) -> list[MutantSearch]:
    """One batch of searches. Only a whole search asks which claim kills."""
    (_, seed, kind), names = keys[0], [name for name, _, _ in keys]
    started = time.monotonic()
    usual = MutantSearch(mutant="", seed=seed, kind=kind, limit=limit, code=code, runs=None)
    if kind == "explained":
        killed = [(name, search_mutant(name, seed=seed, runs=limit)) for name in names]
        found = [evolve(usual if k is None else told_of(k, usual), mutant=name) for name, k in killed]
    else:
        each = runs_to_notice_each(names, seed=seed, runs=limit, steered=kind == "steered")
        found = [evolve(usual, mutant=name, runs=runs) for name, runs in each.items()]
    took_s = round((time.monotonic() - started) / len(names), 2)
    return [evolve(outcome, seconds=took_s) for outcome in found]


def told_of(killed: KilledMutant, outcome: MutantSearch) -> MutantSearch:
    """The outcome of a search that killed."""
    return evolve(
        outcome,
        runs=killed.runs,
        claim=killed.claim,
        expected=killed.expected,
        cause=killed.found.finding.cause,
        events=len(killed.found.finding.events),
    )


# -- the journal --------------------------------------------------------------------------------------------


def read_journal(path: Path, *, limit: int, code: str) -> dict[Key, MutantSearch]:
    """Outcomes of the same sources under the same limit. A line cut short by an interruption is left out."""
    done: dict[Key, MutantSearch] = {}
    if not path.exists():
        return done
    for line in path.read_text("utf-8").splitlines():
        try:
            outcome = MutantSearch(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if outcome.code == code and outcome.limit == limit_of(kind=outcome.kind, runs=limit):
            done[outcome.key] = outcome
    return done


def wanted(names: Sequence[str], seeds: int, explained: int) -> Iterator[Key]:
    """All searches, so ordered that an interrupted job has searched every mutant equally often."""
    for seed in range(seeds):
        kinds: tuple[Kind, ...] = (
            ("explained", "steered", "plain") if seed < explained else ("steered", "plain")
        )
        for kind in kinds:
            for name in names:
                yield name, seed, kind


def batches(keys: Iterable[Key]) -> list[tuple[Key, ...]]:
    """Keys that are searched together: those that only ask how soon, of one seed, kind and protocol."""
    found: dict[tuple[object, ...], list[Key]] = {}
    for key in keys:
        name, seed, kind = key
        whole = kind == "explained"
        found.setdefault((seed, kind, name if whole else protocol_of_mutant(mutant_named(name))), []).append(
            key
        )
    return [tuple(some[at : at + BATCH]) for some in found.values() for at in range(0, len(some), BATCH)]


def is_settled(key: Key, keys: Sequence[Key], done: Mapping[Key, MutantSearch]) -> bool:
    """Whether the median that this search would be part of is beyond the limit whatever it says."""
    name, _, kind = key
    if kind == "explained":
        return False
    seeds = sum(1 for other in keys if (other[0], other[2]) == (name, kind))
    beyond = sum(1 for k, o in done.items() if (k[0], k[2]) == (name, kind) and o.runs is None)
    return 2 * beyond > seeds


@contextmanager
def hash_seed_of_children() -> Iterator[None]:
    """Processes that are started meanwhile have the hash seed of every search."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


def search_all(
    keys: Iterable[Key], journal: Path, *, limit: int, code: str, budget_s: float | None = None
) -> dict[Key, MutantSearch]:
    """Run the searches that the journal lacks, on all cores; each is written down as it ends."""
    keys = list(keys)
    done = read_journal(journal, limit=limit, code=code)
    left = [key for key in keys if key not in done]
    started = told = time.monotonic()
    journal.parent.mkdir(parents=True, exist_ok=True)
    end_last_line(journal)
    # Workers are started anew and not forked, so that their hashes are the same in every process.
    context = multiprocessing.get_context("spawn")
    with (
        hash_seed_of_children(),
        ProcessPoolExecutor(mp_context=context) as pool,
        journal.open("a", encoding="utf-8") as lines,
    ):
        queue, running = iter(batches(left)), set[Future[list[MutantSearch]]]()
        while True:
            late = budget_s is not None and time.monotonic() - started >= budget_s
            for batch in queue if not late and len(running) < 4 else ():
                wanted_still = [key for key in batch if not is_settled(key, keys, done)]
                if not wanted_still:
                    continue
                runs = limit_of(kind=batch[0][2], runs=limit)
                running.add(pool.submit(look, wanted_still, runs, code))
                if len(running) >= 4:
                    break
            if not running:
                break
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                for outcome in each.result():
                    done[outcome.key] = outcome
                    lines.write(json.dumps(asdict(outcome)) + "\n")
                lines.flush()
            if time.monotonic() - told >= PROGRESS_S:
                told = time.monotonic()
                _progress(keys, done, told - started)
    return {key: done[key] for key in keys if key in done}


def _progress(keys: Sequence[Key], done: dict[Key, MutantSearch], seconds: float) -> None:
    over = [done[key] for key in keys if key in done]
    alive = sum(1 for o in over if o.kind != "plain" and o.runs is None)
    other = sum(1 for o in over if o.kind == "explained" and o.runs is not None and not o.expected)
    print(
        f"{seconds:.0f} s: {len(over)} of {len(keys)} searches, {alive} survived, "
        f"{other} killed by another claim",
        file=sys.stderr,
    )


# -- cases --------------------------------------------------------------------------------------------------


def write_cases(folder: Path, names: Sequence[str]) -> list[str]:
    """Keep one killing case of each mutant in `folder`; gives back what is wrong.

    A case that still kills is only rewritten, so that writing again changes nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    problems = []
    for at, name in enumerate(names, 1):
        path = folder / f"{name}.case"
        try:
            case = _kept(path) or killing_case(name)
        except ValueError as error:
            problems.append(str(error))
            continue
        path.write_text(render(replay_router(case, opener_of(name)).rewritten, strict=True), encoding="utf-8")
        print(f"{at} of {len(names)}: {path}", file=sys.stderr)
    strays = sorted(p.name for p in folder.glob("*.case") if p.stem not in mutants_by_name())
    return problems + [f"{folder / stray}: there is no such mutant; remove the file" for stray in strays]


def _kept(path: Path) -> Case | None:
    """The case that is there, if it still kills."""
    if not path.exists():
        return None
    try:
        case = load(path)
    except CaseError:
        return None
    return None if problem_with(case) else case


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where most searches of each mutant notice it, and kill it by a claim expected; 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("mutants", nargs="*", help="names; all where none is given")
    parser.add_argument("--seeds", type=int, default=20, help="searches of each mutant (%(default)s)")
    parser.add_argument(
        "--explained", type=int, default=1, help="so many of them ask which claim it is (%(default)s)"
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="after which it survives (%(default)s)")
    parser.add_argument("--minutes", type=float, help="begin no search after so long")
    parser.add_argument("--table", type=Path, help="where to write the table; stdout otherwise")
    parser.add_argument("--resume", type=Path, default=JOURNAL, help="the journal (%(default)s)")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="keep a killing case of each there")
    asked = parser.parse_args(arguments)
    names = asked.mutants or list(mutants_by_name())
    try:
        for name in names:
            mutant_named(name)
    except ValueError as error:
        parser.error(str(error))
    if asked.write is not None:
        problems = write_cases(asked.write, names)
        print("\n".join(problems) or f"{len(names)} killing cases in {asked.write}")
        return 1 if problems else 0
    budget_s = None if asked.minutes is None else 60 * asked.minutes
    keys = list(wanted(names, asked.seeds, asked.explained))
    outcomes = search_all(
        keys, asked.resume, limit=asked.runs, code=digest_of_sources(SEARCHED), budget_s=budget_s
    )
    text = table(list(outcomes.values()), limit=asked.runs)
    if asked.table is None:
        print(text)
    else:
        asked.table.write_text(text, encoding="utf-8")
        print(f"{len(outcomes)} searches: {asked.table}")
    alive = any(is_settled((name, 0, "steered"), keys, outcomes) for name in names)
    return 0 if not alive and all(is_killed(name, outcomes.values()) for name in names) else 1


def is_killed(name: str, outcomes: Iterable[MutantSearch]) -> bool:
    """Whether most of the whole searches of a mutant kill it by a claim expected or accepted."""
    whole = [o for o in outcomes if o.mutant == name and o.kind == "explained"]
    return 2 * sum(o.runs is not None and o.expected for o in whole) > len(whole)


if __name__ == "__main__":
    raise SystemExit(main())
