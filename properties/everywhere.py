"""When a clause applied that no single rule decides: those that hold of every output, or of its absence.

Such a claim would be inconclusive for ever, because no rule fires for it and no permit bears it: nobody
"decides" not to graft. It applied where a router had the occasion to break it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from quidnunc.model.events import (
    LEGAL_KINDS,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
    Connect,
    Event,
    Output,
    Publish,
    Raw,
    Receive,
    Score,
    Sent,
)
from quidnunc.model.router import Router
from quidnunc.model.rpc import ROUTER, IDontWant, IHave, IWant, Message, Prune
from quidnunc.properties import mempool_occasions, partial_occasions, px_occasions, score_occasions

CLAUSES = frozenset(
    {
        "pubsub/relay.unchanged",
        "pubsub/id.supplied",
        "pubsub/rpc.malformed",
        "pubsub/publish.seqno",
        "pubsub/signing.sign",
        "pubsub/signing.no-sign",
        "gs1.1/rpc.protocol-id",
        "gs1.2/rpc.protocol-id",
        "gs1.3/rpc.protocol-id",
        "gs1.1/score.local",
        "gs1.0/heartbeat.no-churn",
        "gs1.0/prune.not-answered",
        "gs1.0/rpc.control-fields",
        "gs1.1/backoff.announce",
        "gs1.1/score.application",
        "flood/rpc.malformed",
    }
)

PROTOCOL_IDS = {
    MESHSUB_1_1: "gs1.1/rpc.protocol-id",
    MESHSUB_1_2: "gs1.2/rpc.protocol-id",
    MESHSUB_1_3: "gs1.3/rpc.protocol-id",
}
"""The clause by which a router speaks the protocol of a stream."""


def applied(
    state: Any, event: Event, ticked: bool, outputs: Sequence[Output], because: Sequence[str]
) -> tuple[str, ...]:
    """Those of `CLAUSES` for which `event` was an occasion.

    `state` is the one before the event, `ticked` says that a heartbeat ran, `because` names the rules that
    decided.
    """
    if isinstance(state, Router):
        found = tuple(_found(state, event, ticked, outputs, because))
        if state.parameters.scores is not None and "weighted_score" in state.protocol.handlers:
            found = (*found, *score_occasions.found(state, event, ticked))
        if state.parameters.prune_peers:
            found = (*found, *px_occasions.found(state, outputs))
        extended = "extension" in state.protocol.handlers
        return (*found, *partial_occasions.found(state, event, outputs)) if extended else found
    return tuple(mempool_occasions.applied(state, event, outputs))


def _found(
    r: Router, event: Event, ticked: bool, outputs: Sequence[Output], because: Sequence[str]
) -> Iterator[str]:
    p = r.parameters
    if ticked and any(p.d_low <= len(members) <= p.d_high for members in r.mesh.values()):
        yield "gs1.0/heartbeat.no-churn"
    # Without score parameters there is nothing in a score but what the application says.
    if any(clause.startswith("gs1.1/threshold.") for clause in because):
        yield "gs1.1/score.application"
    if isinstance(event, Raw) and event.kind not in LEGAL_KINDS:
        yield "pubsub/rpc.malformed"
    if isinstance(event, Connect) and event.protocol in PROTOCOL_IDS:
        yield PROTOCOL_IDS[event.protocol]
    if isinstance(event, Score) and "score" in r.protocol.handlers:
        yield "gs1.1/score.local"
    received = event.parts if isinstance(event, Receive) else ()
    if any(isinstance(part, Prune) for part in received):
        yield "gs1.0/prune.not-answered"
    sent = [o for o in outputs if isinstance(o, Sent)]
    if not sent and not received:
        return
    if any(isinstance(o.part, Prune) and o.peer in r.peers and r.peers[o.peer].knows_backoff for o in sent):
        yield "gs1.1/backoff.announce"
    # What the router publishes itself has nothing to be equal to.
    own = isinstance(event, Publish)
    if not own and any(isinstance(o.part, Message) and o.part.author != ROUTER for o in sent):
        yield "pubsub/relay.unchanged"
    if any(_is_own(o.part) for o in sent):
        if p.signature_policy == "StrictSign":
            yield "pubsub/publish.seqno"
            yield "pubsub/signing.sign"
        else:
            yield "pubsub/signing.no-sign"
    if p.message_id != "origin" and _name_ids((*received, *(o.part for o in sent))):
        yield "pubsub/id.supplied"
        if p.message_id == "hex":
            yield "gs1.0/rpc.control-fields"


def _is_own(part: object) -> bool:
    return isinstance(part, Message) and part.author == ROUTER


def _name_ids(parts: Sequence[object]) -> bool:
    return any(isinstance(part, (IHave, IWant, IDontWant)) and part.ids for part in parts)
