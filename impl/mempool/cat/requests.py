"""What a CAT node knows of others' transactions: who has which, and what it has asked for of whom."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.model.rpc import Peer

MAX_KEYS_PER_PEER = 10_000
"""Announcements of one peer that are kept; a peer could otherwise announce for ever."""

LATE_MS = 3_600_000
"""How long after its time is up an answer is still known for one."""


class TransactionHolders:
    """Key -> the connected peers that are known to have the transaction."""

    def __init__(self) -> None:
        self._of: dict[bytes, set[Peer]] = {}
        self._count: dict[Peer, int] = {}

    def of(self, key: bytes) -> frozenset[Peer]:
        return frozenset(self._of.get(key, ()))

    def has(self, peer: Peer, key: bytes) -> bool:
        return peer in self._of.get(key, ())

    def add(self, peer: Peer, key: bytes) -> bool:
        """Whether it is known now; False where the peer has announced too much."""
        if self.has(peer, key):
            return True
        if self._count.get(peer, 0) >= MAX_KEYS_PER_PEER:
            return False
        self._of.setdefault(key, set()).add(peer)
        self._count[peer] = self._count.get(peer, 0) + 1
        return True

    def forget_peer(self, peer: Peer) -> None:
        for key in [key for key, peers in self._of.items() if peer in peers]:
            self._of[key].discard(peer)
            if not self._of[key]:
                del self._of[key]
        self._count.pop(peer, None)

    def forget_key(self, key: bytes) -> None:
        for peer in self._of.pop(key, ()):
            self._count[peer] -= 1


class TransactionRequest:
    """One transaction that is wanted."""

    __slots__ = ("asked", "due_ms", "of")

    def __init__(self) -> None:
        self.of: Peer | None = None
        """Whom it waits for; None where nobody is left to ask."""
        self.due_ms = 0
        self.asked: dict[Peer, int] = {}
        """Who was asked on this connection, and when."""


class TransactionRequests:
    """At most one peer at a time is asked for one transaction."""

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._of: dict[bytes, TransactionRequest] = {}

    def is_open(self, key: bytes) -> bool:
        """Whether somebody is waited for."""
        request = self._of.get(key)
        return request is not None and request.of is not None

    def awaits(self, peer: Peer, key: bytes, now_ms: int) -> bool:
        """Whether what comes from `peer` now is an answer, late as it may be."""
        request = self._of.get(key)
        at_ms = None if request is None else request.asked.get(peer)
        return at_ms is not None and now_ms < at_ms + self.timeout_ms + LATE_MS

    def open(self, key: bytes, peer: Peer, now_ms: int) -> None:
        request = self._of.setdefault(key, TransactionRequest())
        request.of, request.due_ms = peer, now_ms + self.timeout_ms
        request.asked[peer] = now_ms

    def give_up(self, key: bytes) -> None:
        """Wait for nobody; who was asked is not forgotten."""
        self._of[key].of = None

    def close(self, key: bytes) -> None:
        self._of.pop(key, None)

    def forget_peer(self, peer: Peer) -> list[bytes]:
        """The keys that were waited for from `peer`."""
        orphaned = []
        for key, request in self._of.items():
            request.asked.pop(peer, None)
            if request.of == peer:
                request.of = None
                orphaned.append(key)
        return orphaned

    def next_due_ms(self) -> int | None:
        return min((r.due_ms for r in self._of.values() if r.of is not None), default=None)

    def late(self, now_ms: int) -> list[bytes]:
        return [key for key, r in self._of.items() if r.of is not None and r.due_ms <= now_ms]

    def __iter__(self) -> Iterator[tuple[bytes, TransactionRequest]]:
        return iter(self._of.items())
