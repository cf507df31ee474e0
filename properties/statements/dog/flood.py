"""Flood and the peer limit: pools, senders, what can be taken, and who gets a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from quidnunc.model.mempool.peer_limit import limit_of, members
from quidnunc.model.rpc import Peer, Tx
from quidnunc.properties.networks.acts import Act, name_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork
from quidnunc.properties.networks.network import network_after
from quidnunc.properties.networks.runs import ActError, BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog.moves import always, connected, nodes, sent_of


def pool_is_sound(move: MempoolMove) -> str:
    for name, i, n in nodes(move):
        if move.after.offered[i] > len(n.pool):
            return f"{name} has offered more than it has"
        if n.cache != frozenset(n.pool):
            return f"cache and pool of {name} differ"
    return ""


def senders_are_sound(move: MempoolMove) -> str:
    for name, i, n in nodes(move):
        for tx, senders in n.pool.items():
            if len(set(senders)) < len(senders):
                return f"{name} has a sender of {tx} twice"
            if i in senders:
                return f"{name} is a sender of {tx} to itself"
    return ""


def not_sent_back(move: MempoolMove) -> str:
    for name, i, n in nodes(move):
        for tx, senders in n.pool.items():
            for sender in senders:
                if (i, Tx(tx)) in move.after.waiting(sender):
                    return f"{name} has sent {tx} back to {name_of(sender)}"
    return ""


def inboxes_move(move: MempoolMove) -> str:
    """The oldest message of a node can be taken."""
    for i in move.after.joined():
        if move.after.inbox[i] and not can_take(move.after, i):
            return f"{name_of(i)} can take nothing of what waits for it"
    return ""


def can_take(network: MempoolNetwork, node: Peer) -> bool:
    """Whether some message that waits for `node` can be taken."""
    for sender, _ in network.inbox[node]:
        try:
            network_after(network, Act("deliver", sender, node))
        except ActError:
            continue
        return True
    return False


def network_lives(move: MempoolMove) -> str:
    return "" if move.after.joined() else "nobody has peers"


def no_idle_slot(move: MempoolMove) -> str:
    """Peer limit: nobody waits while a slot is free."""
    for name, _, n in nodes(move):
        held = n.slots_of("other").must
        waiting = members(n, "other") - held
        if waiting and len(held) < limit_of(n, "other"):
            return f"{name} has a free slot, and {name_of(*sorted(waiting))} waits"
    return ""


def lacking_nodes(network: MempoolNetwork) -> str:
    """Who lacks a transaction that another of those in the network has."""
    pools = {i: network.nodes[i].cache for i in network.joined()}
    for i, cache in pools.items():
        for other in pools.values():
            for tx in sorted(other - cache):
                return f"{name_of(i)} never gets {tx}"
    return ""


def everyone_has_it(memory: Memory, move: MempoolMove) -> Memory:
    """When nothing moves any more, all who are connected have the same."""
    after = move.after
    if not after.quiet() or not connected(after) or any(map(after.gone_from, after.nodes)):
        return None
    wrong = lacking_nodes(after)
    return BrokenClaim(wrong) if wrong else None


def copies(memory: Memory, move: MempoolMove) -> Memory:
    """One submission, each node forwards before it hears a duplicate: 2E-(N-1) copies are sent."""
    sent, premise = cast("tuple[int, bool]", memory or (0, True))
    sent += len(sent_of(move, Tx))
    nodes = move.after.nodes
    at = move.act.at
    late = move.act.kind == "deliver" and move.before.nodes[at].cache and not move.before.offered[at]
    premise = premise and not late
    expected = sum(len(n.peers) for n in nodes.values()) - (len(nodes) - 1)
    if premise and sent and move.after.quiet() and sent != expected:
        return BrokenClaim(f"{sent} copies, 2E-(N-1) is {expected}")
    return (sent, premise)


LOOKS: Mapping[str, Look] = {
    "pool.without-repeats": always(pool_is_sound),
    "senders.of-the-pool-only": always(senders_are_sound),
    "flood.never-sent-back": always(not_sent_back),
    "messages.can-be-taken": always(inboxes_move),
    "network.keeps-a-link": always(network_lives),
    "flood.reaches-all": everyone_has_it,
    "peer-limit.reaches-all": everyone_has_it,
    "peer-limit.free-slot-is-taken": always(no_idle_slot),
    "flood.number-of-copies": copies,
}
