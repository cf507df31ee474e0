"""Nodes of a network, by family of protocols: what a simulation and its trace need to know, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from attrs import evolve, frozen

from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Peer


@frozen(kw_only=True)
class NodeFamily:
    """What nodes of one family have in common."""

    key: str
    """Where a scenario has their parameters."""
    noun: str
    has_topics: bool
    """Applications join topics, publish there and are handed messages. Otherwise users submit transactions,
    and what is new to a node is delivered."""
    parameters: Callable[[str], Any]
    """A protocol's name -> the parameters of a node for which the scenario gives none."""
    phased: Callable[[Any, Random, bool], Any]
    """(parameters, die, whether heartbeats are spread) -> parameters of one node, with its own phase."""
    judged_late: Callable[[Any], Any]
    """Parameters -> the same where the application's verdicts take time."""
    is_judged_late: Callable[[Any], bool]
    beat_ms: Callable[[Any], tuple[int, int] | None]
    """Parameters -> when the first heartbeat is, and how long it is to the next; None where there is none."""
    numbered: Callable[[Any, int, Callable[[Peer], Peer]], Any]
    """(parameters of a kind, first heartbeat in ms, how a node calls its peers) -> those of one node."""
    adjust_ms: Callable[[Any], int | None]
    """Parameters -> how often a redundancy controller takes its turn."""
    adjusts: Callable[[str, Any], bool]
    """(protocol, parameters) -> whether there is a controller, and it is on."""


def _phased(p: Parameters, die: Random, spread: bool) -> Parameters:
    if spread:
        return evolve(p, heartbeat_delay_ms=die.randint(1, p.heartbeat_interval_ms))
    # A heartbeat is at the end of some time, and there is none before the start.
    return evolve(p, heartbeat_delay_ms=max(1, p.heartbeat_delay_ms))


def _numbered(p: Parameters, delay_ms: int, called: Callable[[Peer], Peer]) -> Parameters:
    explicit = frozenset(map(called, p.explicit_peers))
    return evolve(p, heartbeat_delay_ms=delay_ms, explicit_peers=explicit)


def _has_controller(protocol: str) -> bool:
    return "adjust" in protocol_named(protocol).handlers


def _mempool_parameters(protocol: str) -> DogParameters:
    """Flood is DOG switched off."""
    limited = protocol == "peer-limit"
    return DogParameters(dog=_has_controller(protocol), max_non_persistent=10 if limited else 0)


FAMILIES: Mapping[str, NodeFamily] = {
    "pubsub": NodeFamily(
        key="parameters",
        noun="pubsub",
        has_topics=True,
        parameters=lambda protocol: Parameters(message_id="content"),
        phased=_phased,
        judged_late=lambda p: evolve(p, validation="manual"),
        is_judged_late=lambda p: bool(p.validation == "manual"),
        beat_ms=lambda p: (p.heartbeat_delay_ms, p.heartbeat_interval_ms),
        numbered=_numbered,
        adjust_ms=lambda p: None,
        adjusts=lambda protocol, p: False,
    ),
    "mempool": NodeFamily(
        key="dog",
        noun="a mempool",
        has_topics=False,
        parameters=_mempool_parameters,
        phased=lambda p, die, spread: p,
        judged_late=lambda p: p,
        is_judged_late=lambda p: False,
        beat_ms=lambda p: None,
        numbered=lambda p, delay_ms, called: p,
        adjust_ms=lambda p: p.adjust_interval_ms,
        adjusts=lambda protocol, p: p.dog and _has_controller(protocol),
    ),
}
"""By the name that `Protocol.family` has."""


def node_family(protocol: str) -> NodeFamily:
    """The family of a protocol. Raises SpecError for an unknown one."""
    return FAMILIES[protocol_named(protocol).family]
