"""What was found of the statements about gossipsub, as it is recorded."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import fields, frozen

from quidnunc.properties.gossipsub_statement import COLUMNS, Revision, Statement
from quidnunc.properties.gossipsub_statement_list import BY_ID
from quidnunc.properties.network_runs import Found
from quidnunc.properties.pubsub_network_acts import Act
from quidnunc.properties.pubsub_world import Place

RECORDED = Path(__file__).parent / "statements" / "gossipsub.toml"
RUNS_RECORDED = Path(__file__).parent / "statements" / "gossipsub-runs.toml"
COMMAND = "python -m quidnunc.properties.gossipsub_statements"


@frozen
class Decision:
    """What small networks came to about one statement in one revision."""

    statement: str
    revision: Revision
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


@frozen
class Ran:
    """How often our router was run beside the model of one revision, and what came of it."""

    runs: int
    steps: int
    applied: Mapping[str, int]
    """Claim -> how often it applied."""
    refuted: tuple[str, ...] = ()
    """Claims that some run broke."""
    day: str = ""
    """When it was run, as 2026-11-21."""


def searched(
    statement: Statement, revision: Revision, place: Place, found: Found[Act], *, shortest: bool = False
) -> Decision:
    """What a search in one place came to."""
    return Decision(
        statement.id,
        revision,
        place.name,
        tuple(map(str, found.acts or ())),
        found.why,
        found.runs,
        found.states,
        found.depth,
        found.complete,
        shortest=shortest,
    )


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """In the order of the table; what is asked no more is left out."""
    statements, columns = [*BY_ID], [*COLUMNS]
    known = [d for d in decisions if d.statement in BY_ID]
    return sorted(known, key=lambda d: (statements.index(d.statement), columns.index(d.revision)))


# -- decisions ----------------------------------------------------------------------------------------------


def read_decisions(path: Path = RECORDED) -> list[Decision]:
    """What is recorded. Raises ValueError that names the file where it is none of ours."""
    try:
        recorded = tomllib.loads(path.read_text(encoding="utf-8"))["decision"]
        return [Decision(**{**each, "events": tuple(each.get("events", ()))}) for each in recorded]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no record of decisions: {error}; {COMMAND} --search writes it") from error


def written(decisions: Iterable[Decision]) -> str:
    """The record as TOML, one table for each decision; only what is not as usual."""
    lines = [f"# Written by `{COMMAND} --search`.", ""]
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


def read_runs(path: Path = RUNS_RECORDED) -> dict[Revision, Ran]:
    """What is recorded. Raises ValueError that names the file where it is none of ours."""
    try:
        recorded = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            revision: Ran(each["runs"], each["steps"], each["applied"], tuple(each["refuted"]), each["day"])
            for revision in COLUMNS
            if (each := recorded.get(revision)) is not None
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: no record of runs: {error!r}; {COMMAND} --routers N writes it") from error


def write_runs(known: Mapping[Revision, Ran], path: Path) -> None:
    """Write the record, as TOML, revisions in the order of the table."""
    lines = [f"# Written by `{COMMAND} --routers N`: claims, and how often each applied.", ""]
    for revision in (name for name in COLUMNS if name in known):
        ran = known[revision]
        lines += [f'["{revision}"]', f"runs = {ran.runs}", f"steps = {ran.steps}"]
        lines += [f"refuted = {json.dumps([*ran.refuted])}", f"day = {json.dumps(ran.day)}"]
        lines += ["", f'["{revision}".applied]']
        lines += [f'"{claim}" = {count}' for claim, count in sorted(ran.applied.items())]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
