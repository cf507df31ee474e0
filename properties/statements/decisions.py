"""What small networks came to about the statements of a catalogue, as it is recorded."""

from __future__ import annotations

import tomllib
from pathlib import Path

from attrs import frozen

from quidnunc.properties.statements.statement import Catalogue


@frozen
class Decision:
    """What small networks came to about one statement in one revision."""

    statement: str
    revision: str
    place: str
    """The network, by its name."""
    events: tuple[str, ...] = ()
    """The run that refutes it; empty where none was found."""
    why: str = ""
    runs: int = 0
    states: int = 0
    depth: int = 0
    """Up to so many acts every run was looked at, in the place that is named."""
    complete: bool = False
    applied: bool = True
    """It was put to the test: some drawn run had its occasion."""
    shortest: bool = False
    """No run of fewer acts refutes it in its place."""
    day: str = ""
    """When it was searched for, as 2026-11-21."""

    @property
    def key(self) -> tuple[str, str]:
        return self.statement, self.revision


def recorded(catalogue: Catalogue) -> Path:
    """Where the decisions of a catalogue are."""
    return Path(__file__).parent / catalogue.name / "recorded" / "statements.toml"


def third_reading(catalogue: Catalogue) -> Path:
    """The decisions of a reading of ADR-119 that has no column; there are none of every catalogue."""
    return recorded(catalogue).with_name("third-reading.toml")


def read_decisions(path: Path) -> list[Decision]:
    """What is recorded. Raises ValueError that names the file where it is none of ours."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))["decision"]
        return [Decision(**{**each, "events": tuple(each.get("events", ()))}) for each in found]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no record of decisions: {error}") from error


def cell(decision: Decision) -> str:
    """What small networks came to, in a few words."""
    if decision.events:
        return f"**refuted** {'=' if decision.shortest else ''}{len(decision.events)}"
    if not decision.applied:
        return f"never put to the test: {decision.runs} runs"
    every = "any run" if decision.complete else f"any run of {decision.depth} acts"
    return f"not refuted: {decision.runs} runs; {every}, {decision.place}"
