"""Networks of mempool nodes of which some are OLD and some NEW: whether everybody gets every transaction.

The nodes are those of the model (`quidnunc.properties.mempool_network`). What one sends is put into bytes by
the codec of its own protocol and read by that of the other's: CAT's SeenTx is DOG's HaveTx, and what can not
be read closes the connection.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from quidnunc.impl.cat_codec import codec_of
from quidnunc.impl.mempool_codec import TX_CHANNEL, MempoolCodec
from quidnunc.model.mempool import started as started_alone
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, Peer
from quidnunc.model.rules import Protocol
from quidnunc.properties.mempool_network import Network, Rules, started, ways
from quidnunc.properties.mempool_network_acts import Act
from quidnunc.properties.network_runs import MAX_DRAIN, Seeded
from quidnunc.properties.sides import Side

TXS = 3
"""Transactions, one after another, each from another node: what the first ones teach of routes counts for
those after them."""
WAITS = 4
"""How often it is waited till requests expire, after each transaction."""


def setup(side: Side) -> tuple[Protocol, DogParameters]:
    """Protocol and parameters of the nodes of a side; with DOG switched off it is Flood."""
    parameters = side.parameters(DogParameters())
    return started_alone(side.protocol, parameters).protocol, parameters


def delivers(
    sides: Sequence[Side], links: Sequence[tuple[Peer, Peer]], newer: Sequence[bool], die: int
) -> bool:
    """Whether all nodes have all transactions in the end. Node i + 1 is of `sides[newer[i]]`."""
    setups = [setup(side) for side in sides]
    own = {at: setups[each] for at, each in enumerate(newer, 1)}
    codecs = {at: sides[each].base for at, each in enumerate(newer, 1)}
    network = started(Rules(*setups[0], read=read_by(codecs)), links, own=own)
    draw = Seeded(random.Random(die))
    txs = [f"t{number}" for number in range(1, TXS + 1)]
    for number, tx in enumerate(txs):
        publisher = 1 + (die + number) % len(newer)
        if publisher not in network.joined():
            return False
        network = _taken(network, Act("U", publisher, tx=tx), draw)
        network = _later(_rested(network, draw), draw)
    return all(n.knows(tx) for n in network.nodes.values() for tx in txs)


def _taken(network: Network, act: Act, draw: Seeded) -> Network:
    """After an act whose choices are drawn; as it was where the act can not happen."""
    taken = [moved for _, moved in ways(network, act)]
    return draw.pick(taken).network if taken else network


def _rested(network: Network, draw: Seeded) -> Network:
    """What waits is taken and what is pooled is offered, by whoever is drawn, till nothing is left to do."""
    for _ in range(MAX_DRAIN):
        acts = [act for node in network.joined() if (act := network.next_act(node)) is not None]
        if not acts:
            break
        network = _taken(network, draw.pick(acts), draw)
    return network


def _later(network: Network, draw: Seeded) -> Network:
    """Every controller has looked at its counters, and requests that nobody answered have expired."""
    for node in network.joined():
        if "adjust" in network.nodes[node].protocol.handlers:
            network = _taken(network, Act("A", node), draw)
    network = _rested(network, draw)
    for _ in range(WAITS):
        waits = _waits(network)
        if not waits:
            break
        for node, ms in waits.items():
            network = _taken(network, Act("W", node, ms=ms), draw)
        network = _rested(network, draw)
    return network


def _waits(network: Network) -> Mapping[Peer, int]:
    """Who waits for an answer, and how long the first of its requests has left, in ms."""
    due_ms = {
        node: [each.due_ms for each in n.wanted.values() if each.of is not None]
        for node, n in network.nodes.items()
        if "tick" in n.protocol.handlers and n.peers
    }
    return {node: max(1, min(each) - network.nodes[node].now_ms) for node, each in due_ms.items() if each}


# -- bytes --------------------------------------------------------------------------------------------------


def read_by(codecs: Mapping[Peer, str]) -> Callable[[Peer, Peer, Part], tuple[Part, ...] | None] | None:
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
        return tuple(codec.decode(channel, data))
    except ValueError:
        return None


@lru_cache
def _longest() -> int:
    """Bytes of the longest control message that a node of Flood or DOG takes."""
    return len(MempoolCodec().encode(HaveTx("t1"))[1])
