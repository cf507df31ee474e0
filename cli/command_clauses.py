"""quidnunc clauses: every sentence that the kit knows, and what stands behind each."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from quidnunc.asked import checked_protocol
from quidnunc.output import print_json, table
from quidnunc.properties.coverage import Coverage, coverage

EXAMPLE = """\
example:
  quidnunc clauses gossipsub-1.2
  quidnunc clauses --uncovered
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", nargs="?", help="only the clauses that concern this protocol")
    parser.add_argument(
        "--uncovered",
        action="store_true",
        help="only clauses that are not modelled, or lack a rule, a claim, a mutant or a case",
    )


def run(options: argparse.Namespace) -> int:
    protocol = checked_protocol(options.protocol) if options.protocol else None
    known = coverage(protocol)
    shown = [c for c in known if _uncovered(c)] if options.uncovered else list(known)
    if options.json:
        print_json({"schema": 1, "protocol": protocol, "clauses": [as_json(c) for c in shown]})
        return 0
    what = f"of {protocol}" if protocol else "of all documents"
    print(f"clauses {what}{', uncovered' if options.uncovered else ''}: {len(shown)} of {len(known)}\n")
    print(_table(shown, options.uncovered))
    print(f"\n{_summary(known)}")
    words = ["quidnunc clauses", protocol or "", "--uncovered" if options.uncovered else ""]
    print(f"again: {' '.join(w for w in words if w)}")
    return 0


def _uncovered(each: Coverage) -> bool:
    return each.clause.status == "not-modelled" or bool(each.lacks)


def _table(shown: Sequence[Coverage], uncovered: bool) -> str:
    if uncovered:
        rows = [(c.clause.id, c.clause.level, c.clause.status, _why(c)) for c in shown]
        return table(("clause", "level", "status", "what is missing"), rows)
    return table(
        ("clause", "level", "status", "rules", "claims", "mutants", "cases"),
        [
            (
                c.clause.id,
                c.clause.level,
                c.clause.status,
                ", ".join(place.rule for place in c.rules) or "-",
                ", ".join(c.claims) or "-",
                len(c.mutants),
                len(c.cases),
            )
            for c in shown
        ],
    )


def _why(each: Coverage) -> str:
    return each.clause.reason if each.clause.status == "not-modelled" else f"no {', no '.join(each.lacks)}"


def _summary(known: Sequence[Coverage]) -> str:
    status = Counter(c.clause.status for c in known)
    lacking = sum(bool(c.lacks) for c in known)
    parts = [f"{number} {name}" for name, number in sorted(status.items())]
    return f"{', '.join(parts)}; {lacking} ruled ones lack something (--uncovered)"


def as_json(each: Coverage) -> dict[str, Any]:
    """One clause, in the shape that scripts read."""
    clause = each.clause
    return {
        "id": clause.id,
        "protocol": clause.document,
        "level": clause.level,
        "status": clause.status,
        "rules": [str(place) for place in each.rules],
        "claims": list(each.claims),
        "mutants": list(each.mutants),
        "cases": list(each.cases),
        "reason": clause.reason,
        "disputed": clause.disputed,
        "lacks": list(each.lacks),
    }
