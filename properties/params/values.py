"""Parameters of a network's peer score, exact: what `quidnunc params` reasons about.

The names are those of gossipsub v1.1, units last. Unlike the parameters of a router
(`quidnunc.model.score_parameters`) these may be such as a router refuses, because published ones are; what a
router would refuse is said beside the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from attrs import field, fields, frozen

from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters

MAX_TOPICS = 1024
"""Of all counts together."""

ZERO = Fraction(0)
ONE = Fraction(1)


@frozen(kw_only=True)
class TopicParameters:
    """One topic, or `count` topics alike. A weight of zero switches a term off."""

    name: str
    count: int = 1
    topic_weight: Fraction = ZERO
    time_in_mesh_weight: Fraction = ZERO
    time_in_mesh_quantum_ms: Fraction = ONE
    time_in_mesh_cap: Fraction = ZERO
    first_message_deliveries_weight: Fraction = ZERO
    first_message_deliveries_decay: Fraction = ZERO
    first_message_deliveries_cap: Fraction = ZERO
    mesh_message_deliveries_weight: Fraction = ZERO
    mesh_message_deliveries_decay: Fraction = ZERO
    mesh_message_deliveries_cap: Fraction = ZERO
    mesh_message_deliveries_threshold: Fraction = ZERO
    mesh_message_deliveries_window_ms: Fraction = ZERO
    mesh_message_deliveries_activation_ms: Fraction = ZERO
    mesh_failure_penalty_weight: Fraction = ZERO
    mesh_failure_penalty_decay: Fraction = ZERO
    invalid_message_deliveries_weight: Fraction = ZERO
    invalid_message_deliveries_decay: Fraction = ZERO
    messages_per_interval: Fraction | None = None
    """Valid messages of the topic per decay interval, where the operator knows."""

    @property
    def greatest(self) -> Fraction:
        """The most that the topic can add: P1 and P2 at their caps, nothing held against the peer."""
        of_time = self.time_in_mesh_weight * self.time_in_mesh_cap
        of_firsts = self.first_message_deliveries_weight * self.first_message_deliveries_cap
        return self.topic_weight * (of_time + of_firsts)

    @property
    def deficit(self) -> Fraction:
        """Of a member that delivers nothing, squared."""
        return max(ZERO, self.mesh_message_deliveries_threshold) ** 2


@frozen(kw_only=True)
class MeshParameters:
    """What of the router's other parameters counts when two configurations meet; None is not said."""

    d: int | None = None
    d_low: int | None = None
    d_high: int | None = None
    d_lazy: int | None = None
    heartbeat_interval_ms: Fraction | None = None
    prune_backoff_ms: Fraction | None = None
    unsubscribe_backoff_ms: Fraction | None = None
    mcache_len: int | None = None
    mcache_gossip: int | None = None
    seen_ttl_ms: Fraction | None = None
    max_ihave_messages: int | None = None
    max_ihave_length: int | None = None
    max_idontwant_messages: int | None = None
    max_idontwant_length: int | None = None
    gossip_retransmission: int | None = None
    iwant_followup_ms: Fraction | None = None
    max_message_bytes: int | None = None


@frozen(kw_only=True)
class NetworkParameters:
    """The score parameters of one network."""

    name: str
    topics: tuple[TopicParameters, ...]
    topic_score_cap: Fraction = ZERO
    """0: none."""
    app_specific_weight: Fraction = ZERO
    ip_colocation_factor_weight: Fraction = ZERO
    ip_colocation_factor_threshold: int = 1
    behaviour_penalty_weight: Fraction = ZERO
    behaviour_penalty_threshold: Fraction = ZERO
    """Of go-libp2p-pubsub alone: what the counter may come to without a penalty."""
    behaviour_penalty_decay: Fraction = ZERO
    decay_interval_ms: Fraction = field(default=Fraction(1000))
    decay_to_zero: Fraction = Fraction(1, 100)
    retain_score_ms: Fraction | None = None
    """None where the file does not say; Go has 0 then."""
    gossip_threshold: Fraction | None = None
    publish_threshold: Fraction | None = None
    graylist_threshold: Fraction | None = None
    mesh: MeshParameters = MeshParameters()

    def each(self) -> Iterator[TopicParameters]:
        """Every topic as often as it is there."""
        for topic in self.topics:
            yield from (topic for _ in range(topic.count))

    @property
    def greatest(self) -> Fraction:
        """The most that all topics together can come to before the cap."""
        return sum((topic.count * topic.greatest for topic in self.topics), ZERO)

    def intervals(self, ms: Fraction) -> Fraction:
        """A duration in decay intervals."""
        return ms / self.decay_interval_ms

    def topic(self, name: str) -> TopicParameters:
        """The topic of that name. Raises KeyError."""
        for topic in self.topics:
            if topic.name == name:
                return topic
        raise KeyError(name)


def decimal(value: Fraction, digits: int = 6) -> str:
    """A number for people: exact where it is short, otherwise with so many digits and `~`."""
    scaled = value * 10**digits
    if scaled.denominator != 1:
        return f"~{float(value):.{digits}g}"
    text = f"{scaled.numerator / 10**digits:.{digits}f}".rstrip("0").rstrip(".")
    return text if text not in ("-0", "") else "0"


def for_router(network: NetworkParameters) -> ScoreParameters:
    """The same for a router of ours, each topic of a count under a name of its own, all in floats.

    Raises ValueError that names the parameters which a router refuses.
    """
    topics = []
    for topic in network.topics:
        for number in range(topic.count):
            name = topic.name if topic.count == 1 else f"{topic.name}{number + 1}"
            topics.append(_topic_for_router(topic, name))
    return ScoreParameters(
        topics=tuple(topics),
        topic_score_cap=float(network.topic_score_cap),
        app_specific_weight=float(network.app_specific_weight) or 1.0,
        ip_colocation_factor_weight=float(network.ip_colocation_factor_weight),
        ip_colocation_factor_threshold=network.ip_colocation_factor_threshold,
        behaviour_penalty_weight=float(network.behaviour_penalty_weight),
        behaviour_penalty_decay=_decay(network.behaviour_penalty_decay),
        decay_interval_ms=int(network.decay_interval_ms),
        decay_to_zero=float(network.decay_to_zero),
        retain_score_ms=int(network.retain_score_ms or 0),
    )


ALMOST = 1 - 2**-20
"""What stands for a factor of 1, which no router takes; and with its difference to 1 for a factor of 0."""


def _decay(value: Fraction) -> float:
    return min(max(float(value), 1 - ALMOST), ALMOST)


def _topic_for_router(topic: TopicParameters, name: str) -> TopicScoreParameters:
    values: dict[str, float | int] = {}
    off = not topic.mesh_message_deliveries_weight
    for each in fields(TopicScoreParameters):
        if each.name == "topic":
            continue
        value: Fraction = getattr(topic, each.name)
        if each.name.endswith("_ms"):
            values[each.name] = max(int(value), 1) if "quantum" in each.name else int(value)
        elif each.name.endswith("_decay"):
            values[each.name] = _decay(value)
        else:
            values[each.name] = float(value)
    if off and not topic.mesh_message_deliveries_threshold:
        # A term that is off needs a threshold all the same.
        values["mesh_message_deliveries_threshold"] = 1.0
        values["mesh_message_deliveries_cap"] = max(1.0, float(topic.mesh_message_deliveries_cap))
    for cap in ("time_in_mesh_cap", "first_message_deliveries_cap"):
        values[cap] = values[cap] or 1.0
    return TopicScoreParameters(topic=name, **values)  # type: ignore[arg-type]
