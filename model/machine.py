"""One way to run any protocol: start, step, and what can happen next.

The two families (a pubsub router, a mempool node) have their own states; an engine needs only these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.model import dog_dialects, mempool, node_step, protocols, step
from quidnunc.model.choices import Choose
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Event
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.permits import Step
from quidnunc.model.rules import Protocol

State: TypeAlias = Any
"""A router or a node: opaque to engines, equal when the future is the same."""


@frozen
class Machine:
    start: Callable[[Protocol, Any], State]
    """(protocol, parameters of its family) -> the state of one that has just started."""
    step: Callable[[State, Event, Choose], Step[State]]
    applicable: Callable[[State, Event], bool]
    until_tick_ms: Callable[[State], int]
    """The longest Advance that is one step."""
    parameters: Callable[[], Any]


MACHINES: Mapping[str, Machine] = {
    "pubsub": Machine(protocols.started, step.step, step.applicable, step.until_heartbeat_ms, Parameters),
    "mempool": Machine(
        mempool.started, node_step.step, node_step.applicable, node_step.until_tick_ms, DogParameters
    ),
}

PROTOCOLS: Mapping[str, Protocol] = {
    **protocols.PUBSUB,
    **mempool.MEMPOOL,
    **mempool.CATS,
    **mempool.LIMITS,
    **dog_dialects.DIALECTS,
}


def machine_of(protocol: Protocol) -> Machine:
    return MACHINES[protocol.family]


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises SpecError that lists the names there are."""
    found = PROTOCOLS.get(name)
    if found is None:
        raise SpecError(f"no protocol {name!r}; there are {', '.join(PROTOCOLS)}")
    return found
