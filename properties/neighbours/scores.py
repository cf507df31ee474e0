"""Runs in which a router keeps scores: their parameters, and what their neighbours do more of.

Everything here is drawn from digits of its own, so that a run without score parameters is the run that it
was before there were any.
"""

from __future__ import annotations

from attrs import evolve

from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.neighbours.edges import WINDOWS, beside
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

CAPABILITY = "score-parameters"
EXCHANGE = "peer-exchange"
SALT = 0x5C0_8E5
CHANCE = 35
"""Of a hundred runs, so many have score parameters where the router takes them."""


def own_digits(d: SeededDraws) -> SeededDraws:
    """Digits that follow from `d` and take nothing of it."""
    return SeededDraws(d.state ^ SALT)


def with_scores(p: Parameters, own: SeededDraws, capabilities: frozenset[str]) -> Parameters:
    """`p` with score parameters, and with what lets them show."""
    manual = "verdict" in capabilities and own.chance(60)
    return evolve(
        p,
        scores=with_long_windows(draw_scores(own), own),
        validation="manual" if manual else "accept",
        flood_publish="flood-publish" in capabilities and own.chance(60),
        # Many messages come; what an IHAVE that must leave some out shows of its target is not the subject.
        max_ihave_length=5000,
        prune_peers=own.one_of((0, 0, 4, 16)) if EXCHANGE in capabilities else 0,
        accept_px_threshold=own.one_of((0.0, 2.0)),
    )


def draw_scores(d: SeededDraws) -> ScoreParameters:
    """Some terms on and some off, mostly in halves and quarters, whose sums floats have exactly."""
    topics = ("t1",) if d.chance(60) else ("t1", "t2")
    return ScoreParameters(
        topics=tuple(draw_topic(d, topic) for topic in topics),
        topic_score_cap=d.one_of((0.0, 0.0, 2.0, 5.0)),
        app_specific_weight=d.one_of((1.0, 0.5, 0.25)),
        ip_colocation_factor_weight=d.one_of((0.0, -1.0, -2.5)),
        ip_colocation_factor_threshold=d.one_of((1, 2)),
        behaviour_penalty_weight=d.one_of((0.0, -1.0, -4.0)),
        behaviour_penalty_decay=_factor(d),
        # None of them meets a heartbeat: which of the two comes first at one instant is nobody's to say.
        decay_interval_ms=d.one_of((400, 1000, 1000, 2000)),
        decay_to_zero=d.one_of((0.01, 0.1, 0.3)),
        retain_score_ms=d.one_of((3000, 6000)),
        iwant_followup_ms=d.one_of((1000, 3000)),
    )


LONG_WINDOW_MS = 1600
"""Another copy that comes half as late comes after a heartbeat, mostly."""


def with_long_windows(p: ScoreParameters, d: SeededDraws) -> ScoreParameters:
    """`p`, in some runs with windows for near-first deliveries that heartbeats fall into."""
    if not beside(d, WINDOWS).chance(40):
        return p
    topics = (evolve(each, mesh_message_deliveries_window_ms=LONG_WINDOW_MS) for each in p.topics)
    return evolve(p, topics=tuple(topics))


def draw_topic(d: SeededDraws, topic: str) -> TopicScoreParameters:
    """Of one topic."""
    return TopicScoreParameters(
        topic=topic,
        topic_weight=d.one_of((1.0, 1.0, 0.5, 2.0)),
        time_in_mesh_weight=d.one_of((0.0, 0.25, 1.0)),
        time_in_mesh_quantum_ms=d.one_of((500, 1000, 1500)),
        time_in_mesh_cap=d.one_of((2.0, 4.0, 20.0)),
        first_message_deliveries_weight=d.one_of((0.0, 1.0, 2.5)),
        first_message_deliveries_decay=_factor(d),
        first_message_deliveries_cap=d.one_of((3.0, 20.0)),
        mesh_message_deliveries_weight=d.one_of((0.0, -0.5, -1.0)),
        mesh_message_deliveries_decay=_factor(d),
        mesh_message_deliveries_cap=d.one_of((4.0, 20.0)),
        mesh_message_deliveries_threshold=d.one_of((1.5, 2.0, 4.0)),
        mesh_message_deliveries_window_ms=d.one_of((0, 100, 400)),
        mesh_message_deliveries_activation_ms=d.one_of((0, 1000, 2500)),
        mesh_failure_penalty_weight=d.one_of((0.0, -0.5, -1.0)),
        mesh_failure_penalty_decay=_factor(d),
        invalid_message_deliveries_weight=d.one_of((0.0, -1.0, -3.0)),
        invalid_message_deliveries_decay=_factor(d),
    )


def _factor(d: SeededDraws) -> float:
    return d.one_of((0.5, 0.75, 0.9))
