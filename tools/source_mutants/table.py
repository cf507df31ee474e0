"""The page of a measurement: raw rates first, then survivors, then rates without equivalent mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from statistics import median
from typing import Any

from attrs import frozen

from tools.source_mutants.mutants import Mutant
from tools.source_mutants.outcomes import (
    Comparison,
    Outcome,
    equivalents,
    gaps,
    named_at_all,
    named_first,
    named_nearby,
    rate,
    rate_of,
    survivors,
)


@frozen(kw_only=True)
class Measurement:
    """What was asked, and what came of it."""

    seed: int
    runs: int
    available: int
    """Mutants that there are."""
    code: str
    on: date
    mutants: Mapping[str, Mutant]
    """All that there are, by id."""
    outcomes: Sequence[Outcome]
    comparisons: Mapping[str, Comparison]
    pairs: Sequence[Outcome] = ()

    @property
    def running(self) -> list[Outcome]:
        """Those that start: the others are no routers, and tell nothing of the kit."""
        return [each for each in self.outcomes if each.starts]

    def mutant(self, outcome: Outcome) -> Mutant:
        """Of an outcome of one."""
        return self.mutants[outcome.ids[0]]


def figures(of: Measurement) -> dict[str, Any]:
    """The figures, for `--json` and for the page."""
    running, known = of.running, equivalents()
    judged = [each for each in running if each.ids[0] not in known or each.noticed]
    return {
        "seed": of.seed,
        "runs": of.runs,
        "date": of.on.isoformat(),
        "code": of.code,
        "available": of.available,
        "sample": len(of.outcomes),
        "do_not_start": len(of.outcomes) - len(running),
        "raw": _rates(running, of),
        "without_equivalents": _rates(judged, of),
        "median_rows": _median(running),
        "at_most_two_rows": str(rate(_with_rows(running), lambda o: len(o.search_rows) <= 2)),
        "allowed_findings": sum(o.allowed for o in running),
        "pairs": {
            "sample": len(of.pairs),
            "both_named": str(rate(of.pairs, lambda pair: both_named(pair, of.mutants))),
            "one_named": str(rate(of.pairs, lambda pair: any(_named_in_pair(pair, of.mutants)))),
        },
    }


def _rates(outcomes: Sequence[Outcome], of: Measurement) -> dict[str, str]:
    told = [each for each in outcomes if each.noticed and not each.crashes]
    return {
        "noticed": str(rate(outcomes, lambda o: o.noticed)),
        "suite": str(rate(outcomes, lambda o: o.suite)),
        "search": str(rate(outcomes, lambda o: o.search)),
        "crashes": str(rate(outcomes, lambda o: o.crashes)),
        "first_row_names": str(rate_of(named_first(o, of.mutant(o)) for o in told)),
        "first_row_names_nearby": str(rate_of(named_nearby(o, of.mutant(o)) for o in told)),
        "some_row_names": str(rate_of(named_at_all(o, of.mutant(o)) for o in told)),
    }


def _with_rows(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [each for each in outcomes if each.search_rows]


def _median(outcomes: Iterable[Outcome]) -> float:
    rows = [len(each.search_rows) for each in _with_rows(outcomes)]
    return median(rows) if rows else 0.0


def _named_in_pair(pair: Outcome, mutants: Mapping[str, Mutant]) -> list[bool]:
    return [bool(named_at_all(pair, mutants[each])) for each in pair.ids]


def both_named(pair: Outcome, mutants: Mapping[str, Mutant]) -> bool:
    """Whether each of the two functions is named by a row."""
    return all(_named_in_pair(pair, mutants))


# -- the page -----------------------------------------------------------------------------------------------

HEAD = """\
# Mutants of the sources

The planted bugs of [mutants.md](mutants.md) are those that we thought of. These are not: operators change the
sources of our own routers (a comparison, a condition, a number, a statement that is gone), and a seed draws a
sample. Each mutant is tested as a stranger's router would be: by the fixed suite, and by a search of {runs}
runs. The kit is improved with seed 1 in view: believe the figures of a seed that nobody has looked at.
`make mutation` repeats the measurement; `tools/source_mutants` says how.

Seed {seed}, {sample} of {available} mutants, {date}, of the sources with digest `{code}` (`--json` says that
of yours). {starts} Shares are followed by their 95 % interval.
"""

ROWS = (
    ("noticed by suite or search", "noticed"),
    ("noticed by the suite", "suite"),
    ("noticed by the search", "search"),
    ("noticed only because the router crashes or hangs", "crashes"),
    ("of those with other rows: the first row names a clause of the changed function", "first_row_names"),
    ("... or of one of at most three functions that call it", "first_row_names_nearby"),
    ("of those with other rows: some row names a clause of the changed function", "some_row_names"),
)

NAMES = """\
A row is a root cause in the report of the search. It names the changed function if its clause, or one that
the same rule of the model carries out, is among those of the function in
`tools/source_mutants/clauses.toml`. That table was written before the first run. Functions without a clause
of their own are left out of these shares. What a helper does shows only where it is called, so the share with
callers was added, after seed 1 was measured and before seed 2. The first row is the first that is no crash.
"""


def page(of: Measurement) -> str:
    """The page as Markdown."""
    said = figures(of)
    gone = said["do_not_start"]
    starts = f"{gone} do not start as a router and are left out." if gone else "All of them start."
    parts = [HEAD.format(**{**said, "starts": starts})]
    parts += ["## Raw rates", _table(("", "share"), ((t, said["raw"][k]) for t, k in ROWS))]
    parts += [
        f"Median number of rows in a search that has any: {said['median_rows']:g}; at most two in "
        f"{said['at_most_two_rows']}. Findings whose run the specification allows: "
        f"{said['allowed_findings']}.",
        NAMES,
    ]
    parts += ["## By operator", _by(of, lambda m: m.operator)]
    parts += ["## By module", _by(of, lambda m: m.module)]
    parts += ["## Not noticed", *_survivors(of)]
    parts += ["## Without equivalent mutants", *_equivalents(of)]
    parts += [_table(("", "share"), ((t, said["without_equivalents"][k]) for t, k in ROWS))]
    if of.pairs:
        parts += ["## Two at once", *_pairs(of)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _by(of: Measurement, name_of: Callable[[Mutant], str]) -> str:
    groups: dict[str, list[Outcome]] = {}
    for each in of.running:
        groups.setdefault(name_of(of.mutant(each)), []).append(each)
    head = ("", "mutants", "suite", "search", "either")
    counted = (
        (
            f"`{name}`",
            len(some),
            sum(bool(o.suite) for o in some),
            sum(bool(o.search) for o in some),
            sum(o.noticed for o in some),
        )
        for name, some in sorted(groups.items())
    )
    return _table(head, counted)


def _survivors(of: Measurement) -> Iterator[str]:
    left = survivors(of.running)
    if not left:
        yield "None."
        return
    yield (
        "Compared with the original in the same runs: *same* means that no output differs, *differs* that\n"
        "the model allowed what it did."
    )
    head = ("mutant", "before", "after", "compared", "under")
    yield _table(head, (_survivor(of, of.mutant(each), each) for each in left))
    known = [f"- `{each.ids[0]}`: {gaps()[each.ids[0]]}" for each in left if each.ids[0] in gaps()]
    if known:
        yield "What the kit lacks to notice them, as far as somebody has looked:"
        yield "\n".join(known)


def _survivor(of: Measurement, mutant: Mutant, outcome: Outcome) -> tuple[str, ...]:
    seen = of.comparisons.get(mutant.id)
    if seen is None:
        said = "not compared"
    elif seen.differs_in is None:
        said = f"same in {seen.runs} runs"
    else:
        said = f"differs, first in run {seen.differs_in}"
    under = ", ".join(outcome.protocols)
    return (f"`{mutant.id}`", _code(mutant.before), _code(mutant.after), said, under)


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def _equivalents(of: Measurement) -> Iterator[str]:
    listed = [(o.ids[0], equivalents()[o.ids[0]]) for o in survivors(of.running) if o.ids[0] in equivalents()]
    if not listed:
        yield "No survivor of the sample is listed in `tools/source_mutants/equivalent.toml`."
        return
    yield f"Survivors that are equivalent to the original, each for a written reason: {len(listed)}."
    yield "\n".join(f"- `{name}`: {entry.reason.strip()}" for name, entry in listed)


def _pairs(of: Measurement) -> Iterator[str]:
    said = figures(of)["pairs"]
    yield (
        f"Two mutants in one router, of functions with clauses of their own, each noticed alone: in "
        f"{said['both_named']} each function is named by a row; in {said['one_named']} at least one is."
    )
    head = ("pair", "rows", "named")
    yield _table(
        head,
        (
            (
                " and ".join(f"`{name}`" for name in pair.ids),
                len(pair.rows),
                sum(_named_in_pair(pair, of.mutants)),
            )
            for pair in of.pairs
        ),
    )
