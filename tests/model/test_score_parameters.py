"""Score parameters: what the text demands of them, and what is said where it is not so."""

from __future__ import annotations

import math

import pytest

from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters


def test_defaults_switch_every_term_off() -> None:
    p, topic = ScoreParameters(), TopicScoreParameters(topic="t1")
    weights = [v for n in dir(p) if n.endswith("_weight") for v in [getattr(p, n)]]
    assert weights == [1.0, 0.0, 0.0]
    assert [getattr(topic, n) for n in dir(topic) if n.endswith("_weight")].count(0.0) == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("topic_weight", -1.0),
        ("time_in_mesh_weight", -0.5),
        ("time_in_mesh_quantum_ms", 0),
        ("time_in_mesh_cap", 0.0),
        ("first_message_deliveries_weight", -1.0),
        ("first_message_deliveries_decay", 1.0),
        ("mesh_message_deliveries_weight", 1.0),
        ("mesh_message_deliveries_cap", 0.5),
        ("mesh_message_deliveries_threshold", 0.0),
        ("mesh_message_deliveries_window_ms", -1),
        ("mesh_failure_penalty_weight", 0.1),
        ("mesh_failure_penalty_decay", 0.0),
        ("invalid_message_deliveries_weight", math.nan),
        ("invalid_message_deliveries_decay", 2.0),
    ],
)
def test_a_topic_parameter_out_of_bounds_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"score parameters of topic 't1': .*{name} must be .*got {value}"):
        TopicScoreParameters(topic="t1", **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("topic_score_cap", -1.0),
        ("app_specific_weight", 0.0),
        ("ip_colocation_factor_weight", 1.0),
        ("ip_colocation_factor_threshold", 0),
        ("behaviour_penalty_weight", 2.0),
        ("behaviour_penalty_decay", 1.5),
        ("decay_interval_ms", 0),
        ("decay_to_zero", 1.0),
        ("retain_score_ms", -1),
        ("iwant_followup_ms", -5),
        ("topic_score_cap", math.inf),
    ],
)
def test_a_parameter_out_of_bounds_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"score parameters: .*{name} must be .*got {value}"):
        ScoreParameters(**{name: value})


def test_every_fault_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"decay_interval_ms.*; decay_to_zero"):
        ScoreParameters(decay_interval_ms=0, decay_to_zero=0.0)


def test_a_topic_is_there_once() -> None:
    topic = TopicScoreParameters(topic="t1")
    with pytest.raises(ValueError, match="topic 't1' is there twice"):
        ScoreParameters(topics=(topic, topic))
    assert ScoreParameters(topics=(topic,)).of("t1") == topic
    assert ScoreParameters(topics=(topic,)).of("t2") is None


def test_thresholds_of_peer_exchange() -> None:
    with pytest.raises(ValueError, match="accept_px_threshold must be 0 or more, got -1"):
        Parameters(accept_px_threshold=-1)
    with pytest.raises(ValueError, match="prune_peers must be 0 or more, got -2"):
        Parameters(prune_peers=-2)
