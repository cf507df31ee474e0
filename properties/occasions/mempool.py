"""What a step of a mempool node must be for a clause to apply that holds of every output.

No rule fires for these and no permit bears them: the bytes, and the order of what is sent to one peer.
"""

from __future__ import annotations

from collections.abc import Sequence

from quidnunc.model.events import Output, Raw, Sent
from quidnunc.model.mempool.flood import IN_ANY_ORDER
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.occasions.occasion import ObservedStep, of_family


def kind_of(protocol: Protocol) -> str:
    """`cat`, `cat-classic`, `dog` or `flood`, by what it has rules for."""
    if "seen_tx" in protocol.handlers:
        return "cat" if "arrived" in protocol.handlers else "cat-classic"
    return "dog" if "adjust" in protocol.handlers else "flood"


every_node = of_family("mempool")


def in_pool_order(protocol: Protocol) -> bool:
    kept = IN_ANY_ORDER not in protocol.features
    return kept and every_node(protocol) and kind_of(protocol) in ("dog", "flood")


def of_dog(protocol: Protocol) -> bool:
    return every_node(protocol) and kind_of(protocol) == "dog"


def of_cat_classic(protocol: Protocol) -> bool:
    return every_node(protocol) and kind_of(protocol) == "cat-classic"


def of_cat(protocol: Protocol) -> bool:
    return every_node(protocol) and kind_of(protocol) == "cat"


def malformed(s: ObservedStep) -> bool:
    return isinstance(s.event, Raw)


def sends_control_of_dog(s: ObservedStep) -> bool:
    return of_dog(s.state.protocol) and any(isinstance(o.part, HaveTx | ResetRoute) for o in s.sent)


def names_tx_in_classic(s: ObservedStep) -> bool:
    return of_cat_classic(s.state.protocol) and any(isinstance(o.part, SeenTx | WantTx) for o in s.sent)


def names_tx_in_cat(s: ObservedStep) -> bool:
    return of_cat(s.state.protocol) and any(isinstance(o.part, SeenTx | WantTx) for o in s.sent)


def announces_in_cat(s: ObservedStep) -> bool:
    return of_cat(s.state.protocol) and any(isinstance(o.part, SeenTx) for o in s.sent)


def sends_several(s: ObservedStep) -> bool:
    """A peer is sent more than one transaction, so that there is an order."""
    return in_pool_order(s.state.protocol) and any(len(txs) > 1 for txs in txs_to(s.sent).values())


def txs_to(outputs: Sequence[Output]) -> dict[Peer, list[str]]:
    """Peer -> the transactions that it is sent, in order."""
    found: dict[Peer, list[str]] = {}
    for output in outputs:
        if isinstance(output, Sent) and isinstance(output.part, Tx):
            found.setdefault(output.peer, []).append(output.part.id)
    return found
