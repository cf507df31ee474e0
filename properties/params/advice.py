"""What would restore a guarantee: a change of parameters, tried before it is suggested."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from quidnunc.properties.params.attack import needed_rate, starved_score, starving_attack
from quidnunc.properties.params.claims import CellSolver, punished
from quidnunc.properties.params.punish import Penalty, penalties
from quidnunc.properties.params.values import ONE, ZERO, NetworkParameters, TopicParameters, decimal
from quidnunc.properties.solver.questions import SolverSession


@frozen(kw_only=True)
class Advice:
    """One change of parameters."""

    change: str
    restored: bool
    """With the change the guarantee was decided again, and holds."""
    price: str = ""
    """What else it does."""


def no_starving(network: NetworkParameters, questions: SolverSession) -> Iterator[Advice]:
    """Weigh what is not delivered so heavily that nothing outweighs it."""
    changed = heavier(network)
    topics = changed.topics
    restored = all(not starving_attack(changed, questions, means).starved for means in ("copies", "first"))
    changes = []
    for old, new in zip(network.topics, topics, strict=True):
        parts = [
            f"{name} {decimal(getattr(new, name))}"
            for name in (
                "mesh_message_deliveries_weight",
                "mesh_message_deliveries_threshold",
                "mesh_message_deliveries_cap",
                "mesh_message_deliveries_decay",
            )
            if getattr(new, name) != getattr(old, name)
        ]
        if parts:
            changes.append(f"{old.name}: {', '.join(parts)}")
    rates = [
        f"{decimal(rate)} in {topic.name}" for topic in topics if (rate := needed_rate(topic)) is not None
    ]
    yield Advice(
        change="; ".join(changes),
        restored=restored,
        price=f"an honest member must deliver per decay interval {', '.join(rates)}, or is pruned",
    )


def heavier(network: NetworkParameters) -> NetworkParameters:
    """The network with deficits that outweigh whatever else there is."""
    return evolve(network, topics=tuple(_heavier(network, topic) for topic in network.topics))


def _heavier(network: NetworkParameters, topic: TopicParameters) -> TopicParameters:
    """The topic with a deficit that outweighs all that the other topics, and its own P1, can add."""
    if not topic.topic_weight:
        return topic
    threshold = topic.mesh_message_deliveries_threshold or ONE
    decay = topic.mesh_message_deliveries_decay
    decay = decay if 0 < decay < 1 else Fraction(9, 10)
    changed = evolve(
        topic,
        mesh_message_deliveries_threshold=threshold,
        mesh_message_deliveries_decay=decay,
        mesh_message_deliveries_cap=max(
            topic.mesh_message_deliveries_cap, Fraction(math.ceil(threshold / decay))
        ),
    )
    if starved_score(changed) + (network.greatest - topic.greatest) <= 0:
        return changed
    weight = network.greatest / (topic.topic_weight * threshold**2)
    return evolve(changed, mesh_message_deliveries_weight=Fraction(-math.ceil(weight)))


def in_sight(network: NetworkParameters, questions: SolverSession) -> Iterator[Advice]:
    """Without a cap nothing is hidden above it."""
    changed = evolve(network, topic_score_cap=ZERO)
    asked = CellSolver(changed, "v1.1", questions)
    weights = {
        "P3": "mesh_message_deliveries_weight",
        "P3b": "mesh_failure_penalty_weight",
        "P4": "invalid_message_deliveries_weight",
    }
    decided = [
        punished(asked, topic, term, whole=False, settled=True).verdict
        for topic in changed.topics
        for term, weight in weights.items()
        if getattr(topic, weight) and topic.topic_weight
    ]
    yield Advice(
        change=f"no topic_score_cap (0), or one above {decimal(network.greatest)}",
        restored=bool(decided) and all(verdict in ("proved", "vacuous") for verdict in decided),
        price="of terms with a weight; a peer can save up a higher score",
    )


LESS_THAN_EVER = Fraction(99, 100)


def longer_memory(network: NetworkParameters) -> Iterator[Advice]:
    """Scores that are kept for as long as penalties last, and penalties that end."""
    changed = evolve(network, **_ending(network, "behaviour_penalty_decay"))
    terms = ("mesh_failure_penalty_decay", "invalid_message_deliveries_decay")
    changed = evolve(changed, topics=tuple(evolve(t, **_ending(t, *terms)) for t in network.topics))
    held = tuple(penalties(changed))
    longest = max((penalty.zero or 0 for penalty in held), default=0)
    changed = evolve(changed, retain_score_ms=longest * network.decay_interval_ms)
    ending = f"decays of {decimal(LESS_THAN_EVER)} instead of 1, and "
    ending = "" if changed.topics == network.topics else ending
    yield Advice(
        change=f"{ending}a retain_score of {decimal(longest * network.decay_interval_ms / 1000)} s or more",
        restored=not shed(changed, held) and not any(penalty.zero is None for penalty in held),
        price="more peers that are gone are remembered",
    )


def _ending(of: NetworkParameters | TopicParameters, *names: str) -> dict[str, Any]:
    return {name: LESS_THAN_EVER for name in names if getattr(of, name) == 1}


def shed(network: NetworkParameters, held: Sequence[Penalty]) -> list[Penalty]:
    """Penalties that outlast the memory of those who are gone."""
    kept = network.intervals(network.retain_score_ms or ZERO)
    return [penalty for penalty in held if penalty.zero is None or penalty.zero > kept]
