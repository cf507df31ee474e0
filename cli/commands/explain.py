"""quidnunc explain: one clause, claim, case, edit, statement or mutant, and everything that belongs to it."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.edit import Edit
from quidnunc.model.edits import aliases
from quidnunc.model.edits.catalogue import edit_named, edits_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool.dog.variants import SWITCHES, TURNED
from quidnunc.model.rules import Protocol, Rule
from quidnunc.output import UsageError, print_json, suggestion, table
from quidnunc.pipeline.lake.gold.claims import CLAIMS as OVER_TRACES
from quidnunc.pipeline.lake.gold.claims import TraceClaim
from quidnunc.properties.bounded import shortened
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.claims.catalogue import claims_of, ground_of
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.claims.elsewhere import HELD, ConstructionClaim
from quidnunc.properties.coverage import ClauseCoverage, coverage, suites
from quidnunc.properties.documents import named_sentences as clause_names
from quidnunc.properties.documents.clauses import load as clauses
from quidnunc.properties.mutants import claim_expected, mutant_named, protocol_of_mutant
from quidnunc.properties.params.citations import ROWS, GuaranteeRow, guarantees_on
from quidnunc.properties.proofs.citations import VERDICTS as RECORDED
from quidnunc.properties.proofs.citations import clauses_of_line, lines_of, lines_on, verdict_of
from quidnunc.properties.proofs.networks import NETWORKS, claims_of_network
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.recall.bugs import KnownBug, known_bugs
from quidnunc.properties.solver.rules import NetworkClaim
from quidnunc.properties.statements import catalogue as statements
from quidnunc.properties.statements.decisions import cell, read_decisions, recorded
from quidnunc.properties.statements.quotes import told
from quidnunc.properties.statements.statement import Statement
from quidnunc.properties.suite.files import suite_of
from quidnunc.reports.words import VERDICTS as VERDICT_WORDS
from quidnunc.reports.words import cause_in_words

CASES = Path("counterexamples")
OF_NETWORKS = CASES / "networks"
LISTED = "`quidnunc clauses` lists the clauses and claims"
MOST_CLAUSES, MOST_WORDS = 10, 200
"""Clauses that are listed where several have the same words; characters of the words that are said again."""


def run(options: argparse.Namespace) -> int:
    if not options.renamed and not options.what:
        raise UsageError(
            "name what to explain, as in `quidnunc explain gs1.1/backoff.regraft`; "
            "`quidnunc clauses` lists the sentences"
        )
    if options.renamed:
        return _run_renamed(options.what, options.json)
    kind, found = _found(options.what)
    if options.json:
        print_json({"schema": 1, "kind": kind, **{k.replace(" ", "_"): v for k, v in found.items()}})
        return 0
    old = options.what in renamed()
    name = found["id"] if old or is_words(options.what) else options.what
    print(f"{kind} {name} (once called {options.what})\n" if old else f"{kind} {name}\n")
    for title, value in found.items():
        _print_field(title, value)
    print(f"\nagain: quidnunc explain {name}")
    return 0


@lru_cache(maxsize=1)
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
    if (meant := named(what)) is not None:
        kind, describe = meant
        return kind, describe()
    if is_words(what):
        return _found(_clause_saying(what))
    # A clause without its prefix.
    kinds = known_names()
    whole = [clause for clause in kinds[0][1] if clause.partition("/")[2] == what]
    near = (
        f" (did you mean {' or '.join(whole)}?)"
        if whole
        else suggestion(what, (n for _, k, _ in kinds for n in k))
    )
    raise UsageError(f"nothing is called {what!r}{near}; {LISTED}")


def _clause_saying(words: str) -> str:
    """The clause that has these words of a specification. Raises UsageError unless there is just one."""
    found = clause_names.clauses_saying(words)
    if not found:
        raise UsageError(f"no clause has the words {shortened(words, MOST_WORDS)!r}; {LISTED}")
    if len(found) > 1:
        texts = (f"  {each}: {clauses()[each].text.strip()}" for each in found[:MOST_CLAUSES])
        more = [f"  and {len(found) - MOST_CLAUSES} more"] if len(found) > MOST_CLAUSES else []
        listed = [f"{len(found)} clauses have these words, name one of them:", *texts, *more]
        raise UsageError("\n".join(listed))
    return found[0]


def is_words(what: str) -> bool:
    """Whether these are words of a sentence: no name has a blank."""
    return " " in what.strip()


def named(what: str) -> tuple[str, Callable[[], dict[str, Any]]] | None:
    """What goes by the name, and what tells of it; None where nothing does."""
    _, names_now = renamed().get(what, ("", [what]))
    name, *others = names_now
    for kind, known, describe in known_names():
        if name in known:
            return kind, partial(_described, describe, known[name], others)
    made = next((m for p in PROTOCOLS.values() if (m := operated(p).get(name)) is not None), None)
    if made is not None:
        return "quirk", lambda: of_quirk(made.edit)
    if said := cause_in_words(name):
        return "cause", lambda: {"id": name, "text": said}
    # A change, as `regress` and `diff` name it.
    rule = rules_by_handler().get(name)
    if rule is not None:
        return "change", lambda: of_change(name, rule)
    # A rule or a case with its protocol, as cases of the suite are named.
    protocol, _, rest = name.partition("/")
    return named(rest) if protocol in PROTOCOLS and rest in _names_in(protocol) else None


def _names_in(protocol: str) -> set[str]:
    """The rules of a protocol, and the cases of its suite."""
    rules = {each.name for _, each in PROTOCOLS[protocol].rules()}
    try:
        return rules | {*dict(suite_of(protocol))}
    except SpecError:
        return rules


def _described(describe: Callable[[Any], dict[str, Any]], thing: object, others: list[str]) -> dict[str, Any]:
    return describe(thing) | ({"in other protocols": others} if others else {})


@lru_cache(maxsize=1)
def rules_by_handler() -> Mapping[str, Rule]:
    """`HANDLER/RULE` -> the rule."""
    return {f"{h}/{r.name}": r for p in PROTOCOLS.values() for h, r in p.rules()}


def of_change(name: str, rule: Rule) -> dict[str, Any]:
    """A change of a rule, and the clause of the rule."""
    handler = name.partition("/")[0]
    return {"change of": f"rule {rule.name} of {handler}"} | of_clause(known_names()[0][1][rule.clause])


_Kinds: TypeAlias = tuple[tuple[str, Mapping[str, Any], Callable[[Any], dict[str, Any]]], ...]
"""Kind of thing; its names with what they stand for; how one is described."""


@lru_cache(maxsize=1)
def known_names() -> _Kinds:
    """Every name that the kit prints, by what it is the name of. Of two with one name the first is told."""
    clauses = {c.clause.id: c for c in coverage()}
    claims = {claim.id: claim for p in PROTOCOLS.values() for claim in claims_of(p)}
    edits = {e.name: e for p in PROTOCOLS.values() for e in edits_of(p)}
    quirks = {name: edit for name, edit in edits.items() if edit.explains and edit.kind != "variant"}
    rules = {r.name: r.clause for p in PROTOCOLS.values() for _, r in p.rules()}
    return (
        ("clause", clauses, of_clause),
        ("claim", claims, of_claim),
        ("claim", HELD, of_held),
        ("case", dict(suites()), of_case),
        ("quirk", quirks, of_quirk),
        ("edit", edits, of_quirk),
        ("rule", rules, lambda clause: of_clause(clauses[clause])),
        ("statement", {each.id: each for each in statements.STATEMENTS}, of_statement),
        ("claim over traces", {claim.id: claim for claim in OVER_TRACES}, of_trace_claim),
        ("line of prove", lines_of_prove(), of_line),
        ("network of prove", {name: name for name in provers()}, of_network),
        ("claim of explore", claims_of_explore(), of_explored),
        ("network of explore", {name: name for name in NETWORKS}, of_explored_network),
        ("guarantee of params", ROWS, of_guarantee),
        ("known bug", known_bugs(), of_bug),
        ("protocol", {name: name for name in PROTOCOLS}, of_protocol),
        ("mutant", {f"ours:{name}": name for name in mutants_by_name()}, of_mutant),
        ("verdict", {name: {"id": name, "text": text} for name, text in VERDICT_WORDS.items()}, dict),
    )


def lines_of_prove() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Line -> itself, what decides it, and the clauses that it rests on."""
    found = {}
    for prover in provers():
        # A name may begin another: the longest one decides a line.
        of_it = [line for line in RECORDED if line == prover or line.startswith(f"{prover}.")]
        for line in (*(line for line, _ in lines_of(prover)), *of_it):
            found[line] = (line, prover, clauses_of_line(line, prover))
    return found


def claims_of_explore() -> dict[str, tuple[NetworkClaim, list[str]]]:
    """Claim of a small network -> what it says, and the networks that have it."""
    found: dict[str, tuple[NetworkClaim, list[str]]] = {}
    for name in NETWORKS:
        for claim in claims_of_network(name):
            found.setdefault(claim.id, (claim, []))[1].append(name)
    return found


def of_clause(each: ClauseCoverage) -> dict[str, Any]:
    """A clause, what its document says, and what stands behind it."""
    clause = each.clause
    cited = [c for c in (clause.id, clause.carried_by) if c]
    document = clause_names.source_of(clause)
    return {
        "id": clause.id,
        "level": clause.ground,
        "keyword": clause.keyword,
        "basis": clause.basis,
        "status": clause.status,
        "document": f"{document.title}, {document.revision} ({document.source})",
        "text": clause.text.strip(),
        "quote": clause.quote.strip(),
        "phrase": clause.phrase.strip(),
        "phrase only in": clause.phrase_in,
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
            f"counterexamples/networks/{p.name}" for p in sorted(OF_NETWORKS.glob(f"{statement.id}.*.case"))
        ],
    }


def of_network(name: str) -> dict[str, Any]:
    """A network that `quidnunc prove` has statements about."""
    return {
        "id": name,
        "text": f"networks that `quidnunc prove {name}` decides statements about",
        "recorded": [
            f"{line}: {verdict}" for line, verdict in RECORDED.items() if line.startswith(f"{name}.")
        ],
    }


def of_trace_claim(claim: TraceClaim) -> dict[str, Any]:
    """A claim that only a trace of a whole network decides."""
    return {
        "id": claim.id,
        "text": claim.says,
        "clauses": _texts([claim.clause]),
        "needs of a trace": sorted(claim.needs),
        "counts": "" if claim.promised else "it is counted only: no document promises it",
        "decided by": "quidnunc trace check RUN, of a folder of `quidnunc ingest`",
    }


def of_explored(known: tuple[NetworkClaim, list[str]]) -> dict[str, Any]:
    """A claim on the states of a small network."""
    claim, networks = known
    return {
        "id": claim.id,
        "text": claim.text,
        "kind": claim.kind,
        "networks": networks,
        "decided by": f"quidnunc explore {networks[0]}",
    }


def of_explored_network(name: str) -> dict[str, Any]:
    """A small network, all of whose states can be visited."""
    return {"id": name, "text": f"a small network; `quidnunc explore {name}` visits all of its states"}


def of_guarantee(row: GuaranteeRow) -> dict[str, Any]:
    """What `quidnunc params` says of the parameters of a network."""
    return {
        "text": row.text,
        "clauses": _texts(row.clauses),
        "assumes": list(row.assumptions),
        "advisories": list(row.advisories),
        "decided by": "quidnunc params FILE",
    }


def of_bug(bug: KnownBug) -> dict[str, Any]:
    """A bug that the maintainers of a router fixed."""
    return {
        "id": bug.id,
        "text": bug.says,
        "router": f"{bug.router}: in {bug.affected}, and not in {bug.fixed}",
        "clauses": [clause for clause in bug.right if clause],
        "played by": f"quidnunc recall {bug.id}",
    }


def of_protocol(name: str) -> dict[str, Any]:
    """A protocol, by its name."""
    return {"id": name, "text": f"a protocol; `quidnunc clauses {name}` lists its clauses and claims"}


def of_line(known: tuple[str, str, tuple[str, ...]]) -> dict[str, Any]:
    """A line of `quidnunc prove`, and the clauses that it rests on."""
    line, prover, cited = known
    return {
        "id": line,
        "recorded": verdict_of(line),
        "clauses": _texts(cited),
        "decided by": f"quidnunc prove {prover}",
        "page": "docs/prove.md",
    }


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
