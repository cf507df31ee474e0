"""Whether a network in which some nodes are OLD and some NEW keeps delivering.

Small networks of model nodes (`quidnunc.properties.networks`), every way to give each node one of the two. Of
pubsub routers all join, some heartbeats pass, one publishes, the network comes to rest with a few heartbeats
more. Of mempool nodes three transactions come, one after another, and what one sends is read as the other's
codec reads it: CAT's SeenTx is DOG's HaveTx, and what cannot be read closes the connection. Beside it stand
the networks of one kind alone, so that it can be told what the mixture does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

from attrs import evolve, frozen

from quidnunc.impl.wire.cat_codec import codec_of
from quidnunc.impl.wire.mempool_codec import TX_CHANNEL, MempoolCodec
from quidnunc.model.machine import family_of
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import HaveTx, Part, Peer
from quidnunc.properties.networks.acts import Act, act_of
from quidnunc.properties.networks.mempool import MempoolNetwork, next_act
from quidnunc.properties.networks.network import Network, NodeSetup, Read, Transport, drawn, opened
from quidnunc.properties.networks.places import FAMILIES, GRAPHS, SMALL
from quidnunc.properties.networks.runs import MAX_DRAIN, SeededDie
from quidnunc.properties.regress.sides import Side

NETWORKS = ("line of four", "clique of four")
DRAWS = range(2)
"""Runs of each network, with other choices."""
ACTS = ("all join t", "rounds 2", "publish {} m1 t", "settle", "rounds 3")
"""Of pubsub routers; {} publishes."""
TXS = 3
"""Transactions, one after another, each from another node: what the first ones teach of routes counts for
those after them."""
WAITS = 4
"""How often it is waited till requests expire, after each transaction."""

Delivers: TypeAlias = Callable[[Network[Any], SeededDie, int], bool]
"""(the network, what draws its choices, the draw) -> whether everybody gets everything."""


@frozen
class MixedFamily:
    """How nodes of one family are mixed."""

    setups: Callable[[Sequence[Side]], list[NodeSetup]]
    """One node of each side."""
    read: Callable[[Mapping[Peer, str]], Read | None]
    """What nodes make of each other's messages, by the names of their protocols; None if all speak alike."""
    delivers: Delivers


@frozen
class DeliveryCount:
    """How many runs of one sort there were, and in how many each node was handed all."""

    runs: int
    delivered: int
    lost: str = ""
    """The first run in which one was not: its network, who was NEW, and who published."""


@frozen
class MixedNetworks:
    """Networks of OLD alone, of NEW alone and of both."""

    old: DeliveryCount
    new: DeliveryCount
    both: DeliveryCount

    @property
    def keeps_delivering(self) -> bool:
        """Whether a mixture loses nothing that neither of the two loses."""
        return self.both.delivered == self.both.runs or not (
            self.old.delivered == self.old.runs and self.new.delivered == self.new.runs
        )


def run_mixed_networks(
    old: Side, new: Side, progress: Callable[[str], None] = lambda text: None
) -> MixedNetworks:
    """Run the networks."""
    found: dict[str, DeliveryCount] = {}
    for sort in ("old", "new", "both"):
        progress(f"{old.name} -> {new.name}: networks, {sort}")
        found[sort] = _runs((old, new), sort)
    return MixedNetworks(found["old"], found["new"], found["both"])


def _runs(sides: Sequence[Side], sort: str) -> DeliveryCount:
    runs = delivered = 0
    lost = ""
    for name in NETWORKS:
        for newer in _mixtures(name, sort):
            for draw in DRAWS:
                runs += 1
                if delivers(sides, name, newer, draw):
                    delivered += 1
                else:
                    who = ", ".join("NEW" if each else "OLD" for each in newer)
                    lost = lost or f"{name} of {who}, draw {draw}"
    return DeliveryCount(runs, delivered, lost)


def _mixtures(name: str, sort: str) -> Iterator[tuple[bool, ...]]:
    nodes = {node for link in GRAPHS[name] for node in link}
    for newer in product((False, True), repeat=len(nodes)):
        if {"old": not any(newer), "new": all(newer), "both": any(newer) and not all(newer)}[sort]:
            yield newer


def delivers(sides: Sequence[Side], name: str, newer: Sequence[bool], draw: int) -> bool:
    """Whether everybody gets everything. Node i + 1 of the network is of `sides[newer[i]]`."""
    family = sides[0].protocol.family
    mixed = _MIXED[family]
    setups = [evolve(setup, name=at) for at, setup in _chosen(mixed.setups(sides), newer)]
    read = mixed.read({at: side.base for at, side in _chosen(sides, newer)})
    network = opened(FAMILIES[family], setups, GRAPHS[name], transport=Transport(read=read))
    return mixed.delivers(network, SeededDie(random.Random(draw)), draw)


def _chosen(of: Sequence[Any], newer: Sequence[bool]) -> Iterator[tuple[Peer, Any]]:
    yield from ((at, of[each]) for at, each in enumerate(newer, 1))


def _router(side: Side, parameters: Parameters) -> NodeSetup:
    # Which streams a router has goes by the name of its protocol.
    return NodeSetup(0, evolve(side.protocol, name=side.base), side.parameters(parameters))


# -- pubsub -------------------------------------------------------------------------------------------------


def _routers(sides: Sequence[Side]) -> list[NodeSetup]:
    try:
        return [_router(side, SMALL) for side in sides]
    except ValueError:
        # What a side sets does not go with the small meshes: both have the defaults otherwise.
        return [_router(side, Parameters()) for side in sides]


def _message_reaches_all(network: Network[Any], die: SeededDie, draw: int) -> bool:
    publisher = chr(ord("A") + draw % len(network.nodes))
    for text in ACTS:
        move = drawn(network, act_of(text.format(publisher)), die)
        if move is None:
            return False
        network = move.after
    return all("m1" in got for got in network.got.values())


# -- mempools -----------------------------------------------------------------------------------------------


def _nodes(sides: Sequence[Side]) -> list[NodeSetup]:
    # With DOG switched off a node is one of Flood: `start` says which.
    parameters = [side.parameters(DogParameters()) for side in sides]
    nodes = [family_of(s.protocol).start(s.protocol, p) for s, p in zip(sides, parameters, strict=True)]
    return [NodeSetup(0, n.protocol, p) for n, p in zip(nodes, parameters, strict=True)]


def _transactions_reach_all(network: MempoolNetwork, die: SeededDie, draw: int) -> bool:
    txs = [f"t{number}" for number in range(1, TXS + 1)]
    for number, tx in enumerate(txs):
        publisher = 1 + (draw + number) % len(network.nodes)
        if publisher not in network.joined():
            return False
        network = _taken(network, Act("submit", publisher, id=tx), die)
        network = _later(_rested(network, die), die)
    return all(n.knows(tx) for n in network.nodes.values() for tx in txs)


def _taken(network: MempoolNetwork, act: Act, die: SeededDie) -> MempoolNetwork:
    """After an act whose choices are drawn; as it was where the act cannot happen."""
    move = drawn(network, act, die)
    return move.after if move is not None else network


def _rested(network: MempoolNetwork, die: SeededDie) -> MempoolNetwork:
    """What waits is taken and what is pooled is offered, by whoever is drawn, till nothing is left to do."""
    for _ in range(MAX_DRAIN):
        acts = [act for node in network.joined() if (act := next_act(network, node)) is not None]
        if not acts:
            break
        network = _taken(network, die.pick(acts), die)
    return network


def _later(network: MempoolNetwork, die: SeededDie) -> MempoolNetwork:
    """Every controller has looked at its counters, and requests that nobody answered have expired."""
    for node in network.joined():
        if "adjust" in network.nodes[node].protocol.handlers:
            network = _taken(network, Act("adjust", node), die)
    network = _rested(network, die)
    for _ in range(WAITS):
        waits = _waits(network)
        if not waits:
            break
        for node, ms in waits.items():
            network = _taken(network, Act("wait", node, value=ms), die)
        network = _rested(network, die)
    return network


def _waits(network: MempoolNetwork) -> Mapping[Peer, int]:
    """Who waits for an answer, and how long the first of its requests has left, in ms."""
    due_ms = {
        node: [each.due_ms for each in n.wanted.values() if each.of is not None]
        for node, n in network.nodes.items()
        if "tick" in n.protocol.handlers and n.peers
    }
    return {node: max(1, min(each) - network.nodes[node].now_ms) for node, each in due_ms.items() if each}


# -- what nodes read of each other ------------------------------------------------------------------------


def read_by(codecs: Mapping[Peer, str]) -> Read | None:
    """What each node makes of the messages of another, by the names of their protocols; None where all have
    one codec, so that each reads what was written."""
    if len({_kind(name) for name in codecs.values()}) == 1:
        return None
    return lambda writer, reader, part: carried(codecs[writer], codecs[reader], part)


def _kind(protocol: str) -> str:
    codec = codec_of(protocol)
    return "mempool" if isinstance(codec, MempoolCodec) else protocol


@lru_cache(maxsize=1000)
def carried(writer: str, reader: str, part: Part) -> tuple[Part, ...] | None:
    """What a reader of one protocol makes of a message of another; None where it closes the connection."""
    if _kind(writer) == _kind(reader):
        return (part,)
    channel, data = codec_of(writer).encode(part)
    codec: Any = codec_of(reader)
    name = getattr(part, "id", "")
    if name:
        # Known to the reader by its symbol; the key alone would tell nothing of it.
        codec.tx_bytes(name)
    if isinstance(codec, MempoolCodec) and channel != TX_CHANNEL and len(data) > _longest():
        return None
    try:
        return tuple(getattr(codec, "read", codec.decode)(channel, data))
    except ValueError:
        return None


@lru_cache
def _longest() -> int:
    """Bytes of the longest control message that a node of Flood or DOG takes."""
    return len(MempoolCodec().encode(HaveTx("t1"))[1])


_MIXED: Mapping[str, MixedFamily] = {
    "pubsub": MixedFamily(_routers, lambda names: None, _message_reaches_all),
    "mempool": MixedFamily(_nodes, read_by, _transactions_reach_all),
}
