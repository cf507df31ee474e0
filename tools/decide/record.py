"""The records of the statements of a catalogue: what small networks came to, and the runs of our router."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import fields, frozen

from quidnunc.properties.statements.decisions import Decision, recorded
from quidnunc.properties.statements.statement import Catalogue

COMMAND = "python -m tools.decide"


@frozen
class RevisionRuns:
    """How often our router was run beside the model of one revision, and what came of it."""

    runs: int
    steps: int
    applied: Mapping[str, int]
    """Claim -> how often it applied."""
    refuted: tuple[str, ...] = ()
    """Claims that some run broke."""
    day: str = ""
    """When it was run, as 2026-11-21."""


def runs_recorded(catalogue: Catalogue) -> Path:
    """Where the runs of our router are; there are none of every catalogue."""
    return recorded(catalogue).with_name("runs.toml")


def in_order(catalogue: Catalogue, decisions: Iterable[Decision]) -> list[Decision]:
    """In the order of the table; what is asked no more is left out."""
    statements, columns = [each.id for each in catalogue.statements], [*catalogue.columns]
    known = [d for d in decisions if d.statement in statements]
    return sorted(known, key=lambda d: (statements.index(d.statement), columns.index(d.revision)))


def record_text(catalogue: Catalogue, decisions: Iterable[Decision]) -> str:
    """The record as TOML, one table for each decision; only what is not as usual."""
    lines = [f"# Written by `{COMMAND} {catalogue.name} --search`.", ""]
    for each in decisions:
        lines.append("[[decision]]")
        for attribute in fields(Decision):
            value: Any = getattr(each, attribute.name)
            if attribute.name == "events" and value:
                lines += ["events = [", *(f"  {json.dumps(act)}," for act in value), "]"]
            elif value != attribute.default:
                lines.append(f"{attribute.name} = {json.dumps(value)}")
        lines.append("")
    return "\n".join(lines)


# -- runs of one router -------------------------------------------------------------------------------------


def read_runs(catalogue: Catalogue, path: Path) -> dict[str, RevisionRuns]:
    """What is recorded, if anything is. Raises ValueError that names the file where it is none of ours."""
    if not path.exists():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            revision: RevisionRuns(
                each["runs"], each["steps"], each["applied"], tuple(each["refuted"]), each["day"]
            )
            for revision in catalogue.columns
            if (each := found.get(revision)) is not None
        }
    except (KeyError, TypeError, ValueError) as error:
        again = f"{COMMAND} {catalogue.name} --routers N writes it"
        raise ValueError(f"{path}: no record of runs: {error!r}; {again}") from error


def write_runs(catalogue: Catalogue, known: Mapping[str, RevisionRuns], path: Path) -> None:
    """Write the record, as TOML, revisions in the order of the table."""
    lines = [
        f"# Written by `{COMMAND} {catalogue.name} --routers N`: claims, and how often each applied.",
        "",
    ]
    for revision in (name for name in catalogue.columns if name in known):
        ran = known[revision]
        lines += [f'["{revision}"]', f"runs = {ran.runs}", f"steps = {ran.steps}"]
        lines += [f"refuted = {json.dumps([*ran.refuted])}", f"day = {json.dumps(ran.day)}"]
        lines += ["", f'["{revision}".applied]']
        lines += [f'"{claim}" = {count}' for claim, count in sorted(ran.applied.items())]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
