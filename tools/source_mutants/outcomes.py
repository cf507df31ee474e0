"""What became of mutants, and the figures that they come to."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.documents.clauses import load
from tools.source_mutants.callers import callers
from tools.source_mutants.mutants import Mutant

FOLDER = Path(__file__).parent
CRASHES = ("crash:", "unexplained:crash")
"""How a root cause begins that is a crash; measurements of before crashes were told apart have the second."""

How: TypeAlias = Literal["", "rows", "hangs", "breaks", "start"]
"""How a mutant was noticed: by rows of the report; because the router hangs; because it breaks the driver;
because it cannot be imported or opened. Empty: it was not."""
Row: TypeAlias = tuple[str, str, str]
"""Protocol, clause, root cause."""


@frozen(kw_only=True)
class Outcome:
    """What became of one mutant, or of a pair."""

    ids: tuple[str, ...]
    code: str
    """Digest of the sources."""
    seed: int
    """Of the search."""
    runs: int
    """Of the search under one protocol."""
    protocols: tuple[str, ...]
    """The first is tried always, the others by the search only where the ones before did not notice."""
    suite: How
    search: How
    suite_rows: tuple[Row, ...] = ()
    """Where the search has none: otherwise nobody asks what is behind the cases that depart."""
    search_rows: tuple[Row, ...] = ()
    """As the report has them, the most telling first."""
    allowed: int = 0
    """Findings of the search, no step of which departs from the specification as it stands."""
    seconds: float = 0.0

    @property
    def starts(self) -> bool:
        """Whether there is a router to test at all."""
        return "start" not in (self.suite, self.search)

    @property
    def noticed(self) -> bool:
        return bool(self.suite or self.search)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those of the search, or of the suite where the search has none."""
        return self.search_rows or self.suite_rows

    @property
    def crashes(self) -> bool:
        """Whether all that was noticed is that the router crashed, hung or broke its driver."""
        return self.noticed and all(cause.startswith(CRASHES) for _, _, cause in self.rows)


@frozen(kw_only=True)
class Comparison:
    """Whether a mutant behaved as the original did in the same runs."""

    id: str
    code: str
    protocol: str
    runs: int
    """How many were played."""
    differs_in: int | None
    """The first run in which an output differs, from 1; None where there is none."""


# -- the clauses of a function ------------------------------------------------------------------------------


@lru_cache
def clauses_by_place() -> Mapping[str, tuple[str, ...]]:
    """Module and function -> its clauses, as `clauses.toml` has them."""
    table: dict[str, Any] = tomllib.loads((FOLDER / "clauses.toml").read_text("utf-8"))
    return {
        f"{module}:{function}" if function else module: tuple(clauses)
        for module, functions in table.items()
        for function, clauses in functions.items()
    }


def is_named(clause: str, mutant: Mutant) -> bool:
    """Whether a row with this clause names what was changed: one clause of the function, or another that the
    same rule of the model carries out."""
    return _is_among(clause, clauses_by_place()[mutant.place])


def _is_among(clause: str, clauses: Collection[str]) -> bool:
    return rule_of(clause) in {rule_of(each) for each in clauses}


def rule_of(clause: str) -> str:
    """The clause with the rule that carries this one out."""
    known = load().get(clause)
    return known.carried_by or clause if known is not None else clause


def _told(outcome: Outcome) -> list[str]:
    """The clauses of the rows that say more than that the router crashed."""
    return [clause for _, clause, cause in outcome.rows if not cause.startswith(CRASHES)]


def named_first(outcome: Outcome, mutant: Mutant) -> bool | None:
    """Whether the first row that is no crash names the function; None where it has no clause, or nothing has
    such a row."""
    told = _told(outcome)
    return is_named(told[0], mutant) if told and clauses_by_place()[mutant.place] else None


def named_nearby(outcome: Outcome, mutant: Mutant) -> bool | None:
    """Whether that row names the function or one that calls it, where what it does can be seen."""
    near, told = clauses_nearby(mutant.place), _told(outcome)
    return _is_among(told[0], near) if told and near else None


def clauses_nearby(place: str) -> frozenset[str]:
    """The clauses of a function and of those that call it."""
    by_place = clauses_by_place()
    return frozenset(c for each in {place, *callers().get(place, ())} for c in by_place.get(each, ()))


def named_at_all(outcome: Outcome, mutant: Mutant) -> bool | None:
    """Whether any row does."""
    if not clauses_by_place()[mutant.place] or not outcome.rows:
        return None
    return any(is_named(clause, mutant) for _, clause, _ in outcome.rows)


# -- equivalent mutants -------------------------------------------------------------------------------------


@frozen
class Equivalent:
    """A mutant that no test could notice, and why."""

    before: str
    after: str
    reason: str


@lru_cache
def equivalents() -> Mapping[str, Equivalent]:
    """By id, as `equivalent.toml` has them."""
    table: dict[str, Any] = tomllib.loads((FOLDER / "equivalent.toml").read_text("utf-8"))
    return {name: Equivalent(**entry) for name, entry in table.items()}


@lru_cache
def gaps() -> Mapping[str, str]:
    """What the kit lacks to notice a survivor, by id, as `gaps.toml` has it. They count as survivors."""
    return dict(tomllib.loads((FOLDER / "gaps.toml").read_text("utf-8")))


# -- figures ------------------------------------------------------------------------------------------------


@frozen
class Rate:
    """So many of so many."""

    count: int
    total: int

    def __str__(self) -> str:
        if not self.total:
            return "0 of 0"
        low, high = self.interval
        share = f"{100 * self.count / self.total:.0f} %"
        return f"{self.count} of {self.total} ({share}; {100 * low:.0f} to {100 * high:.0f} %)"

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 %."""
        z, n = 1.96, self.total
        if not n:
            return 0.0, 1.0
        p = self.count / n
        middle, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def rate(outcomes: Iterable[Outcome], holds: Callable[[Outcome], object]) -> Rate:
    """How many of them."""
    found = [bool(holds(each)) for each in outcomes]
    return Rate(sum(found), len(found))


def rate_of(answers: Iterable[bool | None]) -> Rate:
    """How many are True, of those that are not None."""
    said = [answer for answer in answers if answer is not None]
    return Rate(sum(said), len(said))


def survivors(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those that neither suite nor search noticed."""
    return [each for each in outcomes if not each.noticed]
