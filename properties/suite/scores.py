"""Walks of the suite in which a router keeps scores, or exchanges peers: for the rules of those alone.

Every other rule is looked for without either, so that its case stays as short and plain as it can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from quidnunc.model.parameters import Parameters
from quidnunc.model.rules import Protocol
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.neighbours.neighbourhood import Neighbours
from quidnunc.properties.neighbours.peer_exchange import EXCHANGING
from quidnunc.properties.neighbours.score_acts import SCORING, TELLING, waver
from quidnunc.properties.neighbours.scores import CAPABILITY, EXCHANGE, with_scores
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS
from quidnunc.properties.tables import table

SWITCHED = (
    *(
        "quidnunc.model.pubsub.scores.terms",
        "quidnunc.model.pubsub.scores.counting",
        "quidnunc.model.pubsub.peer_exchange",
        "quidnunc.model.pubsub.partial.feedback",
    ),
    *(
        "quidnunc.model.pubsub.scores.events",
        "quidnunc.model.score_interval",
        "quidnunc.model.pubsub.scores.ledger",
    ),
)
"""Modules whose rules say nothing without score parameters, or without peers in a PRUNE."""
OF_EXCHANGE = "quidnunc.model.pubsub.peer_exchange"

_STEERING = table("properties.suite", "scores.toml")
SITUATIONS: Mapping[str, Sequence[Sequence[str]]] = _STEERING["situations"]
"""Acts with which a walk begins."""
FOCUS: Mapping[str, Mapping[str, int]] = _STEERING["focus"]
"""Rule of the score -> weights of the acts that feed what it counts."""
EXCHANGE_FOCUS: Mapping[str, int] = {"offer_peers": 24, "heartbeat": 10}
OFFERING = ("members", "the_pruned", "from_the_negative", "named_below_zero")
OFFERING_FOCUS: Mapping[str, int] = {"offer_peers": 0, "crowd": 24, "score": 16, "heartbeat": 30}
"""Rules of whom a PRUNE names, and what leads to one: a mesh that is too large at a heartbeat."""
OFF: Mapping[str, float] = {
    "time_in_mesh_weight": 0.0,
    "first_message_deliveries_weight": 0.0,
    "mesh_message_deliveries_weight": 0.0,
    "mesh_failure_penalty_weight": 0.0,
    "invalid_message_deliveries_weight": 0.0,
}
"""Weights under which a term of a topic says nothing."""


def switchable(protocol: Protocol, rule_name: str) -> bool:
    """Whether the rule of that name is one of scores or of peer exchange, wherever the protocol has it."""
    found = _modules(protocol, rule_name)
    return bool(found) and all(module in SWITCHED for module in found)


def is_switched_on(parameters: Any) -> bool:
    """Whether these parameters let a rule of scores or of peer exchange say anything."""
    return getattr(parameters, "scores", None) is not None or getattr(parameters, "prune_peers", 0) > 0


def _modules(protocol: Protocol, rule_name: str) -> list[str]:
    return [r.apply.__module__ for _, r in protocol.rules() if r.name == rule_name]


def draw_switched(
    n: Neighbours, protocol: Protocol, rule_name: str, d: SeededDraws
) -> Sequence[Sequence[str]]:
    """Give the neighbours of one walk score parameters, and for a rule of peer exchange that; the situations
    to begin with."""
    n.parameters = with_scores(n.parameters, d, n.capabilities | {CAPABILITY, EXCHANGE})
    n.more = {**n.more, **SCORING, **TELLING, **EXCHANGING, waver.__name__: waver}
    if OF_EXCHANGE in _modules(protocol, rule_name):
        n.parameters = evolve(n.parameters, prune_peers=d.one_of((1, 2, 4)))
        n.weights = {**WEIGHTS["scores"], "probe": 4, **WEIGHTS["peer-exchange"], **EXCHANGE_FOCUS}
        if rule_name in OFFERING:
            n.weights = {**n.weights, **OFFERING_FOCUS}
        return SITUATIONS["exchange"]
    n.parameters = _quieter(evolve(n.parameters, prune_peers=0), d)
    n.weights = {**WEIGHTS["scores"], **FOCUS.get(rule_name, {})}
    return SITUATIONS["scores"]


def _quieter(p: Parameters, d: SeededDraws) -> Parameters:
    """With some terms switched off, so that those that are left can be told apart."""
    assert p.scores is not None
    share = d.one_of((0, 40, 70))
    topics = tuple(_few_terms(topic, share, d) for topic in p.scores.topics)
    changes: dict[str, Any] = {"topics": topics}
    for name in ("ip_colocation_factor_weight", "behaviour_penalty_weight", "topic_score_cap"):
        if d.chance(share):
            changes[name] = 0.0
    scores: ScoreParameters = evolve(p.scores, **changes)
    return evolve(p, scores=scores)


def _few_terms(topic: TopicScoreParameters, share: int, d: SeededDraws) -> TopicScoreParameters:
    changes: dict[str, Any] = {name: off for name, off in OFF.items() if d.chance(share)}
    return evolve(topic, **changes)
