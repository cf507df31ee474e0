"""Parameters of the peer score, under the names of gossipsub v1.1 ("Overview of New Parameters"); units last.

The text has no defaults for them. Those here switch a term off: a weight of zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from attrs import fields, frozen

MAX_TOPICS = 1024


@frozen(kw_only=True)
class TopicScoreParameters:
    """Of one topic. A topic without them counts for nothing in a score."""

    topic: str
    """Its name."""
    topic_weight: float = 1.0
    """How much the topic counts in the score."""
    time_in_mesh_weight: float = 0.0
    """P1: how much the time in the mesh counts."""
    time_in_mesh_quantum_ms: int = 1000
    """P1: the unit in which the time in the mesh is counted."""
    time_in_mesh_cap: float = 10.0
    """P1: how many units of time in the mesh count at most."""
    first_message_deliveries_weight: float = 0.0
    """P2: how much being first with a message counts."""
    first_message_deliveries_decay: float = 0.5
    """P2: by what the counter of first deliveries is multiplied at each decay."""
    first_message_deliveries_cap: float = 10.0
    """P2: how many first deliveries count at most."""
    mesh_message_deliveries_weight: float = 0.0
    """P3: how much a member loses that delivers too few messages."""
    mesh_message_deliveries_decay: float = 0.5
    """P3: by what the counter of mesh deliveries is multiplied at each decay."""
    mesh_message_deliveries_cap: float = 10.0
    """P3: how many mesh deliveries are counted at most."""
    mesh_message_deliveries_threshold: float = 1.0
    """P3: how many deliveries a member owes."""
    mesh_message_deliveries_window_ms: int = 10
    """P3: how long after the first copy another one still counts as a delivery."""
    mesh_message_deliveries_activation_ms: int = 1000
    """P3: how long a peer is a member before it owes deliveries."""
    mesh_failure_penalty_weight: float = 0.0
    """P3b: how much a pruned member loses for the deliveries that it owed."""
    mesh_failure_penalty_decay: float = 0.5
    """P3b: by what that penalty is multiplied at each decay."""
    invalid_message_deliveries_weight: float = 0.0
    """P4: how much a peer loses for invalid messages."""
    invalid_message_deliveries_decay: float = 0.5
    """P4: by what the counter of invalid messages is multiplied at each decay."""

    def __attrs_post_init__(self) -> None:
        _refuse(f"score parameters of topic {self.topic!r}", _faults_of_topic(self))


@frozen(kw_only=True)
class ScoreParameters:
    """Of one router. Raises ValueError that names each parameter at fault, its value and what it may be."""

    topics: tuple[TopicScoreParameters, ...] = ()
    """The topics that count in the score, each with its parameters."""
    topic_score_cap: float = 0.0
    """What all topics together add at most; 0 for no cap. It bounds from above alone."""
    app_specific_weight: float = 1.0
    """P5: how much the application's score counts."""
    ip_colocation_factor_weight: float = 0.0
    """P6: how much peers lose that share an IP address."""
    ip_colocation_factor_threshold: int = 1
    """P6: how many peers may share an IP address."""
    behaviour_penalty_weight: float = 0.0
    """P7: how much a peer loses for breaking the protocol."""
    behaviour_penalty_decay: float = 0.5
    """P7: by what the behaviour penalty is multiplied at each decay."""
    decay_interval_ms: int = 1000
    """Counters decay at each multiple of it from the router's start; before a heartbeat of that instant."""
    decay_to_zero: float = 0.01
    """Smaller counters are set to zero."""
    retain_score_ms: int = 10_000
    """How long the score of a disconnected peer is kept."""
    iwant_followup_ms: int = 3000
    """How long a message that was asked for by IWANT may take; the text names the period and gives no value.
    """

    def __attrs_post_init__(self) -> None:
        names = [each.topic for each in self.topics]
        twice = sorted({n for n in names if names.count(n) > 1}) if len(names) <= MAX_TOPICS else []
        faults = [*_faults_of_router(self), *(f"topic {name!r} is there twice" for name in twice)]
        _refuse("score parameters", faults)

    def of(self, topic: str) -> TopicScoreParameters | None:
        """Those of one topic, or None where it counts for nothing."""
        return next((each for each in self.topics if each.topic == topic), None)


def _refuse(what: str, faults: Iterator[str] | list[str]) -> None:
    found = list(faults)
    if found:
        raise ValueError(f"{what}: {'; '.join(found)}")


def _not_finite(given: TopicScoreParameters | ScoreParameters) -> Iterator[str]:
    for each in fields(type(given)):
        value = getattr(given, each.name)
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{each.name} must be a finite number, got {value}"


def _faults_of_topic(p: TopicScoreParameters) -> Iterator[str]:
    yield from _not_finite(p)
    for name in ("topic_weight", "time_in_mesh_weight", "first_message_deliveries_weight"):
        if getattr(p, name) < 0:
            yield f"{name} must be 0 or more, got {getattr(p, name)}"
    for name in (
        "mesh_message_deliveries_weight",
        "mesh_failure_penalty_weight",
        "invalid_message_deliveries_weight",
    ):
        if getattr(p, name) > 0:
            yield f"{name} must be 0 or less, got {getattr(p, name)}"
    for name in ("time_in_mesh_cap", "first_message_deliveries_cap", "mesh_message_deliveries_threshold"):
        if not getattr(p, name) > 0:
            yield f"{name} must be above 0, got {getattr(p, name)}"
    if p.time_in_mesh_quantum_ms < 1:
        yield f"time_in_mesh_quantum_ms must be 1 or more, got {p.time_in_mesh_quantum_ms}"
    for name in ("mesh_message_deliveries_window_ms", "mesh_message_deliveries_activation_ms"):
        if getattr(p, name) < 0:
            yield f"{name} must be 0 or more, got {getattr(p, name)}"
    cap, threshold = p.mesh_message_deliveries_cap, p.mesh_message_deliveries_threshold
    if cap < threshold:
        yield f"mesh_message_deliveries_cap must be at least the threshold {threshold}, got {cap}"
    yield from _not_decays(p)


def _not_decays(given: TopicScoreParameters | ScoreParameters) -> Iterator[str]:
    for each in fields(type(given)):
        if each.name.endswith("_decay") and not 0 < getattr(given, each.name) < 1:
            yield f"{each.name} must be between 0 and 1, got {getattr(given, each.name)}"


def _faults_of_router(p: ScoreParameters) -> Iterator[str]:
    yield from _not_finite(p)
    if len(p.topics) > MAX_TOPICS:
        yield f"at most {MAX_TOPICS} topics, got {len(p.topics)}"
    if p.topic_score_cap < 0:
        yield f"topic_score_cap must be 0 (none) or more, got {p.topic_score_cap}"
    if not p.app_specific_weight > 0:
        yield f"app_specific_weight must be above 0, got {p.app_specific_weight}"
    for name in ("ip_colocation_factor_weight", "behaviour_penalty_weight"):
        if getattr(p, name) > 0:
            yield f"{name} must be 0 or less, got {getattr(p, name)}"
    if p.ip_colocation_factor_threshold < 1:
        yield f"ip_colocation_factor_threshold must be 1 or more, got {p.ip_colocation_factor_threshold}"
    if p.decay_interval_ms < 1:
        yield f"decay_interval_ms must be 1 or more, got {p.decay_interval_ms}"
    if not 0 < p.decay_to_zero < 1:
        yield f"decay_to_zero must be between 0 and 1, got {p.decay_to_zero}"
    for name in ("retain_score_ms", "iwant_followup_ms"):
        if getattr(p, name) < 0:
            yield f"{name} must be 0 or more, got {getattr(p, name)}"
    yield from _not_decays(p)
