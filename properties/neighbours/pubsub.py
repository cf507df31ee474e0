"""The neighbours of one pubsub router for one run: its theme, and the acts that the protocol knows.

Acts are drawn with weights that depend on the run's theme and on what the model says of the router, because
some claims apply only to a peer in backoff, to a message on its way, or to a burst of twenty peers.
"""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import Extensions, PartShape
from quidnunc.model.versions import VERSIONS
from quidnunc.properties.neighbours.acts import ACTS, control_act
from quidnunc.properties.neighbours.neighbourhood import Neighbours, draw_parameters, with_limit
from quidnunc.properties.neighbours.partial import extended
from quidnunc.properties.neighbours.peer_exchange import EXCHANGING
from quidnunc.properties.neighbours.score_acts import SCORING, TELLING
from quidnunc.properties.neighbours.scores import CAPABILITY, CHANCE, own_digits, with_scores
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import THEMES, WEIGHTS

PREPARED = ("crowd", "better_outside", "flood", "old_copy", "fanout_leaver", "hated_friend")
"""Acts that lead up to one rare occasion (`quidnunc.properties.neighbours.rare`)."""


PLAIN_WEIGHTS: Mapping[str, int] = {**dict.fromkeys(WEIGHTS["pubsub"], 1), **dict.fromkeys(PREPARED, 0)}
"""Weights without steering, to compare with: every act as often as any other, and none that leads up to
something."""


LATER_CONTROL = "later_control"
LATER_WEIGHT = 10


def later_control(protocol: str) -> tuple[PartShape, ...]:
    """Control messages of a version that are in no act."""
    parts = VERSIONS[protocol].parts
    return tuple(s for s in parts if s.number and s.word not in ACTS and s.kind is not Extensions)


def draw_theme(d: SeededDraws, protocol: str, steered: bool = True) -> Mapping[str, int]:
    """The weights of one run."""
    if not steered:
        return PLAIN_WEIGHTS
    weights = {**WEIGHTS["pubsub"], **d.one_of([*THEMES.values()])}
    if protocol == "floodsub":
        keep = {"arrive", "depart", "reconnect", "join", "leave", "rejoin", "publish", "message", "duplicate"}
        keep |= {"subscribe", "heartbeat", "advance", "verdict", "stall", "raw"}
        weights = {k: v for k, v in weights.items() if k in keep}
    return weights


def draw_pubsub_neighbours(
    d: SeededDraws, protocol: str, capabilities: frozenset[str], *, steered: bool = True
) -> Neighbours:
    """The parameters and the neighbours of one run."""
    own = own_digits(d)
    parameters = with_limit(draw_parameters(d, capabilities, protocol), d, capabilities)
    drawn = Neighbours(protocol, parameters, capabilities, draw_theme(d, protocol, steered), common=ACTS)
    handlers = PUBSUB[protocol].handlers
    if "extension" in handlers:
        drawn = extended(drawn, d, steered)
    if shapes := later_control(protocol):
        drawn.more = {**drawn.more, LATER_CONTROL: control_act(shapes)}
        drawn.weights = {**drawn.weights, LATER_CONTROL: LATER_WEIGHT if steered else 1}
    able = {CAPABILITY, "score"} <= capabilities and "weighted_score" in handlers
    if able and steered and own.chance(CHANCE):
        drawn.parameters = with_scores(drawn.parameters, own, capabilities)
        # Of partial messages little is left out; other extensions say nothing that a score could count.
        parts = {k: drawn.weights[k] for k in drawn.more if "partial" in handlers and k in drawn.weights}
        parts |= {k: w for k, w in drawn.weights.items() if k == LATER_CONTROL}
        drawn.weights, drawn.more = {**WEIGHTS["scores"], **parts}, {**drawn.more, **SCORING, **EXCHANGING}
        if "feedback" in handlers and "feedback" in capabilities:
            drawn.weights, drawn.more = {**drawn.weights, **WEIGHTS["feedback"]}, {**drawn.more, **TELLING}
        if drawn.parameters.prune_peers:
            drawn.weights = {**drawn.weights, **WEIGHTS["peer-exchange"]}
    return drawn
