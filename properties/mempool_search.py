"""Searches of a small network of mempool nodes for an event list that breaks a statement.

A statement is a fold over the moves of a run: what it remembers, and what breaks it. `breadth_first` goes
through every run of a small world up to a bound, so that what it finds is shortest; `walks` draws runs from a
seed; `minimised` drops from a breaking run what it does not need.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from attrs import evolve, field, frozen

from quidnunc.model.rpc import HaveTx, Part, Peer, ResetRoute, Tx
from quidnunc.properties.mempool_network import Moved, Network, Rules, acted, started, ways
from quidnunc.properties.mempool_network_acts import Act, ActError, Kind

MAX_DRAIN = 400
"""Acts after which a network that is only to empty its queues is given up."""


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


@frozen
class Move:
    """One act of a run."""

    before: Network
    act: Act
    after: Network
    sent: tuple[tuple[Peer, Part, Peer], ...]
    """(by whom, what, to whom)"""


@frozen
class Broken:
    """The statement is false of this run."""

    why: str


Memory = object
"""What a statement remembers of a run; hashable, None at the start."""
Look = Callable[[Memory, Move], Memory]
"""One move on: what is remembered after it, or `Broken`."""


@frozen
class Found:
    """What a search came to."""

    acts: tuple[Act, ...] | None
    """A run that breaks the statement."""
    why: str = ""
    states: int = 0
    runs: int = 0
    depth: int = 0
    """Every run of this many acts was looked at."""
    complete: bool = False
    """There are no longer ones."""
    applied: int = field(default=0)


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


# -- every run ----------------------------------------------------------------------------------------------


def breadth_first(world: World, look: Look, max_states: int = 20_000) -> Found:
    """All runs, the short ones first, to `max_states` states (a state is the network and what is remembered).

    Where the bound cuts it off, `depth` is of the runs that were all looked at.
    """
    start = world.start()
    queue: deque[tuple[Network, Memory, int]] = deque([(start, None, 0)])
    trail: list[tuple[int, Act | None]] = [(0, None)]
    depths, at = [0], -1
    seen: set[tuple[object, Memory]] = {(start.key(), None)}
    while queue:
        network, memory, depth = queue.popleft()
        at += 1
        for move in moves(world, network):
            after = look(memory, move)
            if isinstance(after, Broken):
                acts = (*_trail(trail, at), move.act)
                return Found(acts, after.why, states=len(trail), depth=len(acts) - 1)
            key = (move.after.key(), after)
            if key in seen:
                continue
            if len(trail) >= max_states:
                return Found(None, states=len(trail), depth=depth)
            seen.add(key)
            trail.append((at, move.act))
            depths.append(depth + 1)
            queue.append((move.after, after, depth + 1))
    return Found(None, states=len(trail), depth=max(depths), complete=True)


def _trail(trail: Sequence[tuple[int, Act | None]], at: int) -> tuple[Act, ...]:
    acts: list[Act] = []
    while trail[at][1] is not None:
        before, act = trail[at]
        assert act is not None
        acts.append(act)
        at = before
    return tuple(reversed(acts))


# -- drawn runs ---------------------------------------------------------------------------------------------

WEIGHTS: dict[Kind, int] = {"U": 2, "D": 6, "R": 6, "A": 1, "X": 1, "L": 3, "J": 1, "W": 1, "F": 2}


def walks(world: World, look: Look, *, runs: int, length: int, seed: int = 0) -> Found:
    """`runs` drawn runs of `length` acts, after which the queues are emptied; what breaks is minimised."""
    for number in range(runs):
        die = random.Random(f"{seed}/{number}")
        acts = _walk(world, look, die, length)
        if acts is not None:
            acts, why = minimised(world, look, acts)
            return Found(acts, why, runs=number + 1)
    return Found(None, runs=runs)


def _walk(world: World, look: Look, die: random.Random, length: int) -> tuple[Act, ...] | None:
    network, memory, acts = world.start(), None, list[Act]()
    for at in range(length + MAX_DRAIN):
        if at >= length and network.quiet():
            return None
        options = [a for a in possible(world, network) if at < length or a.kind in ("D", "R")]
        if not options:
            return None
        act = die.choices(options, [WEIGHTS[each.kind] for each in options])[0]
        taken = [*ways(network, act)]
        if not taken:
            continue
        done, moved = die.choice(taken)
        memory = look(memory, move_of(network, done, moved))
        acts.append(done)
        network = moved.network
        if isinstance(memory, Broken):
            return tuple(acts)
    return None


# -- one run ------------------------------------------------------------------------------------------------


def judged(world: World, look: Look, acts: Sequence[Act], *, strict: bool = True) -> Found:
    """One run: broken at which act, or not. What can not happen raises ActError, or is left out."""
    network, memory, done = world.start(), None, list[Act]()
    for act in acts:
        try:
            moved = acted(network, act)
        except ActError:
            if strict:
                raise
            continue
        memory = look(memory, move_of(network, act, moved))
        network = moved.network
        done.append(act)
        if isinstance(memory, Broken):
            return Found(tuple(done), memory.why, runs=1)
    return Found(None, runs=1)


def minimised(world: World, look: Look, acts: Sequence[Act]) -> tuple[tuple[Act, ...], str]:
    """A run of as few of these acts as can be, by leaving out ever smaller pieces. Raises ValueError where
    they break nothing."""
    best = judged(world, look, acts, strict=False)
    if best.acts is None:
        raise ValueError("this run breaks nothing")
    size = max(1, len(best.acts) // 2)
    while size:
        shorter = _without_a_piece(world, look, best, size)
        if shorter is None:
            size //= 2
        else:
            best = shorter
    assert best.acts is not None
    return best.acts, best.why


def _without_a_piece(world: World, look: Look, best: Found, size: int) -> Found | None:
    assert best.acts is not None
    for at in range(0, len(best.acts), size):
        tried = judged(world, look, best.acts[:at] + best.acts[at + size :], strict=False)
        if tried.acts is not None and len(tried.acts) < len(best.acts):
            return tried
    return None


def with_rules(world: World, rules: Rules) -> World:
    """The same world, of nodes of other rules."""
    return evolve(world, rules=rules)
