"""A short run of the model of one pubsub router, and what its last event obliges to and leaves free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve, frozen

from quidnunc.model.choices import AngelicChoices, ChoiceProblem, ScriptedChoices
from quidnunc.model.events import (
    MESHSUB_1_2,
    Advance,
    Connect,
    Event,
    Output,
    Publish,
    Receive,
    Sent,
    output_key,
)
from quidnunc.model.parameters import Parameters
from quidnunc.model.permits import Permit
from quidnunc.model.pubsub.protocols import (
    GOSSIPSUB_1_0,
    GOSSIPSUB_1_1,
    GOSSIPSUB_1_2,
    GOSSIPSUB_1_2_DRAFT,
    started,
)
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.step import applicable, step, until_heartbeat_ms
from quidnunc.model.rpc import ROUTER, Graft, Message, Part, Prune, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.model.versions import STREAM_PROTOCOLS

T = "t1"
MESH_VERSIONS = (GOSSIPSUB_1_0, GOSSIPSUB_1_1, GOSSIPSUB_1_2_DRAFT, GOSSIPSUB_1_2)
SINCE_1_1 = MESH_VERSIONS[1:]
STREAM_OF = {name: streams[0] for name, streams in STREAM_PROTOCOLS.items()}
SMALL: dict[str, Any] = {"d": 3, "d_low": 2, "d_high": 4, "d_score": 2, "d_out": 0, "d_lazy": 2}
"""Degrees that a few peers reach. The outbound quota is off where a test does not ask for it."""

Events = Event | Iterable[Event]


@frozen
class After:
    """The end of a run: the router, and the permits of its last event."""

    router: Router
    permits: tuple[Permit, ...]
    because: tuple[str, ...]
    problems: tuple[ChoiceProblem, ...] = ()
    blurred: bool = False

    @property
    def must(self) -> frozenset[Output]:
        return frozenset(p.output for p in self.permits if p.must)

    @property
    def may(self) -> frozenset[Output]:
        return frozenset(p.output for p in self.permits if not p.must)

    @property
    def all(self) -> frozenset[Output]:
        return self.must | self.may

    def due(self, kind: type) -> dict[int, list[Any]]:
        """Peer -> parts of that kind that it must be sent."""
        return _by_peer(self.must, kind)

    def free(self, kind: type) -> dict[int, list[Any]]:
        """Peer -> parts of that kind that it may be sent."""
        return _by_peer(self.may, kind)

    def mesh(self, topic: str = T) -> set[int]:
        return set(self.router.mesh_of(topic))


def _by_peer(outputs: Iterable[Output], kind: type) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for o in outputs:
        if isinstance(o, Sent) and isinstance(o.part, kind):
            found.setdefault(o.peer, []).append(o.part)
    return found


def after(
    *events: Events,
    protocol: Protocol = GOSSIPSUB_1_2,
    seen: Iterable[Output] | None = None,
    script: tuple[int, ...] = (),
    **parameters: Any,
) -> After:
    """Play `events`. Choices are the first possible ones; those of the last event are read off `seen`, or
    taken from `script`."""
    r = started(protocol, Parameters(**{**SMALL, **parameters}))
    return onward(r, *events, seen=seen, script=script)


def onward(
    r: Router, *events: Events, seen: Iterable[Output] | None = None, script: tuple[int, ...] = ()
) -> After:
    """The same from a router that is under way."""
    flat = [e for each in events for e in (each if isinstance(each, Iterable) else [each])]
    for event in flat[:-1]:
        r = _played(r, event, ScriptedChoices()).router
    angel = AngelicChoices(frozenset(map(output_key, seen))) if seen is not None else None
    return _played(r, flat[-1], angel or ScriptedChoices(script))


def _played(r: Router, event: Event, choose: AngelicChoices | ScriptedChoices) -> After:
    permits: tuple[Permit, ...] = ()
    for single in singles(r, event):
        assert applicable(r, single), f"{single} cannot happen"
        done = step(r, single, choose)
        r, permits = done.router, permits + done.permits
    problems = tuple(choose.problems) if isinstance(choose, AngelicChoices) else ()
    blurred = isinstance(choose, AngelicChoices) and choose.blurred
    return After(r, permits, tuple(choose.because), problems, blurred)


def singles(r: Router, event: Event) -> Iterator[Event]:
    """One peer and one heartbeat at a time."""
    if isinstance(event, Advance):
        left, wait = event.ms, until_heartbeat_ms(r)
        while left > 0:
            yield Advance(min(left, wait))
            left -= min(left, wait)
            wait = r.parameters.heartbeat_interval_ms
    elif hasattr(event, "peers"):
        burst: Any = event
        for peer in burst.peers:
            yield evolve(burst, peers=(peer,))
    else:
        yield event


# -- events in few words ------------------------------------------------------------------------------------

BEAT = Advance(1000)
"""From one heartbeat to the next."""


def of(peer: int, *parts: Part) -> Receive:
    return Receive((peer,), parts)


def peers(*numbers: int, topic: str = T, stream: str = MESHSUB_1_2, outbound: bool = False) -> list[Event]:
    """Peers that connect and subscribe."""
    return [Connect(numbers, stream, outbound), Receive(numbers, (Subscribe(topic),))]


def grafted(*numbers: int, topic: str = T) -> Event:
    return Receive(numbers, (Graft(topic),))


def pruned(*numbers: int, topic: str = T, backoff_s: int | None = None) -> Event:
    return Receive(numbers, (Prune(topic, backoff_s),))


def own(message_id: str = "m1", topic: str = T, size: int = 0) -> Publish:
    return Publish(Message(message_id, topic, ROUTER, size))


def message(message_id: str = "m1", author: int = 9, topic: str = T, **rest: Any) -> Message:
    return Message(message_id, topic, author, **rest)


def sent(part: Part, *numbers: int) -> frozenset[Output]:
    return frozenset(Sent(p, part) for p in numbers)


def to_heartbeat(r: Router) -> Advance:
    return Advance(until_heartbeat_ms(r))
