"""Statements about what a run comes to: who has a transaction when nothing moves, and what repeats for ever.

A *round* is: users submit at some nodes, the queues are emptied, every controller runs (each time asking the
next of its peers), the queues are emptied. Where after some rounds the network is as it was before, but for
the names of transactions, and everyone would ask the same peer next, the rounds can go on for ever, and that
is a run that is fair to everyone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from attrs import frozen

from quidnunc.model.rpc import HaveTx, Peer, Tx
from quidnunc.properties.dog_claims import bounds, ratio, routes_of, sent_of
from quidnunc.properties.mempool_network import Network, acted, takes, ways
from quidnunc.properties.mempool_network_acts import Act, name_of
from quidnunc.properties.mempool_search import MAX_DRAIN, Broken, Look, Memory, Move, move_of

MAX_ROUNDS = 40
"""Rounds that are looked at for a repetition."""


def connected(network: Network) -> bool:
    """Whether those who have peers are one component."""
    joined = network.joined()
    reached, left = set(joined[:1]), list(joined[:1])
    while left:
        for p in network.nodes[left.pop()].peers:
            if p not in reached:
                reached.add(p)
                left.append(p)
    return bool(joined) and reached >= set(joined)


def lacking(network: Network) -> str:
    """Who lacks a transaction that another of those in the network has."""
    pools = {i: network.nodes[i].cache for i in network.joined()}
    for i, cache in pools.items():
        for other in pools.values():
            for tx in sorted(other - cache):
                return f"{name_of(i)} never gets {tx}"
    return ""


def everyone_has_it(memory: Memory, move: Move) -> Memory:
    """When nothing moves any more, all who are connected have the same."""
    after = move.after
    if not after.quiet() or not connected(after) or any(map(after.gone_from, after.nodes)):
        return None
    wrong = lacking(after)
    return Broken(wrong) if wrong else None


def everyone_has_it_after_loss(memory: Memory, move: Move) -> Memory:
    """The same, after somebody has left."""
    away = any(not n.peers for n in move.after.nodes.values())
    return everyone_has_it(None, move) if away else None


def everyone_has_it_after(most_have_tx: int) -> Look:
    """The same, of runs in which each node says HaveTx at most so often."""

    def look(memory: Memory, move: Move) -> Memory:
        said = dict(cast("tuple[tuple[Peer, int], ...]", memory or ()))
        for by, _ in sent_of(move, HaveTx):
            said[by] = said.get(by, 0) + 1
        if any(count > most_have_tx for count in said.values()):
            return tuple(sorted(said.items()))
        wrong = everyone_has_it(None, move)
        return wrong if wrong is not None else tuple(sorted(said.items()))

    return look


def everyone_has_it_in_band(memory: Memory, move: Move) -> Memory:
    """The same, where in this window every node's redundancy is within its bounds."""
    for i in move.after.joined():
        n = move.after.nodes[i]
        low, high = bounds(n)
        if not n.first_time or not low <= ratio(n) < high:
            return None
    return everyone_has_it(None, move)


def withheld_has_it(memory: Memory, move: Move) -> Memory:
    """What was withheld on a disabled route has come by another way when nothing moves any more."""
    withheld = frozenset(cast("frozenset[tuple[Peer, str]]", memory or ()))
    if move.act.kind == "D":
        n = move.before.nodes[move.act.node]
        tx = [*n.pool][move.before.offered[move.act.node]]
        left_out = n.peers.keys() - {to for _, to in sent_of(move, Tx)} - set(n.senders(tx))
        withheld |= {(p, tx) for p in left_out}
    if move.after.quiet():
        for p, tx in sorted(withheld):
            if tx not in move.after.nodes[p].cache:
                return Broken(f"{tx} was withheld from {name_of(p)}, which never gets it")
        return None
    return withheld


def honest_have_it(memory: Memory, move: Move) -> Memory:
    """D is not honest. When nothing moves, an honest node that lacks something asks for more."""
    after = move.after
    if not after.quiet():
        return None
    for i in (1, 2, 3):
        n = after.nodes[i]
        missing = [tx for j in (1, 2, 3) for tx in after.nodes[j].cache - n.cache if j != i]
        if missing and n.first_time and ratio(n) >= bounds(n)[0]:
            return Broken(f"{name_of(i)} never gets {missing[0]}, and its redundancy is {ratio(n):.2g}")
    return None


def copies(memory: Memory, move: Move) -> Memory:
    """One submission, each node forwards before it hears a duplicate: 2E-(N-1) copies are sent."""
    sent, premise = cast("tuple[int, bool]", memory or (0, True))
    sent += len(sent_of(move, Tx))
    nodes = move.after.nodes
    at = move.act.node
    late = move.act.kind == "R" and move.before.nodes[at].cache and not move.before.offered[at]
    premise = premise and not late
    expected = sum(len(n.peers) for n in nodes.values()) - (len(nodes) - 1)
    if premise and sent and move.after.quiet() and sent != expected:
        return Broken(f"{sent} copies, 2E-(N-1) is {expected}")
    return (sent, premise)


# -- rounds -------------------------------------------------------------------------------------------------


@frozen
class Rounds:
    """What happens in rounds that can go on for ever."""

    moves: tuple[Move, ...]
    count: int
    network: Network


def settled(network: Network, submits: Iterable[Peer]) -> tuple[Network, Rounds] | None:
    """The network from where rounds repeat, and what they repeat; None where they do not within bounds."""
    at, asked = [*submits], dict[Peer, int]()
    states, moves = [network], list[list[Move]]()
    seen = {_core(network, asked): 0}
    for number in range(1, MAX_ROUNDS + 1):
        after = _round(network, at, asked)
        if after is None:
            return None
        network = after[0]
        states.append(network)
        moves.append(after[1])
        start = seen.setdefault(_core(network, asked), number)
        if start < number:
            cycle = tuple(move for each in moves[start:] for move in each)
            return states[start], Rounds(cycle, number - start, network)
    return None


def _round(
    network: Network, submits: list[Peer], asked: dict[Peer, int]
) -> tuple[Network, list[Move]] | None:
    moves: list[Move] = []
    for i in submits:
        tx = f"n{sum(len(n.cache) for n in network.nodes.values())}"
        network = _do(network, Act("U", i, tx=tx), moves)
    emptied = _emptied(network, moves)
    if emptied is None:
        return None
    for i in emptied.joined():
        peers = sorted(emptied.nodes[i].peers)
        # A way in which the next peer is asked, if one is asked at all.
        wanted = frozenset([peers[asked.get(i, 0) % len(peers)]])
        options = [*ways(emptied, Act("A", i))]
        act, moved = next((each for each in options if each[0].picks == (wanted,)), options[0])
        moves.append(move_of(emptied, act, moved))
        asked[i] = asked.get(i, 0) + len(moved.sent)
        emptied = moved.network
    after = _emptied(emptied, moves)
    return None if after is None else (after, moves)


def _emptied(network: Network, moves: list[Move]) -> Network | None:
    for _ in range(MAX_DRAIN):
        if network.quiet():
            return network
        for i in network.joined():
            act = network.next_act(i)
            if act is not None:
                network = _do(network, act, moves)
    return None


def _do(network: Network, act: Act, moves: list[Move]) -> Network:
    moved = acted(network, act)
    moves.append(move_of(network, act, moved))
    return moved.network


def _core(network: Network, asked: dict[Peer, int]) -> object:
    """What a network is but for its transactions, and who is to be asked next."""
    return tuple(
        (i, routes_of(n), n.blocked, n.first_time, n.duplicates, n.idle, asked.get(i, 0) % len(n.peers))
        for i, n in network.nodes.items()
        if n.peers
    )


Judges = Callable[[Network, Rounds], str]


def in_rounds(submits: Callable[[Network], Iterable[Iterable[Peer]]], judges: Judges) -> Look:
    """A statement about what rounds repeat for ever, from any state in which nothing moves."""

    def look(memory: Memory, move: Move) -> Memory:
        after = move.after
        if not after.quiet() or not connected(after):
            return None
        for at in submits(after):
            found = settled(after, at)
            if found is not None:
                wrong = judges(*found)
                if wrong:
                    return Broken(wrong)
        return None

    return look


def nowhere(network: Network) -> list[list[Peer]]:
    return [[]]


def everywhere(network: Network) -> list[list[Peer]]:
    return [[*network.joined()]]


def at_each(network: Network) -> list[list[Peer]]:
    return [[i] for i in network.joined()]


def somewhere(network: Network) -> list[list[Peer]]:
    return at_each(network) + everywhere(network)


def stays_cut(network: Network, rounds: Rounds) -> str:
    """A route stays disabled although its target has less than it wants, at every adjustment."""
    for i in network.joined():
        cut = any((routes_of(n) and any(r[1] == i for r in routes_of(n))) for n in network.nodes.values())
        mine = [m for m in rounds.moves if m.act.kind == "A" and m.act.node == i]
        starved = all(not m.before.nodes[i].duplicates for m in mine)
        freed = any(
            any(r[1] == i for r in routes_of(m.before.nodes[j]) - routes_of(m.after.nodes[j]))
            for m in rounds.moves
            for j in m.after.nodes
        )
        if cut and starved and not freed:
            return f"routes to {name_of(i)} stay cut for ever"
    return ""


def stays_cut_with_traffic(network: Network, rounds: Rounds) -> str:
    """The same, where something new comes in every window."""
    busy = all(m.before.nodes[m.act.node].first_time for m in rounds.moves if m.act.kind == "A")
    return stays_cut(network, rounds) if busy else ""


def goes_without(network: Network, rounds: Rounds) -> str:
    """Somebody never gets what is submitted, in all rounds to come."""
    for tx in (m.act.tx for m in rounds.moves if m.act.kind == "U"):
        for i in network.joined():
            if tx not in rounds.network.nodes[i].cache:
                return f"{name_of(i)} never gets what is submitted, for ever"
    return ""


def no_tree(network: Network, rounds: Rounds) -> str:
    """Some node gets another number of copies than one, in all rounds."""
    for i in network.joined():
        came = sum(m.act.kind == "R" and m.act.node == i and bool(_new(m)) for m in rounds.moves)
        submitted = sum(m.act.kind == "U" and m.act.node != i for m in rounds.moves)
        if submitted and came != submitted:
            return f"{name_of(i)} gets {came} copies of {submitted} transactions, for ever"
    return ""


def out_of_band(network: Network, rounds: Rounds) -> str:
    """Some node is out of its bounds at each adjustment for ever."""
    for i in network.joined():
        mine = [m.before.nodes[i] for m in rounds.moves if m.act.kind == "A" and m.act.node == i]
        heard = [n for n in mine if n.first_time + n.duplicates]
        if heard and not any(bounds(n)[0] <= ratio(n) < bounds(n)[1] for n in heard):
            return f"the redundancy of {name_of(i)} is {ratio(heard[0]):.2g} for ever"
    return ""


def asks_in_vain(network: Network, rounds: Rounds) -> str:
    """Somebody asks in every round and hears no duplicate, ever."""
    for i in network.joined():
        asked = sum(by == i and m.act.kind == "A" for m in rounds.moves for by, part, _ in m.sent)
        heard = any(m.after.nodes[i].duplicates for m in rounds.moves)
        if asked and not heard:
            return f"{name_of(i)} asks in every round and never hears a duplicate"
    return ""


def silence(network: Network, rounds: Rounds) -> str:
    """Somebody is sent nothing by anyone, for ever."""
    told = {to for m in rounds.moves for _, part, to in m.sent if isinstance(part, Tx)}
    for i in network.joined():
        if i not in told:
            return f"nothing is ever sent to {name_of(i)}"
    return ""


def _new(move: Move) -> list[object]:
    waiting = move.before.inbox[move.act.node]
    part = next(part for sender, part in waiting if (sender,) == move.act.peers)
    return [part] if isinstance(part, Tx) else []


# -- hops ---------------------------------------------------------------------------------------------------


def as_near_as_flood(memory: Memory, move: Move) -> Memory:
    """When nothing moves, the next transaction needs as few hops to all as by the shortest paths."""
    after = move.after
    if not after.quiet() or not connected(after):
        return None
    for i in after.joined():
        took, least = _hops(after, i), _far(after, i)
        if took != least:
            return Broken(f"from {name_of(i)} to all: {took or 'no number of'} hops, {least} by Flood")
    return None


def _hops(network: Network, origin: Peer) -> int | None:
    network = acted(network, Act("U", origin, tx="next")).network
    for hop in range(len(network.nodes) + 1):
        if all("next" in n.cache for n in network.nodes.values() if n.peers):
            return hop
        for i in network.joined():
            while network.offered[i] < len(network.nodes[i].pool):
                network = acted(network, Act("D", i)).network
        for i in network.joined():
            while network.inbox[i] and takes(network, i, network.inbox[i][0]):
                network = acted(network, Act("R", i, network.inbox[i][0][:1])).network
    return None


def _far(network: Network, origin: Peer) -> int:
    distance, left = {origin: 0}, [origin]
    for i in left:
        for p in network.nodes[i].peers:
            if p not in distance:
                distance[p] = distance[i] + 1
                left.append(p)
    return max(distance.values())
