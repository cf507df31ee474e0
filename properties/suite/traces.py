"""Traces for the suite: random walks of two models side by side, from prepared situations.

A walk starts from small parameters, in which caps, quotas and periods are reached within a few events, and
from a prepared situation (a full mesh, messages in the cache, a fanout, ...). Then come acts, those above
all that the rule's handler has to do with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve

from quidnunc.model.events import Event
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.parameters import Parameters
from quidnunc.model.rules import Protocol
from quidnunc.properties.neighbours.mempool import ACTS, draw_mempool_neighbours
from quidnunc.properties.neighbours.neighbourhood import Neighbours
from quidnunc.properties.neighbours.pubsub import draw_pubsub_neighbours
from quidnunc.properties.neighbours.scores import CAPABILITY
from quidnunc.properties.neighbours.seeded_draws import SeededDraws, weighted_name
from quidnunc.properties.suite.acts import MEMPOOL_ACTS, MEMPOOL_WEIGHTS, PUBSUB_ACTS, PUBSUB_OCCASIONS
from quidnunc.properties.suite.scores import draw_switched, switchable

CAPABILITIES = frozenset(
    {"message-limit", "score", "verdict", "stall", "explicit", "flood-publish", "test-extension", "partial"}
)
DICE = range(8)
"""The dice with which a model plays the router: a trace separates surely where it does so with each."""
MAX_ACTS = 16
"""How many acts follow the prepared situation, at most."""

Trace = tuple[Any, tuple[Event, ...]]
"""Parameters and events."""

SHAPES: Sequence[Mapping[str, int]] = (
    {"d": 1, "d_low": 1, "d_high": 1, "d_score": 1, "d_out": 0},
    {"d": 2, "d_low": 1, "d_high": 2, "d_score": 1, "d_out": 0},
    {"d": 2, "d_low": 2, "d_high": 2, "d_score": 0, "d_out": 1},
    {"d": 2, "d_low": 2, "d_high": 3, "d_score": 2, "d_out": 1},
)
"""Meshes that a few peers fill."""

TINY: Mapping[str, Sequence[object]] = {
    "d_lazy": (0, 1),
    "mcache_len": (1,),
    "seen_ttl_ms": (1000, 3000),
    "fanout_ttl_ms": (500, 1000),
    "prune_backoff_s": (1, 2),
    "unsubscribe_backoff_s": (1, 2),
    "opportunistic_graft_threshold": (3,),
    "opportunistic_graft_ticks": (1, 2),
    "opportunistic_graft_peers": (1, 2),
    "max_ihave_messages": (1, 2),
    "max_ihave_length": (1, 2),
    "max_idontwant_messages": (1, 2),
}
"""Values at which something happens early."""

SITUATIONS: Sequence[Sequence[str]] = (
    (),
    ("arrive", "join"),
    ("join", "arrive", "graft"),
    ("arrive", "arrive", "join", "graft", "message"),
    ("arrive", "publish"),
    ("arrive", "publish", "arrive", "heartbeat"),
    ("arrive", "arrive", "score"),
    ("join", "arrive", "graft", "idontwant_known"),
    ("join", "crowd"),
)
PARTIAL_SITUATIONS: Sequence[Sequence[str]] = (
    ("join", "arrive", "arrive", "graft"),
    ("join", "arrive", "graft", "gossip_round"),
    ("join", "arrive", "publish_partial"),
    ("arrive", "partial_in", "join"),
)
MEMPOOL_SITUATIONS: Sequence[Sequence[str]] = (
    (),
    ("arrive",),
    ("arrive", "first_time", "duplicate"),
    ("arrive", "submit", "duplicate"),
    ("arrive", "first_time", "havetx", "cut_then_send"),
    ("arrive", "first_time", "commit", "duplicate"),
    ("arrive", "submit", "stall", "adjust"),
)

_GOSSIP = {"message": 12, "publish": 8, "heartbeat": 16, "score": 8}
_MESH = {"heartbeat": 16, "graft": 8, "prune": 8, "score": 10, "join": 8, "leave": 6, "arrive": 8}
_IDONTWANT = {"idontwant": 16, "flood": 12, "message": 12, "heartbeat": 8, "depart": 6, "reconnect": 8}
_FLAGS = {"arrive": 12, "subscribe": 12, "resubscribe": 12, "leaver": 16, "publish_partial": 12, "message": 8}
_GROUPS = {
    "publish_partial": 16,
    "gossip_round": 16,
    "left_and_back": 8,
    "gone_with_state": 8,
    "heartbeat": 8,
}
_GONE = {**_IDONTWANT, "come_back": 16}
FOCUS: Mapping[str, Mapping[str, int]] = {
    "message": {"message": 16, "duplicate": 12, "old_copy": 8, "verdict": 8},
    "verdict": {"message": 16, "verdict": 16, "leave": 4},
    "accepted": {"message": 16, "verdict": 12, "iwant": 8},
    "relay": {"message": 12, "score": 6, "hated": 20, "graft": 8, "idontwant": 6},
    "publish": {"publish": 16, "iwant": 8, "duplicate": 8},
    "publish_to": {"publish": 20, "score": 8, "join": 6},
    "graft": {"graft": 20, "prune": 10, "score": 8, "heartbeat": 6, "message": 6},
    "prune": {"prune": 20, "graft": 10, "heartbeat": 8, "message": 6},
    "ihave": {"ihave": 16, "flood": 20, "heartbeat": 8, "score": 6},
    "iwant": {"iwant": 16, "flood": 10, "message": 12, "score": 6},
    "idontwant": _IDONTWANT,
    "disconnect": _GONE,
    "graft_candidates": _MESH,
    "kept_in_cut": {"crowd": 20, "graft": 8, "score": 10, "heartbeat": 12},
    "fanout_candidates": {"publish": 20, "heartbeat": 8, "score": 8, "prune": 8, "leave": 6, "arrive": 6},
    "gossip_candidates": _GOSSIP,
    "heartbeat": {**_MESH, **_GOSSIP, "better_outside": 8, "idontwant": 6, "forgiven": 10},
}
"""Handler of a pubsub router -> weights of the acts that lead to it and show what it did."""

EXTENDED_FOCUS: Mapping[str, Mapping[str, int]] = {
    "connect": {"arrive": 16, "reconnect": 12, "join": 8},
    "extension": {"arrive": 16, "extensions_again": 16, "reconnect": 8},
    "both_have": {"arrive": 16, "reconnect": 8},
    "subscribe": _FLAGS,
    "unsubscribe": {**_FLAGS, "unsubscribe_mesh": 12},
    "suppressed": {**_FLAGS, "message": 16, "publish": 12, "graft": 8},
    "idontwant_to": {**_FLAGS, "message": 16, "graft": 12},
    "partial": {"partial_in": 16, "group_flood": 16, "arrive": 8, "comes_back": 8},
    "publish_partial": _GROUPS,
    "sent_to": {"publish_partial": 20, "arrive": 12},
    "part_to": {"publish_partial": 20, "arrive": 12},
    "metadata_to": {"publish_partial": 20, "arrive": 12},
    "offered_to": {**_GROUPS, "graft": 12, "arrive": 8},
    "diverted": {**_GROUPS, "message": 12, "arrive": 8},
    "asked": {**_GROUPS, "partial_in": 8, "arrive": 8},
    "asked_about": {**_GROUPS, "arrive": 8},
    "leave": {"leave": 12, "left_and_back": 16, "publish_partial": 8, "heartbeat": 8},
    "disconnect": {"gone_with_state": 16, "comes_back": 16},
    "heartbeat": _GROUPS,
    "relay": {"message": 12, "resubscribe": 8},
    "intake": {"partial_in": 12, "arrive": 8},
}
"""The same where extensions are spoken, beside or in the place of the ones above."""


def draw_small_parameters(d: SeededDraws, drawn: Parameters) -> Parameters:
    """`drawn` with some of what is small put in place; as it is where the specification forbids that."""
    changes: dict[str, Any] = dict(d.one_of(SHAPES)) if d.chance(60) else {}
    share = d.one_of((15, 40))
    for name, values in TINY.items():
        if d.chance(share):
            changes[name] = d.one_of(values)
    if changes.get("mcache_len"):
        changes["mcache_gossip"] = 1
    if d.chance(70):
        changes["flood_publish"] = False
    if d.chance(30):
        changes["explicit_peers"] = frozenset({d.one_of((1, 2))})
    try:
        return evolve(drawn, **changes)
    except ValueError:
        return drawn


Act = Callable[[Any, SeededDraws], list[Event]]


def draw_walk(
    protocol: Protocol, rule: str, d: SeededDraws, capabilities: frozenset[str] = CAPABILITIES
) -> tuple[Any, Act]:
    """Parameters of one walk, and what happens next in it: `act(state of the judge, digits)`.

    `capabilities`: what the router can be given; with those of scores some walks have score parameters.
    """
    return WALKS[protocol.family](protocol, rule, d, capabilities)


def _pubsub_walk(
    protocol: Protocol, rule: str, d: SeededDraws, capabilities: frozenset[str]
) -> tuple[Any, Act]:
    n = draw_pubsub_neighbours(d, protocol.name, capabilities)
    if d.chance(70):
        n.parameters = draw_small_parameters(d, n.parameters)
    # One that judges without the rule is of the same name. Whoever asks for scores has drawn them already.
    whole = PROTOCOLS.get(protocol.name)
    if whole is not None and switchable(whole, rule) and CAPABILITY not in capabilities:
        pending = list(d.one_of(draw_switched(n, whole, rule, d)))
        return n.parameters, _act(n, n.weights, pending)
    focus: dict[str, int] = {}
    for handler, each in protocol.rules():
        if each.name == rule:
            focus.update(FOCUS.get(handler, {}))
            focus.update(EXTENDED_FOCUS.get(handler, {}) if "extension" in protocol.handlers else {})
    known = {**n.weights, **dict.fromkeys(PUBSUB_OCCASIONS, 1)} if "graft" in protocol.handlers else n.weights
    alone = bool(focus) and d.chance(50)
    weights = {k: focus.get(k, min(1, w) if alone else w) for k, w in known.items()}
    situations = SITUATIONS if "partial" not in protocol.handlers else (*SITUATIONS, *PARTIAL_SITUATIONS)
    pending = [name for name in d.one_of(situations) if weights.get(name)]
    return n.parameters, _act(n, weights, pending)


def _act(n: Neighbours, weights: Mapping[str, int], pending: list[str]) -> Act:
    """First what is pending, then what the weights say."""
    acts = {**PUBSUB_ACTS, **n.more}

    def act(view: Any, d: SeededDraws) -> list[Event]:
        n.view = view
        for _ in range(4):
            name = pending.pop(0) if pending else weighted_name(weights, d)
            events: list[Event] = acts[name](n, d)
            if events:
                return n.finish(n, events, d) if n.finish else events
        return [n.to_heartbeat(view)]

    return act


def _mempool_walk(
    protocol: Protocol, rule: str, d: SeededDraws, capabilities: frozenset[str]
) -> tuple[Any, Act]:
    n = draw_mempool_neighbours(d, protocol.name, CAPABILITIES)
    if n.acts is not ACTS:
        # The acts below are those of Flood and DOG.
        return n.parameters, n.act
    pending = list(d.one_of(MEMPOOL_SITUATIONS))

    def act(view: Any, d: SeededDraws) -> list[Event]:
        name = pending.pop(0) if pending else weighted_name(MEMPOOL_WEIGHTS, d)
        return MEMPOOL_ACTS[name](n, view, d)

    return n.parameters, act


WALKS: Mapping[str, Callable[[Protocol, str, SeededDraws, frozenset[str]], tuple[Any, Act]]] = {
    "pubsub": _pubsub_walk,
    "mempool": _mempool_walk,
}
"""By the name that `Protocol.family` has."""


def size_of(trace: Trace) -> tuple[int, ...]:
    """What is small of a trace: its events, its peers, its parts, its parameters that are not the default."""
    parameters, events = trace
    changed = _changed(parameters)
    parts = sum(len(getattr(e, "parts", ())) for e in events)
    return len(events), sum(len(getattr(e, "peers", ())) for e in events), parts, len(list(changed))


def _changed(parameters: Any) -> Iterable[str]:
    fields = type(parameters).__attrs_attrs__
    return (a.name for a in fields if getattr(parameters, a.name) != a.default)
