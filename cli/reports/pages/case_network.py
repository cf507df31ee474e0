"""A case of a network over its schedule: the nodes and links after each act, as nodes of the model do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from quidnunc.model.errors import SpecError
from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import Peer
from quidnunc.output import count
from quidnunc.pipeline.trace.history import (
    MESH_WORDS,
    PLAIN_WORDS,
    ROUTE_WORDS,
    Flow,
    LinkState,
    NetworkFrame,
    NetworkHistory,
    NodeState,
)
from quidnunc.properties.cases.case import Case
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.network import Move, Network
from quidnunc.properties.networks.runs import ActError, BrokenClaim
from quidnunc.properties.replays.network import claims_on
from quidnunc.properties.statements.catalogue import ALIASES

Link = tuple[int, int]


def history_of_case(case: Case) -> NetworkHistory | None:
    """The history of a case of a network; None where the model cannot play it."""
    try:
        moves = list(_moves(case))
    except (ActError, SpecError):
        return None
    if not moves:
        return None
    peers = case.nodes
    networks = [moves[0][0].before, *(move.after for move, _ in moves)]
    pairs = sorted({_ordered(a, b) for network in networks for a, b in _connected(network)})
    routed = any(
        _disabled(network, *way) for network in networks for a, b in pairs for way in ((a, b), (b, a))
    )
    meshed = any(hasattr(node, "mesh") for network in networks for node in network.nodes.values())
    frames, message = [_frame(networks[0], None, "the start", "nothing has happened", peers, pairs, "")], ""
    for number, (move, broken) in enumerate(moves, 1):
        message = move.act.id or message
        words = f"{move.act}; {broken}" if broken else str(move.act)
        frames.append(_frame(move.after, move, f"step {number}", words, peers, pairs, message))
    return NetworkHistory(
        names=tuple(map(name_of, peers)),
        links=tuple((peers.index(a), peers.index(b)) for a, b in pairs),
        columns=("have the message", "links", "on the way"),
        frames=tuple(frames),
        best=len(frames) - 1,
        link_words=ROUTE_WORDS if routed else MESH_WORDS if meshed else PLAIN_WORDS,
        flow_words="something was sent over it in this step",
    )


def _moves(case: Case) -> Iterator[tuple[Move[Any], str]]:
    """Each act with what it leads to, those before the schedule too; and how the claim breaks, in words."""
    # A file of old may name its statement by number.
    case = evolve(case, claim=ALIASES.get(case.claim, case.claim))
    claims = claims_on(case.protocol)
    look = claims.look(case)
    world = claims.world(case, case.protocol)
    network, memory = evolve(world, prelude=()).start(), None
    for act in case.before:
        move = world.move(network, act)
        network = move.after
        yield move, ""
    for act in case.acts:
        move = world.move(network, act)
        memory = look(memory, move)
        network = move.after
        broken = isinstance(memory, BrokenClaim)
        yield move, f"broken: {memory.why}" if isinstance(memory, BrokenClaim) else ""
        if broken:
            return


def _frame(
    network: Network[Any],
    move: Move[Any] | None,
    at: str,
    says: str,
    peers: Sequence[Peer],
    pairs: Sequence[Link],
    message: str,
) -> NetworkFrame:
    before = move.before if move is not None else network
    nodes = tuple(_node(network, before, peer, message) for peer in peers)
    have = sum(state in ("has", "new") for state in nodes)
    links = tuple(_link(network, pair) for pair in pairs)
    return NetworkFrame(
        at=at,
        says=says,
        counts=(
            f"{have} of {len(network.nodes)}" if message else "no message yet",
            str(sum(state != "closed" for state in links)),
            _on_the_way(network),
        ),
        nodes=nodes,
        links=links,
        flows=tuple(_flow(move, pair) for pair in pairs),
    )


def _node(network: Network[Any], before: Network[Any], peer: Peer, message: str) -> NodeState:
    if peer in network.attackers and peer not in network.nodes:
        return "attacker"
    node: Any = network.nodes[peer]
    if message and _has(network, peer, message):
        return "has" if _has(before, peer, message) else "new"
    if not node.peers:
        return "away"
    topics: Mapping[str, object] | None = getattr(node, "topics", None)
    return "outside" if topics is not None and not topics else "lacks"


def _has(network: Network[Any], peer: Peer, message: str) -> bool:
    node: Any = network.nodes.get(peer)
    if isinstance(node, Node):
        return message in node.cache
    return message in network.got.get(peer, ())


def _link(network: Network[Any], pair: Link) -> LinkState:
    a, b = pair
    if pair not in _connected(network) and (b, a) not in _connected(network):
        return "closed"
    nodes: Mapping[Peer, Any] = network.nodes
    if any(isinstance(each, Node) for each in nodes.values()):
        shut = bool(_disabled(network, a, b)) + bool(_disabled(network, b, a))
        return ("full", "half", "open")[shut]
    ends = sum(
        any(other in members for members in nodes[one].mesh.values())
        for one, other in ((a, b), (b, a))
        if one in nodes
    )
    return ("open", "half", "full")[ends]


def _connected(network: Network[Any]) -> set[Link]:
    nodes: Mapping[Peer, Any] = network.nodes
    return {(a, b) for a, node in nodes.items() for b in node.peers}


def _disabled(network: Network[Any], a: Peer, b: Peer) -> bool:
    node: Any = network.nodes.get(a)
    return isinstance(node, Node) and bool(node.disabled_to(b).most)


def _flow(move: Move[Any] | None, pair: Link) -> Flow:
    if move is None:
        return "none"
    sent = {(by, to) for by, _, to in move.sent}
    if move.act.kind == "say":
        sent.add((move.act.node, move.act.peer))
    if pair in sent:
        return "forth"
    return "back" if (pair[1], pair[0]) in sent else "none"


def _on_the_way(network: Network[Any]) -> str:
    found = [
        f"{name_of(a)} to {name_of(b)}: {count(len(rpcs), 'message')}"
        for (a, b), rpcs in sorted(network.links.items())
        if rpcs
    ]
    return "; ".join(found) or "nothing"


def _ordered(a: Peer, b: Peer) -> Link:
    return (a, b) if a < b else (b, a)
