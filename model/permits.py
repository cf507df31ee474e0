"""What a step allows and obliges the router to do, and the step itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from attrs import frozen

from quidnunc.model.events import Output, Sent
from quidnunc.model.rpc import Part, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable

Within: TypeAlias = Literal["now", "heartbeat"]
"""`now`: before the router rests again. `heartbeat`: at the latest with what the next heartbeat sends,
because control may wait to be piggybacked (gossipsub v1.0, Control Message Piggybacking)."""

S = TypeVar("S", covariant=True)
T = TypeVar("T")


@frozen
class Permit:
    """One output that is allowed, and obligatory where `must`. Used up by one output."""

    output: Output
    must: bool
    clause: str
    within: Within = "heartbeat"


@frozen
class Step(Generic[S]):
    """The state after a step, and the permits that it grants."""

    router: S
    permits: tuple[Permit, ...] = ()

    def then(self, other: Step[T]) -> Step[T]:
        """This step and then `other`, which was taken from this one's router."""
        return Step(other.router, self.permits + other.permits) if self.permits else other

    def plus(self, *permits: Permit) -> Step[S]:
        return Step(self.router, self.permits + permits)


def must_send(peers: Iterable[Peer], part: Part, clause: str) -> tuple[Permit, ...]:
    return tuple(Permit(Sent(p, part), True, clause) for p in sorted(peers))


def may_send(
    peers: Iterable[Peer], part: Part, clause: str, within: Within = "heartbeat"
) -> tuple[Permit, ...]:
    return tuple(Permit(Sent(p, part), False, clause, within) for p in sorted(peers))
