"""Parameters that the texts forbid, and those that they give."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from attrs import evolve

from quidnunc.model.parameters import DogParameters, Parameters


def test_defaults_are_those_of_the_documents() -> None:
    p = Parameters()
    assert (p.d, p.d_low, p.d_high, p.d_score, p.d_out, p.d_lazy) == (6, 4, 12, 4, 2, 6)
    assert (p.heartbeat_interval_ms, p.fanout_ttl_ms, p.seen_ttl_ms) == (1000, 60_000, 120_000)
    assert (p.mcache_len, p.mcache_gossip) == (5, 3)
    assert (p.prune_backoff_s, p.unsubscribe_backoff_s) == (60, 10)
    assert (p.gossip_factor, p.flood_publish) == (0.25, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"d_low": 7}, "D_low <= D <= D_high"),
        ({"d_high": 5}, "D_low <= D <= D_high"),
        ({"d_low": -1, "d_out": 0}, "0 <= D_low"),
        ({"d_out": 4}, "D_out < D_low"),
        ({"d_out": 3, "d": 5}, "D_out <= D/2"),
        ({"mcache_gossip": 6}, "mcache_gossip <= mcache_len"),
        ({"mcache_gossip": 0}, "1 <= mcache_gossip"),
        ({"mcache_len": 1001}, "mcache_len must be at most 1000, got 1001"),
        ({"gossip_threshold": 0}, "thresholds"),
        ({"publish_threshold": -9}, "thresholds"),
        ({"graylist_threshold": -20}, "thresholds"),
        ({"signature_policy": "StrictNoSign"}, "message_id"),
        ({"validation": "never"}, "validation"),
    ],
    ids=lambda x: str(x) if isinstance(x, dict) else "",
)
def test_what_the_text_forbids_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Parameters(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"d": 0, "d_low": 0, "d_high": 0, "d_out": 0},
        {"d": 4, "d_low": 3, "d_out": 2},
        {"d": 4, "d_low": 4, "d_high": 4},
        {"publish_threshold": -10},
        {"mcache_len": 1000, "mcache_gossip": 1000},
        {"signature_policy": "StrictNoSign", "message_id": "content"},
    ],
    ids=str,
)
def test_the_edges_are_allowed(given: dict[str, Any]) -> None:
    """D_out may be D/2, and a bootstrapper has no mesh at all."""
    assert Parameters(**given)


@pytest.mark.parametrize(
    "given",
    [{"target_redundancy": 0.0}, {"delta_percent": -1.0}, {"delta_percent": 0.0}, {"delta_percent": 100.0}],
    ids=str,
)
def test_of_dog(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        DogParameters(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heartbeat_interval_ms", 0),
        ("heartbeat_delay_ms", -1),
        ("prune_backoff_s", -1),
        ("unsubscribe_backoff_s", -1),
        ("seen_ttl_ms", -1),
        ("fanout_ttl_ms", -1),
        ("gossip_factor", nan),
        ("gossip_factor", inf),
        ("gossip_factor", 1.1),
        ("gossip_factor", -0.1),
    ],
)
def test_times_and_shares_that_are_none(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        changes: dict[str, Any] = {name: value}
        evolve(Parameters(), **changes)


@pytest.mark.parametrize("target", [0, -1, nan, inf])
def test_a_target_that_nothing_reaches(target: float) -> None:
    with pytest.raises(ValueError, match="target_redundancy"):
        DogParameters(target_redundancy=target)
