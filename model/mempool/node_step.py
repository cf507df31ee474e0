"""step(node, event, choose) -> Step: what one event allows, obliges and changes at a mempool node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.events import (
    MEMPOOL,
    MEMPOOL_WITHOUT_DOG,
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Disconnect,
    Event,
    Raw,
    Receive,
    Resume,
    Stall,
    Submit,
)
from quidnunc.model.mempool.node import MempoolPeer, Node, UndecidedSend
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import ROUTER, HaveTx, Part, Peer, ResetRoute, SeenTx, Tx, WantTx, account_of
from quidnunc.model.rules import Targets, Total
from quidnunc.model.values import evolve

HANDLER_OF: dict[type, str] = {
    Tx: "tx",
    HaveTx: "have_tx",
    ResetRoute: "reset_route",
    SeenTx: "seen_tx",
    WantTx: "want_tx",
}
"""Which handler of the protocol takes a part that arrives."""

NO_TICK_MS = 1 << 40
"""Where a node waits for nothing, any Advance is one step."""


def applicable(n: Node, event: Event) -> bool:
    """Whether `event` can happen to this node now; a harness leaves out what cannot.

    The documents assume a pool and a cache without limit: beyond the configured ones nothing new arrives.
    """
    match event:
        case Connect(peers, protocol):
            known = protocol == MEMPOOL or (
                protocol == MEMPOOL_WITHOUT_DOG and "adjust" in n.protocol.handlers
            )
            return known and not any(p in n.peers for p in peers)
        case Receive(peers, parts):
            spoken = all(HANDLER_OF.get(type(part)) in n.protocol.handlers for part in parts)
            txs = [part.id for part in parts if isinstance(part, Tx)]
            followed = not n.reads("one-inbox") or all(_can_be_followed(n, p, parts) for p in peers)
            says_control = any(isinstance(part, HaveTx | ResetRoute) for part in parts)
            can_say = not says_control or all(p in n.peers and n.peers[p].has_dog for p in peers)
            return spoken and followed and can_say and _connected(n, peers) and _has_room(n, txs)
        case Disconnect(peers) | Raw(peers):
            return _connected(n, peers)
        case Stall(peers) | Resume(peers):
            # Of a peer that does not read neither CAT's documents nor those of the limit say anything.
            return "resume" in n.protocol.handlers and _connected(n, peers)
        case Submit(tx):
            return _has_room(n, [tx]) and (n.knows(tx) or _is_next(n, tx))
        case Commit(tx):
            return tx in n.pool and _is_first(n, tx)
        case Adjust():
            return "adjust" in n.protocol.handlers
        case Advance(ms):
            return 0 < ms <= until_tick_ms(n)
        case _:
            return False


def until_tick_ms(n: Node) -> int:
    """The longest Advance that is one step, in ms: to when the next request expires."""
    due_ms = [each.due_ms for each in n.wanted.values() if each.of is not None]
    return max(1, min(due_ms) - n.now_ms) if due_ms else NO_TICK_MS


def step(n: Node, event: Event, choose: Choose) -> Step[Node]:
    """One event that is `applicable` and names one peer at most (bursts are taken apart by the harness)."""
    return _reconsidered(_step(n, event, choose))


def _step(n: Node, event: Event, choose: Choose) -> Step[Node]:
    match event:
        case Connect((peer,), protocol):
            entered = MempoolPeer(has_dog=protocol != MEMPOOL_WITHOUT_DOG)
            return run(evolve(n, peers={**n.peers, peer: entered}), "connect", peer, choose)
        case Disconnect((peer,)):
            return _lose(n, peer, choose)
        case Receive((peer,), parts):
            total: Step[Node] = Step(n)
            for part in parts:
                total = total.then(_take(total.router, ReceivedPart(peer, part), choose))
            return total
        case Raw((peer,), kind):
            return _malformed(n, peer, kind, choose)
        case Submit(tx):
            return _take(n, ReceivedPart(ROUTER, Tx(tx)), choose)
        case Commit(tx):
            return run(n, "commit", tx, choose)
        case Adjust():
            return run(n, "adjust", None, choose)
        case Advance(ms) if "tick" in n.protocol.handlers:
            return run(evolve(n, now_ms=n.now_ms + ms), "tick", None, choose)
        case Stall((peer,)):
            return Step(_with_stalled(n, peer, True))
        case Resume((peer,)):
            return run(_with_stalled(n, peer, False), "resume", peer, choose)
        case _:
            return Step(n)


def _with_stalled(n: Node, peer: Peer, stalled: bool) -> Node:
    return evolve(n, peers={**n.peers, peer: evolve(n.peers[peer], stalled=stalled)})


def run(n: Node, handler: str, what: object, choose: Choose) -> Step[Node]:
    """The step of one handler of the node's protocol; where it has none, nothing happens."""
    combined = n.protocol.handlers.get(handler)
    found = combined(n, what, choose) if combined is not None else None
    return cast("Step[Node]", found) if found is not None else Step(n)


def standing(n: Node, tx: str, targets: Targets, peer: Peer) -> UndecidedSend:
    """What a decision on `tx` for `peer` would be now, where `targets` is the set of those it goes to."""
    if tx not in n.pool or peer not in targets.all:
        return UndecidedSend(could_skip=True)
    return UndecidedSend(could_send=True, could_skip=peer not in targets.must)


class _SilentWitness:
    """A witness that keeps nothing: to look at a set is not to use it."""

    def fired(self, clause: str) -> None:
        return None


def _take(n: Node, part: ReceivedPart[Part], choose: Choose) -> Step[Node]:
    return _reconsidered(run(n, HANDLER_OF[type(part.part)], part, choose))


def _reconsidered(after: Step[Node]) -> Step[Node]:
    """What waits for stalled peers may be decided at any moment: this one adds its possibilities."""
    n = after.router
    if not n.undecided:
        return after
    targets = {
        tx: n.protocol.set_of("targets", n, tx, _SilentWitness()) for tx in {tx for _, tx in n.undecided}
    }
    now = {(p, tx): was.also(standing(n, tx, targets[tx], p)) for (p, tx), was in n.undecided.items()}
    return Step(evolve(n, undecided=now), after.permits)


def _lose(n: Node, peer: Peer, choose: Choose) -> Step[Node]:
    """The handler sees the peer still; after it, it is no neighbour, and nothing waits for it."""
    after = run(n, "disconnect", peer, choose)
    n = after.router
    left = {p: each for p, each in n.peers.items() if p != peer}
    undecided = {key: each for key, each in n.undecided.items() if key[0] != peer}
    return Step(evolve(n, peers=left, undecided=undecided), after.permits)


def _malformed(n: Node, peer: Peer, kind: str, choose: Choose) -> Step[Node]:
    """Mostly no text says what bytes that are no message cause; the node may close that connection."""
    refused = n.protocol.handlers.get("refused")
    found = (
        cast("Step[Node] | None", refused(n, ReceivedPart(peer, kind), choose))
        if refused is not None
        else None
    )
    if found is not None:
        after = _lose(n, peer, choose)
        return Step(after.router, (*found.permits, *after.permits))
    if not choose.whether("connection.closed", lambda o: o == Closed(peer)):
        return Step(n)
    permit = Permit(Closed(peer), True, "flood/rpc.malformed", "now")
    after = _lose(n, peer, choose)
    return Step(after.router, (permit, *after.permits))


def _can_be_followed(n: Node, peer: Peer, parts: tuple[Part, ...]) -> bool:
    """Whether it is known if a ResetRoute of `peer` finds a route: what cannot be followed is left out."""
    known = n.disabled_to(peer)
    return not any(isinstance(part, ResetRoute) for part in parts) or bool(known.least) == bool(known.most)


def _is_next(n: Node, tx: str) -> bool:
    """Where accounts are known a user submits what the application would take."""
    expected = n.protocol.handlers.get("expected")
    signer, place = account_of(tx)
    return not isinstance(expected, Total) or expected(n, signer) == place


def _is_first(n: Node, tx: str) -> bool:
    """Where accounts are known a block takes a signer's transactions in their order."""
    signer, place = account_of(tx)
    return "expected" not in n.protocol.handlers or n.taken.get(signer, 0) == place


def _connected(n: Node, peers: tuple[Peer, ...]) -> bool:
    return bool(peers) and all(p in n.peers for p in peers)


def _has_room(n: Node, txs: Iterable[str]) -> bool:
    new = {tx for tx in txs if not n.knows(tx)}
    parameters = n.parameters
    room = min(parameters.pool_size - len(n.pool), parameters.cache_size - len(n.cache))
    return len(new) <= max(0, room)
