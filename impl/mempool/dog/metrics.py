"""What ADR-119 has an operator look at: three metrics of the mempool, and the bytes by type of message."""

from __future__ import annotations

from collections import Counter

TYPES = {0x0A: "Txs", 0x12: "HaveTx", 0x1A: "ResetRoute"}
"""By the first byte of a message: the key of its one field."""


class DogMetrics:
    """`disabled_routes` is set after HaveTx, ResetRoute and a loss, `redundancy` where something came."""

    def __init__(self) -> None:
        self.already_received_txs = 0
        self.disabled_routes = 0
        self.redundancy = 0.0
        self._sent: Counter[str] = Counter()
        self._received: Counter[str] = Counter()

    def sent(self, data: bytes) -> None:
        self._sent[type_of(data)] += len(data)

    def received(self, data: bytes) -> None:
        self._received[type_of(data)] += len(data)

    def named(self) -> dict[str, object]:
        """Under the names of ADR-119; bytes by type of message."""
        return {
            "mempool.already_received_txs": self.already_received_txs,
            "mempool.disabled_routes": self.disabled_routes,
            "mempool.redundancy": self.redundancy,
            "p2p.message_send_bytes_total": dict(sorted(self._sent.items())),
            "p2p.message_receive_bytes_total": dict(sorted(self._received.items())),
        }


def type_of(data: bytes) -> str:
    """The type of one message; `unknown` for what is none."""
    return TYPES.get(data[0], "unknown") if data else "unknown"
