"""Random single edits of protocols, each held against the protocol that it is of.

An edit changes one rule or one parameter, and nobody has looked at what it does. Each must come out as a
separating trace, or with how far the search came without one: `quidnunc regress` may not call two protocols
equal because it did not look.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from quidnunc.model.edits.aliases import current_name
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS, family_of
from quidnunc.properties.regress.compare import BehaviourComparison, behaviour
from quidnunc.properties.regress.diff_clauses import parameters_read
from quidnunc.properties.regress.sides import side_named
from quidnunc.properties.regress.small import STEPS

BASES = (
    "floodsub",
    "gossipsub-1.0",
    "gossipsub-1.1",
    "gossipsub-1.2",
    "gossipsub-1.3",
    "partial-messages",
    "flood",
    "dog",
    "cat",
)
FORMS = ("without", "without", "may", "may", "later", "parameter", "parameter")
"""Each with its share."""
WALKS = 40
"""Walks for each change that no case shows."""
MAX_DRAWS = 100
LARGE = 20
"""From here on one more or less is not worth a draw."""


@frozen
class SingleEdit:
    """One edit, as a side is written."""

    base: str
    edit: str

    @property
    def side(self) -> str:
        return f"{self.base}+{self.edit}"

    @property
    def name(self) -> str:
        """In words, where a rule is edited."""
        return current_name(self.edit, PROTOCOLS[self.base])


def drawn_edits(seed: int, count: int) -> tuple[SingleEdit, ...]:
    """So many edits, no two of them the same. Raises SpecError where they could not be drawn."""
    die = random.Random(f"single edits/{seed}")
    found: dict[SingleEdit, None] = {}
    for _ in range(MAX_DRAWS * count):
        if len(found) == count:
            return tuple(found)
        base = die.choice(BASES)
        form = die.choice(FORMS)
        protocol = PROTOCOLS[base]
        if form == "parameter":
            edit = _parameter(base, die)
        else:
            edit = f"{form}:{die.choice([rule.name for _, rule in protocol.rules()])}"
        try:
            if edit and side_named(f"{base}+{edit}"):
                found[SingleEdit(base, edit)] = None
        except SpecError:
            continue  # The parameters contradict each other, or no rule follows that one.
    raise SpecError(f"{len(found)} edits of {count} were drawn in {MAX_DRAWS * count} tries")


def _parameter(base: str, die: random.Random) -> str:
    """One that is read and is a number or a switch, with another value."""
    defaults = family_of(PROTOCOLS[base]).parameters()
    named = [n for n in parameters_read(PROTOCOLS[base]) if isinstance(getattr(defaults, n), bool | int)]
    if not named:
        return ""
    name = die.choice(named)
    value = getattr(defaults, name)
    if isinstance(value, bool):
        return f"{name}={str(not value).lower()}"
    others = (value - 1, value + 1) if value < LARGE else (2 * value, value // 2, 1)
    return f"{name}={die.choice(others)}"


@frozen
class EditResult:
    """What came of one edit."""

    edit: SingleEdit
    found: BehaviourComparison

    @property
    def silent(self) -> tuple[str, ...]:
        """Keys of changes of which nothing is said; all of them, if there are none."""
        told = {s.change.key for s in self.found.separations} | {u.change.key for u in self.found.unseparated}
        told |= {each.key for s in self.found.separations for each in s.change.members}
        return tuple(c.key for c in self.found.changes if c.key not in told)

    def lines(self) -> Iterator[str]:
        """One of each change: what shows it, or how far was searched."""
        for change in self.found.changes:
            for each in self.found.separations:
                if change.key in (each.change.key, *(m.key for m in each.change.members)):
                    yield f"{each.verdict} in {len(each.found.trace[1])} events"
            yield from (str(u) for u in self.found.unseparated if u.change.key == change.key)


def result_of(edit: SingleEdit, *, walks: int = WALKS, steps: int = STEPS) -> EditResult:
    """Hold the edit against what it is an edit of."""
    old, new = side_named(edit.base), side_named(edit.side)
    return EditResult(edit, behaviour(old, new, walks=walks, steps=steps))


def table(results: Sequence[EditResult], seed: int) -> str:
    """The results as a page."""
    separated = sum(bool(r.found.separations) for r in results)
    lines = [
        "<!-- Written by `make regenerate` (PARTS=single-edits). Change what writes it, not this page. -->",
        "# Random single edits",
        "",
        "Each edit changes one rule or one parameter of one protocol, drawn with a seed. A rule is dropped",
        "(the edit is named after what a router then does), demands nothing (`sometimes-...`), or comes",
        "after the next one (`late-...`). The result is a separating trace, or how far the search went",
        "without finding one. The page never calls two protocols equal.",
        "",
        f"Seed {seed}: {len(results)} edits, {separated} of them separated.",
        "",
        "| edit | what it does |",
        "|---|---|",
    ]
    lines += [f"| `{r.edit.base}` `{r.edit.name}` | {'<br>'.join(r.lines())} |" for r in results]
    return "\n".join([*lines, "", "To repeat one: `quidnunc regress BASE BASE+EDIT --walks 40`.", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.single_edits", description=__doc__)
    parser.add_argument("--edits", type=int, default=20, metavar="N", help="how many (default: 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the results as Markdown")
    options = parser.parse_args(arguments)
    results = []
    for edit in drawn_edits(options.seed, options.edits):
        results.append(result_of(edit))
        print(f"{results[-1].edit.side}: {'; '.join(results[-1].lines())}", file=sys.stderr)
    text = table(results, options.seed)
    if options.table:
        options.table.write_text(text, encoding="utf-8")
    else:
        print(text)
    silent = [r.edit.side for r in results if r.silent or not r.found.changes]
    if silent:
        print(f"nothing is said of {', '.join(silent)}", file=sys.stderr)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
