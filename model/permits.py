"""Permits: what a step of the model allows the router to send, and what the router must send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from attrs import frozen

from quidnunc.model.events import Output, Sent
from quidnunc.model.rpc import Part, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable

Within: TypeAlias = Literal["now", "heartbeat"]
"""The window of a permit. `now`: the output must come before the router rests again. `heartbeat`: it may come
as late as with what the next heartbeat sends, because a control message may wait for an RPC to travel in
(gossipsub v1.0, Control Message Piggybacking)."""

S = TypeVar("S", covariant=True)
T = TypeVar("T")


@frozen
class Permit:
    """Allows the router one output, once, within a window of time."""

    output: Output
    must: bool
    """Whether the router departs from the model if the output has not come by the end of the window."""
    clause: str
    """Id of the clause that grants the permit."""
    within: Within = "heartbeat"
    together: bool = False
    """Free, but not one by one: the part goes to all peers to whom the step permits it so, or to none."""


@frozen
class Step(Generic[S]):
    """The state of the router after an event, and the permits that the event grants."""

    router: S
    permits: tuple[Permit, ...] = ()

    def then(self, other: Step[T]) -> Step[T]:
        """Both steps as one: `other` started from the state in which this step ends."""
        return Step(other.router, self.permits + other.permits) if self.permits else other

    def plus(self, *permits: Permit) -> Step[S]:
        """The same step, which grants `permits` too."""
        return Step(self.router, self.permits + permits)


def must_send(peers: Iterable[Peer], part: Part, clause: str) -> tuple[Permit, ...]:
    """A permit for each of `peers`: the router must send it `part`, at the latest with the next heartbeat."""
    return tuple(Permit(Sent(p, part), True, clause) for p in sorted(peers))


def may_send(
    peers: Iterable[Peer],
    part: Part,
    clause: str,
    within: Within = "heartbeat",
    *,
    together: bool = False,
) -> tuple[Permit, ...]:
    """A permit for each of `peers`: the router may send it `part` within the window."""
    return tuple(Permit(Sent(p, part), False, clause, within, together) for p in sorted(peers))
