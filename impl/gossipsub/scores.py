"""The peer score of our router, in floats. gossipsub v1.1, "The Score Function".

Written from that text and not from our model of it, which tests it. Where the text leaves a choice: a GRAFT
inside the backoff is penalised; a bad signature and a refused copy count as invalid; every prune with a
deficit counts, whoever sent it; counters rest while a peer is away.
"""

from __future__ import annotations

from attrs import define, field

from quidnunc.model.rpc import Peer
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters

MAX_REMEMBERED = 4096
"""Peers that are gone and not forgotten; beyond it the one that left first is."""


@define(eq=False)
class TopicRecord:
    """What one peer did in one topic."""

    grafted_ms: int | None = None
    in_mesh_ms: int = 0
    """As of the last decay."""
    first_deliveries: float = 0.0
    mesh_deliveries: float = 0.0
    failures: float = 0.0
    invalid: float = 0.0


@define(eq=False)
class PeerRecord:
    """What one peer did."""

    topics: dict[str, TopicRecord] = field(factory=dict)
    misbehaved: float = 0.0
    address: int = 0
    left_ms: int | None = None
    """When it disconnected, if it is gone."""


class ScoreKeeper:
    """Counters of every peer, and the score that they come to."""

    def __init__(self, parameters: ScoreParameters) -> None:
        self.parameters = parameters
        self.of_topic = {each.topic: each for each in parameters.topics}
        self.records: dict[Peer, PeerRecord] = {}

    # -- the score ---------------------------------------------------------------------------------------

    def score(self, peer: Peer, application: float) -> float:
        p, record = self.parameters, self.records.get(peer)
        total = p.app_specific_weight * application
        if record is None:
            return total
        total += self.capped(sum(self.in_topic(self.of_topic[t], s) for t, s in record.topics.items()))
        total += p.ip_colocation_factor_weight * self.squared(self.surplus(record.address))
        return total + p.behaviour_penalty_weight * self.squared(record.misbehaved)

    def capped(self, topics: float) -> float:
        cap = self.parameters.topic_score_cap
        return min(topics, cap) if cap else topics

    def in_topic(self, p: TopicScoreParameters, s: TopicRecord) -> float:
        value = p.first_message_deliveries_weight * s.first_deliveries
        if s.grafted_ms is not None:
            value += p.time_in_mesh_weight * self.quanta(p, s)
            value += p.mesh_message_deliveries_weight * self.squared(self.deficit(p, s))
        value += p.mesh_failure_penalty_weight * s.failures
        value += p.invalid_message_deliveries_weight * self.squared(s.invalid)
        return value * p.topic_weight

    def squared(self, value: float) -> float:
        return value * value

    def quanta(self, p: TopicScoreParameters, s: TopicRecord) -> float:
        return min(float(s.in_mesh_ms // p.time_in_mesh_quantum_ms), p.time_in_mesh_cap)

    def deficit(self, p: TopicScoreParameters, s: TopicRecord) -> float:
        """What is missing to the threshold of deliveries, once the member has been there for long enough."""
        if not self.is_active(p, s):
            return 0.0
        return max(0.0, p.mesh_message_deliveries_threshold - s.mesh_deliveries)

    def is_active(self, p: TopicScoreParameters, s: TopicRecord) -> bool:
        return s.grafted_ms is not None and s.in_mesh_ms > p.mesh_message_deliveries_activation_ms

    def surplus(self, address: int) -> int:
        """Peers at this address beyond the threshold; those that are gone are not there."""
        if not address:
            return 0
        there = sum(r.address == address and r.left_ms is None for r in self.records.values())
        return max(0, there - self.parameters.ip_colocation_factor_threshold)

    # -- what happens ------------------------------------------------------------------------------------

    def connected(self, peer: Peer, address: int) -> None:
        record = self.records.setdefault(peer, PeerRecord())
        record.address, record.left_ms = address, None

    def disconnected(self, peer: Peer, now_ms: int) -> None:
        """It is remembered for a while."""
        record = self.records.get(peer)
        if record is None:
            return
        for topic in record.topics:
            self.pruned(peer, topic)
        record.left_ms = now_ms
        gone = [p for p, r in self.records.items() if r.left_ms is not None]
        if len(gone) > MAX_REMEMBERED:
            del self.records[min(gone, key=lambda p: self.records[p].left_ms or 0)]

    def grafted(self, peer: Peer, topic: str, now_ms: int) -> None:
        """It came into the mesh."""
        s = self._counters(peer, topic)
        if s is not None and s.grafted_ms is None:
            s.grafted_ms, s.in_mesh_ms = now_ms, 0

    def pruned(self, peer: Peer, topic: str) -> None:
        """It left the mesh, its deficit with it."""
        s = self._counters(peer, topic)
        if s is not None and s.grafted_ms is not None:
            s.failures += self.squared(self.deficit(self.of_topic[topic], s))
            s.grafted_ms, s.in_mesh_ms = None, 0

    def first_delivery(self, peer: Peer, topic: str) -> None:
        """It was the first to bring a good message."""
        s = self._counters(peer, topic)
        if s is not None:
            s.first_deliveries = min(
                s.first_deliveries + 1, self.of_topic[topic].first_message_deliveries_cap
            )

    def mesh_delivery(self, peer: Peer, topic: str) -> None:
        """A mesh member brought a good message first, or nearly so."""
        s = self._counters(peer, topic)
        if s is not None:
            s.mesh_deliveries = min(s.mesh_deliveries + 1, self.of_topic[topic].mesh_message_deliveries_cap)

    def invalid_message(self, peer: Peer, topic: str) -> None:
        s = self._counters(peer, topic)
        if s is not None:
            s.invalid += 1

    def misbehaved(self, peer: Peer, times: int = 1) -> None:
        """It broke a promise, or grafted too early."""
        record = self.records.get(peer)
        if record is not None:
            record.misbehaved += times

    # -- time --------------------------------------------------------------------------------------------

    def decay(self, now_ms: int) -> None:
        """Every counter shrinks, and the time in the mesh is read off."""
        for peer, record in tuple(self.records.items()):
            if record.left_ms is not None:
                if now_ms - record.left_ms > self.parameters.retain_score_ms:
                    del self.records[peer]
                continue
            record.misbehaved = self.shrunk(record.misbehaved, self.parameters.behaviour_penalty_decay)
            for topic, s in record.topics.items():
                self.decay_topic(self.of_topic[topic], s, now_ms)

    def decay_topic(self, p: TopicScoreParameters, s: TopicRecord, now_ms: int) -> None:
        if s.grafted_ms is not None:
            s.in_mesh_ms = now_ms - s.grafted_ms
        s.first_deliveries = self.shrunk(s.first_deliveries, p.first_message_deliveries_decay)
        s.mesh_deliveries = self.shrunk(s.mesh_deliveries, p.mesh_message_deliveries_decay)
        s.failures = self.shrunk(s.failures, p.mesh_failure_penalty_decay)
        s.invalid = self.shrunk(s.invalid, p.invalid_message_deliveries_decay)

    def shrunk(self, counter: float, factor: float) -> float:
        left = counter * factor
        return left if left >= self.parameters.decay_to_zero else 0.0

    def _counters(self, peer: Peer, topic: str) -> TopicRecord | None:
        """None where the topic does not count, or the peer is unknown."""
        record = self.records.get(peer)
        if record is None or not self.counts(topic):
            return None
        return record.topics.setdefault(topic, TopicRecord())

    def counts(self, topic: str) -> bool:
        """A topic without parameters adds nothing to a score."""
        return topic in self.of_topic
