"""DOG: who gets a transaction, how often, how fast, and what one peer can do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from attrs import evolve

from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import HaveTx, Peer, Tx
from quidnunc.properties.networks.acts import Act, name_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork, takes
from quidnunc.properties.networks.network import network_after
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog.flood import everyone_has_it
from quidnunc.properties.statements.dog.moves import (
    ADJUSTING,
    bounds,
    connected,
    kept,
    packed,
    ratio,
    sent_of,
    taken_message,
)
from quidnunc.properties.statements.dog.rounds import Rounds, all_but_one, at_each, everywhere, in_rounds


def own_goes_to_all(memory: Memory, move: MempoolMove) -> Memory:
    """What a user submitted first at a node goes to all its peers but those who have sent it."""
    own = frozenset(cast("frozenset[tuple[Peer, str]]", memory or ()))
    act = move.act
    if act.kind == "submit" and act.id not in move.before.nodes[act.node].cache:
        own |= {(act.node, act.id)}
    if act.kind == "offer":
        n = move.before.nodes[act.node]
        tx = [*n.pool][move.before.offered[act.node]]
        missing = n.peers.keys() - set(n.senders(tx)) - {to for _, to in sent_of(move, Tx)}
        if (act.node, tx) in own and missing:
            return BrokenClaim(f"{name_of(act.node)} withholds its own {tx} from {name_of(*sorted(missing))}")
    return own


def uncounted(by_whom: Callable[[MempoolMove], bool], what: str) -> Look:
    """What `by_whom` says came in does not change what a controller does: with it left out of the counters,
    the adjustment does the same."""

    def look(memory: Memory, move: MempoolMove) -> Memory:
        came = kept(memory)
        node = move.act.at
        was, now = move.before.nodes[node], move.after.nodes[node]
        if move.act.kind in ADJUSTING:
            first, again = cast("tuple[int, int]", came.pop(node, (0, 0)))
            less = evolve(was, first_time=was.first_time - first, duplicates=was.duplicates - again)
            if move.act.kind == "adjust" and (first or again) and _decides(less) != _decides(was):
                return BrokenClaim(f"{name_of(node)} {_decides(was)}; without {what} it {_decides(less)}")
        elif by_whom(move):
            first, again = cast("tuple[int, int]", came.get(node, (0, 0)))
            came[node] = (first + now.first_time - was.first_time, again + now.duplicates - was.duplicates)
        return packed(came)

    return look


def _decides(n: Node) -> str:
    if not n.first_time + n.duplicates:
        return "does nothing"
    low, high = bounds(n)
    return "asks for more" if ratio(n) < low else "allows HaveTx" if ratio(n) >= high else "does nothing"


def everyone_has_it_after_loss(memory: Memory, move: MempoolMove) -> Memory:
    """After somebody has left all get what is submitted later, from some time on. What was in flight when its
    source left does not count."""
    after = move.after
    away = any(not n.peers for n in after.nodes.values())
    noticed = not any(map(after.gone_from, after.nodes))
    return _SUBMITTED_LATER(None, move) if away and noticed else None


def everyone_has_it_after(most_have_tx: int) -> Look:
    """The same, of runs in which each node says HaveTx at most so often."""

    def look(memory: Memory, move: MempoolMove) -> Memory:
        said = dict(cast("tuple[tuple[Peer, int], ...]", memory or ()))
        for by, _ in sent_of(move, HaveTx):
            said[by] = said.get(by, 0) + 1
        if any(count > most_have_tx for count in said.values()):
            return tuple(sorted(said.items()))
        wrong = everyone_has_it(None, move)
        return wrong if wrong is not None else tuple(sorted(said.items()))

    return look


def everyone_has_it_in_band(memory: Memory, move: MempoolMove) -> Memory:
    """The same, where in this window every node's redundancy is within its bounds."""
    for i in move.after.joined():
        n = move.after.nodes[i]
        low, high = bounds(n)
        if not n.first_time or not low <= ratio(n) < high:
            return None
    return everyone_has_it(None, move)


def most_have_it_in_band(memory: Memory, move: MempoolMove) -> Memory:
    """What one node has a quarter of them have, if every redundancy is within its bounds in this window."""
    wrong = everyone_has_it_in_band(memory, move)
    nodes = [move.after.nodes[i] for i in move.after.joined()]
    for tx in sorted({tx for n in nodes for tx in n.cache}) if isinstance(wrong, BrokenClaim) else ():
        having = sum(tx in n.cache for n in nodes)
        if 4 * having < len(nodes):
            return BrokenClaim(f"{tx} reaches {having} of {len(nodes)} nodes")
    return None


def withheld_has_it(memory: Memory, move: MempoolMove) -> Memory:
    """What was withheld on a disabled route has come by another way when nothing moves any more."""
    withheld = frozenset(cast("frozenset[tuple[Peer, str]]", memory or ()))
    if move.act.kind == "offer":
        n = move.before.nodes[move.act.node]
        tx = [*n.pool][move.before.offered[move.act.node]]
        left_out = n.peers.keys() - {to for _, to in sent_of(move, Tx)} - set(n.senders(tx))
        withheld |= {(p, tx) for p in left_out}
    if move.after.quiet():
        for p, tx in sorted(withheld):
            if tx not in move.after.nodes[p].cache:
                return BrokenClaim(f"{tx} was withheld from {name_of(p)}, which never gets it")
        return None
    return withheld


def honest_have_it(memory: Memory, move: MempoolMove) -> Memory:
    """D is not honest. When nothing moves, an honest node that lacks something asks for more."""
    after = move.after
    if not after.quiet():
        return None
    for i in (1, 2, 3):
        n = after.nodes[i]
        missing = [tx for j in (1, 2, 3) for tx in after.nodes[j].cache - n.cache if j != i]
        if missing and n.first_time and ratio(n) >= bounds(n)[0]:
            return BrokenClaim(f"{name_of(i)} never gets {missing[0]}, and its redundancy is {ratio(n):.2g}")
    return None


def goes_without(network: MempoolNetwork, rounds: Rounds) -> str:
    """Somebody never gets what is submitted, in all rounds to come."""
    for tx in (m.act.id for m in rounds.moves if m.act.kind == "submit"):
        for i in network.joined():
            if tx not in rounds.network.nodes[i].cache:
                return f"{name_of(i)} never gets what is submitted, for ever"
    return ""


def out_of_band(network: MempoolNetwork, rounds: Rounds) -> str:
    """Some node is out of its bounds at each adjustment for ever, or below and above them again and again."""
    for i in network.joined():
        mine = [m.before.nodes[i] for m in rounds.moves if m.act.kind == "adjust" and m.act.node == i]
        found = [(bounds(n), ratio(n)) for n in mine if n.first_time + n.duplicates]
        ratios = sorted({r for _, r in found})
        if any(r < low for (low, _), r in found) and any(r >= high for (_, high), r in found):
            ends = f"{ratios[0]:.2g} and {ratios[-1]:.2g}"
            return f"the redundancy of {name_of(i)} goes from {ends} and back for ever"
        if found and not any(low <= r < high for (low, high), r in found):
            return f"the redundancy of {name_of(i)} is {ratios[0]:.2g} for ever"
    return ""


def deaf_in_band(network: MempoolNetwork, rounds: Rounds) -> str:
    """Some node is within its bounds at each adjustment for ever, and never gets what one source submits."""
    for i in network.joined():
        mine = [m.before.nodes[i] for m in rounds.moves if m.act.kind == "adjust" and m.act.node == i]
        if not mine or not all(n.first_time and bounds(n)[0] <= ratio(n) < bounds(n)[1] for n in mine):
            continue
        for act in (m.act for m in rounds.moves if m.act.kind == "submit"):
            if act.id not in rounds.network.nodes[i].cache:
                source, heard = name_of(act.node), ratio(mine[0])
                return f"{name_of(i)} never hears of {source}, and its redundancy is {heard:.2g} for ever"
    return ""


def silence(network: MempoolNetwork, rounds: Rounds) -> str:
    """Somebody takes no transaction of anyone, for ever. What waits behind a message that is never taken is
    not heard."""
    told = {m.act.peer for m in rounds.moves if isinstance(taken_message(m), Tx)}
    for i in network.joined():
        if i not in told:
            return f"{name_of(i)} never takes a transaction of anyone"
    return ""


def as_near_as_flood(memory: Memory, move: MempoolMove) -> Memory:
    """When nothing moves, the next transaction needs as few hops to all as by the shortest paths."""
    after = move.after
    if not after.quiet() or not connected(after):
        return None
    for i in after.joined():
        took, least = _hops(after, i), _far(after, i)
        if took != least:
            return BrokenClaim(f"from {name_of(i)} to all: {took or 'no number of'} hops, {least} by Flood")
    return None


def _hops(network: MempoolNetwork, origin: Peer) -> int | None:
    network = network_after(network, Act("submit", origin, id="next")).after
    for hop in range(len(network.nodes) + 1):
        if all("next" in n.cache for n in network.nodes.values() if n.peers):
            return hop
        for i in network.joined():
            while network.offered[i] < len(network.nodes[i].pool):
                network = network_after(network, Act("offer", i)).after
        for i in network.joined():
            while network.inbox[i] and takes(network, i, network.inbox[i][0]):
                network = network_after(network, Act("deliver", network.inbox[i][0][0], i)).after
    return None


def _far(network: MempoolNetwork, origin: Peer) -> int:
    distance, left = {origin: 0}, [origin]
    for i in left:
        for p in network.nodes[i].peers:
            if p not in distance:
                distance[p] = distance[i] + 1
                left.append(p)
    return max(distance.values())


_SUBMITTED_LATER = in_rounds(at_each, goes_without)

LOOKS: Mapping[str, Look] = {
    "dissemination.own-goes-to-all": own_goes_to_all,
    "dog.reaches-all-after-a-disconnect": everyone_has_it_after_loss,
    "dog.reaches-all-with-one-havetx-each": everyone_has_it_after(1),
    "dog.controller-repairs-isolation": in_rounds(at_each, goes_without),
    "dog.long-interval-prevents-loss": everyone_has_it_after(1),
    "dog.no-redundancy-still-reaches-all": everyone_has_it_after(1),
    "redundancy.in-bounds-means-delivery": everyone_has_it_in_band,
    "redundancy.in-bounds-means-delivery-at-scale": most_have_it_in_band,
    "redundancy.settles-in-bounds": in_rounds(everywhere, out_of_band, most=200),
    "redundancy.in-bounds-hears-everyone": in_rounds(all_but_one, deaf_in_band),
    "attack.positive-target-withstands-one-peer": honest_have_it,
    "attack.one-peer-does-not-change-traffic": uncounted(
        lambda m: m.act.kind == "deliver" and m.act.node == 4, "what D sent"
    ),
    "redundancy.unaffected-by-own-submissions": uncounted(lambda m: m.act.kind == "submit", "its own"),
    "dog.as-fast-as-flood": as_near_as_flood,
    "dissemination.withheld-arrives-elsewhere": withheld_has_it,
    "dissemination.no-permanent-silence": in_rounds(everywhere, silence),
}
