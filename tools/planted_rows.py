"""What a search says of each planted bug: how many rows, which are unexplained, and which comes first.

    python -m tools.planted_rows --count 40 --runs 80     forty of them, drawn by --seed
    python -m tools.planted_rows                          all of them

A line is printed for each as it ends, and kept in a journal, so that a measurement that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict, frozen

from quidnunc.impl.routers import mutants_by_name
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.sources import SEARCHED, digest_of_sources
from tools.journal import end_last_line
from tools.mutation.mutants import hello_of_mutant, is_expected, opener_of
from tools.reported import explain_what_is_left, rows_reported

JOURNAL = Path(".quidnunc/planted-rows.jsonl")


@frozen
class PlantedRows:
    """The report of one search."""

    mutant: str
    seed: int
    runs: int
    code: str
    """Digest of the sources."""
    rows: tuple[tuple[str, str, str], ...]
    """Clause, cause and kind of each, the most telling first."""
    expected_first: bool
    """Whether the first names the claim expected, or one that is accepted."""
    seconds: float = 0.0

    @property
    def unexplained(self) -> int:
        return sum(kind == "unexplained" and not cause.startswith("crash:") for _, cause, kind in self.rows)


def rows_of_planted(name: str, *, seed: int, runs: int, code: str = "") -> PlantedRows:
    """Search the planted bug, to the end of `runs`."""
    started = time.process_time()
    mutant = mutant_named(name)
    protocol = protocol_of_mutant(mutant)
    hunt = FindingSearch(protocol, opener_of(name), hello_of_mutant(name, protocol))
    search(hunt, runs=runs, seed=seed)
    explain_what_is_left(hunt)
    rows = rows_reported(hunt, f"ours:{name}")
    claims = [claim_on(row.clause, hunt.spec) for row in rows[:1]]
    first = any(claim is not None and is_expected(mutant, claim.id) for claim in claims)
    told = tuple((row.clause, row.quirk, row.kind) for row in rows)
    return PlantedRows(name, seed, runs, code, told, first, round(time.process_time() - started, 1))


def summary(found: Sequence[PlantedRows]) -> str:
    """The figures, in words."""
    seen = [each for each in found if each.rows]
    numbers = sorted(len(each.rows) for each in seen)
    return (
        f"{len(found)} planted bugs: {len(seen)} with rows, median {numbers[len(numbers) // 2]}; "
        f"{sum(n > 2 for n in numbers)} with more than two; "
        f"{sum(bool(each.unexplained) for each in seen)} with an unexplained row; "
        f"{sum(each.expected_first for each in seen)} with the claim expected, or an accepted one, first"
        if seen
        else f"{len(found)} planted bugs: none has a row"
    )


def _journal(path: Path, code: str) -> dict[tuple[str, int, int], PlantedRows]:
    found = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            each = PlantedRows(**json.loads(line))
        except (ValueError, TypeError):
            # Cut short by a stop.
            continue
        if each.code == code:
            found[each.mutant, each.seed, each.runs] = each
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="what a search says of each planted bug")
    parser.add_argument("names", nargs="*", help="only these planted bugs")
    parser.add_argument("--count", type=int, help="so many, drawn (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    options = parser.parse_args(arguments)
    names = options.names or sorted(mutants_by_name())
    random.Random(options.seed).shuffle(names)
    code = digest_of_sources(SEARCHED)
    known, found = _journal(options.journal, code), []
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    end_last_line(options.journal)
    for name in names[: options.count]:
        each = known.get((name, options.seed, options.runs))
        if each is None:
            each = rows_of_planted(name, seed=options.seed, runs=options.runs, code=code)
            with options.journal.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(each)) + "\n")
        found.append(each)
        told = "; ".join(f"{clause} {cause}" for clause, cause, _ in each.rows) or "no row"
        mark = "" if each.expected_first else " (not the claim expected)"
        print(f"{name}: {len(each.rows)}{mark}: {told} ({each.seconds} s)", flush=True)
    print(summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
