"""Every short trace over two peers: both models side by side, breadth first, until one grants what the other
does not.

A step of a model is its permits and its next state, for each answer to its choices. Where the two grant the
same, the search goes on with both states; where they do not, `quidnunc.properties.regress.pair` has the last
word on whether that is a separating trace. So what is found is a shortest one, and where nothing is found it
is said how deep the search came: that many events, of those that are listed here, and no further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from attrs import field, frozen, mutable

from quidnunc.model.choices import ScriptedChoices, outcomes
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Publish,
    Receive,
    Submit,
)
from quidnunc.model.machine import Family, family_of
from quidnunc.model.permits import Step
from quidnunc.model.rpc import (
    CONTROL_SHAPES,
    Control,
    Extensions,
    Graft,
    HaveTx,
    Message,
    Part,
    Peer,
    Prune,
    ResetRoute,
    SeenTx,
    Subscribe,
    Tx,
    Unsubscribe,
    WantTx,
)
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.places import SMALL
from quidnunc.properties.networks.pubsub import hashable
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.pair import Direction, SeparatingTrace, partings_of
from quidnunc.properties.regress.pool import WatchedSide, watched
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.traces import Trace

PEERS: tuple[Peer, ...] = (1, 2)
STEPS = 4000
"""Events that are tried on pairs of states, or played to confirm a difference, from each start."""
LARGEST = 120
"""Transactions of one burst."""
DICE = range(2)
"""Ways of going on with which a trace is confirmed."""

State: TypeAlias = Any
Granted: TypeAlias = frozenset[object]


@frozen
class SearchStart:
    """Where a search begins: events that have happened, and what the parameters are."""

    name: str
    events: tuple[Event, ...]
    parameters: Any = field(eq=False)


@frozen
class ExhaustedSearch:
    """How far one search came without a difference."""

    start: str
    depth: int
    """Every trace of so many events after the start was looked at."""
    pairs: int
    """Pairs of states, one of each model, that were reached."""
    unlike: int = 0
    """Steps at which the permits differ, and no output tells."""
    idle: bool = False
    """The rule that changed was at work in none of them."""

    def __str__(self) -> str:
        told = [f"{self.pairs} pairs of states"]
        if self.unlike:
            told.append(f"at {self.unlike} of them the permits differ and no output tells")
        if self.idle:
            told.append("it was at work in none of them")
        return f"{self.depth} events from {self.start} ({', '.join(told)})"


@frozen
class ShortTraceResult:
    """What the searches came to: a shortest separating trace by direction, or how far they came."""

    found: Mapping[Direction, SeparatingTrace]
    exhausted: tuple[ExhaustedSearch, ...]

    def __str__(self) -> str:
        searched = " and of ".join(map(str, self.exhausted)) or "0 events: it cannot stand alone"
        return f"nor in any trace over {len(PEERS)} peers of {searched}"


def searched_small(change: ProtocolChange, old: Side, new: Side, steps: int = STEPS) -> ShortTraceResult:
    """Search from each start until one shows the change."""
    exhausted: list[ExhaustedSearch] = []
    for start in starts(new):
        search = _ShortTraceSearch(change, old, new, start, steps)
        try:
            found = search.run()
        except ValueError:
            continue  # The parameters of the start do not go with those that a side sets itself.
        except KeyError:
            continue  # A rule asks for a handler that only another change brings.
        if found:
            return ShortTraceResult(found, tuple(exhausted))
        exhausted.append(
            ExhaustedSearch(start.name, search.depth, len(search.seen), search.unlike, search.idle)
        )
    return ShortTraceResult({}, tuple(exhausted))


# -- the world ----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class SmallWorld:
    """What there is in short traces of one family."""

    starts: Callable[[Side], tuple[SearchStart, ...]]
    """One that has just started, and one or two with neighbours that are at work."""
    parts: Callable[[Protocol], Iterator[Part]]
    """What a peer can send."""
    events: Callable[[Side, Any, Sequence[Event]], tuple[Event, ...]]
    """(side, parameters, what peers do) -> all that can happen, that of applications and users included."""


def starts(side: Side) -> tuple[SearchStart, ...]:
    """Where searches begin."""
    return WORLDS[side.protocol.family].starts(side)


def alphabet(side: Side, parameters: Any, peers: Sequence[Peer] = PEERS) -> tuple[Event, ...]:
    """What can happen; time passes besides. Bursts come to the bounds that counters are held against."""
    world, stream = WORLDS[side.protocol.family], side.streams[0]
    happens: list[Event] = [Connect((p,), stream) for p in peers]
    happens += [Disconnect((p,)) for p in peers]
    happens += [Receive((p,), (part,)) for p in peers for part in world.parts(side.protocol)]
    return world.events(side, parameters, happens)


def _mempool_starts(side: Side) -> tuple[SearchStart, ...]:
    parameters = family_of(side.protocol).parameters()
    busy = (Connect(PEERS, MEMPOOL), Receive((1,), (Tx("x1t"),)))
    return (
        SearchStart("a node that has just started", (), parameters),
        SearchStart("one with a peer", (Connect(PEERS[:1], MEMPOOL),), parameters),
        SearchStart("one with two peers and a transaction", busy, parameters),
    )


def _mempool_events(side: Side, parameters: Any, happens: Sequence[Event]) -> tuple[Event, ...]:
    bursts = _bursts(parameters) if "controller" in side.protocol.handlers else ()
    turn = (Submit("s1n0"),) if "expected" in side.protocol.handlers else ()
    return (*bursts, Adjust(), *happens, Submit("x1t"), Submit("x2t"), Commit("x1t"), *turn)


def _bursts(parameters: Any) -> Iterator[Event]:
    """As many first-time transactions as a bound divides by, and as many duplicates as it then takes."""
    for first, duplicates in _counts_at_bounds(parameters):
        if duplicates:
            yield Receive((1,), tuple(Tx(f"y{n}t") for n in range(first)))
            yield Receive((1,), (Tx("y0t"),) * duplicates)


def at_bounds(protocol: Protocol, parameters: Any) -> Iterator[tuple[Event, ...]]:
    """The controller runs, its counters come to a bound or just below it, and it runs again."""
    for first, duplicates in _counts_at_bounds(parameters) if "controller" in protocol.handlers else ():
        come = Receive((1,), tuple(Tx(f"y{n}t") for n in range(first)))
        for more in (duplicates, duplicates - 1):
            again = (Receive((1,), (Tx("y0t"),) * more),) if more > 0 else ()
            yield (Adjust(), come, *again, Adjust())


def _counts_at_bounds(parameters: Any) -> Iterator[tuple[int, int]]:
    """(first-time transactions, duplicates) whose redundancy is a bound."""
    target = Fraction(str(parameters.target_redundancy))
    width = Fraction(str(parameters.delta_percent)) / 100
    for bound in dict.fromkeys((target * (1 - width), target * (1 + width))):
        if 0 < max(bound.denominator, bound.numerator) <= LARGEST:
            yield bound.denominator, bound.numerator


def _mempool_parts(protocol: Protocol) -> Iterator[Part]:
    yield from (Tx("x1t"), Tx("x2t"))
    if "have_tx" in protocol.handlers:
        yield from (HaveTx("x1t"), HaveTx("x2t"))
    if "reset_route" in protocol.handlers:
        yield ResetRoute()
    if "seen_tx" in protocol.handlers:
        yield from (SeenTx("x1t"), WantTx("x1t"))
    if "expected" in protocol.handlers:
        # Where signers have turns: the second of a signer, and the first (`_mempool_events`).
        yield SeenTx("s1n1")


def _pubsub_starts(side: Side) -> tuple[SearchStart, ...]:
    met = (Connect(PEERS, side.streams[0]), Join("t1"), Receive(PEERS, (Subscribe("t1"), Graft("t1"))))
    return (
        SearchStart("a router that has just started", (), SMALL),
        SearchStart("one with both in its mesh", met, SMALL),
    )


def _pubsub_events(side: Side, parameters: Any, happens: Sequence[Event]) -> tuple[Event, ...]:
    return (*happens, Join("t1"), Leave("t1"), Publish(Message("m2", "t1")))


def _pubsub_parts(protocol: Protocol) -> Iterator[Part]:
    yield from (Subscribe("t1"), Unsubscribe("t1"), Message("m1", "t1", author=PEERS[0]))
    # The order of the search, which what it finds first depends on.
    shapes = sorted(CONTROL_SHAPES, key=lambda s: (s.kind not in (Graft, Prune), s.number))
    by_handler = ((s.word, s.sample("t1", "m1")) for s in shapes if s.kind is not Extensions)
    yield from (part for handler, part in by_handler if handler in protocol.handlers)
    for each in protocol.messages:
        yield Control(each.name, ("t1",) if each.carries == "topics" else ("m1",))


WORLDS: Mapping[str, SmallWorld] = {
    "pubsub": SmallWorld(starts=_pubsub_starts, parts=_pubsub_parts, events=_pubsub_events),
    "mempool": SmallWorld(starts=_mempool_starts, parts=_mempool_parts, events=_mempool_events),
}
"""By the name that `Protocol.family` has."""


# -- the search ---------------------------------------------------------------------------------------------


@frozen
class _StatePair:
    """The state of either model, and the events that led there."""

    states: tuple[State, State]
    events: tuple[Event, ...]


@mutable
class _ShortTraceSearch:
    change: ProtocolChange
    old: Side
    new: Side
    start: SearchStart
    steps: int
    depth: int = 0
    unlike: int = 0
    seen: set[object] = field(factory=set)
    family: Family = field(init=False)
    watched: tuple[WatchedSide, WatchedSide] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.family = family_of(self.new.protocol)
        changes = self.change.members or (self.change,)
        self.watched = watched(self.old, changes, new=False), watched(self.new, changes, new=True)

    @property
    def idle(self) -> bool:
        """Whether a rule changed, and was at work nowhere."""
        return bool(self.change.rule) and not any(each.at_work for each in self.watched)

    def run(self) -> Mapping[Direction, SeparatingTrace]:
        """The first difference, or nothing; `depth` is that of the last level that was gone through."""
        given = self.start.parameters
        begun = [self.family.start(w.protocol, w.side.parameters(given)) for w in self.watched]
        level = [_StatePair((begun[0], begun[1]), ())]
        for event in self.start.events:
            found, level = self._level(level, (event,))
            if found:
                return found
        happens = alphabet(self.new, self.new.parameters(given))
        while level and self.steps > 0:
            found, level = self._level(level, happens)
            if found:
                return found
            self.depth += self.steps > 0
        return {}

    def _level(
        self, level: Sequence[_StatePair], happens: Sequence[Event]
    ) -> tuple[Mapping[Direction, SeparatingTrace], list[_StatePair]]:
        """Each of `happens` to each pair, and time passing where all may happen."""
        after: list[_StatePair] = []
        for pair in level:
            ticks = (Advance(self.family.until_tick_ms(pair.states[1])),) if len(happens) > 1 else ()
            for event in (*happens, *ticks):
                self.steps -= 1
                if self.steps < 0:
                    return {}, after
                found = self._step(pair, event, after)
                if found:
                    return found, after
        return {}, after

    def _step(
        self, pair: _StatePair, event: Event, after: list[_StatePair]
    ) -> Mapping[Direction, SeparatingTrace]:
        granted: list[dict[Granted, list[State]]] = []
        for side, state in zip((self.old, self.new), pair.states, strict=True):
            seen = side.sees(event)
            if not self._able(state, seen):
                return {}
            granted.append(self._granted(state, seen))
        events = (*pair.events, event)
        if granted[0].keys() != granted[1].keys():
            found = self._confirmed((self.start.parameters, events))
            if found:
                return found
            self.unlike += 1
        for permits in granted[0].keys() & granted[1].keys():
            for states in _paired(granted[0][permits], granted[1][permits]):
                known = (key_of(states[0]), key_of(states[1]))
                if known not in self.seen:
                    self.seen.add(known)
                    after.append(_StatePair(states, events))
        return {}

    def _able(self, state: State, event: Event) -> bool:
        # A burst is one event for each of its peers.
        return all(self.family.applicable(state, each) for each in apart(event))

    def _granted(self, state: State, event: Event) -> dict[Granted, list[State]]:
        """What may be granted for an event -> the states after it."""
        found: list[tuple[State, tuple[Any, ...]]] = [(state, ())]
        for each in apart(event):
            found = [
                (step.router, before + step.permits)
                for now, before in found
                for step in self._steps(now, each)
            ]
        by_permits: dict[Granted, list[State]] = {}
        for after, permits in found:
            by_permits.setdefault(without_clauses(permits), []).append(after)
        return by_permits

    def _steps(self, state: State, event: Event) -> list[Step[State]]:
        def run(choose: ScriptedChoices) -> Step[State]:
            return self.family.step(state, event, choose)

        return [step for step, _ in outcomes(run)[0]]

    def _confirmed(self, trace: Trace) -> Mapping[Direction, SeparatingTrace]:
        for die in DICE:
            # Each of the two is played, beside the other's rules.
            self.steps -= 2 * len(trace[1])
            found = partings_of(self.change, self.old, self.new, trace, die)
            if found:
                return found
        return {}


def apart(event: Event) -> tuple[Event, ...]:
    """A burst as one event for each of its peers."""
    peers = getattr(event, "peers", ())
    if len(peers) < 2:
        return (event,)
    kind: Any = type(event)
    names = [a.name for a in kind.__attrs_attrs__ if a.name != "peers"]
    given = {name: getattr(event, name) for name in names}
    return tuple(kind(peers=(p,), **given) for p in peers)


def without_clauses(permits: Iterable[Any]) -> Granted:
    """Permits, without the sentence that each is of, and how often each is granted."""
    return frozenset(Counter((p.output, p.must, p.within) for p in permits).items())


def _paired(old: Sequence[State], new: Sequence[State]) -> Iterator[tuple[State, State]]:
    """Which of the states after the same permits belong together: the same ones, or else all with all."""
    there = {key_of(state): state for state in new}
    here = {key_of(state): state for state in old}
    if here.keys() == there.keys():
        yield from ((state, there[key]) for key, state in here.items())
    else:
        yield from ((one, other) for one in here.values() for other in there.values())


def key_of(state: State) -> object:
    """All of a state but its protocol and its parameters."""
    told = [
        hashable(getattr(state, a.name))
        for a in state.__attrs_attrs__
        if a.init and a.name not in ("protocol", "parameters", "kept")
    ]
    return (*told, repr(sorted(getattr(state, "kept", {}).items())))
