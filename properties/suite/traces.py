"""Traces for the suite: random walks of two models side by side, from prepared situations.

A walk starts from small parameters, in which caps, quotas and periods are reached within a few events, and
from a prepared situation (a full mesh, messages in the cache, a fanout, ...). Then come acts, those above
all that the rule's handler has to do with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from quidnunc.properties.tables import table

CAPABILITIES = frozenset(
    {
        *("message-limit", "score", "verdict", "stall", "explicit", "flood-publish", "test-extension"),
        *("partial", "peers-without-dog"),
    }
)
DICE = range(8)
"""The dice with which a model plays the router: a trace separates surely where it does so with each."""
MAX_ACTS = 16
"""How many acts follow the prepared situation, at most."""

Trace = tuple[Any, tuple[Event, ...]]
"""Parameters and events."""

STEERING = table("properties.suite", "traces.toml")
"""What steers walks: small parameters, acts with which a walk begins, and weights by handler."""


def draw_small_parameters(d: SeededDraws, drawn: Parameters) -> Parameters:
    """`drawn` with some of what is small put in place; as it is where the specification forbids that."""
    changes: dict[str, Any] = dict(d.one_of(STEERING["shapes"])) if d.chance(60) else {}
    share = d.one_of((15, 40))
    for name, values in STEERING["small"].items():
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
            focus.update(STEERING["focus"].get(handler, {}))
            if "extension" in protocol.handlers:
                focus.update(STEERING["extended-focus"].get(handler, {}))
    known = {**n.weights, **dict.fromkeys(PUBSUB_OCCASIONS, 1)} if "graft" in protocol.handlers else n.weights
    alone = bool(focus) and d.chance(50)
    weights = {k: focus.get(k, min(1, w) if alone else w) for k, w in known.items()}
    situations = [*STEERING["situations"]["pubsub"]]
    if "partial" in protocol.handlers:
        situations += STEERING["situations"]["partial"]
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
    pending = list(d.one_of(STEERING["situations"]["mempool"]))

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
