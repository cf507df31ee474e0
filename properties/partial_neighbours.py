"""Neighbours that know extensions: what their first RPC says, and what they say of the test extension."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from quidnunc.model.events import MESHSUB_1_3, Connect, Event, Receive
from quidnunc.model.rpc import TEST_EXTENSION, Extensions, Part, TestExtension
from quidnunc.properties.digits import Digits
from quidnunc.properties.neighbours import Act, Neighbours

UNKNOWN = ("x4000001", "x9", "x536870911")
"""Extensions that nobody knows: of an experiment, of the registry's next number, of the last one there is."""


def extended(n: Neighbours, d: Digits, steered: bool) -> Neighbours:
    """The same neighbours, who know v1.3."""
    if "test-extension" in n.capabilities and d.chance(15):
        n.parameters = evolve(n.parameters, test_extension=False)
    n.more = MORE
    n.weights = {**n.weights, **(WEIGHTS if steered else dict.fromkeys(MORE, 1))}
    n.finish = introduce
    return n


def introduce(n: Neighbours, events: list[Event], d: Digits) -> list[Event]:
    """Who connects says first of all what it has; now and then too late, or not at all."""
    waiting: dict[int, Extensions] = {}
    found: list[Event] = []
    for event in events:
        if isinstance(event, Connect):
            says = _named(n, d) if event.protocol == MESHSUB_1_3 or d.chance(8) else None
            if says is not None:
                waiting.update(dict.fromkeys(event.peers, says))
        elif isinstance(event, Receive) and event.peers and event.peers[0] in waiting:
            said: tuple[Part, ...] = (waiting[event.peers[0]],)
            for peer in event.peers:
                waiting.pop(peer, None)
            if d.chance(8):
                found.append(event)
                event = Receive(event.peers, said)
            else:
                event = Receive(event.peers, (*said, *event.parts))
        found.append(event)
    if waiting:
        found.append(Receive(tuple(waiting), (next(iter(waiting.values())),)))
    return found


def _named(n: Neighbours, d: Digits) -> Extensions | None:
    kind = d.below(20)
    if kind == 0:
        return None
    if kind == 1:
        return Extensions(())
    names = {TEST_EXTENSION} if kind < 15 else set()
    if d.chance(25):
        names.add(d.one_of(UNKNOWN))
    return Extensions(tuple(sorted(names)))


def extensions_again(n: Neighbours, d: Digits) -> list[Event]:
    """A second Extensions message, or one that comes late."""
    peer = n.peer(d)
    says = _named(n, d)
    return [Receive((peer,), (says,))] if peer and says and not n.view.peers[peer].speaks_floodsub else []


def test_message(n: Neighbours, d: Digits) -> list[Event]:
    """The message of the test extension, from whoever."""
    peer = n.peer(d)
    return [Receive((peer,), (TestExtension(),))] if peer else []


MORE: Mapping[str, Act] = {f.__name__: f for f in (extensions_again, test_message)}
WEIGHTS: Mapping[str, int] = {"extensions_again": 2, "test_message": 1}
