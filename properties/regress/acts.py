"""Acts of the walks of `quidnunc regress` beside those of the neighbours: what random acts seldom come to.

They are for DOG, in whose variants a difference takes two senders of one transaction, a disabled route and a
decision that is still open, or counters at a bound exactly. What comes of them is judged as anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from quidnunc.model.events import MEMPOOL, Adjust, Connect, Disconnect, Event, Receive, Resume, Stall, Submit
from quidnunc.model.mempool.node import Node
from quidnunc.model.rpc import Control, ControlField, HaveTx, Peer, Tx
from quidnunc.model.rules import Protocol
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

CHANCE = 25
"""Of a hundred acts, so many are occasions."""
MAX_COUNT = 120
"""Transactions of one burst; mostly"""
FEW = 24
"""so many at most, because each of them is judged."""

Name: TypeAlias = Callable[[], str]
Occasion: TypeAlias = Callable[[Node, SeededDraws, Name], list[Event]]
Act: TypeAlias = Callable[[Any, SeededDraws], list[Event]]


def two_senders(view: Node, d: SeededDraws, name: Name) -> list[Event]:
    """Two send the same, the first may go, a third one has it already; then one of the two sends more."""
    one, two, target = _three(view, d)
    first, more = name(), name()
    gone: list[Event] = [Disconnect((one,))] if d.chance(50) else []
    source = two if gone or d.chance(50) else one
    return [
        Receive((one,), (Tx(first),)),
        Receive((two,), (Tx(first),)),
        *gone,
        Receive((target,), (HaveTx(first),)),
        Receive((source,), (Tx(more),)),
    ]


def cut_while_open(view: Node, d: SeededDraws, name: Name) -> list[Event]:
    """Whether something goes to one that does not read is open while a second source of it is added, the
    route from which is disabled."""
    one, two, target = _three(view, d)
    cut, more = name(), name()
    comes: Event = Submit(more) if d.chance(50) else Receive((one,), (Tx(more),))
    return [
        Receive((two,), (Tx(cut),)),
        Receive((target,), (HaveTx(cut),)),
        Stall((target,)),
        comes,
        Receive((two,), (Tx(more),)),
        Resume((target,)),
    ]


def at_a_bound(view: Node, d: SeededDraws, name: Name) -> list[Event]:
    """The counters come to a bound of the redundancy, or close to it, or between them, and are looked at."""
    p = view.parameters
    share = Fraction(str(p.target_redundancy)), Fraction(str(p.delta_percent)) / 100
    bound = share[0] * d.one_of((1 + share[1], 1 - share[1], Fraction(1)))
    first, more = bound.denominator, bound.numerator + d.one_of((0, 0, 1, -1))
    if max(first, more) > (MAX_COUNT if d.chance(10) else FEW) or more < 0:
        return []
    one = d.one_of(sorted(view.peers))
    names = [name() for _ in range(first)]
    again = [Tx(names[0])] * more
    return [
        Adjust(),
        Receive((one,), tuple(map(Tx, names))),
        *([Receive((one,), tuple(again))] if again else []),
        Adjust(),
        Receive((one,), (Tx(names[0]),)),
    ]


def idle(view: Node, d: SeededDraws, name: Name) -> list[Event]:
    """Nothing comes for some intervals."""
    return [Adjust()] * d.one_of((2, 4))


DOG_OCCASIONS: tuple[Occasion, ...] = (*(two_senders, cut_while_open) * 2, at_a_bound, idle)


def with_occasions(act: Act, protocol: Protocol) -> Act:
    """`act`, and now and then an occasion, where the protocol has some."""
    if protocol.messages:
        return _with_own_messages(act, protocol.messages)
    if "adjust" not in protocol.handlers:
        return act
    count = 0

    def name() -> str:
        nonlocal count
        count += 1
        # Beyond those that the neighbours name.
        return f"x{1000 + count}t"

    def acts(view: Any, d: SeededDraws) -> list[Event]:
        if not d.chance(CHANCE):
            return act(view, d)
        if len(view.peers) < 3:
            free = [p for p in (21, 22, 23) if p not in view.peers]
            return [Connect(tuple(free), MEMPOOL)]
        return d.one_of(DOG_OCCASIONS)(view, d, name) or act(view, d)

    return acts


def _with_own_messages(act: Act, messages: tuple[ControlField, ...]) -> Act:
    """`act`, and now and then somebody sends one of these."""

    def acts(view: Any, d: SeededDraws) -> list[Event]:
        able = sorted(p for p, each in view.peers.items() if not each.speaks_floodsub)
        if not able or not d.chance(CHANCE):
            return act(view, d)
        field, peer = d.one_of(messages), d.one_of(able)
        topics = sorted(view.topics) or ["t1"]
        known = sorted(view.cached) or sorted(view.seen) or ["m1"]
        said = d.one_of(topics) if field.carries == "topics" else d.one_of(known)
        return [Receive((peer,), (Control(field.name, (said,)),))]

    return acts


def _three(view: Node, d: SeededDraws) -> tuple[Peer, Peer, Peer]:
    peers = sorted(view.peers)
    at = d.below(len(peers))
    one, two, target = (peers[(at + k) % len(peers)] for k in range(3))
    return one, two, target
