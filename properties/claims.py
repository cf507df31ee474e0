"""The claims: what is asked of every router, each resting on clauses, and its verdict.

A claim fails where a departure's root cause is against one of its clauses; it applied where a rule of one of
its clauses decided, or an obligation of one was met. What never applied is inconclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from quidnunc.model.rules import Protocol
from quidnunc.properties import mempool_occasions
from quidnunc.properties.claim_tables import (
    BACKOFF,
    GOSSIP,
    IDONTWANT,
    IDS,
    MESH,
    MESSAGES,
    PUBSUB,
    SCORES,
    Claim,
)
from quidnunc.properties.claim_tables_mempool import CAT, MEMPOOL, PEER_LIMIT
from quidnunc.properties.claim_tables_scores import EXCHANGE, SCORE_TERMS
from quidnunc.properties.clauses import Clause, load
from quidnunc.properties.partial_claims import EXTENSIONS, PARTIAL

VerdictName: TypeAlias = Literal[
    "not-refuted", "fails", "deviates", "observed", "unsupported", "inconclusive", "broken"
]

ALL: tuple[Claim, ...] = (*PUBSUB, *IDS, *MESSAGES, *MESH, *BACKOFF, *SCORES, *GOSSIP, *IDONTWANT, *MEMPOOL)
ALL += (*EXTENSIONS, *PARTIAL, *CAT, *PEER_LIMIT, *SCORE_TERMS, *EXCHANGE)


def clauses_of(protocol: Protocol) -> frozenset[str]:
    """Clauses that a rule of the protocol bears, or that its permits name."""
    found = {each.clause for _, each in protocol.rules()}
    return frozenset(found)


def claims_of(protocol: Protocol) -> tuple[Claim, ...]:
    """The claims that can apply to a protocol: those with a clause that it rules."""
    ruled = clauses_of(protocol) | _everywhere(protocol)
    return tuple(c for c in ALL if ruled & set(c.clauses))


def _everywhere(protocol: Protocol) -> frozenset[str]:
    """Clauses that no rule bears, because they hold of every output."""
    common = {"pubsub/relay.unchanged", "pubsub/rpc.malformed", "pubsub/publish.seqno"}
    mesh = {
        "gs1.0/heartbeat.no-churn",
        "gs1.0/prune.not-answered",
        "gs1.0/gossip.ids",
        "gs1.0/join.graft-each",
        "gs1.0/rpc.control-fields",
    }
    later = {"gs1.1/backoff.announce", "pubsub/id.supplied", "gs1.1/rpc.protocol-id", "gs1.1/score.local"}
    if protocol.family != "pubsub":
        return mempool_occasions.clauses_of(protocol)
    if "idontwant" in protocol.handlers:
        later |= {"gs1.2/rpc.protocol-id", "gs1.2/idontwant.no-penalty"}
    if "extension" in protocol.handlers:
        later |= {"gs1.3/extensions.once", "gs1.3/rpc.protocol-id"}
    if "partial" in protocol.handlers:
        later |= {"pm/subscription.flags", "pm/receive.full-accepted"}
    if "graft" not in protocol.handlers:
        return frozenset(common)
    return frozenset(common | mesh | (later if "backs_off" in protocol.handlers else set()))


def claim_on(clause: str, protocol: Protocol) -> Claim | None:
    """The claim of the protocol that rests on `clause`."""
    return next((c for c in claims_of(protocol) if clause in c.clauses), None)


def clause_table() -> Mapping[str, Clause]:
    return load()


def level_of(clause: str) -> str:
    """M, S, Y or I; M where the clause table lacks it (a test says that it never does)."""
    known = load().get(clause)
    return known.level if known is not None else "M"
