"""Whom our router publishes to in topics that it is not in: gossipsub v1.0, "Fanout Maintenance"."""

from __future__ import annotations

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.model.rpc import Peer


class Fanout:
    """Topic -> peers, for topics that we published in and are not in."""

    def __init__(self, core: RouterCore) -> None:
        self.core = core
        self.of: dict[str, set[Peer]] = {}
        self.published_ms: dict[str, int] = {}

    def for_publish(self, topic: str) -> set[Peer]:
        """Those of before, or if there are none up to D members, who are remembered."""
        if not self.of.get(topic):
            self.of[topic] = set(self.core.some(self.eligible(topic), self.core.parameters.d))
        if not self.of[topic]:
            # With nobody to remember there is nothing to keep up.
            self.take(topic)
            return set()
        self.published_ms[topic] = self.core.now_ms
        return self.of[topic]

    def take(self, topic: str) -> set[Peer]:
        """On Join: the topic has a mesh from now on."""
        self.published_ms.pop(topic, None)
        return self.of.pop(topic, set())

    def heartbeat(self) -> None:
        """Topics that we fell silent in are dropped, the others brought up to D."""
        for topic in sorted(self.of):
            if self.is_over(self.core.now_ms - self.published_ms[topic]):
                self.take(topic)
                continue
            peers = self.of[topic]
            peers -= {p for p in peers if self.is_unfit(p)}
            missing = self.core.parameters.d - len(peers)
            if missing > 0:
                peers.update(self.core.some(self.eligible(topic) - peers, missing))

    def is_over(self, silent_ms: int) -> bool:
        return silent_ms > self.core.parameters.fanout_ttl_ms

    def eligible(self, topic: str) -> set[Peer]:
        """Gossipsub peers in the topic. Explicit ones get the message anyway."""
        return {p for p in self.core.speakers(topic) if not self.is_unfit(p)}

    def is_unfit(self, peer: Peer) -> bool:
        core = self.core
        return core.is_explicit(peer) or core.score(peer) < core.parameters.publish_threshold

    def quit(self, peer: Peer, topic: str) -> None:
        """The peer left the topic."""
        if topic in self.of:
            self.of[topic].discard(peer)

    def forget(self, peer: Peer) -> None:
        """The peer is gone."""
        for peers in self.of.values():
            peers.discard(peer)
