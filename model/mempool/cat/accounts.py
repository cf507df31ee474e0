"""CAT and accounts: each transaction has a signer and a place, and is taken when its turn comes.

Celestia's specification of the content addressable transaction pool, as it is now. Its buffer for what comes
ahead of its turn has no rule: a node asks for none before its turn and takes none unasked, so none comes.
"""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.events import Sent
from quidnunc.model.mempool.cat.rules import announced, ask
from quidnunc.model.mempool.node import Node
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import ROUTER, Peer, SeenTx, Tx, WantTx, account_of
from quidnunc.model.rules import Targets, Total, rule
from quidnunc.model.values import evolve

MOST_PERSISTENT = 4
QUEUED_MS = 120_000
"""So long an announcement surely waits for its turn."""

# -- whose turn it is -------------------------------------------------------------------------------------


@rule(
    "cat/seen.expectation",
    lacking="Does not track which transaction of a signer is next.",
    when="it works out which transaction of a signer is next",
)
def first_gap(n: Node, signer: str) -> int:
    """The first place that the pool has nothing for, from the one that the application expects."""
    place, held = n.taken.get(signer, 0), {account_of(tx) for tx in n.pool}
    while (signer, place) in held:
        place += 1
    return place


@rule(
    "cat/seen.expectation",
    lacking="Expects the same transaction of a signer after it was committed.",
    when="it moves a signer's turn on at a commit",
)
def take_place(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """A block took it: the application expects the next one of its signer."""
    signer, place = account_of(tx)
    return Step(evolve(n, taken={**n.taken, signer: place + 1}))


def ahead(n: Node, tx: str) -> int:
    """How many places `tx` is ahead of its turn; below 0 where its turn has passed."""
    signer, place = account_of(tx)
    return place - cast("Total", n.protocol["expected"])(n, signer)


# -- a transaction, or an announcement of one ---------------------------------------------------------------


@rule(
    "cat/receive.stale",
    lacking="Takes in a transaction whose turn has passed.",
    when="it drops a transaction whose turn has passed",
)
def drop_stale(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """Another one had its turn. It is not even validated, and not asked for any more."""
    if t.peer == ROUTER or n.knows(t.part.id) or ahead(n, t.part.id) >= 0:
        return None
    return Step(evolve(n, wanted=without_key(n.wanted, t.part.id)))


@rule(
    "cat/seen.stale",
    lacking="Requests a transaction whose turn has passed.",
    when="it drops an announcement of a transaction whose turn has passed",
)
def turn_has_passed(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    return Step(n) if ahead(n, s.part.id) < 0 else None


@rule(
    "cat/seen.queued",
    lacking="Requests a transaction ahead of its turn.",
    when="it queues an announcement of a transaction ahead of its turn",
)
def wait_for_turn(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """What is ahead of its turn is not asked for yet. The first announcement of a peer counts."""
    if ahead(n, s.part.id) <= 0:
        return None
    waiting = n.queued.get(s.part.id, {})
    known = waiting if s.peer in _in_time(n, s.part.id) else {**waiting, s.peer: n.now_ms}
    return Step(evolve(n, queued={**n.queued, s.part.id: known}))


@rule(
    "cat/seen.request-expected",
    lacking="Does not request the transaction of a signer whose turn it is.",
    when="it requests an announced transaction whose turn has come",
)
def ask_when_expected(n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """The first of a signer is asked for as any transaction is; a later one because its turn has come."""
    later = account_of(s.part.id)[1] > 0
    return ask(n, s.part.id, s.peer, "cat/seen.request-expected") if later else None


@rule(
    "cat/seen.request-expected",
    lacking="Does not request a queued transaction when its turn comes.",
    when="it requests a queued transaction whose turn has come",
)
def ask_in_turn(n: Node, _: object, choose: Choose) -> Step[Node] | None:
    """What waits is asked for when its turn comes, of one that announced it and is still there.

    The text bounds how long it waits, and gives no time: an old announcement may be forgotten.
    """
    total: Step[Node] = Step(n)
    for tx in [tx for tx in n.queued if ahead(n, tx) <= 0]:
        n = total.router
        among, surely = frozenset(n.queued[tx]), bool(_in_time(n, tx))
        total = Step(evolve(n, queued=without_key(n.queued, tx)), total.permits)
        wanted = n.wanted.get(tx)
        if ahead(n, tx) < 0 or not among or n.knows(tx) or (wanted is not None and wanted.of is not None):
            continue
        clause = "cat/seen.request-expected"
        chosen = choose.some(
            "want.queued",
            clause,
            Targets(frozenset(), among),
            (int(surely), 1),
            reveals=lambda p, tx=tx: Sent(p, WantTx(tx)),  # type: ignore[misc]
        )
        for peer in chosen:
            total = total.then(ask(total.router, tx, peer, clause))
    return total if total.router != n or total.permits else None


def _in_time(n: Node, tx: str) -> frozenset[Peer]:
    """Whose announcement is surely kept still."""
    return frozenset(p for p, at_ms in n.queued.get(tx, {}).items() if n.now_ms < at_ms + QUEUED_MS)


@rule(
    "cat/seen.stale",
    lacking="Requests a transaction from another peer after its turn has passed.",
    when="it checks whether the turn of a transaction to request again has passed",
)
def whose_turn_has_passed(n: Node, tx: str, peer: Peer) -> bool:
    """Nobody else is asked for it."""
    return ahead(n, tx) < 0


@rule(
    "cat/seen.queued",
    lacking="Keeps the queued announcements of a peer that disconnects.",
    when="it forgets the queued announcements of a peer that disconnects",
)
def forget_queued(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """What a peer announced goes with it."""
    left = {tx: without_key(peers, lost) for tx, peers in n.queued.items()}
    left = {tx: peers for tx, peers in left.items() if peers}
    return Step(evolve(n, queued=left)) if left != n.queued else None


# -- who is told ------------------------------------------------------------------------------------------


@rule(
    "cat/announce.rendezvous",
    lacking="Chooses no ranked peers to announce a transaction to.",
    when="it announces a transaction to the ranked peers",
)
def announce_by_rank(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """Those of the highest rank among a bounded number: for one signer the rank of peers does not change.

    The ranks are the node's own secret. Whoever was told when another was not is above that one.
    """
    signer, _ = account_of(tx)
    lacking = n.protocol.set_of("lacking", n, tx, choose).must
    # A persistent peer may be told whatever its rank.
    ranked = lacking - n.parameters.persistent_peers
    above = n.ranks.get(signer, frozenset())
    told = announced(
        n,
        tx,
        "cat/announce.rendezvous" if above else "cat/announce.sticky",
        choose,
        such_that=lambda s: not any(p in ranked - s and q in s for p, q in above),
    )
    step = told.router.with_holders(tx, _told(told))
    pairs = {(p, q) for p in _told(told) & ranked for q in ranked - _told(told)}
    ranks = _closed(above | pairs) if pairs else above
    return Step(evolve(step, ranks={**step.ranks, signer: ranks}) if ranks else step, told.permits)


@rule(
    "cat/announce.persistent",
    lacking="Announces transactions to no persistent peers besides the ranked ones.",
    when="it announces a transaction to persistent peers",
)
def announce_to_persistent(n: Node, tx: str, choose: Choose) -> Step[Node] | None:
    """The Go node tells some of its persistent peers besides, who then count as having it too."""
    lacking = n.protocol.set_of("lacking", n, tx, choose).must & n.parameters.persistent_peers
    if not lacking:
        return None
    told = choose.some(
        "announce.persistent",
        "cat/announce.persistent",
        Targets(frozenset(), lacking),
        (0, min(MOST_PERSISTENT, len(lacking))),
        reveals=lambda p: Sent(p, SeenTx(tx)),
    )
    permits = tuple(Permit(Sent(p, SeenTx(tx)), True, "cat/announce.persistent", "now") for p in sorted(told))
    return Step(n.with_holders(tx, told), permits)


def _told(step: Step[Node]) -> frozenset[Peer]:
    return frozenset(p.output.peer for p in step.permits if isinstance(p.output, Sent))


def _closed(above: frozenset[tuple[Peer, Peer]]) -> frozenset[tuple[Peer, Peer]]:
    """With whoever is above one that is above another."""
    while True:
        more = above | {(a, d) for a, b in above for c, d in above if b == c}
        if more == above:
            return above
        above = more
