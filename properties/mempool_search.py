"""Small networks of mempool nodes as worlds that are searched (`quidnunc.properties.network_runs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from attrs import evolve, frozen

from quidnunc.model.rpc import HaveTx, Part, Peer, ResetRoute, Tx
from quidnunc.properties import network_runs
from quidnunc.properties.mempool_network import Moved, Network, Rules, acted, started, ways
from quidnunc.properties.mempool_network_acts import Act, Kind
from quidnunc.properties.network_runs import (
    MAX_DRAIN,
    Broken,
    Die,
    Memory,
    breadth_first,
    by_hypothesis,
    judged,
    minimised,
    walks,
)

Found = network_runs.Found[Act]
WEIGHTS: dict[Kind, int] = {"U": 2, "D": 6, "R": 6, "A": 1, "X": 1, "L": 3, "J": 1, "W": 1, "F": 2}


@frozen
class World:
    """A network, and what may happen in it."""

    rules: Rules
    links: tuple[tuple[Peer, Peer], ...]
    txs: tuple[str, ...] = ("t1", "t2")
    kinds: frozenset[Kind] = frozenset({"U", "D", "R", "A"})
    origins: frozenset[Peer] = frozenset()
    """Where users submit; nowhere given, everywhere."""
    again: bool = False
    """Users may submit what a node has already."""
    forger: Peer = 0
    """A node that says what it likes to its peers, besides what others do."""
    wait_ms: int = 0
    leaves: int = 1
    """How many nodes leave, at most."""

    def start(self) -> Network:
        return started(self.rules, self.links)

    def key(self, network: Network) -> object:
        return network.key()

    def resting(self, network: Network) -> bool:
        return network.quiet()

    def moves(self, network: Network) -> Iterator[Move]:
        return moves(self, network)

    def options(self, network: Network, draining: bool) -> Sequence[tuple[Act, int]]:
        found = possible(self, network)
        return [(a, WEIGHTS[a.kind]) for a in found if not draining or a.kind in ("D", "R")]

    def drawn(self, network: Network, act: Act, die: Die) -> Move | None:
        taken = [*ways(network, act)]
        return move_of(network, *die.pick(taken)) if taken else None

    def move(self, network: Network, act: Act) -> Move:
        return move_of(network, act, acted(network, act))


@frozen
class Move:
    """One act of a run."""

    before: Network
    act: Act
    after: Network
    sent: tuple[tuple[Peer, Part, Peer], ...]
    """(by whom, what, to whom)"""


Look = Callable[[Memory, Move], Memory]
"""One move on: what is remembered after it, or `Broken`."""


def possible(world: World, network: Network) -> Iterator[Act]:
    """What can happen next, before its choices are made."""
    kinds = world.kinds
    for node in network.joined():
        honest = node != world.forger
        if "U" in kinds and honest and (not world.origins or node in world.origins):
            yield from _submits(world, network, node)
        if "D" in kinds and network.offered[node] < len(network.nodes[node].pool):
            yield Act("D", node)
        senders = dict.fromkeys(sender for sender, _ in network.inbox[node])
        if "R" in kinds:
            yield from (Act("R", node, (sender,)) for sender in senders)
        if "A" in kinds and honest:
            yield Act("A", node)
        if "L" in kinds:
            yield from (Act("L", node, (peer,)) for peer in network.gone_from(node))
        if "W" in kinds and any(each.of is not None for each in network.nodes[node].wanted.values()):
            yield Act("W", node, ms=world.wait_ms)
    yield from _comings_and_goings(world, network)
    if world.forger:
        yield from _forged(world, network)


def _submits(world: World, network: Network, node: Peer) -> Iterator[Act]:
    known = frozenset[str]().union(*(n.cache for n in network.nodes.values()))
    new = [tx for tx in world.txs if tx not in known][:1]
    for tx in (*new, *sorted(known)):
        if tx in world.txs and (world.again or tx not in network.nodes[node].cache):
            yield Act("U", node, tx=tx)


def _comings_and_goings(world: World, network: Network) -> Iterator[Act]:
    joined = network.joined()
    away = [node for node in network.nodes if node not in joined]
    if "X" in world.kinds and len(joined) > 1 and len(away) < world.leaves:
        yield from (Act("X", node) for node in joined if node != world.forger)
    if "J" in world.kinds:
        for node in away:
            sizes = range(1, len(joined) + 1)
            yield from (Act("J", node, each) for size in sizes for each in combinations(joined, size))


def _forged(world: World, network: Network) -> Iterator[Act]:
    parts: list[Part] = [ResetRoute()]
    for tx in world.txs:
        parts += [Tx(tx), HaveTx(tx)]
    for peer in network.nodes[world.forger].peers:
        if len(network.inbox[peer]) < 3:
            yield from (Act("F", peer, (world.forger,), part=part) for part in parts)


def moves(world: World, network: Network) -> Iterator[Move]:
    """Every next move, choices made."""
    for act in possible(world, network):
        for done, moved in ways(network, act):
            yield move_of(network, done, moved)


def move_of(before: Network, act: Act, moved: Moved) -> Move:
    sent = tuple((by, each.part, each.peer) for by, each in moved.sent)
    return Move(before, act, moved.network, sent)


def with_rules(world: World, rules: Rules) -> World:
    """The same world, of nodes of other rules."""
    return evolve(world, rules=rules)


__all__ = [
    "MAX_DRAIN",
    "Broken",
    "Found",
    "Look",
    "Memory",
    "Move",
    "World",
    "breadth_first",
    "by_hypothesis",
    "judged",
    "minimised",
    "move_of",
    "moves",
    "possible",
    "walks",
    "with_rules",
]
