"""`make mutation`: mutants of our routers' sources against the suite and the search, a journal, and a page.

python -m tools.source_mutants --seed 1 --count 100 --minutes 25 --table docs/mutation.md
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from attrs import asdict

from tools.source_mutants.measure import JOURNAL, RUNS, Journal, code, compared, run_all
from tools.source_mutants.mutants import MODULES, Mutant, all_mutants, drawn, drawn_pairs
from tools.source_mutants.outcomes import Comparison, Outcome, clauses_by_place, survivors
from tools.source_mutants.protocols import Lines, protocols_of
from tools.source_mutants.table import Measurement, figures, page


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m tools.source_mutants", description=__doc__)
    made.add_argument("mutants", nargs="*", help="ids; a sample is drawn where none is given")
    made.add_argument("--seed", type=int, default=0, help="of the sample and of the searches (%(default)s)")
    made.add_argument("--count", type=int, default=100, help="mutants in the sample (%(default)s)")
    made.add_argument("--runs", type=int, default=RUNS, help="runs of each search (%(default)s)")
    made.add_argument("--minutes", type=float, help="begin no mutant after so long")
    made.add_argument("--pairs", type=int, default=0, help="so many pairs of noticed mutants (%(default)s)")
    made.add_argument(
        "--compare", type=int, default=0, metavar="RUNS", help="compare survivors with the original"
    )
    made.add_argument("--journal", type=Path, default=JOURNAL, help="where to go on (%(default)s)")
    made.add_argument("--table", type=Path, help="write the page here; stdout otherwise")
    made.add_argument("--json", action="store_true", help="print figures and outcomes as JSON")
    made.add_argument("--list", action="store_true", help="print the sample and run nothing")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where something was run, or is known of earlier; 1 where nothing is."""
    options = parser().parse_args(arguments)
    known = all_mutants()
    unknown = [name for name in options.mutants if name not in known]
    if unknown:
        parser().error(f"no mutant {unknown[0]!r}; --list --count {len(known)} names all of them")
    sample = [known[name] for name in options.mutants] or list(drawn(options.seed, options.count))
    if options.list:
        print("\n".join(f"{m.id}\t{m.before}\t{m.after}" for m in sample))
        return 0
    journal, until = Journal(options.journal), _deadline(options.minutes)
    lines = journal.lines(MODULES)

    def ask(wanted: Sequence[tuple[Mutant, ...]]) -> list[Outcome]:
        return run_all(
            wanted, journal, lines, seed=options.seed, runs=options.runs, until=until, tell=_progress
        )

    outcomes = ask([(mutant,) for mutant in sample])
    _compare(survivors(outcomes), known, journal, options, until)
    pairs = ask(_pairs(outcomes, known, lines, options)) if options.pairs else []
    found = Measurement(
        seed=options.seed,
        runs=options.runs,
        available=len(known),
        code=code(),
        on=datetime.now(UTC).date(),
        mutants=known,
        outcomes=outcomes,
        comparisons=journal.comparisons(),
        pairs=pairs,
    )
    _print(found, options)
    return 0 if outcomes else 1


def _deadline(minutes: float | None) -> Callable[[], bool]:
    started = time.monotonic()
    return lambda: minutes is not None and time.monotonic() - started >= 60 * minutes


def _progress(done: int, of: int, outcome: Outcome) -> None:
    said = f"suite: {outcome.suite or 'no'}, search: {outcome.search or 'no'}, {len(outcome.rows)} rows"
    print(f"{done} of {of}: {' + '.join(outcome.ids)}: {said}, {outcome.seconds:.0f} s", file=sys.stderr)


def _compare(
    left: Sequence[Outcome],
    known: dict[str, Mutant],
    journal: Journal,
    options: argparse.Namespace,
    until: Callable[[], bool],
) -> None:
    """Compare each survivor with the original, under each protocol, until an output differs."""
    done = journal.comparisons()
    for outcome in left if options.compare else ():
        seen = done.get(outcome.ids[0])
        if seen is not None and (seen.differs_in is not None or seen.runs >= options.compare):
            continue
        for protocol in outcome.protocols:
            if until():
                return
            found = compared(known[outcome.ids[0]], protocol, runs=options.compare, seed=options.seed)
            journal.add(found)
            _tell_comparison(found)
            if found.differs_in is not None:
                break


def _tell_comparison(found: Comparison) -> None:
    said = "same" if found.differs_in is None else f"differs in run {found.differs_in}"
    print(f"{found.id}: {said} ({found.protocol}, {found.runs} runs)", file=sys.stderr)


def _pairs(
    outcomes: Sequence[Outcome], known: dict[str, Mutant], lines: Lines, options: argparse.Namespace
) -> list[tuple[Mutant, Mutant]]:
    """Pairs of mutants that the search noticed alone by more than a crash, under a protocol of both."""
    alone = [known[o.ids[0]] for o in outcomes if o.search == "rows" and not o.crashes]
    alone = [mutant for mutant in alone if clauses_by_place()[mutant.place]]
    pairs = drawn_pairs(alone, options.seed, len(alone) ** 2)
    shared = [(a, b) for a, b in pairs if {*protocols_of(a, lines)} & {*protocols_of(b, lines)}]
    return shared[: options.pairs]


def _print(found: Measurement, options: argparse.Namespace) -> None:
    if options.table is not None:
        options.table.write_text(page(found), encoding="utf-8")
    if options.json:
        outcomes = [asdict(each) for each in (*found.outcomes, *found.pairs)]
        compared_too = [asdict(each) for each in found.comparisons.values()]
        print(json.dumps({**figures(found), "outcomes": outcomes, "comparisons": compared_too}, indent=1))
    elif options.table is None:
        print(page(found), end="")


if __name__ == "__main__":
    raise SystemExit(main())
