"""The claims: what is asked of every router, each resting on clauses, and its verdict.

A claim fails where a departure's root cause is against one of its clauses; it applied where a rule of one of
its clauses decided, or an obligation of one was met. What never applied is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Protocol
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.claims.tables import ALL, BY_SUBJECT
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.occasions.catalogue import MERE_RUNS
from quidnunc.properties.occasions.occasion import MereRun, ObservedStep, Occasion
from quidnunc.properties.occasions.scores import deciding_clauses

VerdictName: TypeAlias = Literal[
    "not-refuted", "fails", "deviates", "observed", "unsupported", "undecided", "inconclusive", "broken"
]

_OF_MEMPOOL = (*BY_SUBJECT["mempool"], *BY_SUBJECT["cat"], *BY_SUBJECT["peer-limit"])
_OCCASIONS: Mapping[str, tuple[Occasion, ...]] = {
    "pubsub": tuple(each for c in ALL if c not in _OF_MEMPOOL for each in c.occasions),
    "mempool": tuple(each for c in _OF_MEMPOOL for each in c.occasions),
}
"""Family -> when its clauses apply that no rule decides."""
_DECIDING: Mapping[str, Callable[[ObservedStep], tuple[str, ...]]] = {
    "pubsub": deciding_clauses,
    "mempool": lambda step: (),
}
"""Family -> clauses of the rules whose terms decided a step."""
_MERE_RUNS: Mapping[str, tuple[MereRun, ...]] = {"pubsub": MERE_RUNS, "mempool": ()}
"""Family -> clauses whose rules also decide where no router could break them."""


def clauses_of(protocol: Protocol) -> frozenset[str]:
    """Clauses that a rule of the protocol bears, or that its permits name."""
    found = {each.clause for _, each in protocol.rules()}
    return frozenset(found)


def claims_among(claims: Iterable[Claim], protocol: Protocol) -> tuple[Claim, ...]:
    """Those of `claims` of which a rule of the protocol decides a clause, or an occasion concerns it."""
    ruled = clauses_of(protocol)
    return tuple(
        c
        for c in claims
        if ruled.intersection(c.clauses) or any(each.concerns(protocol) for each in c.occasions)
    )


def check_claims(claims: Collection[Claim], protocols: Collection[Protocol], known: Collection[str]) -> None:
    """Refuse a claim that applies to none of the protocols: it would be dropped without a word.

    `known` are the clauses of the tables; a clause that a rule bears exists, too. Raises SpecError.
    """
    exists = set(known).union(*map(clauses_of, protocols))
    apply = {claim.id for protocol in protocols for claim in claims_among(claims, protocol)}
    for claim in claims:
        for clause in claim.clauses:
            if clause not in exists:
                raise SpecError(f"claim {claim.id} names clause {clause}, which does not exist")
        if claim.id in apply:
            continue
        clauses = " or ".join(claim.clauses)
        if claim.occasions:
            raise SpecError(
                f"claim {claim.id}: when(...) of {clauses} concerns no protocol: name those it does"
            )
        raise SpecError(
            f"claim {claim.id} names clause {clauses}, which no rule decides: "
            "give it when(CLAUSE, OCCASION, PROTOCOLS)"
        )


@lru_cache(maxsize=1)
def checked_claims() -> tuple[Claim, ...]:
    """All claims of the kit. Raises SpecError where one of them applies to no protocol."""
    check_claims(ALL, PROTOCOLS.values(), load())
    return ALL


def claims_of(protocol: Protocol) -> tuple[Claim, ...]:
    """The claims that can apply to a protocol: those with a clause that it rules or that concerns it."""
    return claims_among(checked_claims(), protocol)


def applied_clauses(step: ObservedStep) -> tuple[str, ...]:
    """Clauses that no rule decides and that `step` was an occasion to break."""
    family = step.state.protocol.family
    found = tuple(each.clause for each in _OCCASIONS[family] if each.applies(step))
    return (*found, *_DECIDING[family](step))


def untested_clauses(step: ObservedStep) -> tuple[str, ...]:
    """Clauses of rules that decided in `step`, where no router could have broken them."""
    decided, mere = {*step.because}, _MERE_RUNS[step.state.protocol.family]
    return tuple(e.clause for e in mere if e.clause in decided and not e.tested(step))


def claim_on(clause: str, protocol: Protocol) -> Claim | None:
    """The claim of the protocol that rests on `clause`."""
    return next((c for c in claims_of(protocol) if clause in c.clauses), None)


def clauses_asked(claim: Claim, protocol: Protocol) -> tuple[str, ...]:
    """The clauses of a claim that a rule of the protocol decides or carries, or an occasion concerns."""
    asked = clauses_of(protocol) | {o.clause for o in claim.occasions if o.concerns(protocol)}
    known = load()
    return tuple(c for c in claim.clauses if c in asked or (c in known and known[c].carried_by in asked))


def breach_of(clause: str) -> VerdictName:
    """The verdict on a router that departs from a clause; `fails` where no table has it."""
    known = load().get(clause)
    return known.breach if known is not None else "fails"


def level_of(*clauses: str) -> str:
    """The strictest of the words in capitals, as M, S or Y; I where the text has none."""
    known = (load().get(clause) for clause in clauses)
    return min((c.level for c in known if c is not None), key="MSYI".find, default="I")


def ground_of(*clauses: str) -> str:
    """The strictest keyword, or what the clauses rest on without one; empty where no table has them."""
    known = [c for c in map(load().get, clauses) if c is not None]
    order = ("fails", "deviates", "observed")
    known.sort(key=lambda c: ("MSYI".find(c.level), order.index(c.breach)))
    return known[0].ground if known else ""
