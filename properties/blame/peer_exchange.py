"""Which clause of peer exchange a PRUNE or a dial breaks that nothing permits."""

from __future__ import annotations

from typing import Any

from quidnunc.model.events import Event, Output, Receive, Sent
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Peer, Prune

OFFER = "gs1.1/px.offer"
TO_NEGATIVE = "gs1.1/px.none-to-negative"
OF_NEGATIVE = "gs1.1/px.only-non-negative"


def offer_clause(expected: Output, observed: Output, before: Any) -> str:
    """The clause that a PRUNE breaks with the peers that it lists, where that one was permitted."""
    if not isinstance(expected, Sent) or not isinstance(observed, Sent):
        return OFFER
    if isinstance(observed.part, Prune) and expected.peer in observed.part.peers:
        return OFFER
    if isinstance(before, Router) and before.below(expected.peer, 0) is not False:
        return TO_NEGATIVE
    part = expected.part
    return OF_NEGATIVE if isinstance(part, Prune) and part.peers else OFFER


def dial_clause(r: Router, event: Event, peer: Peer) -> str:
    """The clause that a dial breaks which follows an offer of that peer; empty where there was none."""
    for part in event.parts if isinstance(event, Receive) else ():
        if isinstance(part, Prune) and peer in part.peers and isinstance(event, Receive):
            if r.below(event.peers[0], 0):
                return "gs1.1/px.ignored-from-negative"
            return (
                "gs1.1/px.record-valid"
                if part.records in ("forged", "foreign")
                else "gs1.1/px.accept-threshold"
            )
    return ""
