"""The case files that a file of expectations names.

They are read only in its own folder, and are looked at before a search begins: one that is not there would be
missed only where the search does not meet what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.names import places_of_entries

MAX_TOLD = 10
"""Errors of one file."""


@frozen
class NamedEntry:
    """What one entry of a file of expectations is about, and the path of its case, or nothing."""

    clause: str
    cause: str
    case: str


def is_within(path: Path, file: Path) -> bool:
    """Whether `path`, links followed, is in the folder of `file` or below it."""
    return path.resolve().is_relative_to(file.parent.resolve())


def check_entries(file: Path, entries: Sequence[NamedEntry], *, update: bool = False) -> None:
    """Look at what a file of expectations names. Raises CaseError for a case outside the folder of the file,
    one that is not there, and an entry that is there twice.

    `update`: the file is about to be written anew, which mends the last two.
    """
    wrong = [*_outside(file, entries), *(() if update else _missing(file, entries))]
    wrong += () if update else _twice(entries)
    if wrong:
        place = places_of_entries(file, len(entries))
        told = [f"{place(at, field)}: {what}" for at, field, what in sorted(wrong)[:MAX_TOLD]]
        raise CaseError("\n".join(told))


def _outside(file: Path, entries: Sequence[NamedEntry]) -> Iterator[tuple[int, str, str]]:
    for at, each in enumerate(entries, 1):
        if "\0" in each.case or Path(each.case).is_absolute() or not is_within(file.parent / each.case, file):
            what = f"expected a case in the folder of this file, got {each.case!r}; move the case there"
            yield at, "case", what


def _missing(file: Path, entries: Sequence[NamedEntry]) -> Iterator[tuple[int, str, str]]:
    for at, each in enumerate(entries, 1):
        if each.case and "\0" not in each.case and not (file.parent / each.case).is_file():
            yield at, "case", f"no case file {each.case!r}; `--update-expect --cases DIR` writes the cases"


def _twice(entries: Sequence[NamedEntry]) -> Iterator[tuple[int, str, str]]:
    first: dict[tuple[str, str], int] = {}
    for at, each in enumerate(entries, 1):
        before = first.setdefault((each.clause, each.cause), at)
        if before != at:
            yield at, "", f"{each.clause} {each.cause} is expected twice, here and in expect {before}"
