"""Nothing stands alone: a clause has a claim or a reason, a rule has a clause, and so has a claim.

Each of these is asked of a planted orphan too, which it has to find.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from attrs import evolve

from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.edits.catalogue import explaining_edits
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Protocol, phases, rule
from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.claims.elsewhere import HELD, ConstructionClaim
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.coverage import ClauseCoverage, coverage, suites
from quidnunc.properties.documents.clauses import Clause, load

LEAST_HELD = 0.95
"""Of all clauses, so many are ruled or hold by construction, with a claim."""


@pytest.fixture(scope="module")
def table() -> Mapping[str, Clause]:
    return load()


def orphan_clauses(known: Iterable[ClauseCoverage]) -> list[str]:
    """Those without a claim that say no reason; what is ruled or holds by construction needs the claim."""
    kept = ("exception", "not-modelled")
    return [
        each.clause.id
        for each in known
        if not each.claims and not (each.clause.reason and each.clause.status in kept)
    ]


def orphan_rules(protocols: Mapping[str, Protocol], table: Mapping[str, Clause]) -> list[str]:
    """Rules that some protocol runs and that are named for no clause of the tables, nor are the kit's own."""
    return [
        f"{name}: {each.name}: {each.clause}"
        for name, protocol in protocols.items()
        for _, each in protocol.rules()
        if each.clause not in table and not each.clause.startswith("kit/")
    ]


def orphan_claims(claims: Iterable[Claim | ConstructionClaim], table: Mapping[str, Clause]) -> list[str]:
    """Claims on a clause that no table has, or on none that is ruled or holds by construction."""
    found = []
    for each in claims:
        known = [table[c] for c in each.clauses if c in table]
        asked = [c for c in known if c.status in ("ruled", "by-construction")]
        if len(known) < len(each.clauses) or not asked:
            found.append(each.id)
    return found


def test_no_clause_is_an_orphan() -> None:
    assert orphan_clauses(coverage()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"claims": (), "rules": ()},
        {"claims": ()},
    ],
    ids=["alone", "without-claim"],
)
def test_an_orphaned_clause_is_found(changes: dict[str, tuple[()]]) -> None:
    known = list(coverage())
    at = next(k for k, each in enumerate(known) if each.clause.status == "ruled" and each.claims)
    known[at] = evolve(known[at], **changes)
    assert orphan_clauses(known) == [known[at].clause.id]


def test_no_rule_is_an_orphan(table: Mapping[str, Clause]) -> None:
    assert orphan_rules(PROTOCOLS, table) == []


def test_an_orphaned_rule_is_found(table: Mapping[str, Clause]) -> None:
    @rule("gs1.0/no.such-clause")
    def stray(r: object, what: object, choose: object) -> None:
        return None

    planted = PROTOCOLS["gossipsub-1.0"].extended("planted", connect=phases(stray))
    assert orphan_rules({"planted": planted}, table) == ["planted: stray: gs1.0/no.such-clause"]


def test_no_claim_is_an_orphan(table: Mapping[str, Clause]) -> None:
    assert orphan_claims((*ALL, *HELD.values()), table) == []


def test_an_orphaned_claim_is_found(table: Mapping[str, Clause]) -> None:
    exception = next(c.id for c in table.values() if c.status == "exception")
    planted = (
        claim("stray.one", "Rests on nothing.", "gs1.0/no.such-clause"),
        claim("stray.two", "Rests on an exception.", exception),
        ConstructionClaim("stray.three", "Rests on both.", ("gs1.0/graft.accept", "gs1.0/no.such-clause")),
    )
    assert orphan_claims((*planted, *ALL[:3]), table) == ["stray.one", "stray.two", "stray.three"]


def test_no_status_is_stale() -> None:
    """What a claim is named for is not said to be without one."""
    stale = [
        each.clause.id
        for each in coverage()
        if each.clause.status in ("not-modelled", "exception") and (each.rules or each.claims)
    ]
    assert stale == []


def test_nearly_all_clauses_are_held() -> None:
    known = coverage()
    share = sum(each.held for each in known) / len(known)
    assert share >= LEAST_HELD, f"{share:.1%} of {len(known)} clauses are held"


def test_no_mutant_case_or_quirk_is_an_orphan(table: Mapping[str, Clause]) -> None:
    named = {clause: m.name for m in mutants_by_name().values() for clause in [m.clause]}
    named |= {case.clause: name for name, case in suites()}
    named |= {q.clause: q.name for p in PROTOCOLS.values() for q in explaining_edits(p)}
    assert {c: n for c, n in named.items() if c not in table and not c.startswith("kit/")} == {}
