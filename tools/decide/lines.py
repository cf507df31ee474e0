"""Which lines of `quidnunc prove` speak of what a statement speaks of, and where the two contradict."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from quidnunc.properties.statements.decisions import Decision

_TABLE = tomllib.loads(Path(__file__).with_name("lines.toml").read_text(encoding="utf-8"))
DOG_SUFFIXES = ("", "-adr", "-adr-prose", "-quint", "-go", "-proposed")


@frozen
class SameThing:
    """A line that speaks of the same as a statement in one revision."""

    statement: str
    line: str
    revision: str
    both: bool = False
    """A proof of the line excludes what would break the statement. A refutation always breaks it."""


def _each() -> Iterator[SameThing]:
    for one in _TABLE["same"]:
        for suffix in DOG_SUFFIXES if "{}" in one["line"] else ("",):
            # The two readings of ADR-119 have the arithmetic of one controller.
            shared = one["line"].startswith("dog-controller") and suffix == "-adr-prose"
            line = one["line"].format("-adr" if shared else suffix)
            revision = one["revision"].format(suffix)
            both = one.get("both", False) and revision not in one.get("races", ())
            yield SameThing(one["statement"], line, revision, both)


SAME: tuple[SameThing, ...] = tuple(_each())
OTHERS: Mapping[str, str] = _TABLE["other"]
"""Beginning of a line's name -> why no statement speaks of the other lines that begin so."""


def contradictions(decisions: Iterable[Decision], verdicts: Mapping[str, str]) -> list[str]:
    """Where a statement and a line say otherwise of the same revision; `verdicts` is by the name of the line.

    A line that `verdicts` lacks, and a statement that is not decided, say nothing.
    """
    decided = {each.key: each for each in decisions}
    found = []
    for same in SAME:
        decision, verdict = decided.get((same.statement, same.revision)), verdicts.get(same.line)
        if decision is None or verdict is None:
            continue
        refuted = bool(decision.events)
        holds = verdict in ("proved", "by definition")
        if verdict == "refuted" and not refuted or holds and refuted and same.both:
            word = "refuted" if refuted else "not refuted"
            found.append(f"{same.statement} is {word} of {same.revision}, and {same.line} is {verdict}")
    return found


def lines_of(statement: str) -> tuple[str, ...]:
    """The lines that speak of the same as a statement."""
    return tuple(dict.fromkeys(each.line for each in SAME if each.statement == statement))
