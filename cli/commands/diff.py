"""quidnunc diff: compare two protocols as written: rules, clauses, parameters, wire."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import redirect_stdout
from typing import Any

from quidnunc.impl.wire.schemas import WireSchema, schema_changes
from quidnunc.impl.wire.schemas_buf import BufOpinion, buf_program, opinion
from quidnunc.model.errors import SpecError, install_words
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError, choices, fields_of, print_json, table
from quidnunc.properties.documents.clauses import Clause
from quidnunc.properties.regress.diff import ProtocolChange, changes_between
from quidnunc.properties.regress.diff_clauses import (
    ClauseChanges,
    ParameterChange,
    clause_changes,
    not_read_lines,
    parameter_changes,
)
from quidnunc.properties.regress.sides import Side, side_named

NOTHING_COMMON = "the two have no message in common"


def sides_of(options: argparse.Namespace) -> tuple[Side, Side]:
    """The two sides that were asked for. Raises UsageError for what is not known, or does not go together."""
    for side in (options.old, options.new):
        base = side.partition("+")[0]
        if ":" not in base and base not in PROTOCOLS:
            raise UsageError(f"no protocol {base!r}{choices(base, PROTOCOLS)}")
    try:
        old, new = side_named(options.old), side_named(options.new)
        changes_between(old, new)
    except (SpecError, KeyError) as error:
        raise UsageError(str(error)) from None
    return old, new


def on_the_wire(side: Side) -> WireSchema:
    """What a side has on the wire."""
    return WireSchema(side.base, side.protocol.messages, side.name)


def run(options: argparse.Namespace) -> int:
    # What a module prints when it is imported is no part of the result.
    with redirect_stdout(sys.stderr):
        old, new = sides_of(options)
    changes = changes_between(old, new)
    clauses = clause_changes(old, new)
    parameters = parameter_changes(old, new)
    by_buf = opinion(on_the_wire(old), on_the_wire(new))
    if options.json:
        print_json({**_as_json(old, new, changes, clauses, parameters), "buf": _opinion_json(by_buf)})
        return 0
    print(f"what differs from {old.name} to {new.name}\n")
    _print_rules(changes)
    _print_clauses(clauses, old, new)
    rows = [(p.name, _value(p.old), _value(p.new)) for p in parameters]
    _print("parameters that are read or set, with their defaults", ("parameter", old.name, new.name), rows)
    for line in not_read_lines(old, new):
        print(f"{line}\n")
    wire = [
        (c.message, c.number, c.old or "-", c.new or "-")
        for c in schema_changes(on_the_wire(old), on_the_wire(new))
    ]
    _print("fields on the wire", ("message", "number", old.name, new.name), wire)
    _print_opinion(by_buf, old, new)
    print(f"again: {shlex.join(['quidnunc', 'diff', old.name, new.name])}")
    return 0


def _print(title: str, header: tuple[str, ...], rows: list[Any]) -> None:
    print(f"{title}: {len(rows) or 'none'}")
    if rows:
        print(f"\n{table(header, rows)}")
    print()


def _print_opinion(by_buf: BufOpinion | None, old: Side, new: Side) -> None:
    if by_buf is None:
        missing = f"it is not installed; {install_words('wire')}"
        reason = missing if buf_program() is None else NOTHING_COMMON
        print(f"breaks of the wire format, by buf: not checked ({reason})\n")
        return
    rows = [("forth", b.rule, b.says) for b in by_buf.to_new] + [
        ("back", b.rule, b.says) for b in by_buf.to_old
    ]
    title = f"breaks of the wire format, by buf (forth: {old.name} becomes {new.name})"
    _print(title, ("way", "rule", "what"), rows)


def _opinion_json(by_buf: BufOpinion | None) -> dict[str, Any] | None:
    if by_buf is None:
        return None
    ways = (("to_new", by_buf.to_new), ("to_old", by_buf.to_old))
    return {way: [fields_of(each, "rule", "says") for each in found] for way, found in ways}


def _print_rules(changes: tuple[ProtocolChange, ...]) -> None:
    rows = [(c.handler or "-", c.kind, _what(c), c.clause or "-") for c in changes]
    _print("rules, readings and what is set", ("handler", "change", "what", "clause"), rows)


def _what(change: ProtocolChange) -> str:
    if change.kind == "parameter":
        return change.says
    old, new = (r.name if r else "" for r in (change.old, change.new))
    return f"{old} -> {new}" if old and new and old != new else change.name


def _print_clauses(clauses: ClauseChanges, old: Side, new: Side) -> None:
    rows = [("added", c.id, "-", c.ground) for c in clauses.added]
    rows += [("removed", c.id, c.ground, "-") for c in clauses.removed]
    rows += [
        ("level", was.id if was.id == now.id else f"{was.id} -> {now.id}", was.ground, now.ground)
        for was, now in clauses.levels
    ]
    rows += [("no longer ruled", name, "-", "-") for name in clauses.no_longer_ruled]
    _print("clauses", ("change", "clause", old.name, new.name), rows)


def _value(value: object) -> str:
    if isinstance(value, frozenset):
        return ",".join(map(str, sorted(value))) or "none"
    return "-" if value is None else str(value)


def clauses_json(clauses: ClauseChanges) -> dict[str, Any]:
    """The clause changes, in the shape that scripts read."""

    def row(clause: Clause) -> dict[str, str]:
        return fields_of(clause, "id", "level", "keyword", "basis", "status")

    return {
        "added": [row(c) for c in clauses.added],
        "removed": [row(c) for c in clauses.removed],
        "levels": [{"old": row(was), "new": row(now)} for was, now in clauses.levels],
        "no_longer_ruled": list(clauses.no_longer_ruled),
    }


def _as_json(
    old: Side,
    new: Side,
    changes: tuple[ProtocolChange, ...],
    clauses: ClauseChanges,
    parameters: tuple[ParameterChange, ...],
) -> dict[str, Any]:
    return {
        "schema": 1,
        "old": old.name,
        "new": new.name,
        "rules": [
            {
                "handler": c.handler,
                "change": c.kind,
                "name": c.name,
                "old": c.old.name if c.old else None,
                "new": c.new.name if c.new else None,
                "clause": c.clause,
            }
            for c in changes
        ],
        "clauses": clauses_json(clauses),
        "parameters": [{"name": p.name, "old": _plain(p.old), "new": _plain(p.new)} for p in parameters],
        "wire": [
            {"message": c.message, "number": c.number, "old": c.old or None, "new": c.new or None}
            for c in schema_changes(on_the_wire(old), on_the_wire(new))
        ],
    }


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
