"""What repeats for ever in a network of mempool nodes.

A *round* is: users submit at some nodes, the queues are emptied, every controller runs (each time asking the
next of its peers), the queues are emptied. Where after some rounds the network is as it was before, but for
the names of transactions, and everyone would ask the same peer next, the rounds can go on for ever, and that
is a run that is fair to everyone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from quidnunc.model.rpc import Peer
from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork, next_act
from quidnunc.properties.networks.network import act_variants, network_after
from quidnunc.properties.networks.runs import MAX_DRAIN, BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog.moves import connected, routes_of

MAX_ROUNDS = 40
"""Rounds that are looked at for a repetition, where a statement does not say how many."""


@frozen
class Rounds:
    """What happens in rounds that can go on for ever."""

    moves: tuple[MempoolMove, ...]
    count: int
    network: MempoolNetwork


def settled_rounds(
    network: MempoolNetwork, submits: Iterable[Peer], most: int = MAX_ROUNDS
) -> tuple[MempoolNetwork, Rounds] | None:
    """The network from where rounds repeat, and what they repeat; None where they do not within bounds."""
    at, asked = [*submits], dict[Peer, int]()
    states, moves = [network], list[list[MempoolMove]]()
    seen = {_core(network, asked): 0}
    for number in range(1, most + 1):
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
    network: MempoolNetwork, submits: list[Peer], asked: dict[Peer, int]
) -> tuple[MempoolNetwork, list[MempoolMove]] | None:
    moves: list[MempoolMove] = []
    for i in submits:
        tx = f"n{sum(len(n.cache) for n in network.nodes.values())}"
        network = _do(network, Act("submit", i, id=tx), moves)
    emptied = _emptied(network, moves)
    if emptied is None:
        return None
    for i in emptied.joined():
        peers = sorted(emptied.nodes[i].peers)
        # A way in which the next peer is asked, if one is asked at all.
        wanted = peers[asked.get(i, 0) % len(peers)]
        options = [*act_variants(emptied, Act("adjust", i))]
        move = next((each for each in options if [to for _, _, to in each.sent] == [wanted]), options[0])
        moves.append(move)
        asked[i] = asked.get(i, 0) + len(move.sent)
        emptied = move.after
    after = _emptied(emptied, moves)
    return None if after is None else (after, moves)


def _emptied(network: MempoolNetwork, moves: list[MempoolMove]) -> MempoolNetwork | None:
    for _ in range(MAX_DRAIN):
        if network.quiet():
            return network
        for i in network.joined():
            act = next_act(network, i)
            if act is not None:
                network = _do(network, act, moves)
    return None


def _do(network: MempoolNetwork, act: Act, moves: list[MempoolMove]) -> MempoolNetwork:
    moves.append(network_after(network, act))
    return moves[-1].after


def _core(network: MempoolNetwork, asked: dict[Peer, int]) -> object:
    """What a network is but for its transactions, and who is to be asked next."""
    return tuple(
        (i, routes_of(n), n.blocked, n.first_time, n.duplicates, n.idle, asked.get(i, 0) % len(n.peers))
        for i, n in network.nodes.items()
        if n.peers
    )


Judges = Callable[[MempoolNetwork, Rounds], str]


def in_rounds(
    submits: Callable[[MempoolNetwork], Iterable[Iterable[Peer]]], judges: Judges, most: int = MAX_ROUNDS
) -> Look:
    """A statement about what rounds repeat for ever, from any state in which nothing moves."""

    def look(memory: Memory, move: MempoolMove) -> Memory:
        after = move.after
        if not after.quiet() or not connected(after):
            return None
        for at in submits(after):
            found = settled_rounds(after, at, most)
            if found is not None:
                wrong = judges(*found)
                if wrong:
                    return BrokenClaim(wrong)
        return None

    return look


def nowhere(network: MempoolNetwork) -> list[list[Peer]]:
    return [[]]


def everywhere(network: MempoolNetwork) -> list[list[Peer]]:
    return [[*network.joined()]]


def at_each(network: MempoolNetwork) -> list[list[Peer]]:
    return [[i] for i in network.joined()]


def all_but_one(network: MempoolNetwork) -> list[list[Peer]]:
    return [[i for i in network.joined() if i != silent] for silent in network.joined()]


def somewhere(network: MempoolNetwork) -> list[list[Peer]]:
    return at_each(network) + everywhere(network)
