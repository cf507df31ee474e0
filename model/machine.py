"""The families of protocols, and one way to run any protocol: start, step, and what can happen next.

A pubsub router and a mempool node have states of their own. What differs between the two in the model is in
`FAMILIES`, side by side; an engine looks its family up once and needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.model.choices import Choose
from quidnunc.model.errors import SpecError, did_you_mean
from quidnunc.model.events import MEMPOOL, MEMPOOL_WITHOUT_DOG, Event
from quidnunc.model.mempool import node_step
from quidnunc.model.mempool import protocols as mempool
from quidnunc.model.mempool.dog import variants as dog_variants
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.permits import Step
from quidnunc.model.pubsub import protocols, step
from quidnunc.model.rules import Protocol
from quidnunc.model.versions import STREAM_PROTOCOLS

State: TypeAlias = Any
"""A router or a node: opaque to engines, equal when the future is the same."""


@frozen(kw_only=True)
class Family:
    """What the protocols with one kind of state have in common."""

    parameters: Callable[[], Any]
    """The class of their parameters; called, the defaults."""
    start: Callable[[Protocol, Any], State]
    """(protocol, parameters of its family) -> the state of one that has just started."""
    step: Callable[[State, Event, Choose], Step[State]]
    applicable: Callable[[State, Event], bool]
    until_tick_ms: Callable[[State], int]
    """The longest Advance that is one step."""
    first_tick_ms: Callable[[Any], int]
    """Parameters -> when the first heartbeat is over for sure; 0 where nothing waits for one."""
    streams: Callable[[str], tuple[str, ...]]
    """A protocol's name -> the stream protocols that it negotiates, newest first."""


def mempool_streams(name: str) -> tuple[str, ...]:
    """Beside those with DOG there may be nodes without it."""
    return (MEMPOOL, MEMPOOL_WITHOUT_DOG) if name.startswith("dog") else (MEMPOOL,)


FAMILIES: Mapping[str, Family] = {
    "pubsub": Family(
        parameters=Parameters,
        start=protocols.started,
        step=step.step,
        applicable=step.applicable,
        until_tick_ms=step.until_heartbeat_ms,
        first_tick_ms=lambda p: p.heartbeat_delay_ms + p.heartbeat_interval_ms,
        streams=STREAM_PROTOCOLS.__getitem__,
    ),
    "mempool": Family(
        parameters=DogParameters,
        start=mempool.started,
        step=node_step.step,
        applicable=node_step.applicable,
        until_tick_ms=node_step.until_tick_ms,
        first_tick_ms=lambda p: 0,
        streams=mempool_streams,
    ),
}
"""By the name that `Protocol.family` has."""

PROTOCOLS: Mapping[str, Protocol] = {
    **protocols.PUBSUB,
    **mempool.MEMPOOL,
    **mempool.CATS,
    **mempool.LIMITS,
    **dog_variants.VARIANTS,
}


def family_of(protocol: Protocol) -> Family:
    return FAMILIES[protocol.family]


def protocol_named(name: str) -> Protocol:
    """The protocol of that name. Raises SpecError that lists the names there are."""
    found = PROTOCOLS.get(name)
    if found is None:
        raise SpecError(f"no protocol {name!r}{did_you_mean(name, PROTOCOLS)}")
    return found
