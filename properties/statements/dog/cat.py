"""CAT: announcements, requests, and who gets what is announced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from quidnunc.model.rpc import Peer, SeenTx, Tx, WantTx
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.mempool import MempoolMove
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog.moves import kept, packed, taken_message

Said = frozenset[tuple[Peer, Peer, str]]
"""(by whom, to whom, of what)"""


def announced_once(memory: Memory, move: MempoolMove) -> Memory:
    """One peer is told once of a transaction, while both are connected."""
    said = cast("Said", memory or frozenset())
    for by, part, to in move.sent:
        if isinstance(part, SeenTx):
            if (by, to, part.id) in said:
                return BrokenClaim(f"{name_of(by)} announces {part.id} to {name_of(to)} a second time")
            said |= {(by, to, part.id)}
    return said


def one_request(memory: Memory, move: MempoolMove) -> Memory:
    """While one peer is waited for no other is asked."""
    for by, part, to in move.sent:
        if isinstance(part, WantTx):
            was, now = move.before.nodes[by].wanted.get(part.id), move.after.nodes[by].now_ms
            gone = move.act.kind in ("notice", "disconnect", "leave")
            lost = gone and was is not None and was.of not in move.after.nodes[by].peers
            if was is not None and was.of is not None and was.due_ms > now and not lost:
                return BrokenClaim(f"{name_of(by)} asks {name_of(to)} for {part.id} and waits for another")
    return None


def one_unanswered(memory: Memory, move: MempoolMove) -> Memory:
    """Whoever was asked has answered, or is gone, before another one is asked."""
    asked = cast("Said", memory or frozenset())
    part, at = taken_message(move), move.act.at
    if isinstance(part, Tx):
        asked -= {(at, move.act.node, part.id)}
    asked = frozenset((a, b, tx) for a, b, tx in asked if b in move.after.nodes[a].peers)
    for by, said, to in move.sent:
        if isinstance(said, WantTx):
            others = [b for a, b, tx in sorted(asked) if a == by and tx == said.id]
            if others:
                return BrokenClaim(f"{name_of(by)} asks {name_of(to)} for {said.id}, and {name_of(*others)}")
            asked |= {(by, to, said.id)}
    return asked


def obtained(memory: Memory, move: MempoolMove) -> Memory:
    """When nothing is on its way and nobody is waited for, who heard of a transaction has it.

    Of a peer that is there and still has it, on this connection or on one before.
    """
    heard, after = cast("Said", memory or frozenset()), move.after
    part = taken_message(move)
    if isinstance(part, SeenTx):
        heard |= {(move.act.peer, move.act.node, part.id)}
    if not after.quiet() or any(w.of is not None for n in after.nodes.values() for w in n.wanted.values()):
        return heard
    for i, peer, tx in sorted(heard):
        n = after.nodes[i]
        if tx not in n.cache and peer in n.peers and tx in after.nodes[peer].pool:
            return BrokenClaim(f"{name_of(i)} never gets {tx}, which {name_of(peer)} announced")
    return heard


def asked_who_announced(memory: Memory, move: MempoolMove) -> Memory:
    """WantTx goes to one whose SeenTx has come, and SeenTx is said of what is stored."""
    heard = cast("Said", memory or frozenset())
    part = taken_message(move)
    if isinstance(part, SeenTx):
        heard |= {(move.act.node, move.act.peer, part.id)}
    for by, said, to in move.sent:
        if isinstance(said, WantTx) and (to, by, said.id) not in heard:
            return BrokenClaim(f"{name_of(by)} asks {name_of(to)}, which has not announced {said.id}")
        if isinstance(said, SeenTx) and said.id not in move.after.nodes[by].pool:
            return BrokenClaim(f"{name_of(by)} announces {said.id} and does not have it")
    return heard


def received_once(memory: Memory, move: MempoolMove) -> Memory:
    """Without timeouts one copy comes, and those that are pushed by a peer at which a user submitted it."""
    left = kept(memory)
    if move.act.kind == "submit":
        for _, pushed, to in move.sent:
            if isinstance(pushed, Tx):
                left[to, pushed.id] = cast("int", left.get((to, pushed.id), 1)) + 1
    part = taken_message(move)
    if isinstance(part, Tx):
        key = (move.act.peer, part.id)
        left[key] = cast("int", left.get(key, 1)) - 1
        if left[key] == -1:
            return BrokenClaim(
                f"{name_of(move.act.peer)} gets one copy of {part.id} more than are pushed and one"
            )
    return packed(left)


def everyone_learns(memory: Memory, move: MempoolMove) -> Memory:
    """When nothing moves and nobody is waited for, every node has heard of every transaction."""
    after = move.after
    if not after.quiet() or any(w.of is not None for n in after.nodes.values() for w in n.wanted.values()):
        return None
    known = {tx for i in after.joined() for tx in after.nodes[i].cache}
    for i in after.joined():
        n = after.nodes[i]
        for tx in sorted(known):
            if tx not in n.cache and not n.holders_of(tx):
                return BrokenClaim(f"{name_of(i)} never hears of {tx}")
    return None


LOOKS: Mapping[str, Look] = {
    "cat.announced-once-per-connection": announced_once,
    "cat.one-request-outstanding": one_request,
    "cat.one-request-unanswered": one_unanswered,
    "cat.announced-is-obtained": obtained,
    "cat.wanted-after-announced": asked_who_announced,
    "cat.one-copy-without-timeouts": received_once,
    "cat.everyone-learns": everyone_learns,
}
