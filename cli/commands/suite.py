"""quidnunc suite: list the fixed suite, or export it as data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from quidnunc import __version__
from quidnunc.arguments import checked_protocol
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.output import UsageError, count, print_json, table
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.documents.clauses import documents, load
from quidnunc.properties.suite.edits import shown_edits
from quidnunc.properties.suite.files import bound_cases, edit_cases, rule_cases, suite_of
from quidnunc.properties.suite.run import SUITE_VERSION
from quidnunc.properties.suite.unnoticed import UnnoticedRule, unnoticed_of


def run(options: argparse.Namespace) -> int:
    suites = _suites(options.protocol)
    if options.emit:
        print_json(exported_suites(suites))
        return 0
    if options.json:
        rows = [_row(name, rule, case) for name, cases in suites.items() for rule, case in cases]
        without = [_unnoticed_row(name, entry) for name in suites for entry in unnoticed_of(name).values()]
        edits = {name: _edits(name) for name in suites}
        found = {"schema": 1, "suite_version": SUITE_VERSION, "cases": rows}
        print_json({**found, "unnoticed": without, "edits": edits})
        return 0
    total = sum(map(len, suites.values()))
    print(f"suite version {SUITE_VERSION}: {count(total, 'case')} for {count(len(suites), 'protocol')}")
    for name in suites:
        rules = {r.name for _, r in protocol_named(name).rules()}
        listed = unnoticed_of(name)
        by_rule, by_edit, at_bounds = rule_cases(name), edit_cases(name), bound_cases(name)
        missing = sorted(rules - {rule for rule, _ in by_rule} - listed.keys())
        print(
            f"\n{name}: {len(by_rule)} cases of a missing rule, {len(by_edit)} of a wrong one, "
            f"{len(at_bounds)} at a bound\n"
        )
        tables = (("without the rule", by_rule), ("with a wrong rule", by_edit), ("at a bound", at_bounds))
        for title, shown in tables:
            if shown:
                lines = [(each, case.clause, len(events_of(case))) for each, case in shown]
                print(table((title, "clause", "events"), lines) + "\n")
        for rule, entry in sorted(listed.items()):
            print(fill(f"no trace notices {rule}: {entry.reason}", 100, subsequent_indent="  "))
        if shown_edits(name).missed:
            print(_missed(name))
        if missing:
            print(f"no case yet: {', '.join(missing)}; `make suite` looks for one")
    print(f"\nagain: quidnunc suite{f' {options.protocol}' if options.protocol else ''}")
    return 0


def _missed(name: str) -> str:
    """The edits that no case shows, by rule."""
    edits = shown_edits(name)
    lines = [f"\nno case shows {edits.missed} of {edits.edits} edits of rules:"]
    for rule, operators in edits.unshown.items():
        lines.append(
            fill(f"{rule}: {', '.join(operators)}", 100, initial_indent="  ", subsequent_indent="    ")
        )
    return "\n".join(lines)


def _edits(name: str) -> dict[str, Any]:
    edits = shown_edits(name)
    return {"tried": edits.edits, "unshown": {rule: list(each) for rule, each in edits.unshown.items()}}


def _suites(protocol: str | None) -> dict[str, Sequence[tuple[str, Case]]]:
    """The suites that there are. Raises UsageError where there is none."""
    found: dict[str, Sequence[tuple[str, Case]]] = {}
    for name in [checked_protocol(protocol)] if protocol else PROTOCOLS:
        try:
            found[name] = suite_of(name)
        except SpecError as error:
            if protocol:
                raise UsageError(str(error)) from None
    if not found:
        raise UsageError("there is no suite; `make suite` writes one")
    return found


def _row(protocol: str, rule: str, case: Case) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "rule": rule,
        "claim": case.claim,
        "clause": case.clause,
        "events": len(events_of(case)),
        "reason": case.reason,
    }


def _unnoticed_row(protocol: str, entry: UnnoticedRule) -> dict[str, Any]:
    return {"protocol": protocol, "rule": entry.rule, "because": entry.because, "reason": entry.reason}


def exported_suites(suites: dict[str, Sequence[tuple[str, Case]]]) -> dict[str, Any]:
    """The suites as data; what its values mean is said in `quidnunc.properties.cases.export`."""
    from quidnunc.properties.cases.export import SCHEMA, vector

    clauses = load()
    vectors = [{"rule": rule, **vector(case)} for name, cases in suites.items() for rule, case in cases]
    used = {clauses[v["clause"]].document for v in vectors if v["clause"] in clauses}
    return {
        "schema": SCHEMA,
        "suite_version": SUITE_VERSION,
        "tool_version": __version__,
        "spec_revisions": {name: documents()[name].revision for name in sorted(used)},
        "peers": "a peer's Ed25519 seed is its number, 32 bits little-endian, in 32 zero bytes",
        "cases": vectors,
    }
