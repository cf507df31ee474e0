"""Planted departures of the score keeper: each shows in the score of some peer, and none without scores.

They are seen by what is scored, and not at a threshold; that a claim notices them there is what their cases
and the search for mutants say.
"""

from __future__ import annotations

import random

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutants.scores import SCORE_MUTANTS
from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters

TOPIC = TopicScoreParameters(
    topic="t1",
    topic_weight=2.0,
    time_in_mesh_weight=0.25,
    time_in_mesh_cap=1.0,
    first_message_deliveries_weight=1.0,
    first_message_deliveries_cap=2.0,
    mesh_message_deliveries_weight=-1.0,
    mesh_message_deliveries_threshold=1.0,
    mesh_message_deliveries_cap=1.0,
    mesh_message_deliveries_window_ms=100,
    mesh_failure_penalty_weight=-1.0,
    invalid_message_deliveries_weight=-1.0,
)
SCORES = ScoreParameters(
    topics=(TOPIC,),
    topic_score_cap=3.0,
    ip_colocation_factor_weight=-1.0,
    behaviour_penalty_weight=-1.0,
    decay_to_zero=0.3,
    retain_score_ms=3000,
    iwant_followup_ms=1000,
)


UNCAPPED = evolve(
    SCORES, topic_score_cap=0.0, topics=(evolve(TOPIC, mesh_message_deliveries_activation_ms=0),)
)
ELSEWHERE = evolve(SCORES, topics=(evolve(TOPIC, topic="t2"),))
"""Parameters of another topic than the one in which everything happens."""
WORLDS = (SCORES, UNCAPPED, ELSEWHERE)


def scores_of(mutant: str | None, seed: int, scores: ScoreParameters | None) -> list[float]:
    """The scores of four peers, after each step of a walk through what the keeper is told."""
    r = GossipsubRouter(Parameters(scores=scores), seed=seed)
    if mutant is not None:
        SCORE_MUTANTS[mutant].apply(r)
    die = random.Random(seed)
    found: list[float] = []
    for peer in (1, 2, 3, 4):
        r.connect(peer, "/meshsub/1.2.0", outbound=False, address=1 if peer < 4 else 0)
    r.join("t1")
    for at in range(120):
        peer = die.choice((1, 2, 3, 4))
        if peer in r.core.neighbours:
            _something(r, die, peer, f"{at}".encode())
        elif die.random() < 0.5:
            r.connect(peer, "/meshsub/1.2.0", outbound=False, address=1)
        r.advance(die.choice((0, 50, 400, 1000)))
        found += [r.core.score(p) for p in (1, 2, 3, 4)]
    return found


def _something(r: GossipsubRouter, die: random.Random, peer: int, name: bytes) -> None:
    r.core.scores[peer] = die.choice((0, 2))
    kind = die.randrange(9)
    if kind in (0, 1, 2, 7, 8):
        r.gossip.watch.came(peer, name, "t1")
        r.gossip.watch.judged(name, ("accept", "reject", "ignore")[die.choice((0, 0, kind % 3))])
        r.advance(die.choice((0, 0, 150)))
        if 2 in r.core.neighbours:
            r.outbox.idontwant(2, name)
        for other in (1, 2, 3):
            r.gossip.watch.came_again(other, name)
    elif kind == 3:
        r.mesh.admit(peer, "t1")
    elif kind == 4:
        r.mesh.expel(peer, "t1")
        r.mesh.backing_off(peer, "t1")
        r.mesh.back_off(peer, "t1", 2)
        r.mesh.backing_off(peer, "t1")
    elif kind == 5:
        r.gossip.watch.asked(peer, [name])
        if die.random() < 0.5:
            r.gossip.watch.came(1, name, "t1")
    else:
        r.disconnect(peer)


@pytest.mark.parametrize("mutant", sorted(SCORE_MUTANTS))
def test_each_scores_otherwise(mutant: str) -> None:
    worlds = [(seed, scores) for seed in range(6) for scores in WORLDS]
    assert any(scores_of(mutant, *world) != scores_of(None, *world) for world in worlds)


@pytest.mark.parametrize("mutant", sorted(SCORE_MUTANTS))
def test_without_score_parameters_it_is_the_router(mutant: str) -> None:
    assert scores_of(mutant, 1, None) == scores_of(None, 1, None)
