"""Statements about CAT on a small network: announcements, requests, and who gets what is announced."""

from __future__ import annotations

from typing import cast

from quidnunc.model.rpc import Peer, SeenTx, Tx, WantTx
from quidnunc.properties.dog_claims import kept, packed, taken
from quidnunc.properties.mempool_network_acts import name_of
from quidnunc.properties.mempool_search import Broken, Memory, Move

Said = frozenset[tuple[Peer, Peer, str]]
"""(by whom, to whom, of what)"""


def announced_once(memory: Memory, move: Move) -> Memory:
    """One peer is told once of a transaction, while both are connected."""
    said = cast("Said", memory or frozenset())
    for by, part, to in move.sent:
        if isinstance(part, SeenTx):
            if (by, to, part.id) in said:
                return Broken(f"{name_of(by)} announces {part.id} to {name_of(to)} a second time")
            said |= {(by, to, part.id)}
    return said


def one_request(memory: Memory, move: Move) -> Memory:
    """While one peer is waited for no other is asked."""
    for by, part, to in move.sent:
        if isinstance(part, WantTx):
            was, now = move.before.nodes[by].wanted.get(part.id), move.after.nodes[by].now_ms
            lost = move.act.kind == "L" and was is not None and (was.of,) == move.act.peers
            if was is not None and was.of is not None and was.due_ms > now and not lost:
                return Broken(f"{name_of(by)} asks {name_of(to)} for {part.id} and waits for another")
    return None


def obtained(memory: Memory, move: Move) -> Memory:
    """When nothing is on its way and nobody is waited for, who heard of a transaction has it."""
    after = move.after
    if not after.quiet() or any(w.of is not None for n in after.nodes.values() for w in n.wanted.values()):
        return None
    for i in after.joined():
        n = after.nodes[i]
        for tx, holders in n.holders.items():
            alive = [p for p in sorted(holders) if p in n.peers and tx in after.nodes[p].pool]
            if alive and tx not in n.cache and _announced(after.nodes[i].wanted, tx):
                return Broken(f"{name_of(i)} never gets {tx}, which {name_of(*alive)} announced")
    return None


def _announced(wanted: object, tx: str) -> bool:
    return tx in cast("dict[str, object]", wanted)


def asked_who_announced(memory: Memory, move: Move) -> Memory:
    """WantTx goes to one whose SeenTx has come, and SeenTx is said of what is stored."""
    heard = cast("Said", memory or frozenset())
    part = taken(move)
    if isinstance(part, SeenTx):
        heard |= {(move.act.peers[0], move.act.node, part.id)}
    for by, said, to in move.sent:
        if isinstance(said, WantTx) and (to, by, said.id) not in heard:
            return Broken(f"{name_of(by)} asks {name_of(to)}, which has not announced {said.id}")
        if isinstance(said, SeenTx) and said.id not in move.after.nodes[by].pool:
            return Broken(f"{name_of(by)} announces {said.id} and does not have it")
    return heard


def received_once(memory: Memory, move: Move) -> Memory:
    """Without timeouts one copy comes, and those that are pushed by a peer at which a user submitted it."""
    left = kept(memory)
    if move.act.kind == "U":
        for _, pushed, to in move.sent:
            if isinstance(pushed, Tx):
                left[to, pushed.id] = cast("int", left.get((to, pushed.id), 1)) + 1
    part = taken(move)
    if isinstance(part, Tx):
        key = (move.act.node, part.id)
        left[key] = cast("int", left.get(key, 1)) - 1
        if left[key] == -1:
            return Broken(f"{name_of(move.act.node)} gets one copy of {part.id} more than are pushed and one")
    return packed(left)


def everyone_learns(memory: Memory, move: Move) -> Memory:
    """When nothing moves and nobody is waited for, every node has heard of every transaction."""
    after = move.after
    if not after.quiet() or any(w.of is not None for n in after.nodes.values() for w in n.wanted.values()):
        return None
    known = {tx for i in after.joined() for tx in after.nodes[i].cache}
    for i in after.joined():
        n = after.nodes[i]
        for tx in sorted(known):
            if tx not in n.cache and not n.holders_of(tx):
                return Broken(f"{name_of(i)} never hears of {tx}")
    return None
