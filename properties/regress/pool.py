"""Walks that all changes of a pair share: one model alone, and at which event which change is first at work.

A walk of one model costs a small part of one of two side by side. So the walks are made once for all changes,
with each changed rule watched, and only where a rule was at work the two are compared
(`quidnunc.properties.regress.pair`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model.choices import SeededChoices
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Connect,
    Disconnect,
    Event,
    Receive,
    Resume,
    Stall,
    Submit,
)
from quidnunc.model.machine import family_of
from quidnunc.model.mempool.node import Node
from quidnunc.model.permits import Step
from quidnunc.model.rpc import Control, ControlField, HaveTx, Peer, Tx
from quidnunc.model.rules import Combined, Exclusion, FirstMatch, Phases, Protocol, Rule, Total
from quidnunc.model.score_interval import ZERO
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import singles
from quidnunc.properties.neighbours.scores import CAPABILITY, EXCHANGE
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.scores import SWITCHED, is_switched_on
from quidnunc.properties.suite.traces import CAPABILITIES, MAX_ACTS, Trace, draw_walk

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


# -- what walks do ----------------------------------------------------------------------------------------

SCORING = frozenset({CAPABILITY, EXCHANGE, "feedback"})
MAX_DRAWS = 40
"""Walks that are drawn before one has the parameters which a change needs."""
MAX_EVENTS = 60


@frozen
class TraceWalk:
    """A trace, and the changes that were at work in it."""

    trace: Trace
    at: tuple[tuple[str, int], ...]
    """Key of a change, and the index of the event at which it was first at work."""
    peers: int


@mutable
class WatchedSide:
    """A side whose changed rules say when they are at work."""

    side: Side
    keys: frozenset[str]
    """Of the changes that are watched; of the others it is not known."""
    protocol: Protocol
    at_work: set[str] = field(factory=set)


def watched(side: Side, changes: Iterable[ProtocolChange], *, new: bool) -> WatchedSide:
    """`side`, which is NEW (`new`) or OLD, with the rules watched that it has and the other one has not."""
    noted: set[str] = set()
    handlers = dict(side.protocol.handlers)
    keys = set()
    for change in changes:
        mine, other = (change.new, change.old) if new else (change.old, change.new)
        combined = handlers.get(change.handler)
        if mine is None or combined is None or mine.name not in {r.name for r in combined.rules}:
            continue
        told = evolve(mine, apply=_telling(mine, other, combined, noted, change.key))
        handlers[change.handler] = _with(combined, told)
        keys.add(change.key)
    return WatchedSide(side, frozenset(keys), evolve(side.protocol, handlers=handlers), noted)


def _with(combined: Combined, told: Rule) -> Combined:
    rules = tuple(told if r.name == told.name else r for r in combined.rules)
    return Exclusion(rules[0], rules[1:]) if isinstance(combined, Exclusion) else type(combined)(rules)


def _telling(
    mine: Rule, other: Rule | None, combined: Combined, noted: set[str], key: str
) -> Callable[..., object]:
    """The rule's function; it notes its key where it does other than `other` would, or than nothing."""
    idle = _idle_in(combined)

    def apply(r: Any, *rest: Any) -> object:
        said = mine.apply(r, *rest)
        if key not in noted and (idle is None or not idle(r, said)) and not _as_well(other, said, r, rest):
            noted.add(key)
        return said

    # A rule of a user stays one, and what it does is looked at.
    apply.__module__ = mine.apply.__module__
    return apply


def _as_well(other: Rule | None, said: object, r: Any, rest: Sequence[Any]) -> bool:
    """Whether the rule in whose place this one stands says the same here."""
    if other is None:
        return False
    try:
        return bool(other.apply(r, *rest) == said)
    except KeyError:
        return False  # It asks for a handler that the other side alone has.


def _idle_in(combined: Combined) -> Callable[[Any, object], bool] | None:
    match combined:
        case FirstMatch():
            return lambda r, said: said is None
        case Phases():
            return lambda r, said: (
                said is None or (isinstance(said, Step) and said.router is r and not said.permits)
            )
        case Total():
            return lambda r, said: said in (0, ZERO)
        case Exclusion():
            return lambda r, said: said is False


def walk_of(of: WatchedSide, change: ProtocolChange, number: int) -> TraceWalk | None:
    """One random walk, steered to where `change` is at work; None where no such walk could be drawn."""
    drawn = _drawn(of.side, change, number)
    if drawn is None:
        return None
    parameters, act, digits = drawn
    machine = family_of(of.protocol)
    try:
        oracle = Oracle(of.protocol, of.side.parameters(parameters), tells=False)
    except ValueError:
        return None
    of.at_work.clear()
    die = random.Random(number)
    events: list[Event] = []
    at: dict[str, int] = {}
    for turn in range(MAX_ACTS + 1):
        for event in act(oracle.state, digits) if turn < MAX_ACTS else (Advance(1000),):
            events.append(event)
            for single in singles(of.side.sees(event), oracle):
                if machine.applicable(oracle.state, single):
                    oracle.state = machine.step(oracle.state, single, SeededChoices(die)).router
            for key in sorted(of.at_work - at.keys()):
                at[key] = len(events) - 1
        if len(events) >= MAX_EVENTS:
            break
    met = {p for e in events if isinstance(e, Connect) for p in e.peers}
    return TraceWalk((parameters, tuple(events)), tuple(at.items()), len(met))


def _drawn(side: Side, change: ProtocolChange, number: int) -> tuple[Any, Any, SeededDraws] | None:
    """Parameters, acts and digits of a walk; for rules that parameters switch on, one that does."""
    switched = needs_switching(change)
    # The neighbours know the protocols of the kit.
    drawn_for = evolve(side.protocol, name=side.base)
    for again in range(MAX_DRAWS if switched else 1):
        digits = SeededDraws(number * MAX_DRAWS + again)
        capabilities = CAPABILITIES | SCORING if switched else CAPABILITIES
        parameters, act = draw_walk(drawn_for, change.rule, digits, capabilities)
        if not switched or is_switched_on(parameters):
            return parameters, with_occasions(act, side.protocol), digits
    return None


def needs_switching(change: ProtocolChange) -> bool:
    """Whether the change is one of scores or of peer exchange, which the usual parameters switch off."""
    rule = change.new or change.old
    return rule is not None and rule.apply.__module__ in SWITCHED


def differs_at(old: Side, new: Side, trace: Trace) -> int | None:
    """The event at which the two, each alone and with the same die, first do or hold another thing."""
    parameters, events = trace
    try:
        oracles = [Oracle(side.protocol, side.parameters(parameters), tells=False) for side in (old, new)]
    except ValueError:
        return None
    machine = family_of(new.protocol)
    for at, event in enumerate(events):
        for single in singles(event, oracles[1]):
            seen = [side.sees(single) for side in (old, new)]
            if not all(machine.applicable(o.state, e) for o, e in zip(oracles, seen, strict=True)):
                continue
            steps = [
                machine.step(o.state, e, SeededChoices(random.Random(at)))
                for o, e in zip(oracles, seen, strict=True)
            ]
            for oracle, step in zip(oracles, steps, strict=True):
                oracle.state = step.router
            there = evolve(steps[1].router, parameters=steps[0].router.parameters)
            if frozenset(steps[0].permits) != frozenset(steps[1].permits) or steps[0].router != there:
                return at
    return None
