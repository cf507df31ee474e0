"""CAT: transactions are announced by their key, and sent to those who ask.

Celestia's specification of the content addressable transaction pool, which ADR-119 describes. The classic
version pushes what comes from a user; the current one announces that too, and takes nothing that it has not
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from quidnunc.model.choices import Choose, SuchThat
from quidnunc.model.events import Closed, Output, Sent
from quidnunc.model.mempool.node import Node, WantedTransaction
from quidnunc.model.mempool.node_step import run
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import ROUTER, Peer, SeenTx, Tx, WantTx
from quidnunc.model.rules import Total, rule
from quidnunc.model.values import evolve

MEMORY_MS = 3_600_000
"""So long a request that nobody answered is surely remembered, so that an answer is still known for one."""

SHORT_KEY = "seen-tx-31-bytes"
NOT_ONE_TRANSACTION = frozenset({"two-txs", "empty-tx", "empty-txs"})
"""Kinds of bytes (`quidnunc.model.events.Raw`)."""

# -- a transaction arrives --------------------------------------------------------------------------------


@rule(
    "cat-classic/receive.request-marked",
    lacking="Does not note that the sender of a transaction has it.",
    when="it notes that the sender of a transaction has it",
)
def note_sender(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """Whether it was asked for or not."""
    return Step(n.with_holders(t.part.id, [t.peer])) if t.peer != ROUTER else None


@rule(
    "cat-classic/receive.new-only",
    lacking="Does not take in new transactions.",
    when="it takes in a new transaction",
)
def take_new(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """What is in the pool, or was lately, is not new: nothing is said about it."""
    return run(n, "new", t, choose) if not n.knows(t.part.id) else None


@rule("cat/receive.unrequested", lacking="Ignores transactions.", when="it takes in a transaction")
def take_in(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    return run(n, "arrived", t, choose)


@rule(
    "cat/receive.unrequested",
    lacking="Takes in transactions that it has not asked for.",
    when="it drops a transaction that it has not asked for",
)
def not_asked_for(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """It is not even validated. An answer may be late; how late is not said."""
    tx = t.part.id
    if t.peer == ROUTER or _awaits(n, tx, t.peer):
        return None
    taken = _was_asked(n, tx, t.peer) and choose.free("want.very-late", lambda output: _tells_of(output, tx))
    return None if taken else Step(n)


@rule(
    "cat-classic/submit.push",
    lacking="Announces a user's transaction and does not push it.",
    when="it pushes a user's transaction to its peers",
)
def push_own(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """From a user: the whole transaction goes out, and no announcement of it."""
    if t.peer != ROUTER:
        return None
    n, tx = pooled(n, t.part.id), t.part.id
    peers = n.protocol.set_of("lacking", n, tx, choose).must
    return Step(n.with_holders(tx, peers), permits_to(peers, Tx(tx), "cat-classic/submit.push"))


@rule(
    "cat/submit.announced",
    lacking="Does not announce a user's transaction.",
    when="it announces a user's transaction",
)
def announce_own(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """From a user: announced as any other."""
    if t.peer != ROUTER:
        return None
    return run(pooled(n, t.part.id), "announce", t.part.id, choose)


@rule(
    "cat-classic/receive.announce-after",
    lacking="Does not announce a transaction that a peer sends.",
    when="it announces a transaction that a peer sent",
)
def announce_received(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return run(pooled(n, t.part.id), "announce", t.part.id, choose)


@rule(
    "cat-classic/receive.announce",
    lacking="Announces transactions to nobody.",
    when="it announces a transaction to the peers without it",
)
def announce_to_all(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """To all who are not known to have it. Who is told has it not yet."""
    peers = n.protocol.set_of("lacking", n, tx, choose).must
    return Step(n, permits_to(peers, SeenTx(tx), "cat-classic/receive.announce"))


def announced(n: Node, tx: str, clause: str, choose: Choose, *, such_that: SuchThat) -> Step[Node]:
    """To a bounded number of those who lack it."""
    lacking = n.protocol.set_of("lacking", n, tx, choose)
    count = min(n.parameters.max_announced_peers, len(lacking.must))
    told = choose.some(
        "announce.sticky",
        clause,
        lacking,
        (count, count),
        reveals=lambda p: Sent(p, SeenTx(tx)),
        such_that=such_that,
    )
    return Step(n, permits_to(told, SeenTx(tx), "cat/announce.sticky"))


@rule(
    "cat/announce.sticky",
    lacking="Announces transactions to none of the ranked peers.",
    when="it announces a transaction to the ranked peers",
)
def announce_to_some(n: Node, tx: str, choose: Choose) -> Step[Node] | None:
    """Who is told counts as having it from then on."""
    return run(n, "announce_to", tx, choose)


@rule(
    "cat-classic/receive.announce",
    lacking="Treats every peer as having every transaction.",
    when="it looks up the peers to which it can announce a transaction",
)
def every_peer(n: Node, tx: str) -> frozenset[Peer]:
    return frozenset(n.peers)


@rule(
    "cat-classic/receive.announce",
    lacking="Announces a transaction to peers that have it.",
    when="it checks whether a peer already has the transaction to announce",
)
def who_has_it(n: Node, tx: str, peer: Peer) -> bool:
    """The one who sent it, and those who announced it."""
    return peer in n.holders_of(tx)


# -- an announcement arrives ------------------------------------------------------------------------------


@rule(
    "cat-classic/seen.recorded",
    lacking="Does not note that the announcer of a transaction has it.",
    when="it notes that the announcer of a transaction has it",
)
def note_announcer(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node]:
    tx = s.part.id
    announcers = {**n.announcers, tx: n.announcers.get(tx, frozenset()) | {s.peer}}
    return Step(evolve(n.with_holders(tx, [s.peer]), announcers=announcers))


@rule("cat-classic/seen.request", lacking="Ignores announcements.", when="it reads an announcement")
def consider(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node]:
    return run(n, "seen", s, choose)


@rule(
    "cat-classic/seen.ignored",
    lacking="Requests a transaction that is in its pool.",
    when="it drops an announcement of a transaction in its pool",
)
def in_pool(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    return Step(n) if s.part.id in n.pool else None


@rule(
    "cat-classic/seen.ignored",
    lacking="Requests a transaction that has been committed.",
    when="it drops an announcement of a committed transaction",
)
def left_pool(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """A block took it."""
    return Step(n) if _gone(n, s.part.id) else None


@rule(
    "cat-classic/want.one-outstanding",
    lacking="Requests a transaction from several peers at once.",
    when="it drops an announcement of a transaction that it has requested",
)
def while_asking(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    wanted = n.wanted.get(s.part.id)
    return Step(n) if wanted is not None and wanted.of is not None else None


@rule(
    "cat/want.not-again",
    lacking="Requests a transaction from the same peer twice.",
    when="it drops an announcement from a peer that it has asked for the transaction",
)
def asked_already(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """Its answer may still come, so that it is not asked twice; for how long is not said."""
    tx, again = s.part.id, Sent(s.peer, WantTx(s.part.id))
    if not _was_asked(n, tx, s.peer):
        return None
    if _awaits(n, tx, s.peer) or not choose.whether("want.again", lambda output: output == again):
        return Step(n)
    return ask(n, tx, s.peer, "cat/want.not-again")


@rule(
    "cat-classic/seen.request",
    lacking="Does not request an announced transaction.",
    when="it requests an announced transaction",
)
def ask_announcer(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node]:
    return ask(n, s.part.id, s.peer, "cat-classic/seen.request")


# -- a request arrives ------------------------------------------------------------------------------------


@rule(
    "cat-classic/want.answered",
    lacking="Does not answer a request for a transaction.",
    when="it answers a request for a transaction",
)
def serve(n: Node, w: ReceivedPart[WantTx], choose: Choose) -> Step[Node] | None:
    """However often it is asked for."""
    tx = w.part.id
    if tx not in n.pool:
        return None
    return Step(n.with_holders(tx, [w.peer]), permits_to([w.peer], Tx(tx), "cat-classic/want.answered"))


@rule(
    "cat-classic/want.not-found",
    lacking="Does not say that it lacks a requested transaction.",
    when="it answers a request for a transaction that it lacks",
)
def nothing_to_serve(n: Node, w: ReceivedPart[WantTx], choose: Choose) -> Step[Node]:
    """It may say so, in the same words, whether it had the transaction once or never."""
    return Step(n, (Permit(Sent(w.peer, WantTx(w.part.id)), False, "cat-classic/want.not-found", "now"),))


# -- nobody answers, or is gone ---------------------------------------------------------------------------


@rule(
    "cat-classic/want.timeout",
    lacking="Does not request a transaction from another peer after a timeout.",
    when="it requests a transaction elsewhere after a timeout",
)
def ask_others_in_time(n: Node, _: None, choose: Choose) -> Step[Node] | None:
    """Each request that has waited long enough is forgotten, and made to another announcer."""
    late = [tx for tx, each in n.wanted.items() if each.of is not None and each.due_ms <= n.now_ms]
    return _ask_others(n, late, "cat-classic/want.timeout", choose) if late else None


@rule(
    "cat-classic/want.timeout",
    lacking="Requests a transaction from another peer without waiting for an answer.",
    when="it works out how long it waits for a requested transaction",
)
def after_a_moment(n: Node, tx: str) -> int:
    """In ms: 200."""
    return 200


@rule(
    "cat/want.per-peer",
    lacking="Requests a transaction from another peer without waiting for an answer.",
    when="it works out how long it waits for a requested transaction",
)
def after_a_minute(n: Node, tx: str) -> int:
    """In ms: 60 000."""
    return 60_000


@rule(
    "cat-classic/want.after-seen",
    lacking="Requests a transaction from no other peer when one does not answer.",
    when="it looks up who announced a transaction",
)
def announcers(n: Node, tx: str) -> frozenset[Peer]:
    """A WantTx MUST follow a SeenTx of that peer on this connection, whatever else shows that it has it."""
    return n.announcers.get(tx, frozenset()) & n.peers.keys()


@rule(
    "cat-classic/want.timeout",
    lacking="Requests a transaction again from a peer that did not answer.",
    when="it checks whether it has asked a peer for a transaction before",
)
def asked_before(n: Node, tx: str, peer: Peer) -> bool | None:
    """For how long a request without an answer is remembered is not said."""
    return _awaits(n, tx, peer) or (None if _was_asked(n, tx, peer) else False)


@rule(
    "cat-classic/state.per-connection",
    lacking="Keeps what it knew of a peer that disconnects.",
    when="it forgets which transactions a disconnecting peer has",
)
def forget_holder(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """What a peer has is known of a connection: another one may be to a node that has started anew."""
    holders = {tx: peers - {lost} for tx, peers in n.holders.items()}
    announcers = {tx: peers - {lost} for tx, peers in n.announcers.items()}
    return Step(evolve(n, holders=holders, announcers=announcers)) if holders != n.holders else None


@rule(
    "cat-classic/peer.gone",
    lacking="Requests a transaction from no other peer when the one it asked disconnects.",
    when="it requests a transaction elsewhere because the peer it asked disconnects",
)
def ask_others_at_loss(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """What was asked of the lost peer is asked of another; of whom it was asked before, it is again."""
    orphaned = [tx for tx, each in n.wanted.items() if each.of == lost]
    wanted = {tx: evolve(each, asked=without_key(each.asked, lost)) for tx, each in n.wanted.items()}
    if wanted == n.wanted:
        return None
    there = evolve(n, wanted=wanted, peers=without_key(n.peers, lost))
    asked = _ask_others(there, orphaned, "cat-classic/peer.gone", choose)
    return Step(evolve(asked.router, peers=n.peers), asked.permits)


@rule(
    "cat-classic/peer.pool-announced",
    lacking="Does not announce its pool to a new peer.",
    when="it announces its pool to a new peer",
)
def announce_pool(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """A new peer may be told what is in the pool."""
    told = tuple(
        Permit(Sent(peer, SeenTx(tx)), False, "cat-classic/peer.pool-announced", "now") for tx in n.pool
    )
    return Step(n, told) if told else None


# -- bytes that are refused -------------------------------------------------------------------------------


@rule(
    "cat-classic/rpc.key-length",
    lacking="Stays connected to a peer that sends a key of the wrong length.",
    when="it disconnects a peer that sends a key of the wrong length",
)
def short_key(n: Node, r: ReceivedPart[str], choose: Choose) -> Step[Node] | None:
    """Who names a transaction by another number of bytes than 32 is dropped."""
    return _dropped(n, r.peer, "cat-classic/rpc.key-length") if r.part == SHORT_KEY else None


@rule(
    "cat/receive.malformed",
    lacking="Stays connected to a peer that does not send exactly one transaction.",
    when="it disconnects a peer that does not send exactly one transaction",
)
def not_one_transaction(n: Node, r: ReceivedPart[str], choose: Choose) -> Step[Node] | None:
    """Who sends more than one transaction in a message, or none, or one of no bytes, is dropped."""
    return _dropped(n, r.peer, "cat/receive.malformed") if r.part in NOT_ONE_TRANSACTION else None


def _dropped(n: Node, peer: Peer, clause: str) -> Step[Node]:
    return Step(n, (Permit(Closed(peer), True, clause, "now"),))


# -- what they share --------------------------------------------------------------------------------------


def _gone(n: Node, tx: str) -> bool:
    """A block took it: it is known, and not in the pool."""
    return n.knows(tx) and tx not in n.pool


def pooled(n: Node, tx: str) -> Node:
    """With `tx` in the pool; it is waited for no more, whoever it was asked of."""
    return evolve(n.with_pooled(tx, ()), wanted=without_key(n.wanted, tx))


def permits_to(peers: Iterable[Peer], part: Tx | SeenTx, clause: str) -> tuple[Permit, ...]:
    return tuple(Permit(Sent(p, part), True, clause, "now") for p in sorted(peers))


def timeout_ms(n: Node, tx: str) -> int:
    """How long one peer is waited for, in ms."""
    return cast("Total", n.protocol["want_timeout"])(n, tx)


def _tells_of(output: Output, tx: str) -> bool:
    return isinstance(output, Sent) and output.part == SeenTx(tx)


def _was_asked(n: Node, tx: str, peer: Peer) -> bool:
    """Whether `peer` was asked for it on this connection."""
    wanted = n.wanted.get(tx)
    return wanted is not None and peer in wanted.asked


def _awaits(n: Node, tx: str, peer: Peer) -> bool:
    """Whether `peer` was asked for it on this connection, and an answer is surely known for one."""
    wanted = n.wanted.get(tx)
    at_ms = None if wanted is None else wanted.asked.get(peer)
    return at_ms is not None and n.now_ms < at_ms + timeout_ms(n, tx) + MEMORY_MS


def ask(n: Node, tx: str, peer: Peer, clause: str) -> Step[Node]:
    before = n.wanted.get(tx)
    asked = {**(before.asked if before is not None else {}), peer: n.now_ms}
    wanted = WantedTransaction(peer, n.now_ms + timeout_ms(n, tx), asked)
    permit = Permit(Sent(peer, WantTx(tx)), True, clause, "now")
    return Step(evolve(n, wanted={**n.wanted, tx: wanted}), (permit,))


def _ask_others(n: Node, txs: Iterable[str], clause: str, choose: Choose) -> Step[Node]:
    """Each of `txs`, which nobody is asked for now, of one who has it and was not asked; else of nobody."""
    total: Step[Node] = Step(n)
    for tx in txs:
        n = total.router
        n = evolve(n, wanted={**n.wanted, tx: evolve(n.wanted[tx], of=None)})
        among = n.protocol.set_of("sources", n, tx, choose)
        count = min(1, len(among.must)), min(1, len(among.all))
        chosen = choose.some("want.source", clause, among, count, reveals=_want_of(tx))
        total = Step(n, total.permits)
        for peer in chosen:
            total = total.then(ask(n, tx, peer, clause))
    return total


def _want_of(tx: str) -> Callable[[Peer], Sent]:
    return lambda peer: Sent(peer, WantTx(tx))
