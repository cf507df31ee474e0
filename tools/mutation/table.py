"""The table of mutants: what kills each of them, and how soon."""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.mutants import claim_expected, mutant_named, protocol_of_mutant
from tools.mutation.accepted import ACCEPTED
from tools.mutation.mutants import is_expected, limit_of

Kind: TypeAlias = Literal["explained", "steered", "plain"]
"""A whole search, with the claim that kills; or one that only asks how soon the mutant departs, with steering
or without."""
Key: TypeAlias = tuple[str, int, Kind]
"""Mutant, seed, kind of search."""


@frozen(kw_only=True)
class MutantSearch:
    """One search, as a line of the journal."""

    mutant: str
    seed: int
    kind: Kind
    limit: int
    code: str
    """Digest of the sources that searched: what other sources found says nothing of these."""
    runs: int | None
    """To the first departure; None where the mutant survived `limit` runs."""
    claim: str = ""
    expected: bool = False
    cause: str = ""
    events: int = 0
    seconds: float = 0.0

    @property
    def key(self) -> Key:
        return (self.mutant, self.seed, self.kind)


HEAD = """\
<!-- Written by `make regenerate` (PARTS=mutant-table). Change what writes it, not this page. -->
# Mutants

What finds each planted departure of our own routers (`impl/mutants/*.py`, `impl/ours/dog_variants.py`), and
how many runs that takes. The killing case of each is in `counterexamples/mutants`.

"Killed by" is of whole searches, which minimise the run and look for what accounts for it: each claim with
the number of seeds that it was the answer of. A search is killed by the claim expected where the edit of the
model that accounts for its run, or the clause that its departure breaks, or a term of the score that its run
cannot do without, is one of that claim: a run that shows one term by another is counted for both. An
accepted claim (`*`) is named below, with its reason.

"With steering" is the search as it is; "without" draws every plain act as often as any other, and none that
leads up to a rare occasion. Both are medians over seeds of the number of runs up to the first that departs;
`>{steered}` says that most seeds did not find it in so many (`>{plain}` without), and a fraction how many did
where not all have. A mutant is not searched again once its median is beyond the limit whatever the seeds
that are left say.
"""


def table(outcomes: Sequence[MutantSearch], *, limit: int) -> str:
    """The whole document."""
    names = list(dict.fromkeys(o.mutant for o in outcomes))
    of_kind = {kind: [o for o in outcomes if o.kind == kind] for kind in ("explained", "steered", "plain")}
    lines = [
        HEAD.format(**{kind: limit_of(kind=kind, runs=limit) for kind in ("steered", "plain")}),
        _when(names, of_kind, limit),
        "",
    ]
    lines += ["| mutant | protocol | claim expected | killed by | with steering | without |", _RULE]
    for name in names:
        mutant = mutant_named(name)
        mine = {kind: [o for o in found if o.mutant == name] for kind, found in of_kind.items()}
        cells = (
            name,
            protocol_of_mutant(mutant),
            claim_expected(mutant) or "none",
            _killers(name, mine["explained"]),
            middle([o.runs for o in mine["steered"]], limit_of(kind="steered", runs=limit)),
            middle([o.runs for o in mine["plain"]], limit_of(kind="plain", runs=limit)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "## Claims accepted in another's place", ""]
    lines += [
        f"- `{name}`: {', '.join(ACCEPTED[name].claims)}. {ACCEPTED[name].reason}"
        for name in names
        if name in ACCEPTED
    ]
    return "\n".join(lines) + "\n"


_RULE = "|---|---|---|---|---:|---:|"


def middle(runs: Sequence[int | None], limit: int) -> str:
    """The median, of which None counts as more than the limit; and how many are not None, if not all."""
    if not runs:
        return ""
    found = sum(1 for r in runs if r is not None)
    value = median([math.inf if r is None else r for r in runs])
    text = f">{limit}" if math.isinf(value) else f"{value:g}"
    return text if found == len(runs) else f"{text} ({found}/{len(runs)})"


def _killers(name: str, mine: Sequence[MutantSearch]) -> str:
    """Claims with how many seeds they were the answer of."""
    mutant = mutant_named(name)
    said = []
    for claim, times in Counter(o.claim for o in mine if o.runs is not None).most_common():
        mark = "" if claim == claim_expected(mutant) else "*" if is_expected(mutant, claim) else " (!)"
        said.append(f"{claim}{mark} {times}")
    alive = sum(1 for o in mine if o.runs is None)
    return ", ".join([*said, *([f"survived {alive}"] if alive else [])])


def _when(names: Sequence[str], of_kind: Mapping[str, Sequence[MutantSearch]], limit: int) -> str:
    explained, steered, plain = (of_kind[kind] for kind in ("explained", "steered", "plain"))
    killed = [o for o in explained if o.runs is not None]
    right = sum(1 for o in killed if is_expected(mutant_named(o.mutant), o.claim))
    departed, noticed = (sum(1 for o in each if o.runs is not None) for each in (steered, plain))
    with_it = middle([o.runs for o in steered], limit_of(kind="steered", runs=limit)) or "none"
    without = middle([o.runs for o in plain], limit_of(kind="plain", runs=limit)) or "none"
    return (
        f"Of {datetime.now(UTC):%Y-%m-%d}, commit {_commit()}: {len(names)} mutants, up to {limit} runs per\n"
        f"search. Whole searches, {_seeds(names, explained)}: {len(killed)} of {len(explained)} killed,\n"
        f"{right} of them by a claim expected or accepted. With steering, {_seeds(names, steered)}:\n"
        f"{departed} of {len(steered)} departed; median {with_it} runs. Without, {_seeds(names, plain)}:\n"
        f"{noticed} of {len(plain)} departed; median {without} runs."
    )


def _seeds(names: Sequence[str], outcomes: Sequence[MutantSearch]) -> str:
    """How many seeds each mutant was searched from."""
    count = Counter(o.mutant for o in outcomes)
    least, most = min((count[n] for n in names), default=0), max((count[n] for n in names), default=0)
    return f"{least} seeds each" if least == most else f"{least} to {most} seeds each"


def _commit() -> str:
    """The short hash, and whether sources differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--", "model", "impl", "properties")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")
