"""Which clause of CAT an output breaks that nothing permits: a guess, as in
`quidnunc.properties.blame.outputs`.
"""

from __future__ import annotations

from quidnunc.model.events import Advance, Closed, Connect, Disconnect, Event, Output, Receive, Sent, Submit
from quidnunc.model.mempool.cat.accounts import ahead
from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import Peer, SeenTx, Tx, WantTx, account_of


def speaks_cat(n: Node) -> bool:
    return "seen_tx" in n.protocol.handlers


def forbidding_clause_of_cat(output: Output, event: Event, n: Node) -> str:
    """The clause that says when an output of this kind is in order. `n` is the node before `event`."""
    current = "arrived" in n.protocol.handlers
    match output:
        case Sent(peer, Tx(tx)):
            if isinstance(event, Submit):
                return "cat/submit.announced" if current else "cat-classic/submit.push"
            return (
                "cat-classic/want.answered"
                if WantTx(tx) in _parts(event, peer)
                else "cat-classic/receive.announce"
            )
        case Sent(peer, SeenTx(tx)):
            return _of_seen(tx, peer, event, n, current)
        case Sent(peer, WantTx(tx)):
            return _of_want(tx, peer, event, n, current)
        case Closed():
            return "flood/rpc.malformed"
    return "cat-classic/receive.announce"


def _of_seen(tx: str, peer: Peer, event: Event, n: Node, current: bool) -> str:
    if isinstance(event, Connect) and n.knows(tx) and tx not in n.pool:
        return "cat-classic/peer.pool-announced"
    if isinstance(event, Submit):
        if n.knows(tx):
            return "cat-classic/receive.new-only"
        if current and peer in n.parameters.persistent_peers:
            return "cat/announce.persistent"
        return "cat/announce.sticky" if current else "cat-classic/submit.push"
    if isinstance(event, Connect):
        return "cat-classic/receive.announce-after"
    if n.knows(tx):
        return "cat-classic/receive.new-only"
    if current and isinstance(event, Receive) and Tx(tx) in event.parts and ahead(n, tx) < 0:
        return "cat/receive.stale"
    if Tx(tx) in _parts(event, peer):
        return "cat-classic/receive.request-marked"
    if peer in n.holders_of(tx):
        return "cat-classic/receive.announce"
    if current and peer in n.parameters.persistent_peers:
        return "cat/announce.persistent"
    if current and n.ranks.get(account_of(tx)[0]):
        return "cat/announce.rendezvous"
    asked = tx in n.wanted and isinstance(event, Receive) and event.peers[0] in n.wanted[tx].asked
    if current:
        return "cat/announce.sticky" if asked else "cat/receive.unrequested"
    return "cat-classic/receive.announce"


def _of_want(tx: str, peer: Peer, event: Event, n: Node, current: bool) -> str:
    if isinstance(event, Receive) and any(isinstance(part, WantTx) for part in event.parts):
        return "cat-classic/want.not-found"
    if n.knows(tx):
        return "cat-classic/seen.ignored"
    if current and ahead(n, tx):
        return "cat/seen.queued" if ahead(n, tx) > 0 else "cat/seen.stale"
    announced = SeenTx(tx) in _parts(event, peer)
    if peer not in n.announcers.get(tx, frozenset()) and not announced:
        return "cat-classic/want.after-seen"
    if isinstance(event, Disconnect):
        return "cat-classic/peer.gone"
    wanted = n.wanted.get(tx)
    if wanted is None:
        return "cat-classic/seen.request"
    if isinstance(event, Advance):
        late = wanted.of is not None and wanted.due_ms <= n.now_ms + event.ms
        again = "cat-classic/want.timeout" if peer in wanted.asked else "cat-classic/want.one-outstanding"
        return again if late else "cat/want.per-peer" if current else "cat-classic/want.timeout"
    return "cat-classic/want.one-outstanding" if wanted.of is not None else "cat/want.not-again"


def _parts(event: Event, peer: Peer) -> tuple[object, ...]:
    """What was received from `peer`."""
    return event.parts if isinstance(event, Receive) and peer in event.peers else ()
