"""What holds of every output of a mempool node: its bytes, and the order of what it sends to one peer.

No rule fires for these and no permit bears them, so here is when they applied, and who breaks the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.model.events import Event, Output, Raw, Sent
from quidnunc.model.node import Node
from quidnunc.model.rpc import Fault, HaveTx, Peer, ResetRoute, SeenTx, Stray, Tx, WantTx
from quidnunc.model.rules import Protocol

MALFORMED = "flood/rpc.malformed"
ORDER = "flood/send.pool-order"
CHANNELS = {"cat": "cat/rpc.channels", "cat-classic": "cat-classic/rpc.channels"}
KEYS = {"cat": "cat/rpc.key-length", "cat-classic": "cat-classic/rpc.key-length"}
DOG_CHANNEL = "dog/rpc.control-channel"
SIGNER = "cat/seen.signer"


def kind_of(protocol: Protocol) -> str:
    """`cat`, `cat-classic`, `dog` or `flood`, by what it has rules for."""
    if "seen_tx" in protocol.handlers:
        return "cat" if "arrived" in protocol.handlers else "cat-classic"
    return "dog" if "adjust" in protocol.handlers else "flood"


def clauses_of(protocol: Protocol) -> frozenset[str]:
    """Those that hold of every output of a node of that protocol."""
    match kind_of(protocol):
        case "dog":
            return frozenset({MALFORMED, ORDER, DOG_CHANNEL})
        case "flood":
            return frozenset({MALFORMED, ORDER})
        case kind:
            found = {MALFORMED, CHANNELS[kind], KEYS[kind]}
            return frozenset(found | {SIGNER} if kind == "cat" else found)


def applied(n: Node, event: Event, outputs: Sequence[Output]) -> Iterator[str]:
    """Those for which there was an occasion. `n` is the node before the event."""
    if isinstance(event, Raw):
        yield MALFORMED
    kind = kind_of(n.protocol)
    parts = [o.part for o in outputs if isinstance(o, Sent)]
    if kind == "dog" and any(isinstance(part, (HaveTx, ResetRoute)) for part in parts):
        yield DOG_CHANNEL
    if kind in CHANNELS and any(isinstance(part, (SeenTx, WantTx)) for part in parts):
        yield CHANNELS[kind]
        yield KEYS[kind]
    if kind == "cat" and any(isinstance(part, SeenTx) for part in parts):
        yield SIGNER
    if any(len(txs) > 1 for txs in _txs_to(outputs).values()) and kind in ("dog", "flood"):
        yield ORDER


def out_of_order(after: Node, outputs: Sequence[Output]) -> list[tuple[Peer, str, str]]:
    """(peer, sent first, sent second) where the second stands before the first in the pool."""
    if kind_of(after.protocol) not in ("dog", "flood"):
        return []
    place = {tx: at for at, tx in enumerate(after.pool)}
    found = []
    for peer, txs in _txs_to(outputs).items():
        known = [tx for tx in txs if tx in place]
        found += [(peer, a, b) for a, b in zip(known, known[1:], strict=False) if place[a] > place[b]]
    return found


def _txs_to(outputs: Sequence[Output]) -> dict[Peer, list[str]]:
    found: dict[Peer, list[str]] = {}
    for output in outputs:
        if isinstance(output, Sent) and isinstance(output.part, Tx):
            found.setdefault(output.peer, []).append(output.part.id)
    return found


def stray_clause(n: Node, stray: Stray) -> str:
    """The clause that a message breaks by its bytes."""
    fault: Fault = stray.fault
    kind = kind_of(n.protocol)
    if fault == "signer":
        return SIGNER
    if fault == "bytes":
        return CHANNELS.get(kind, "flood/rpc.txs-only")
    if fault == "key":
        return KEYS.get(kind, "dog/havetx.reply")
    return CHANNELS.get(kind, DOG_CHANNEL if kind == "dog" else "flood/rpc.txs-only")
