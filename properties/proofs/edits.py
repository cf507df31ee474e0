"""For each proved line an edit of a rule under which it fails: a proof that no edit breaks proves nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from attrs import frozen

from quidnunc.properties.tables import table

GONE = "gone"
"""What becomes of a line that is a part of a proof, where the statement itself is refuted."""
MISSING = "missing"
"""What becomes of a line that is not decided under the edit, for no reason that is known."""
FAILS = frozenset({"refuted", "undetermined", GONE})
"""What may become of a proof under its edit."""


@frozen(kw_only=True)
class RuleEdit:
    """One rule that is changed, for the lines that need it as it is."""

    provers: tuple[str, ...]
    lines: tuple[str, ...]
    clause: str
    says: str
    """The rule after the edit."""
    switches: Mapping[str, Any]

    def covers(self, name: str, prover: str) -> bool:
        """Whether the line of `prover` is one of these."""
        rest = name.removeprefix(prover).removeprefix(".")
        return any(fnmatchcase(prover, p) for p in self.provers) and any(
            fnmatchcase(rest, line) for line in self.lines
        )


def _read() -> Iterator[RuleEdit]:
    for row in table("properties.proofs", "edits.toml")["edit"]:
        yield RuleEdit(
            provers=tuple(row["provers"]),
            lines=tuple(row["lines"]),
            clause=row["clause"],
            says=row["says"],
            switches=row["set"],
        )


EDITS: tuple[RuleEdit, ...] = tuple(_read())


def edit_of_line(name: str, prover: str) -> RuleEdit | None:
    """The edit that is to break a line of `prover`; None where none is named."""
    return next((edit for edit in EDITS if edit.covers(name, prover)), None)


def by_edit(lines: Sequence[tuple[str, str]]) -> Mapping[tuple[str, int], list[str]]:
    """(prover, number of the edit) -> the lines that it is to break, of (line, prover)."""
    found: dict[tuple[str, int], list[str]] = {}
    for name, prover in lines:
        edit = edit_of_line(name, prover)
        if edit is not None:
            found.setdefault((prover, EDITS.index(edit)), []).append(name)
    return found
