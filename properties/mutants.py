"""The planted bugs of our routers: the protocol in which each shows, and the claim expected to notice it."""

from __future__ import annotations

from quidnunc.impl.mutant import Mutant
from quidnunc.impl.routers import mutants_by_name
from quidnunc.model.machine import protocol_named
from quidnunc.properties.claims.catalogue import claim_on, clauses_of
from quidnunc.properties.documents.clauses import load

NEWEST_FIRST = ("gossipsub-1.2", "gossipsub-1.1", "gossipsub-1.0", "floodsub")


def mutant_named(name: str) -> Mutant:
    """Raises ValueError listing those that there are."""
    known = mutants_by_name()
    if name not in known:
        raise ValueError(f"no mutant {name!r} of ours: there are {', '.join(sorted(known))}")
    return known[name]


def protocol_of_mutant(mutant: Mutant) -> str:
    """The protocol under which it is searched: the newest one with a rule for the clause that it breaks."""
    if mutant.protocol not in NEWEST_FIRST:
        return mutant.protocol
    clauses = {mutant.clause, load()[mutant.clause].carried_by}
    return next((p for p in NEWEST_FIRST if clauses & clauses_of(protocol_named(p))), NEWEST_FIRST[0])


def claim_expected(mutant: Mutant) -> str:
    """The claim that rests on the mutant's clause, or on the one whose rule carries it; or none."""
    protocol = protocol_named(protocol_of_mutant(mutant))
    claims = (claim_on(c, protocol) for c in (mutant.clause, load()[mutant.clause].carried_by))
    return next((claim.id for claim in claims if claim is not None), "")
