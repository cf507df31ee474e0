"""What stands behind each clause: rules, claims, planted departures, cases of the suite, edits."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import TypeVar

from attrs import evolve, frozen

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import edits_of
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.cases.case import Case
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.documents.clauses import Clause, load
from quidnunc.properties.proofs.citations import AppliedRules, applied_rules
from quidnunc.properties.suite.files import suite_of

T = TypeVar("T")
NAMED_KINDS = ("reading", "replaced", "variant")


@frozen
class RuleLocation:
    """Where a rule is written."""

    rule: str
    file: str
    """From the folder of the package on: `model/pubsub/mesh.py`."""
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.rule}"


@frozen(kw_only=True)
class ClauseCoverage:
    """One clause and all that names it, or that names the clause which carries it."""

    clause: Clause
    rules: tuple[RuleLocation, ...] = ()
    claims: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    """As `PROTOCOL/RULE`."""
    edits: tuple[Edit, ...] = ()
    """Readings, variants and known departures; edits of any single rule are not among them."""
    networks: AppliedRules = AppliedRules()
    """The rules of networks that are a view of it, and were taken; a coverage of its own, beside `held`."""

    @property
    def held(self) -> bool:
        """Whether it is ruled, or holds by construction, and some claim rests on it."""
        return self.clause.status in ("ruled", "by-construction") and bool(self.claims)

    @property
    def lacks(self) -> tuple[str, ...]:
        """What a clause that is ruled should have and does not; of the others nothing is wanted."""
        if self.clause.status != "ruled":
            return ()
        # What a text permits cannot be broken, so no claim and no planted departure goes with it.
        wanted = ("rules", "cases") if self.clause.optional else ("rules", "claims", "mutants", "cases")
        return tuple(name for name in wanted if not getattr(self, name))


def place_of(rule: Rule) -> RuleLocation:
    """Where the function of a rule starts."""
    function = inspect.unwrap(rule.apply)
    module = getattr(function, "__module__", "").removeprefix("quidnunc.").replace(".", "/")
    code = getattr(function, "__code__", None)
    if code is None:
        return RuleLocation(rule.name, f"{module}.py", 0)
    return RuleLocation(rule.name, str(PurePath(module).with_suffix(".py")), code.co_firstlineno)


def suites(protocols: Iterable[str] = PROTOCOLS) -> Iterator[tuple[str, Case]]:
    """(`PROTOCOL/RULE`, case) of every suite there is."""
    for name in protocols:
        try:
            cases = suite_of(name)
        except SpecError:
            continue
        for rule, case in cases:
            yield f"{name}/{rule}", case


@lru_cache
def coverage(protocol: str | None = None) -> tuple[ClauseCoverage, ...]:
    """Of every clause, or of those that concern one protocol: the ones that it rules, and the ones of the
    same documents that no protocol rules."""
    table = load()
    names = tuple(PROTOCOLS) if protocol is None else (protocol,)
    chosen = [PROTOCOLS[name] for name in names]
    ruled = _by_clause((r.clause, place_of(r)) for p in chosen for _, r in p.rules())
    claims = _by_clause((c, claim.id) for p in chosen for claim in claims_of(p) for c in claim.clauses)
    mutants = _by_clause((m.clause, m.name) for m in mutants_by_name().values())
    cases = _by_clause((case.clause, name) for name, case in suites(names))
    edits = _by_clause((e.clause, e) for p in chosen for e in edits_of(p) if e.kind in NAMED_KINDS)
    otherwise = _by_clause((c, each.id) for each in HELD.values() for c in each.clauses)
    found = []
    for clause in table.values():
        ids = (clause.id, clause.carried_by)
        each = ClauseCoverage(
            clause=clause,
            rules=_of(ids, ruled),
            claims=_of(ids, claims),
            mutants=_of(ids, mutants),
            cases=_of(ids, cases),
            edits=_of(ids, edits),
            networks=_by_networks(ids),
        )
        if protocol is None or _concerns(each, PROTOCOLS[protocol]):
            # Whether a protocol is concerned the claims that a search decides say, and not these.
            found.append(evolve(each, claims=(*each.claims, *_of(ids, otherwise))))
    return tuple(found)


def _by_networks(ids: Sequence[str]) -> AppliedRules:
    found = [applied_rules()[clause] for clause in dict.fromkeys(ids) if clause in applied_rules()]
    return AppliedRules(
        tuple(rule for each in found for rule in each.explored),
        tuple(rule for each in found for rule in each.followed),
    )


def _concerns(each: ClauseCoverage, protocol: Protocol) -> bool:
    if each.rules or each.claims:
        return True
    table = load()
    documents = {table[r.clause].document for _, r in protocol.rules() if r.clause in table}
    elsewhere = {r.clause for p in PROTOCOLS.values() for _, r in p.rules()}
    ids = {each.clause.id, each.clause.carried_by}
    return each.clause.document in documents and not ids & elsewhere


def _by_clause(pairs: Iterable[tuple[str, T]]) -> dict[str, tuple[T, ...]]:
    found: dict[str, dict[T, None]] = {}
    for clause, each in pairs:
        found.setdefault(clause, {})[each] = None
    return {clause: tuple(each) for clause, each in found.items()}


def _of(ids: Iterable[str], found: dict[str, tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(each for clause in ids for each in found.get(clause, ())))
