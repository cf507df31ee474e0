"""quidnunc explain: one clause, claim, case, edit, statement or mutant, and everything that belongs to it."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.edit import Edit
from quidnunc.model.edits import aliases
from quidnunc.model.edits.catalogue import edit_named, edits_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool.dog.variants import SWITCHES, TURNED
from quidnunc.model.rules import Protocol
from quidnunc.output import UsageError, print_json, suggestion, table
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.claims.catalogue import claims_of, ground_of
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.claims.elsewhere import HELD, ConstructionClaim
from quidnunc.properties.coverage import ClauseCoverage, coverage, suites
from quidnunc.properties.documents import named_sentences as clause_names
from quidnunc.properties.documents.clauses import documents
from quidnunc.properties.mutants import claim_expected, mutant_named, protocol_of_mutant
from quidnunc.properties.params.citations import guarantees_on
from quidnunc.properties.proofs.citations import lines_of, lines_on
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.statements import catalogue as statements
from quidnunc.properties.statements.decisions import cell, read_decisions, recorded
from quidnunc.properties.statements.quotes import told
from quidnunc.properties.statements.statement import Statement

CASES = Path("counterexamples")
NETWORKS = CASES / "networks"


def run(options: argparse.Namespace) -> int:
    if not options.renamed and not options.what:
        raise UsageError("name one thing to explain, or ask for --renamed")
    if options.renamed:
        return _run_renamed(options.what, options.json)
    kind, found = _found(options.what)
    if options.json:
        print_json({"schema": 1, "kind": kind, **{k.replace(" ", "_"): v for k, v in found.items()}})
        return 0
    old = options.what in renamed()
    name = found["id"] if old else options.what
    print(f"{kind} {name} (once called {options.what})\n" if old else f"{kind} {name}\n")
    for title, value in found.items():
        _print_field(title, value)
    print(f"\nagain: quidnunc explain {name}")
    return 0


def renamed() -> dict[str, tuple[str, list[str]]]:
    """Old name -> what it names, and the names of today: several where protocols differ."""
    edits = aliases.old_names(PROTOCOLS.values())
    return {
        **{old: ("edit", list(names)) for old, names in edits.items()},
        **{old: ("statement", [new]) for old, new in statements.ALIASES.items()},
    }


def _run_renamed(what: str | None, as_json: bool) -> int:
    rows = [(kind, old, new) for old, (kind, names) in renamed().items() for new in names]
    if what is not None:
        near = suggestion(what, (name for _, *names in rows for name in names))
        rows = [row for row in rows if what in row[1:]]
        if not rows:
            raise UsageError(f"{what!r} was not renamed{near}; --renamed alone lists every name")
    if as_json:
        print_json({"schema": 1, "renamed": [{"kind": k, "old": old, "new": new} for k, old, new in rows]})
    else:
        print(table(("kind", "old", "new"), rows))
    return 0


def _found(what: str) -> tuple[str, dict[str, Any]]:
    """(kind, fields) of whatever goes by the name. Raises UsageError with the nearest names."""
    if what.endswith(".case") or Path(what).is_file():
        if not Path(what).is_file():
            raise UsageError(f"{what} does not exist; `quidnunc check ... --cases DIR` writes cases")
        return "case", of_case(load(what))
    clauses = {c.clause.id: c for c in coverage()}
    claims = {claim.id: claim for p in PROTOCOLS.values() for claim in claims_of(p)}
    cases = dict(suites())
    edits = {e.name: e for p in PROTOCOLS.values() for e in edits_of(p)}
    quirks = {name: edit for name, edit in edits.items() if edit.explains}
    lines = {line: (name, cited) for name in provers() for line, cited in lines_of(name)}
    rules = {r.name: r.clause for p in PROTOCOLS.values() for _, r in p.rules()}
    kinds: tuple[tuple[str, Mapping[str, Any], Callable[[Any], dict[str, Any]]], ...] = (
        ("clause", clauses, of_clause),
        ("claim", claims, of_claim),
        ("claim", HELD, of_held),
        ("case", cases, of_case),
        ("quirk", quirks, of_quirk),
        ("edit", edits, of_quirk),
        ("rule", rules, lambda clause: of_clause(clauses[clause])),
        ("statement", {each.id: each for each in statements.STATEMENTS}, of_statement),
        ("line of prove", lines, of_line),
        ("network of prove", {name: name for name in provers()}, of_network),
        ("protocol", {name: name for name in PROTOCOLS}, of_protocol),
        ("mutant", {f"ours:{name}": name for name in mutants_by_name()}, of_mutant),
    )
    _, names_now = renamed().get(what, ("", [what]))
    name, *others = names_now
    for kind, known, describe in kinds:
        if name in known:
            return kind, describe(known[name]) | ({"in other protocols": others} if others else {})
    made = next((m for p in PROTOCOLS.values() if (m := operated(p).get(name)) is not None), None)
    if made is not None:
        return "quirk", of_quirk(made.edit)
    # A clause without its prefix.
    whole = [clause for clause in clauses if clause.partition("/")[2] == what]
    names = [name for _, known, _ in kinds for name in known]
    near = f" (did you mean {' or '.join(whole)}?)" if whole else suggestion(what, names)
    raise UsageError(f"nothing is called {what!r}{near}; `quidnunc clauses` lists the clauses and claims")


def of_clause(each: ClauseCoverage) -> dict[str, Any]:
    """A clause, what its document says, and what stands behind it."""
    clause = each.clause
    cited = [c for c in (clause.id, clause.carried_by) if c]
    document = documents()[clause.document]
    return {
        "id": clause.id,
        "level": clause.ground,
        "status": clause.status,
        "document": f"{document.title}, {document.revision} ({document.source})",
        "text": clause.text.strip(),
        "quote": clause.quote.strip(),
        "stands in": places_of(clause.id),
        "violation": clause.violation.strip(),
        "reason": clause.reason.strip(),
        "disputed": clause.disputed.strip(),
        "read otherwise by": list(otherwise(clause.id)),
        "carried by": clause.carried_by,
        "rules": [str(place) for place in each.rules],
        "claims": list(each.claims),
        "mutants": [f"ours:{name}" for name in each.mutants],
        "suite": list(each.cases),
        "network rules": list(each.networks.all),
        "quirks": [e.name for e in each.edits if e.kind == "replaced"],
        "readings": [e.name for e in each.edits if e.kind == "reading"],
        "variants": [e.name for e in each.edits if e.kind == "variant"],
        "prove": list(lines_on(cited, provers())),
        "guarantees of params": list(guarantees_on(*cited)),
        "statements": list(dict.fromkeys(s.id for c in cited for s in statements.statements_on(c))),
    }


def otherwise(clause: str) -> Iterator[str]:
    """The texts of DOG that say something else than the clause, and what."""
    for protocol, switches in TURNED.items():
        for edit in map(SWITCHES.__getitem__, switches):
            if edit.clause == clause:
                yield f"{protocol}: {edit.says} ({edit.name})"


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
        "level": ground_of(*claim.clauses),
        "text": claim.sentence,
        "protocols": [name for name, p in PROTOCOLS.items() if claim in claims_of(p)],
        "needs of a driver": sorted(claim.needs),
        "clauses": _texts(claim.clauses),
        "rules": _all(str(place) for c in resting for place in c.rules),
        "mutants": _all(f"ours:{name}" for c in resting for name in c.mutants),
        "suite": _all(name for c in resting for name in c.cases),
    }


def of_held(claim: ConstructionClaim) -> dict[str, Any]:
    """A claim that no search of one router decides, and what decides it."""
    return {
        "id": claim.id,
        "level": ground_of(*claim.clauses),
        "text": claim.says,
        "clauses": _texts(claim.clauses),
        "decided by": claim.by,
    }


def of_case(case: Case) -> dict[str, Any]:
    """A case, and the clause that it is about."""
    known = {c.clause.id: c for c in coverage()}
    about = known.get(case.clause)
    return {
        "text": case.reason,
        "claim": case.claim,
        "clause": f"{case.clause}: {' '.join(about.clause.text.split())}" if about else case.clause,
        "quote": about.clause.quote.strip() if about else "",
        "root cause": _says(case),
        "argument": case.argument,
        "status": case.status,
        "file": case.path,
        "case": render(case),
    }


def of_quirk(quirk: Edit) -> dict[str, Any]:
    """One edit of a protocol; where it can be a root cause, a quirk."""
    return {
        "id": quirk.name,
        "made by": quirk.kind,
        "text": quirk.says,
        "clause": quirk.clause,
        "rule": quirk.rule,
        "claims": _all(c.id for p in PROTOCOLS.values() for c in claims_of(p) if quirk.clause in c.clauses),
        "protocols": [n for n, p in PROTOCOLS.items() if has_edit(quirk, p)],
        "cases": cases_of(quirk.name),
    }


def cases_of(quirk: str) -> list[str]:
    """The committed cases whose root cause it is; only a checkout of the repository has them."""
    named = re.compile(rf"^quirk: {re.escape(quirk)}$", re.MULTILINE)
    return [str(p) for p in sorted(CASES.rglob("*.case")) if named.search(p.read_text(encoding="utf-8"))]


def has_edit(edit: Edit, protocol: Protocol) -> bool:
    """Whether the protocol has an edit of that name."""
    if edit.kind == "replaced" and edit.rule:
        return edit.name in operated(protocol)
    return any(each.name == edit.name for each in edits_of(protocol))


def of_mutant(name: str) -> dict[str, Any]:
    """One planted bug of our routers, and what must notice it."""
    mutant = mutant_named(name)
    return {
        "id": f"ours:{name}",
        "text": mutant.summary,
        "clause": mutant.clause,
        "protocol": protocol_of_mutant(mutant),
        "claim expected": claim_expected(mutant),
        "file": f"counterexamples/mutants/{name}.case",
    }


def of_statement(statement: Statement) -> dict[str, Any]:
    """A statement about networks, and what decides it."""
    return {
        "id": statement.id,
        "old id": statement.old_id,
        "text": statement.says,
        "what the text says": told(statement).split("<br>"),
        "read as": statement.reading,
        "assumes": statement.assumes,
        "revisions": list(statement.revisions),
        "clauses": list(statements.clauses_of(statement)),
        "claims": list(statement.claims),
        "decided by": "; ".join(statement.engines),
        **_recorded(statement),
    }


def _recorded(statement: Statement) -> dict[str, Any]:
    """What small networks came to, revision by revision, and where it is shown."""
    catalogue = next(c for c in statements.CATALOGUES.values() if statement in c.statements)
    decisions = [d for d in read_decisions(recorded(catalogue)) if d.statement == statement.id]
    # Only a checkout of the repository has the cases.
    return {
        "recorded": [f"{d.revision}: {cell(d).replace('**', '')}" for d in decisions],
        "page": f"docs/results/{catalogue.page}",
        "cases": [
            f"counterexamples/networks/{p.name}" for p in sorted(NETWORKS.glob(f"{statement.id}.*.case"))
        ],
    }


def of_network(name: str) -> dict[str, Any]:
    """A network that `quidnunc prove` has statements about."""
    return {"id": name, "text": f"networks that `quidnunc prove {name}` decides statements about"}


def of_protocol(name: str) -> dict[str, Any]:
    """A protocol, by its name."""
    return {"id": name, "text": f"a protocol; `quidnunc clauses {name}` lists its clauses and claims"}


def of_line(line: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    """A line of `quidnunc prove`, and the clauses that it rests on."""
    prover, cited = line
    return {"clauses": _texts(cited), "decided by": f"quidnunc prove {prover}"}


def _says(case: Case) -> str:
    """The name of the root cause, and its sentence where the protocol of the case has such an edit."""
    known = PROTOCOLS.get(case.protocol)
    try:
        edit = edit_named(case.quirk, known) if known is not None and case.quirk else None
    except SpecError:
        edit = None
    return f"{edit.name}: {edit.says}" if edit is not None else case.quirk


def _texts(clauses: Iterable[str]) -> list[str]:
    known = {c.clause.id: c.clause for c in coverage()}
    return [f"{clause}: {' '.join(known[clause].text.split())}" for clause in clauses]


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
