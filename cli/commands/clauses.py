"""quidnunc clauses: the clauses of the specifications, and what checks each."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from quidnunc.arguments import checked_protocol
from quidnunc.output import UsageError, fields_of, print_json, table
from quidnunc.properties.coverage import ClauseCoverage, coverage
from quidnunc.properties.documents.named_sentences import source_of
from quidnunc.reports import text as text_report


def run(options: argparse.Namespace) -> int:
    if options.text:
        return _run_text(options)
    if options.name or options.prints:
        raise UsageError("--as and --prints need --text FILE")
    protocol = checked_protocol(options.protocol) if options.protocol else None
    known = coverage(protocol)
    shown = [c for c in known if _uncovered(c)] if options.uncovered else list(known)
    if options.json:
        by_networks = sum(bool(c.networks.all) for c in known)
        held = {
            "clauses": len(known),
            "held": _held(known),
            "by_network_rules": by_networks,
            "documents": _by_document(known),
            "without_mutant": _without_mutant(known),
        }
        rows = [as_json(c) for c in shown]
        print_json({"schema": 1, "protocol": protocol, "coverage": held, "clauses": rows})
        return 0
    what = f"of {protocol}" if protocol else "of all documents"
    print(f"clauses {what}{', uncovered' if options.uncovered else ''}: {len(shown)} of {len(known)}\n")
    print(_table(shown, options.uncovered))
    if options.uncovered:
        _print_without_mutant(known)
    documents = [
        (name, row["clauses"], row["held"], _share(row["held"], row["clauses"]))
        for name, row in _by_document(known).items()
    ]
    print(f"\n{table(('document', 'clauses', 'held', 'share'), documents)}")
    print(f"\n{_summary(known)}")
    words = ["quidnunc clauses", protocol or "", "--uncovered" if options.uncovered else ""]
    print(f"again: {' '.join(w for w in words if w)}")
    return 0


def _run_text(options: argparse.Namespace) -> int:
    paths = options.text
    if options.protocol or options.uncovered:
        raise UsageError("--text cannot be combined with a protocol or --uncovered")
    if len(paths) > 2:
        raise UsageError(
            f"--text was given {len(paths)} times; give it once, or twice for an old and a new revision"
        )
    if options.prints and (len(paths) == 2 or options.json):
        raise UsageError("--prints needs one --text, and cannot be combined with --json")
    if options.prints:
        print(text_report.prints(paths[0], options.name), end="")
        return 0
    words = ["quidnunc", "clauses", *(word for path in paths for word in ("--text", str(path)))]
    again = shlex.join([*words, *(["--as", options.name] if options.name else [])])
    status = 0
    if len(paths) == 2:
        sides, changes = text_report.compare_texts(paths, options.name)
        if options.json:
            print_json(text_report.changes_json(sides, changes, paths))
            return status
        text_report.print_changes(sides, changes, paths)
    else:
        found = text_report.check_text(paths[0], options.name)
        status = int(text_report.fails(found))
        if options.json:
            print_json(text_report.report_json(found, paths[0]))
            return status
        text_report.print_report(found, paths[0])
    print(f"\nagain: {again}")
    return status


def _uncovered(each: ClauseCoverage) -> bool:
    return each.clause.status == "not-modelled" or bool(each.lacks)


def _without_mutant(known: Iterable[ClauseCoverage]) -> list[str]:
    """The clauses that are held and lack nothing, and that no planted bug breaks all the same."""
    return [c.clause.id for c in known if c.held and not c.mutants and not c.lacks]


def _print_without_mutant(known: Sequence[ClauseCoverage]) -> None:
    """They hold by construction, or are optional: no planted bug is wanted, and none shows that a claim sees
    a departure."""
    names = _without_mutant(known)
    if names:
        print(f"\nheld, and no planted bug breaks them, because none is wanted: {len(names)}")
        print("\n".join(f"  {name}" for name in names))


def _table(shown: Sequence[ClauseCoverage], uncovered: bool) -> str:
    if uncovered:
        rows = [(c.clause.id, c.clause.ground, c.clause.status, _why(c)) for c in shown]
        return table(("clause", "why", "status", "what is missing"), rows)
    return table(
        ("clause", "why", "status", "rules", "claims", "mutants", "cases", "by network rules"),
        [
            (
                c.clause.id,
                c.clause.ground,
                c.clause.status,
                ", ".join(place.rule for place in c.rules) or "-",
                ", ".join(c.claims) or "-",
                len(c.mutants),
                len(c.cases),
                len(c.networks.all),
            )
            for c in shown
        ],
    )


def _why(each: ClauseCoverage) -> str:
    return each.clause.reason if each.clause.status == "not-modelled" else f"no {', no '.join(each.lacks)}"


def _summary(known: Sequence[ClauseCoverage]) -> str:
    status = Counter(c.clause.status for c in known)
    lacking = sum(bool(c.lacks) for c in known)
    parts = [f"{number} {name}" for name, number in sorted(status.items())]
    held = _held(known)
    of_networks = [c.networks for c in known if c.networks.all]
    followed = sum(bool(each.followed) for each in of_networks)
    return (
        f"{', '.join(parts)}; {lacking} lack something (--uncovered lists them)\n"
        f"held (modelled by a rule or by construction, and checked by a claim): {held} of {len(known)}, "
        f"{_share(held, len(known))}; {len(_without_mutant(known))} of these have no planted bug\n"
        f"by network rules: {len(of_networks)}; for {followed} of them, runs of routers followed these rules"
    )


def _held(known: Iterable[ClauseCoverage]) -> int:
    return sum(c.held for c in known)


def _share(held: int, of: int) -> str:
    return f"{100 * held // of} %" if of else "-"


def _by_document(known: Sequence[ClauseCoverage]) -> dict[str, dict[str, int]]:
    """How many clauses each document has, and how many of them are held."""
    found: dict[str, list[ClauseCoverage]] = {}
    for each in known:
        found.setdefault(each.clause.document, []).append(each)
    return {name: {"clauses": len(rows), "held": _held(rows)} for name, rows in found.items()}


def as_json(each: ClauseCoverage) -> dict[str, Any]:
    """One clause, in the shape that scripts read."""
    clause = each.clause
    document = source_of(clause)
    return {
        "id": clause.id,
        "protocol": clause.document,
        **fields_of(document, "source", "revision"),
        **fields_of(clause, "level", "keyword", "basis", "status"),
        "rules": [str(place) for place in each.rules],
        **fields_of(each, "claims", "mutants", "cases"),
        "network_rules": fields_of(each.networks, "explored", "followed"),
        **fields_of(clause, "reason", "text", "quote", "phrase", "phrase_in", "disputed"),
        **fields_of(each, "held", "lacks"),
    }
