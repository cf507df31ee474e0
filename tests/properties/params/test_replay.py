"""Attacks on parameters, played on the model and on our router; where they should not pay, they do not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from attrs import evolve

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.params import replay as params_replay
from quidnunc.properties.params.advice import heavier
from quidnunc.properties.params.attack import Attack, starving_attack
from quidnunc.properties.params.file import read_file, shipped_files
from quidnunc.properties.params.read import network_of
from quidnunc.properties.params.replay import replay_attack, replay_line
from quidnunc.properties.params.values import NetworkParameters, TopicParameters
from quidnunc.properties.solver.questions import SolverSession

FILECOIN = network_of(read_file(shipped_files()["filecoin"]))
TOPIC = TopicParameters(
    name="t",
    count=3,
    topic_weight=Fraction(1),
    time_in_mesh_weight=Fraction(1),
    time_in_mesh_quantum_ms=Fraction(100),
    time_in_mesh_cap=Fraction(5),
    mesh_message_deliveries_weight=Fraction(-1),
    mesh_message_deliveries_decay=Fraction(1, 2),
    mesh_message_deliveries_cap=Fraction(4),
    mesh_message_deliveries_threshold=Fraction(2),
    mesh_message_deliveries_activation_ms=Fraction(2000),
    invalid_message_deliveries_weight=Fraction(-1),
    invalid_message_deliveries_decay=Fraction(1, 2),
    first_message_deliveries_cap=Fraction(1),
    first_message_deliveries_decay=Fraction(1, 2),
    mesh_failure_penalty_decay=Fraction(1, 2),
)
WEAK = NetworkParameters(name="weak", topics=(TOPIC,), behaviour_penalty_decay=Fraction(1, 2))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(params_replay, "STARVED_FOR", 8)
    monkeypatch.setattr(params_replay, "QUANTA_FULL_AFTER", 3)


def attacked(network: NetworkParameters) -> Attack:
    return starving_attack(network, SolverSession(), "copies")


def test_an_attack_that_pays_is_played() -> None:
    attack = attacked(WEAK)
    assert attack.starved == 3  # 5 - 4 in each: the sum never is below zero.
    found = replay_attack(WEAK, attack, "ours")
    assert found.succeeded and found.decays == 8 and found.steps > 50
    assert abs(found.least - attack.score) < Fraction(1, 100)


def test_filecoin_is_starved_whole() -> None:
    line = replay_line(FILECOIN, attacked(FILECOIN), "ours", lambda text: None)
    assert line.verdict == "fails" and "2 topics starved for 8 decays" in line.found[0]


def test_with_the_advice_the_router_is_rid_of_the_attacker() -> None:
    attack = attacked(WEAK)
    strong = heavier(WEAK)
    changed = evolve(
        attack,
        parts=tuple(evolve(p, topic=t) for p, t in zip(attack.parts, strong.topics, strict=True)),
    )
    found = replay_attack(strong, changed, "ours")
    assert found.pruned and not found.departures and not found.succeeded
    assert replay_line(strong, changed, "ours", lambda text: None).verdict == "holds"
    assert replay_line(strong, attacked(strong), "ours", lambda text: None).found[0].startswith("there is no")


def test_a_router_that_keeps_the_negative_departs() -> None:
    """The replay is one beside the model: a router that does otherwise is noticed."""
    attack = attacked(WEAK)
    strong = heavier(WEAK)
    changed = evolve(
        attack,
        parts=tuple(evolve(p, topic=t) for p, t in zip(attack.parts, strong.topics, strict=True)),
    )
    found = replay_attack(strong, changed, "ours:negative-kept")
    assert found.departures and not found.succeeded


def test_too_much_traffic_is_not_played() -> None:
    busy = evolve(
        WEAK,
        topics=(evolve(TOPIC, count=70),),
    )
    with pytest.raises(ValueError, match="messages per decay interval: at most 64 are played"):
        replay_attack(busy, attacked(busy), "ours")
