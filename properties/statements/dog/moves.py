"""What a move of a network of mempool nodes was, and how a node reckons; statements are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import cast

from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.dog.variant_rules import too_much_in_integers
from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, Tx
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import Kind, name_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.networks.world import connected as is_connected

Says = Callable[[MempoolMove], str]
"""What is wrong after a move, or nothing."""


def always(says: Says) -> Look:
    """A statement that remembers nothing."""

    def look(memory: Memory, move: MempoolMove) -> Memory:
        wrong = says(move)
        return BrokenClaim(wrong) if wrong else None

    return look


ADJUSTING: tuple[Kind, ...] = ("adjust", "notice")
"""When a controller looks at its counters."""


def kept(memory: Memory) -> dict[object, object]:
    """A memory of pairs, to be changed and then `packed`."""
    return dict(cast("tuple[tuple[object, object], ...]", memory or ()))


def packed(found: Mapping[object, object]) -> Memory:
    """The hashable form of what a statement remembers by node."""
    return tuple(sorted(found.items(), key=repr))


def routes_of(n: Node) -> frozenset[tuple[Peer, Peer]]:
    """Disabled routes of a node, as (source, target)."""
    return frozenset((source, target) for target, known in n.routes.items() for source in known.must)


def route_name(route: tuple[Peer, Peer]) -> str:
    return f"{name_of(route[0])}->{name_of(route[1])}"


def nodes(move: MempoolMove) -> Iterator[tuple[str, Peer, Node]]:
    for i, n in move.after.nodes.items():
        yield name_of(i), i, n


def taken_message(move: MempoolMove) -> object:
    """The message that a move took, if it took one."""
    sender, node = move.act.node, move.act.peer
    if move.act.kind not in ("deliver", "begin") or not node or (node, sender) in move.before.begun:
        return None
    return next(part for by, part in move.before.waiting(node) if by == sender)


def sent_of(move: MempoolMove, kind: type[HaveTx | ResetRoute | Tx]) -> list[tuple[Peer, Peer]]:
    """(by whom, to whom) of what a move sent of a kind."""
    return [(by, to) for by, part, to in move.sent if isinstance(part, kind)]


def adjusts(move: MempoolMove) -> bool:
    """Whether a controller ran, and something had come."""
    n = move.before.nodes[move.act.at]
    return move.act.kind in ADJUSTING and n.first_time + n.duplicates > 0


@lru_cache(maxsize=64)
def in_integers(protocol: Protocol) -> bool:
    """Whether its controller reckons in integers."""
    return any(each.apply is too_much_in_integers.apply for _, each in protocol.rules())


def bounds(n: Node) -> tuple[float, float]:
    """The accepted redundancy, as the node reckons."""
    if not in_integers(n.protocol):
        return dog.bounds(n)
    target = int(n.parameters.target_redundancy)
    width = target * int(n.parameters.delta_percent) // 100
    return target - width, target + width


def ratio(n: Node) -> float:
    """The redundancy of a window in which something came, as the node reckons."""
    if not n.first_time:
        return bounds(n)[1]
    return n.duplicates // n.first_time if in_integers(n.protocol) else n.duplicates / n.first_time


def connected(network: MempoolNetwork) -> bool:
    """Whether those who have peers are one component."""
    joined = network.joined()
    return bool(joined) and is_connected(joined, lambda a, b: b in network.nodes[a].peers)
