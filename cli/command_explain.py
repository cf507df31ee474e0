"""quidnunc explain: one clause, claim or case, and everything that belongs to it."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from quidnunc.asked import close
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.quirks import Quirk, quirks_of
from quidnunc.model.readings import READINGS
from quidnunc.output import UsageError, print_json
from quidnunc.properties import clause_names
from quidnunc.properties.cases import Case, render
from quidnunc.properties.claim_tables import Claim
from quidnunc.properties.claim_tables_held import HELD, Held
from quidnunc.properties.claims import claims_of, level_of
from quidnunc.properties.clauses import documents
from quidnunc.properties.coverage import Coverage, coverage, suites
from quidnunc.properties.network_case import NetworkCase, load_either, render_network

EXAMPLE = """\
example:
  quidnunc explain gs1.1/backoff.regraft
  quidnunc explain backoff.regraft-refused
  quidnunc explain gossipsub-1.2/while_backing_off
  quidnunc explain found/gs1.1.backoff.regraft.case
"""

LEVELS = {
    "M": "MUST",
    "S": "SHOULD",
    "Y": "MAY",
    "I": "implied",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", metavar="CLAUSE|CLAIM|CASE", help="an id, a case file, a case of the suite, a rule or a quirk"
    )


def run(options: argparse.Namespace) -> int:
    kind, found = _found(options.what)
    if options.json:
        print_json({"schema": 1, "kind": kind, **{k.replace(" ", "_"): v for k, v in found.items()}})
        return 0
    print(f"{kind} {options.what}\n")
    for name, value in found.items():
        _print_field(name, value)
    print(f"\nagain: quidnunc explain {options.what}")
    return 0


def _found(what: str) -> tuple[str, dict[str, Any]]:
    """(kind, fields) of whatever goes by the name. Raises UsageError with the nearest names."""
    if what.endswith(".case") or Path(what).is_file():
        if not Path(what).is_file():
            raise UsageError(f"{what} does not exist; `quidnunc check ... --cases DIR` writes cases")
        return "case", of_case(load_either(what))
    clauses = {c.clause.id: c for c in coverage()}
    claims = {claim.id: claim for p in PROTOCOLS.values() for claim in claims_of(p)}
    cases = dict(suites())
    quirks = {q.name: q for p in PROTOCOLS.values() for q in quirks_of(p)}
    rules = {r.name: r.clause for p in PROTOCOLS.values() for _, r in p.rules()}
    kinds: tuple[tuple[str, Mapping[str, Any], Callable[[Any], dict[str, Any]]], ...] = (
        ("clause", clauses, of_clause),
        ("claim", claims, of_claim),
        ("claim", HELD, of_held),
        ("case", cases, of_case),
        ("quirk", quirks, of_quirk),
        ("rule", rules, lambda clause: of_clause(clauses[clause])),
    )
    for kind, known, describe in kinds:
        if what in known:
            return kind, describe(known[what])
    near = close(what, (name for _, known, _ in kinds for name in known))
    raise UsageError(f"nothing is called {what!r}{near}; `quidnunc clauses` lists the clauses and claims")


def of_clause(each: Coverage) -> dict[str, Any]:
    """A clause, what its document says, and what stands behind it."""
    clause = each.clause
    document = documents()[clause.document]
    level = LEVELS[clause.level] + (", as what the protocol does" if clause.implied else "")
    return {
        "id": clause.id,
        "level": level,
        "status": clause.status,
        "document": f"{document.title}, {document.revision} ({document.source})",
        "text": clause.text.strip(),
        "quote": clause.quote.strip(),
        "stands in": places_of(clause.id),
        "violation": clause.violation.strip(),
        "reason": clause.reason.strip(),
        "disputed": clause.disputed.strip(),
        "carried by": clause.carried_by,
        "rules": [str(place) for place in each.rules],
        "claims": list(each.claims),
        "mutants": [f"ours:{name}" for name in each.mutants],
        "suite": list(each.cases),
        "network rules": list(each.networks.all),
        "quirks": [q for q in each.quirks if q not in READINGS],
        "readings": [q for q in each.quirks if q in READINGS],
    }


def places_of(clause: str) -> list[str]:
    """The specifications that have the clause, with the headings that its sentences stand under."""
    found: dict[str, dict[str, None]] = {}
    for text in clause_names.texts().values():
        for each in text.prints:
            if clause in each.names:
                found.setdefault(f"{text.title}, {text.revision}", {})[each.heading or "under its title"] = (
                    None
                )
    return [f"{text}: {', '.join(headings)}" for text, headings in found.items()]


def of_claim(claim: Claim) -> dict[str, Any]:
    """A claim, the protocols that it is asked of, and the clauses that it rests on."""
    known = {c.clause.id: c for c in coverage()}
    resting = [known[c] for c in claim.clauses]
    return {
        "id": claim.id,
        "level": LEVELS[min((level_of(c) for c in claim.clauses), key="MSIY".find)],
        "text": claim.says,
        "protocols": [name for name, p in PROTOCOLS.items() if claim in claims_of(p)],
        "needs of a driver": sorted(claim.needs),
        "clauses": [f"{c.clause.id}: {' '.join(c.clause.text.split())}" for c in resting],
        "rules": _all(str(place) for c in resting for place in c.rules),
        "mutants": _all(f"ours:{name}" for c in resting for name in c.mutants),
        "suite": _all(name for c in resting for name in c.cases),
    }


def of_held(claim: Held) -> dict[str, Any]:
    """A claim that no search of one router decides, and what decides it."""
    known = {c.clause.id: c for c in coverage()}
    return {
        "id": claim.id,
        "level": LEVELS[min((level_of(c) for c in claim.clauses), key="MSIY".find)],
        "text": claim.says,
        "clauses": [f"{c}: {' '.join(known[c].clause.text.split())}" for c in claim.clauses],
        "decided by": claim.by,
    }


def of_case(case: Case | NetworkCase) -> dict[str, Any]:
    """A case, and the clause that it is about."""
    known = {c.clause.id: c for c in coverage()}
    about = known.get(case.clause)
    return {
        "text": case.reason,
        "claim": case.claim,
        "clause": f"{case.clause}: {' '.join(about.clause.text.split())}" if about else case.clause,
        "quote": about.clause.quote.strip() if about else "",
        "root cause": _says(case.quirk),
        "argument": case.argument,
        "status": case.status,
        "file": case.path,
        "case": render_network(case) if isinstance(case, NetworkCase) else render(case),
    }


def of_quirk(quirk: Quirk) -> dict[str, Any]:
    """A quirk: one edit of a protocol, by which a root cause is named."""
    return {
        "id": quirk.name,
        "made by": quirk.kind,
        "text": quirk.says,
        "clause": quirk.clause,
        "protocols": [n for n, p in PROTOCOLS.items() if any(q.name == quirk.name for q in quirks_of(p))],
    }


def _says(quirk: str) -> str:
    known = {q.name: q for p in PROTOCOLS.values() for q in quirks_of(p)}
    return f"{quirk}: {known[quirk].says}" if quirk in known else quirk


def _all(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _print_field(name: str, value: Any) -> None:
    if not value:
        return
    if name == "case":
        print(f"\n{value.rstrip()}")
        return
    if isinstance(value, list):
        print(f"{name}:")
        for each in value:
            print(textwrap.fill(each, 100, initial_indent="  ", subsequent_indent="    "))
        return
    text = " ".join(str(value).split())
    print(textwrap.fill(f"{name}: {text}", 100, subsequent_indent="  "))
