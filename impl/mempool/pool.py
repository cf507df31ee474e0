"""The transactions of a node: those in the pool, in order, and those it has merely seen."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.impl.wire import mempool_pb2
from quidnunc.model.rpc import Peer

MAX_POOL_BYTES = 64 << 20
MAX_SENDERS = 1024
"""Senders kept of one transaction; neighbours that come and go could otherwise grow the list for ever."""


class PoolEntry:
    """One transaction of the pool."""

    __slots__ = ("key", "position", "senders", "size", "wire")

    def __init__(self, key: bytes, tx: bytes, position: int) -> None:
        self.key = key
        self.position = position
        """Where it stands in the pool's order; positions are never used twice."""
        self.senders: dict[Peer, None] = {}
        """Who sent it, in order of arrival."""
        self.size = len(tx)
        self.wire = mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[tx])).SerializeToString()
        """The message that carries it alone, made once for all receivers."""


class TransactionPool:
    """Ordered, without repeats, of at most `size` entries, beside a cache of the last `cache_size` keys.

    It is full as well when its transactions come to `max_bytes`.
    """

    def __init__(self, size: int, cache_size: int, max_bytes: int = MAX_POOL_BYTES) -> None:
        self._size = size
        self._cache_size = cache_size
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: dict[bytes, PoolEntry] = {}
        self._cache: dict[bytes, None] = {}
        self.end = 0
        """The position that the next entry will have."""

    def __iter__(self) -> Iterator[PoolEntry]:
        return iter(self._entries.values())

    @property
    def full(self) -> bool:
        return len(self._entries) >= self._size or self._bytes >= self._max_bytes

    def get(self, key: bytes) -> PoolEntry | None:
        return self._entries.get(key)

    def known(self, key: bytes) -> bool:
        """In the pool or in the cache: a copy of it is a duplicate."""
        return key in self._entries or key in self._cache

    def touch(self, key: bytes) -> None:
        """Make `key` the freshest of the cache, which forgets the stalest when it is full."""
        cache = self._cache
        cache.pop(key, None)
        cache[key] = None
        if len(cache) > self._cache_size:
            del cache[next(iter(cache))]

    def add(self, key: bytes, tx: bytes) -> PoolEntry:
        entry = self._entries[key] = PoolEntry(key, tx, self.end)
        self.end += 1
        self._bytes += entry.size
        return entry

    def forget(self, key: bytes) -> None:
        """Take a transaction out, and let it be unknown."""
        self.remove(key)
        self._cache.pop(key, None)

    def remove(self, key: bytes) -> bool:
        """Take a committed transaction out, its senders with it; whether it was there."""
        entry = self._entries.pop(key, None)
        self._bytes -= entry.size if entry is not None else 0
        return entry is not None
