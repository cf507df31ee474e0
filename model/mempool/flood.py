"""Flood: every transaction to every peer that has not sent it.

CometBFT, spec/mempool/gossip/flood.md and mempool.md. The specification sends to all targets in one step, its
implementation peer by peer: for a peer that does not read the decision is open until it does.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from quidnunc.model.choices import Choose
from quidnunc.model.events import Sent
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run, standing
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import INVALID_TX, ROUTER, HaveTx, Peer, ResetRoute, Tx
from quidnunc.model.rules import Targets, rule
from quidnunc.model.values import evolve

IN_ANY_ORDER = "pool-in-any-order"
"""Feature of an edited protocol whose transactions go to a peer in any order."""


@frozen
class FloodObservation:
    """To whom of `free` (whether `tx` goes to them was open) it was seen to go."""

    tx: str
    free: frozenset[Peer]
    sent: frozenset[Peer]


# -- a transaction arrives --------------------------------------------------------------------------------


@rule("flood/relay.once", lacking="Ignores transactions.", when="it takes in a transaction")
def take_in(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    """A first-time transaction is pooled and forwarded; with a duplicate only its senders can change."""
    return run(n, "again" if n.knows(t.part.id) else "first_time", t, choose)


@rule(
    "flood/receive.invalid-dropped",
    lacking="Pools and forwards invalid transactions.",
    when="it drops an invalid transaction",
)
def refuse_invalid(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """What the application refuses is never pooled."""
    if not t.part.id.startswith(INVALID_TX):
        return None
    return run(evolve(n, wanted=without_key(n.wanted, t.part.id)), "refuse", t.part.id, choose)


@rule(
    "flood/receive.invalid-cached",
    lacking="Does not keep invalid transactions in its cache.",
    when="it keeps an invalid transaction in its cache",
)
def know_refused(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """It stays in the cache, so that its next copy is a duplicate."""
    return Step(evolve(n, cache=n.cache | {tx}))


@rule(
    "flood/submit.no-sender",
    lacking="Records a sender for a transaction that a user submits.",
    when="it pools a user's transaction",
)
def pool_own(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """A user is no sender."""
    return _pool(n, t, (), choose) if t.peer == ROUTER else None


@rule(
    "flood/receive.first-time",
    lacking="Does not pool transactions that a peer sends.",
    when="it pools a transaction that a peer sent",
)
def pool_with_sender(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return _pool(n, t, (t.peer,), choose)


def _pool(n: Node, t: ReceivedPart[Tx], senders: tuple[Peer, ...], choose: Choose) -> Step[Node]:
    return run(n.with_pooled(t.part.id, senders), "forward", t.part.id, choose)


@rule(
    "flood/receive.committed",
    lacking="Pools a committed transaction again.",
    when="it drops a transaction that has left the pool",
)
def not_in_pool(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """A transaction of the cache that has left the pool changes nothing."""
    return Step(n) if t.part.id not in n.pool else None


@rule(
    "flood/submit.no-sender",
    lacking="Records the user as a sender of a transaction.",
    when="it drops a transaction that a user submits again",
)
def again_from_user(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    return Step(n) if t.peer == ROUTER else None


@rule(
    "flood/sender.ordered",
    lacking="Lists the same sender of a transaction twice.",
    when="it drops a transaction that the same peer sends again",
)
def sent_before(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """The list of senders has no repeats."""
    return Step(n) if t.peer in n.senders(t.part.id) else None


@rule(
    "flood/receive.duplicate",
    lacking="Does not record the sender of a duplicate.",
    when="it records another sender of a transaction",
)
def add_sender(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    """Last in the list: the order is that of arrival."""
    return Step(n.with_pooled(t.part.id, (*n.senders(t.part.id), t.peer)))


@rule(
    "flood/commit.leaves-pool",
    lacking="Keeps committed transactions in its pool.",
    when="it takes a committed transaction out of its pool",
)
def leave_pool(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """A block took it: it stays in the cache."""
    return Step(evolve(n, pool=without_key(n.pool, tx)))


@rule(
    "flood/rpc.txs-only",
    lacking="Acts on control messages that Flood does not have.",
    when="it drops a control message that Flood does not have",
)
def means_nothing(n: Node, c: ReceivedPart[HaveTx | ResetRoute], choose: Choose) -> Step[Node]:
    """Flood has no control messages: it sends none, and those of others change nothing."""
    return Step(n)


# -- to whom it goes --------------------------------------------------------------------------------------


@rule(
    "flood/send.once",
    lacking="Sends transactions to nobody.",
    when="it looks up the peers to which it can send a transaction",
)
def every_peer(n: Node, tx: str) -> frozenset[Peer]:
    return frozenset(n.peers)


@rule(
    "flood/send.not-to-senders",
    lacking="Sends a transaction back to a peer that sent it.",
    when="it checks whether a peer has sent the transaction to forward",
)
def who_sent_it(n: Node, tx: str, peer: Peer) -> bool:
    """Those who sent it by the time of the decision."""
    return peer in n.senders(tx)


@rule(
    "flood/submit.to-all",
    lacking="Does not forward a user's transaction to all peers.",
    when="it sends a user's transaction to all peers",
)
def forward_own(n: Node, tx: str, choose: Choose) -> Step[Node] | None:
    """What came from a user goes to all connected peers."""
    return offer(n, tx, n.peers, "flood/submit.to-all", choose) if not n.senders(tx) else None


@rule(
    "flood/send.once",
    lacking="Does not forward transactions that a peer sends.",
    when="it forwards a transaction that a peer sent",
)
def forward(n: Node, tx: str, choose: Choose) -> Step[Node]:
    return offer(n, tx, n.peers, "flood/send.once", choose)


@rule(
    "flood/peer.whole-pool",
    lacking="Does not send its pool to a new peer.",
    when="it sends its pool to a new peer",
)
def offer_pool(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """A new peer is offered what is in the pool, under the same rules."""
    total: Step[Node] = Step(n)
    for tx in n.pool:
        total = total.then(offer(total.router, tx, [peer], "flood/peer.whole-pool", choose))
    return total if n.pool else None


@rule(
    "flood/send.at-decision",
    lacking="Drops transactions that wait for a peer that does not read.",
    when="it sends waiting transactions to a peer that reads again",
)
def settle_waiting(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """A peer reads again: what could only be sent must come, what could be either may."""
    waited = {tx: each for (p, tx), each in n.undecided.items() if p == peer}
    left = {key: each for key, each in n.undecided.items() if key[0] != peer}
    clause = "flood/send.at-decision"
    permits = tuple(
        Permit(Sent(peer, Tx(tx)), not each.could_skip, clause, "now")
        for tx, each in waited.items()
        if each.could_send
    )
    return Step(evolve(n, undecided=left), permits) if waited else None


def offer(n: Node, tx: str, peers: Iterable[Peer], clause: str, choose: Choose) -> Step[Node]:
    """Decide on `tx` for those of `peers` who read; for the others keep what could be decided."""
    targets = n.protocol.set_of("targets", n, tx, choose)
    asked = frozenset(peers)
    waiting = frozenset(p for p in asked if n.peers[p].stalled)
    free = (targets.may & asked) - waiting
    sent = _shown(n, tx, free, choose)
    n = n.with_undecided({(p, tx): standing(n, tx, targets, p) for p in waiting})
    permits = (
        Permit(Sent(p, Tx(tx)), True, clause, "now") for p in sorted((targets.must & asked) - waiting | sent)
    )
    after = Step(n, tuple(permits))
    return after.then(run(n, "shown", FloodObservation(tx, free, sent), choose)) if free else after


def _shown(n: Node, tx: str, free: frozenset[Peer], choose: Choose) -> frozenset[Peer]:
    """Whom of `free` it went to: a choice that an earlier one has left open."""
    sent = frozenset[Peer]()
    for name, clause, among, count in n.open_choices(free):
        sent |= choose.some(
            name, clause, Targets(frozenset(), among), count, reveals=lambda p: Sent(p, Tx(tx))
        )
    return sent
