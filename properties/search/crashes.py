"""Crashes in an expectations file: numbered, and recognised without saying what crashes, or where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import count

from attrs import evolve

from quidnunc.properties.search.rows import RootCause, is_crash
from quidnunc.properties.search.verdicts import Expectation

ANY_CRASH = "unexplained:crash"
"""The cause of every crash in files of before crashes were told apart."""


def crash_mark(root: RootCause) -> str:
    """By which a file recognises a crash without saying what crashes."""
    return sha256(root.quirk.encode()).hexdigest()[:12]


def crashes_numbered(
    roots: Iterable[RootCause], expected: Sequence[Expectation]
) -> dict[tuple[str, str], RootCause]:
    """The roots by their keys, crashes under the names that a file has for them: `crash 1` and so on."""
    known = {each.mark: each.cause for each in expected if each.mark}
    taken = {each.cause for each in expected}
    free = (name for number in count(1) if (name := f"crash {number}") not in taken)
    found = {}
    for root in sorted(roots, key=lambda r: (r.clause, r.quirk)):
        shown = root
        if is_crash(root):
            name = known.get(crash_mark(root)) or (ANY_CRASH if ANY_CRASH in taken else next(free))
            shown = evolve(root, quirk=name, mark=crash_mark(root))
        found[root.clause, root.quirk] = shown
    return found
