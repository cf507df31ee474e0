"""The neighbours of one pubsub router for one run: its theme, and the acts that the protocol knows.

Acts are drawn with weights that depend on the run's theme and on what the model says of the router, because
some claims apply only to a peer in backoff, to a message on its way, or to a burst of twenty peers.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import Extensions, PartShape
from quidnunc.model.versions import VERSIONS
from quidnunc.properties.neighbours.acts import ACTS, control_act
from quidnunc.properties.neighbours.neighbourhood import Neighbours, draw_parameters, with_limit
from quidnunc.properties.neighbours.partial import extended
from quidnunc.properties.neighbours.peer_exchange import EXCHANGE_WEIGHTS, EXCHANGING
from quidnunc.properties.neighbours.score_acts import SCORING
from quidnunc.properties.neighbours.scores import CAPABILITY, CHANCE, own_digits, with_scores
from quidnunc.properties.neighbours.scores import WEIGHTS as SCORE_WEIGHTS
from quidnunc.properties.neighbours.seeded_draws import SeededDraws


@frozen
class RunTheme:
    """What a run is mostly about: weights over those of every run."""

    name: str
    weights: Mapping[str, int]


BASE: Mapping[str, int] = {
    "arrive": 10,
    "depart": 2,
    "reconnect": 2,
    "join": 7,
    "leave": 2,
    "rejoin": 1,
    "publish": 3,
    "message": 6,
    "duplicate": 2,
    "graft": 4,
    "prune": 4,
    "ihave": 3,
    "iwant": 3,
    "idontwant": 3,
    "idontwant_known": 1,
    "subscribe": 3,
    "unsubscribe_mesh": 1,
    "combined": 3,
    "heartbeat": 8,
    "advance": 3,
    "verdict": 4,
    "score": 3,
    "stall": 1,
    "raw": 1,
    "crowd": 1,
    "better_outside": 1,
    "flood": 1,
    "old_copy": 2,
    "fanout_leaver": 1,
    "hated_friend": 2,
}

PREPARED = ("crowd", "better_outside", "flood", "old_copy", "fanout_leaver", "hated_friend")
"""Acts that lead up to one rare occasion (`quidnunc.properties.neighbours.rare`)."""

THEMES: tuple[RunTheme, ...] = (
    RunTheme("mixed", {}),
    RunTheme("mesh", {"arrive": 14, "graft": 14, "prune": 6, "heartbeat": 14, "unsubscribe_mesh": 3}),
    RunTheme(
        "backoff", {"prune": 14, "graft": 12, "advance": 10, "rejoin": 6, "heartbeat": 10, "message": 1}
    ),
    RunTheme("gossip", {"message": 14, "ihave": 10, "iwant": 10, "heartbeat": 14, "publish": 6}),
    RunTheme("fanout", {"publish": 16, "heartbeat": 8, "join": 4, "advance": 6, "unsubscribe_mesh": 5}),
    RunTheme("relay", {"message": 16, "duplicate": 8, "idontwant": 12, "combined": 6, "verdict": 10}),
    RunTheme(
        "scores", {"score": 16, "heartbeat": 12, "graft": 8, "ihave": 5, "iwant": 5, "better_outside": 6}
    ),
    RunTheme("crowds", {"crowd": 14, "score": 8, "graft": 6, "heartbeat": 10, "publish": 6}),
    RunTheme("floods", {"flood": 20, "message": 10, "ihave": 6, "iwant": 6, "fanout_leaver": 6}),
)

PLAIN_WEIGHTS: Mapping[str, int] = {**dict.fromkeys(BASE, 1), **dict.fromkeys(PREPARED, 0)}
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
    theme = d.one_of(THEMES)
    weights = {**BASE, **theme.weights}
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
        drawn.weights, drawn.more = {**SCORE_WEIGHTS, **parts}, {**drawn.more, **SCORING, **EXCHANGING}
        if drawn.parameters.prune_peers:
            drawn.weights = {**drawn.weights, **EXCHANGE_WEIGHTS}
    return drawn
