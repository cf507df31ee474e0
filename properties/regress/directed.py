"""A search that starts where a change is at work, and goes to where it can show.

Both models go through the same events side by side, each with the same draws, which costs a small part of
comparing all that they allow. Known traces come first, with waits in them. Where the two states differ, the
search goes on from there: all that can happen, one and two events deep; each act again and again, up to the
bounds of counters; and time passes to each deadline of both, with all that can happen around it.
A parameter may leave the states the same: then time passes to the deadlines that it makes, and acts are
repeated up to its two values.

What is found are candidates: `quidnunc.properties.regress.pair` has the last word.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from typing import Any, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model.choices import RandomSource, ScriptedChoices, SeededChoices, outcomes
from quidnunc.model.events import Advance, Connect, Event, Publish, Receive, Submit
from quidnunc.model.machine import Family, family_of
from quidnunc.model.permits import Permit, Step
from quidnunc.model.rpc import IDontWant, IHave, IWant, Message, Part, Peer, SeenTx, Tx, WantTx, account_of
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.reads import count_of, names_read, time_ms, times_read
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.regress.small import alphabet, apart, at_bounds, key_of, without_clauses
from quidnunc.properties.suite.simpler_traces import on_streams_of
from quidnunc.properties.suite.traces import Trace

State: TypeAlias = Any
Difference: TypeAlias = frozenset[tuple[str, str]]

BUDGET = 20_000
"""Steps of both models that one search takes."""
SHARE = 6_000
"""Steps from one state at most."""
QUEUED = 12
"""States that differ in the same way from which the search goes on."""
ALIKE = 3
"""Candidates that differ in the same way."""
ANSWERS = 16
"""Answers to the choices of one step that are gone through where the draws part the two."""
LEAST_MS = 100
"""Smaller numbers in a state are counts."""
LONGEST_TICK_MS = 1 << 20
"""A longer one waits for nothing."""
VARIED = 3
"""Known traces that are tried with other numbers, and with waits in them."""
MOMENTS = 60
"""Moments that are waited for from one state."""
TICKS = 260
"""Heartbeats and moments of one wait."""
PARTS = 10
"""Parts of one RPC that cost as much as a step."""
MOST_AGAIN = (64, 1100)
"""Times that an act is repeated, at most, for a rule and for a parameter; and"""
AGAIN = 12
"""where no counter says how often."""
LONGEST_LIST = 6000
"""Ids that one part may name."""
OF_ALL = frozenset({"now_ms", "peers", "topics"})
"""What most rules read of a state."""
MOST_PEERS = 4
"""Peers from which something comes."""
MOST_PRESENT = 40
"""Peers that are there, at most, where a count is of peers."""
MOST = 0.6
"""The share of a deadline after which two waits pass it, and one does not."""


@frozen
class TwinState:
    """The states of OLD and NEW after the same events."""

    given: Any
    """The parameters of the trace."""
    states: tuple[State, State]
    events: tuple[Event, ...]
    related: bool = False
    """The trace that they come from is one of a rule that the change is about."""

    @property
    def now_ms(self) -> int:
        return int(self.states[1].now_ms)

    @property
    def difference(self) -> Difference:
        """In which attributes the two states differ, and how."""
        one, other = self.states
        pairs = ((name, getattr(one, name), getattr(other, name)) for name in attributes_of(one))
        return frozenset((name, _how(a, b)) for name, a, b in pairs if a is not b and a != b)

    @property
    def differing(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.difference)


@frozen
class FewestDraws:
    """A source that draws as few as it may, and says no; with `most`, as many, and says yes."""

    most: bool = False

    def sample(self, population: Sequence[Peer], k: int) -> list[Peer]:
        return list(population)[:k]

    def randint(self, a: int, b: int) -> int:
        return b if self.most else a

    def random(self) -> float:
        return 0.0 if self.most else 0.99


SOURCES: tuple[Callable[[int], RandomSource], ...] = (
    random.Random,
    lambda seed: FewestDraws(),
    lambda seed: FewestDraws(most=True),
)
"""Seed -> what the choices of both are drawn from: each in a search of its own."""


def directed_traces(
    change: ProtocolChange, old: Side, new: Side, known: Sequence[Trace], others: Sequence[Trace]
) -> Iterator[Trace]:
    """Traces at whose last event the two are granted different things. `known` are those of the rules that
    the change is about, and are tried with other numbers and with waits in them."""
    # Of a parameter that no rule is seen to read there is less to aim at.
    steps = BUDGET if known or change.rule else SHARE
    for draws in SOURCES:
        yield from DirectedSearch(change, old, new, draws, steps).traces(known, others)


@mutable
class DirectedSearch:
    """The search for one change, with one source of draws."""

    change: ProtocolChange
    old: Side
    new: Side
    draws: Callable[[int], RandomSource]
    """Seed -> what both draw from."""
    steps: int = BUDGET
    floor: int = 0
    """Steps that are to be left."""
    family: Family = field(init=False)
    alike: Counter[object] = field(factory=Counter)
    queue: list[TwinState] = field(factory=list)
    """States to go on from."""
    queued: Counter[Difference] = field(factory=Counter)
    """How many of the states of the queue, so far, differ so."""

    def __attrs_post_init__(self) -> None:
        self.family = family_of(self.new.protocol)

    def traces(self, known: Sequence[Trace], others: Sequence[Trace]) -> Iterator[Trace]:
        """As `directed_traces`."""
        varied = chain.from_iterable(map(self._varied, known[:VARIED]))
        for some, related in ((known, True), (varied, True), (others, False)):
            played = (self._played(trace, related) for trace in some)
            yield from self._within(SHARE, chain.from_iterable(played))
        gone_on = Counter[Difference]()
        while self.queue and self.steps > 0:
            # What differs otherwise than those before comes first, then what is related, then what is short.
            start = min(
                self.queue,
                key=lambda s: (gone_on[s.difference], not s.difference, not s.related, len(s.events)),
            )
            self.queue.remove(start)
            gone_on[start.difference] += 1
            yield from self._within(SHARE, self._from(start))

    def _within(self, steps: int, found: Iterable[Trace]) -> Iterator[Trace]:
        """What is found within so many steps, of those that are left."""
        self.floor = max(0, self.steps - steps)
        yield from found
        self.floor = 0

    @property
    def _spent(self) -> bool:
        return self.steps <= self.floor

    def _played(self, trace: Trace, related: bool) -> Iterator[Trace]:
        """Play a trace to where the two part; the states where they first differ, or the last, are queued."""
        given, events = on_streams_of(trace, self.new.base)
        twin = None if self._spent else self._start(given, related)
        differs = False
        for event in events:
            after = self._after(twin, event) if twin is not None else None
            if after is None:
                continue
            twin, parted = after
            if parted:
                yield from self._candidate(twin, parted)
                return
            differs = differs or self._queued(twin)
        if twin is not None and not differs:
            self.queue.append(twin)

    def _queued(self, twin: TwinState) -> bool:
        """Whether the states differ; of those that do so in the same way some are queued."""
        difference = twin.difference
        if not difference:
            return False
        self.queued[difference] += 1
        if self.queued[difference] <= QUEUED:
            self.queue.append(twin)
        return True

    def _start(self, given: Any, related: bool) -> TwinState | None:
        """None where the parameters of the trace do not go with those that a side sets."""
        try:
            one, other = (
                self.family.start(side.protocol, side.parameters(given)) for side in (self.old, self.new)
            )
        except ValueError:
            return None
        return TwinState(given, (one, other), (), related)

    def _varied(self, trace: Trace) -> Iterator[Trace]:
        """The trace with as many peers as a bound counts, or one more or less; with a bound that is one more
        or less; with the second transaction of a signer for a later one; and with a wait
        somewhere in it: to a heartbeat, and of most of a deadline, or all of it."""
        given, events = trace
        peers = sorted({p for e in events if isinstance(e, Connect) for p in e.peers})
        start = self._start(given, related=True)
        bounds = self._counts(start) if start is not None else ()
        for count in sorted({n + k for n in bounds for k in (-1, 0, 1) if 0 < n + k < len(peers)}):
            yield given, tuple(_among(peers[:count], events))
        for name in sorted(names_read(self.change)):
            yield from ((other, events) for other in _beside(given, name))
        sooner = tuple(_next_in_turn(event) for event in events)
        if sooner != tuple(events):
            yield given, sooner
        # A side may set what does not go with the trace's own.
        times = self._times(given, names_read(self.change)) if start is not None else frozenset[int]()
        times |= times_read(self.change)
        waits = {given.heartbeat_delay_ms} if hasattr(given, "heartbeat_delay_ms") else set()
        waits |= {wait for ms in times for wait in (int(ms * MOST), ms - 1, ms + 1) if wait > 0}
        for wait in sorted(waits):
            for at in range(1, len(events)):
                yield given, (*events[:at], Advance(wait), *events[at:])

    # -- from one state -----------------------------------------------------------------------------------

    def _from(self, start: TwinState) -> Iterator[Trace]:
        if start.differing or not (self._times_about(start) or self._counts(start)):
            yield from self._acts(start, 2)
        yield from self._waiting(start)
        yield from self._again(start)

    def _acts(self, start: TwinState, depth: int) -> Iterator[Trace]:
        """All that can happen, `depth` events of it."""
        level, known = [start], set[object]()
        for left in reversed(range(depth)):
            after: list[TwinState] = []
            for twin in level:
                for events in self._sequences(twin):
                    stepped = self._after_all(twin, events)
                    if self._spent:
                        return
                    if stepped is None:
                        continue
                    if stepped[1]:
                        yield from self._candidate(*stepped)
                        continue
                    if stepped[0].difference != start.difference:
                        self._queued(stepped[0])
                    if left:
                        key = tuple(map(key_of, stepped[0].states))
                        if key not in known:
                            known.add(key)
                            after.append(stepped[0])
            level = after

    def _again(self, start: TwinState) -> Iterator[Trace]:
        """Lists as long as they may be; and one act after the other, each as often as counters count, with a
        heartbeat after each time."""
        counts = self._counts(start)
        happens = self._happens(start)
        for length in sorted({n + k for n in counts for k in (0, 1) if 1 < n + k <= LONGEST_LIST}):
            for act in happens:
                yield from self._parted(self._after_all(start, [a for a in [_listing(act, length)] if a]))
        for at in range(len(self._newcomer(start))):
            yield from self._repeated(start, partial(self._another_newcomer, at), counts)
        # As many peers as a count and one more, and then all that can happen.
        for count in sorted({n + k for n in counts for k in (0, 1) if n + k <= MOST_PRESENT}):
            yield from self._present(start, count)
        for act in happens:
            yield from self._repeated(start, partial(_afresh, act), counts)

    def _present(self, start: TwinState, count: int) -> Iterator[Trace]:
        """So many peers are there, and then all that can happen, one event of it."""
        twin = start
        while len(twin.states[1].peers) < count:
            after = self._after_all(twin, self._newcomer(twin)[0])
            if after is None or after[1] or self._spent:
                return
            twin = after[0]
        if twin is not start:
            yield from self._acts(twin, 1)

    def _another_newcomer(self, at: int, twin: TwinState) -> Sequence[Event]:
        return self._newcomer(twin)[at]

    def _repeated(
        self, twin: TwinState, act: Callable[[TwinState], Sequence[Event]], counts: Collection[int]
    ) -> Iterator[Trace]:
        most = MOST_AGAIN[self.change.kind == "parameter"]
        for _ in range(max((n for n in counts if n <= most), default=AGAIN) + 2):
            after = self._after_all(twin, act(twin))
            # What changes nothing the first time does not the next time.
            if after is None or self._spent or after[0].states == twin.states:
                return
            yield from self._parted(after)
            if after[1]:
                return
            twin = after[0]
            for tick in self._ticks(twin):
                yield from self._parted(self._after(twin, tick))

    def _parted(self, after: tuple[TwinState, object] | None) -> Iterator[Trace]:
        if after is not None and after[1]:
            yield from self._candidate(*after)

    def _ticks(self, twin: TwinState) -> tuple[Event, ...]:
        """To the next heartbeat, where there is one."""
        tick_ms = min(map(self.family.until_tick_ms, twin.states))
        return (Advance(tick_ms),) if tick_ms <= LONGEST_TICK_MS else ()

    def _waiting(self, start: TwinState) -> Iterator[Trace]:
        """Time passes: to the moments before, at and after each deadline, and all that can happen there."""
        moments, met = self._moments(start), {start.difference}
        last_ms = max(moments, default=start.now_ms) + 2 * self._tick_ms(start)
        twin = start
        for _ in range(TICKS):
            if self._spent or twin.now_ms >= last_ms:
                return
            due = min((each for each in moments if each > twin.now_ms), default=last_ms)
            ms = min(due - twin.now_ms, *map(self.family.until_tick_ms, twin.states))
            after = self._after(evolve(twin, events=start.events), Advance(ms))
            if after is None or after[0].now_ms == twin.now_ms:
                return
            waited = Advance(after[0].now_ms - start.now_ms)
            twin, parted = evolve(after[0], events=(*start.events, waited)), after[1]
            if parted:
                yield from self._candidate(twin, parted)
                return
            if twin.difference not in met:
                met.add(twin.difference)
                self._queued(twin)
            if twin.now_ms in moments:
                yield from self._acts(twin, 1)

    def _tick_ms(self, twin: TwinState) -> int:
        return int(getattr(twin.given, "heartbeat_interval_ms", 1000))

    def _moments(self, twin: TwinState) -> frozenset[int]:
        """Around the deadlines that the times in the states make, where the change can show."""
        attributes, _ = self._about(twin)
        at = {n for state in twin.states for name in attributes for n in _numbers(getattr(state, name))}
        at = {twin.now_ms, 0, *(n for n in at if n >= LEAST_MS)}
        times = {0, *self._times_about(twin)}
        found = {t + ms + k for t in at for ms in times for k in (-1, 0, 1)}
        found |= {twin.now_ms + int(ms * MOST) for ms in times}
        last_ms = twin.now_ms + max(times) + self._tick_ms(twin)
        later = sorted(each for each in found if twin.now_ms < each <= last_ms)
        # Of too many those are left out that are close to one before.
        return frozenset(later[:: 1 + len(later) // MOMENTS])

    # -- what is aimed at ---------------------------------------------------------------------------------

    def _about(self, twin: TwinState) -> tuple[frozenset[str], frozenset[str]]:
        """Where the change can show: attributes of a state, those that differ or else those that its rules
        read; and the names that are read by its rules, or by those that read these attributes."""
        rules = [rule for _, rule in self.new.protocol.rules()]
        if self.change.kind == "parameter":
            names = frozenset((self.change.name,))
            read = frozenset().union(*(names_read(rule) for rule in rules if names & names_read(rule)))
            return twin.differing or read & attributes_of(twin.states[1]) - OF_ALL, names
        own = names_read(self.change)
        about = twin.differing or own & attributes_of(twin.states[1]) - OF_ALL
        return about, own.union(*(names_read(rule) for rule in rules if names_read(rule) & about))

    def _times_about(self, twin: TwinState) -> frozenset[int]:
        return self._times(twin.given, self._about(twin)[1]) | times_read(self.change)

    def _times(self, given: Any, names: Iterable[str]) -> frozenset[int]:
        both = [side.parameters(given) for side in (self.old, self.new)]
        found = (time_ms(each, name) for each in both for name in names)
        return frozenset(ms for ms in found if ms)

    def _counts(self, twin: TwinState) -> frozenset[int]:
        both = [side.parameters(twin.given) for side in (self.old, self.new)]
        found = (count_of(each, name) for each in both for name in self._about(twin)[1])
        return frozenset(n for n in found if n)

    def _happens(self, twin: TwinState) -> list[Event]:
        """All that can happen: what has happened already, from each of the peers, and all else there is."""
        state = twin.states[1]
        peers = sorted(state.peers)[:MOST_PEERS]
        again = [fresh(e, twin.events) for e in twin.events if not isinstance(e, Connect | Advance | Receive)]
        heard = [Receive((peer,), parts) for peer in peers for parts in _rpcs(twin.events)]
        others = alphabet(self.new, state.parameters, tuple(peers) or (1,))
        fresh_ones = [fresh(e, twin.events) for e in others]
        return list(dict.fromkeys((*again, *heard, *others, *fresh_ones, *self._ticks(twin))))

    def _sequences(self, twin: TwinState) -> list[Sequence[Event]]:
        """All that can happen, and what takes several events of it."""
        pairs = zip((self.old, self.new), twin.states, strict=True)
        bounds = (at_bounds(side.protocol, state.parameters) for side, state in pairs)
        alone = ((each,) for each in self._happens(twin))
        return [*alone, *self._newcomer(twin), *chain.from_iterable(bounds)]

    def _newcomer(self, twin: TwinState) -> list[Sequence[Event]]:
        """Somebody new comes, and says what others have said."""
        peer = max(twin.states[1].peers, default=0) + 1
        comes = Connect((peer,), self.new.streams[0])
        return [(comes,), *((comes, Receive((peer,), parts)) for parts in _rpcs(twin.events))]

    # -- one step -----------------------------------------------------------------------------------------

    def _after_all(self, twin: TwinState, events: Sequence[Event]) -> tuple[TwinState, object] | None:
        """As `_after`, of several events, to the first at which the two part."""
        found: tuple[TwinState, object] | None = (twin, None)
        for event in events:
            if found is not None and not found[1]:
                found = self._after(found[0], event)
        return found

    def _after(self, twin: TwinState, event: Event) -> tuple[TwinState, object] | None:
        """The two after an event, and in what they part, if they do; None where it cannot happen."""
        states, seed, parted = twin.states, 1000 * len(twin.events), None
        pending = list(apart(event))
        while pending:
            single, *pending = pending
            if isinstance(single, Advance):
                ms = min(single.ms, *map(self.family.until_tick_ms, states))
                pending = [Advance(single.ms - ms)] if single.ms > ms else []
                single = Advance(ms)
            stepped = self._single(states, single, seed)
            if stepped is None:
                return None
            states, parted = stepped
            if parted:
                break
            seed += 1
        return evolve(twin, states=states, events=(*twin.events, event)), parted

    def _single(
        self, states: tuple[State, State], event: Event, seed: int
    ) -> tuple[tuple[State, State], object] | None:
        self.steps -= 1 + len(getattr(event, "parts", ())) // PARTS
        seen = [side.sees(event) for side in (self.old, self.new)]
        try:
            if not all(map(self.family.applicable, states, seen)):
                return None
            one, other = (
                self.family.step(state, e, SeededChoices(self.draws(seed)))
                for state, e in zip(states, seen, strict=True)
            )
            if one.permits == other.permits:
                return (one.router, other.router), None
            granted = [without_clauses(each.permits) for each in (one, other)]
            if granted[0] == granted[1]:
                return (one.router, other.router), None
            common = self._agreeing(states, seen)
        except KeyError:
            return None  # A rule asks for a handler that only another change brings.
        return (common, None) if common is not None else ((one.router, other.router), _in_what(one, other))

    def _agreeing(self, states: tuple[State, State], seen: Sequence[Event]) -> tuple[State, State] | None:
        """Both after the same permits, where the two are granted the same things for all answers to choices:
        then only the draws part them."""
        granted: list[dict[object, State]] = []
        for state, event in zip(states, seen, strict=True):

            def run(choose: ScriptedChoices, state: State = state, event: Event = event) -> Step[State]:
                return self.family.step(state, event, choose)

            found, complete = outcomes(run, ANSWERS)
            if not complete:
                return None
            granted.append({without_clauses(step.permits): step.router for step, _ in found})
        if granted[0].keys() != granted[1].keys():
            return None
        first = next(iter(granted[0]))
        return granted[0][first], granted[1][first]

    def _candidate(self, twin: TwinState, parted: object) -> Iterator[Trace]:
        self.alike[parted] += 1
        if self.alike[parted] <= ALIKE:
            # What one of the two owes may be due at the next heartbeat only.
            wait_ms = self.family.first_tick_ms(twin.given)
            yield twin.given, (*twin.events, Advance(wait_ms)) if wait_ms else twin.events


def _how(one: object, other: object) -> str:
    """Of two mappings: whether one has more, or holds other values."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ""
    more = "more " * bool(one.keys() - other.keys()) + "less " * bool(other.keys() - one.keys())
    return more + "other" * any(one[key] != other[key] for key in one.keys() & other.keys())


def attributes_of(state: State) -> frozenset[str]:
    """The names of what a state holds."""
    return _attributes(type(state))  # type: ignore[arg-type]


@cache
def _attributes(kind: Hashable) -> frozenset[str]:
    fields: Any = kind
    named = (a.name for a in fields.__attrs_attrs__ if a.eq and a.init)
    return frozenset(name for name in named if name != "parameters")


def _in_what(one: Step[State], other: Step[State]) -> object:
    """What kind of thing one is granted and the other is not."""
    kinds = [{_kind(p) for p in step.permits} for step in (one, other)]
    sets = [set(step.permits) for step in (one, other)]
    more = frozenset(_kind(p) for p in sets[0] ^ sets[1])
    return frozenset(kinds[0] ^ kinds[1]) or more


def _kind(permit: Permit) -> tuple[object, ...]:
    part = getattr(permit.output, "part", None)
    return type(permit.output), type(part), permit.must, permit.within


def _numbers(value: object) -> Iterator[int]:
    """Every whole number in a state, which may be a time."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, tuple | frozenset):
        for each in value:
            yield from _numbers(each)
    elif hasattr(value, "__attrs_attrs__"):
        for name in attributes_of(value):
            yield from _numbers(getattr(value, name))


def _afresh(act: Event, twin: TwinState) -> tuple[Event, ...]:
    return (fresh(act, twin.events),)


def _rpcs(events: Sequence[Event]) -> list[tuple[Part, ...]]:
    """What peers have said, each RPC once."""
    return list(dict.fromkeys(e.parts for e in events if isinstance(e, Receive)))


def fresh(event: Event, events: Sequence[Event]) -> Event:
    """The event about a message or a transaction that none of `events` is about."""
    number = 100 + len(events)
    match event:
        case Publish(message):
            return Publish(evolve(message, id=f"m{number}"))
        case Submit():
            return Submit(f"x{number}t")
        case Receive(peers, (part,)):
            return Receive(peers, (_fresh_part(part, number),))
    return event


def _fresh_part(part: Part, number: int) -> Part:
    match part:
        case IHave():
            return evolve(part, ids=(f"m{number}",))
        case Message():
            return evolve(part, id=f"m{number}")
        case Tx():
            return evolve(part, id=f"x{number}t")
    return part


def _beside(parameters: Any, name: str) -> Iterator[Any]:
    """The parameters with a count that is one more or less, as far as the specification allows it."""
    count = count_of(parameters, name)
    for value in () if count is None else (count - 1, count + 1):
        with suppress(ValueError):
            yield evolve(parameters, **{name: value})


def _next_in_turn(event: Event) -> Event:
    """The event, where it is about a transaction far ahead of its signer's turn, about the second one."""
    if not isinstance(event, Receive):
        return event
    return evolve(event, parts=tuple(map(_second_of_signer, event.parts)))


def _second_of_signer(part: Part) -> Part:
    if isinstance(part, SeenTx | WantTx | Tx):
        signer, place = account_of(part.id)
        return evolve(part, id=f"{signer}n1") if place > 1 else part
    return part


def _among(peers: Collection[Peer], events: Iterable[Event]) -> Iterator[Event]:
    """What happens with these peers."""
    for event in events:
        some = tuple(p for p in getattr(event, "peers", ()) if p in peers)
        burst: Any = event
        if some or not hasattr(event, "peers"):
            yield evolve(burst, peers=some) if some else event


def _listing(event: Event, length: int) -> Event | None:
    """The event with so many ids, if it lists any."""
    if isinstance(event, Receive) and len(event.parts) == 1:
        part = event.parts[0]
        if isinstance(part, IHave | IWant | IDontWant):
            return evolve(event, parts=(evolve(part, ids=tuple(f"m{n + 1}" for n in range(length))),))
    return None
