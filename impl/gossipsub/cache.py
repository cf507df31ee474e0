"""What our router remembers of messages: ids that it saw, and messages that it can still give away.

gossipsub v1.0, "Message Cache".
"""

from __future__ import annotations

from collections import deque

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.rpc import Peer

MAX_SEEN = 1 << 17
MAX_CACHED_BYTES = 64 << 20


class SeenCache:
    """Ids, each for `ttl_ms` from its first receipt. A later copy does not renew it."""

    def __init__(self, ttl_ms: int) -> None:
        self.ttl_ms = ttl_ms
        self._since_ms: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._since_ms)

    def has(self, id_bytes: bytes, now_ms: int) -> bool:
        since_ms = self._since_ms.get(id_bytes)
        return since_ms is not None and now_ms < since_ms + self.ttl_ms

    def add(self, id_bytes: bytes, now_ms: int) -> None:
        """Note an id that is not in it. Entries stand in the order of their age, oldest first."""
        self._since_ms.pop(id_bytes, None)
        self._since_ms[id_bytes] = now_ms
        while len(self._since_ms) > MAX_SEEN:
            del self._since_ms[next(iter(self._since_ms))]

    def sweep(self, now_ms: int) -> None:
        """Forget what is over."""
        while self._since_ms:
            oldest = next(iter(self._since_ms))
            if self.has(oldest, now_ms):
                return
            del self._since_ms[oldest]


class MessageCache:
    """mcache: messages in windows of one heartbeat each, the present one first."""

    def __init__(self, windows: int, gossip_windows: int) -> None:
        self.gossip_windows = gossip_windows
        self._messages: dict[bytes, wire.Message] = {}
        self._windows: deque[dict[bytes, None]] = deque(({} for _ in range(windows)), maxlen=windows)
        self._served: dict[bytes, dict[Peer, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, id_bytes: bytes, message: wire.Message, windows_ago: int = 0) -> None:
        """Into the present window, or an earlier one if it is still there. A message that is in already is
        accepted again: it moves to that window, if it is a newer one."""
        newer = list(self._windows)[: windows_ago + 1]
        if windows_ago >= len(self._windows) or any(id_bytes in window for window in newer):
            return
        for window in self._windows:
            window.pop(id_bytes, None)
        self._windows[windows_ago][id_bytes] = None
        if id_bytes in self._messages:
            return
        self._messages[id_bytes] = message
        self._bytes += message.ByteSize()
        while self._bytes > MAX_CACHED_BYTES:
            self._drop(next(iter(self._messages)))

    def get(self, id_bytes: bytes) -> wire.Message | None:
        return self._messages.get(id_bytes)

    def gossip_ids(self, topic: str) -> list[bytes]:
        """Ids of `topic` in the newest windows, those to gossip about."""
        recent = list(self._windows)[: self.gossip_windows]
        return [i for window in recent for i in window if self._messages[i].topic == topic]

    def shift(self) -> None:
        """A new window; what was in the oldest one is gone."""
        for id_bytes in tuple(self._windows[-1]):
            self._drop(id_bytes)
        self._windows.appendleft({})

    def count_served(self, id_bytes: bytes, peer: Peer) -> int:
        """How often `peer` was given this message, this time included."""
        of_message = self._served.setdefault(id_bytes, {})
        of_message[peer] = of_message.get(peer, 0) + 1
        return of_message[peer]

    def _drop(self, id_bytes: bytes) -> None:
        self._bytes -= self._messages.pop(id_bytes).ByteSize()
        self._served.pop(id_bytes, None)
        for window in self._windows:
            window.pop(id_bytes, None)
