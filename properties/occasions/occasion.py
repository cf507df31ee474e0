"""An occasion of a clause, and the step of a router in which one is looked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from attrs import field, frozen

from quidnunc.model.events import Event, Output, Receive, Sent
from quidnunc.model.rpc import Part
from quidnunc.model.rules import Protocol


@frozen(eq=False)
class ObservedStep:
    """One event of one router, and what came of it."""

    state: Any
    """The router or node before the event."""
    event: Event
    ticked: bool
    """Whether a heartbeat ran."""
    outputs: Sequence[Output]
    because: Sequence[str] = ()
    """Clauses of the rules that decided."""
    sent: tuple[Sent, ...] = field(init=False)
    received: tuple[Part, ...] = field(init=False)

    @sent.default
    def _sent(self) -> tuple[Sent, ...]:
        return tuple(o for o in self.outputs if isinstance(o, Sent))

    @received.default
    def _received(self) -> tuple[Part, ...]:
        return self.event.parts if isinstance(self.event, Receive) else ()


Applies: TypeAlias = Callable[[ObservedStep], bool]
Concerns: TypeAlias = Callable[[Protocol], bool]


@frozen
class Occasion:
    """When a clause applies that no rule decides, and which protocols have it."""

    clause: str
    applies: Applies
    concerns: Concerns
    """The protocols that have the clause, though none of their rules bears it."""


@frozen
class MereRun:
    """A clause whose rule also decides in steps in which no router could break it: they do not count."""

    clause: str
    tested: Applies
    """Whether a router could break it in this step."""


def of_family(name: str) -> Concerns:
    """Every protocol of that family has the clause."""
    return lambda protocol: protocol.family == name


def no_protocol(protocol: Protocol) -> bool:
    """For a clause that rules decide wherever it is in force."""
    return False


def by_permits(step: ObservedStep) -> bool:
    """A permit bears the clause, so that an obligation that was met is its occasion."""
    return False


def when(clause: str, applies: Applies, concerns: Concerns = no_protocol) -> Occasion:
    """An occasion of the clause: the steps for which `applies` is true. Where no rule bears the clause,
    `concerns` says which protocols have it."""
    return Occasion(clause, applies, concerns)


def has(*handlers: str) -> Concerns:
    """Protocols that have all of these handlers."""
    return lambda protocol: all(name in protocol.handlers for name in handlers)
