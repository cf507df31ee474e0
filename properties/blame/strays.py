"""Which clause a message of a mempool node breaks by its bytes."""

from __future__ import annotations

from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import Fault, Stray
from quidnunc.properties.occasions.mempool import kind_of

CHANNELS = {
    "cat": "cat/rpc.channels",
    "cat-classic": "cat-classic/rpc.channels",
    "dog": "dog/rpc.control-channel",
}
KEYS = {"cat": "cat/rpc.key-length", "cat-classic": "cat-classic/rpc.key-length"}


def stray_clause(n: Node, stray: Stray) -> str:
    """The clause that a message breaks by its bytes."""
    fault: Fault = stray.fault
    kind = kind_of(n.protocol)
    if fault == "signer":
        return "cat/seen.signer"
    if fault == "key":
        return KEYS.get(kind, "dog/havetx.reply")
    # What is no message at all breaks nothing of DOG's own channel.
    own_channel = kind in CHANNELS and not (fault == "bytes" and kind == "dog")
    return CHANNELS[kind] if own_channel else "flood/rpc.txs-only"
