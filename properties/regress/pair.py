"""Two models beside one another on one trace: where what they allow parts, and which change parts it.

Both take the same events and the same outputs, which are drawn from what both allow. At each step the sets of
outputs that either one may show are formed from its permits, over the answers to its choices, and held
against the other. What one allows and the other does not is a `Parting`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias
from zlib import crc32

from attrs import evolve, field, frozen, mutable

from quidnunc.model.choices import ScriptedChoices, SeededChoices, outcomes
from quidnunc.model.events import Advance, Event, Output, Publish, Receive, Sent, output_key
from quidnunc.model.machine import family_of
from quidnunc.model.rpc import Message, ids_named
from quidnunc.properties.judge.oracle import Departure, EventJudgement, Oracle
from quidnunc.properties.judge.play import act_of, as_sent, singles
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.traces import Trace

Direction: TypeAlias = Literal["newly-allowed", "newly-forbidden", "newly-obligatory"]
DIRECTIONS: tuple[Direction, ...] = ("newly-forbidden", "newly-obligatory", "newly-allowed")

MAX_OUTCOMES = 6
"""Answers to the choices of one step that are gone through in order, and"""
DRAWN = 2
"""so many more that are drawn."""
MAX_STEPS = 400
"""Steps of one trace: a long Advance is one per heartbeat."""


@frozen
class Parting:
    """Outputs that one side allows at a point and the other does not, and the output on which it hangs."""

    direction: Direction
    by_old: bool
    """Whether it is OLD that allows `outputs`."""
    outputs: tuple[Output, ...]
    departure: Departure
    """As the other side judges `outputs`."""
    exceeds: bool = False
    """Whether NEW allows something at this point that OLD does not."""

    @property
    def act(self) -> str:
        return act_of(self.departure)


Partings: TypeAlias = tuple[Parting, ...]
Shared: TypeAlias = tuple[tuple[Output, ...], list[Oracle]]
"""Outputs that both allow, and the state of either model after them."""


@frozen
class SharedMoment:
    """One step that both took: the event, and the outputs that both allowed."""

    event: Event
    outputs: tuple[Output, ...]


@mutable
class SidePair:
    """OLD and NEW on one trace. `moments` is the history that both allow."""

    old: Side
    new: Side
    of_trace: Any
    """The parameters of the trace."""
    die: int
    """How the outputs are taken from what both allow: 0 as many as there are, 1 as few, else at random."""
    oracles: list[Oracle] = field(init=False)
    moments: list[SharedMoment] = field(factory=list)
    over: bool = False
    """They cannot go on together."""
    own: set[str] = field(factory=set)
    shown: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        self.oracles = [start_oracle(side, self.of_trace) for side in (self.old, self.new)]

    def do(self, event: Event) -> Partings:
        """Take `event`, of one peer and one heartbeat at most, and go on by what both allow.

        Returns where the two part; what cannot happen to one of them is left out.
        """
        seen = [side.sees(event) for side in (self.old, self.new)]
        able = all(o.applicable(e) for o, e in zip(self.oracles, seen, strict=True))
        if self.over or len(self.moments) >= MAX_STEPS or not able or self._unknown(event):
            return ()
        return self._step(event, seen)

    def _step(self, event: Event, seen: Sequence[Event]) -> Partings:
        offered = [allowed(o, e) for o, e in zip(self.oracles, seen, strict=True)]
        owed = offered[1].owed
        partings: dict[tuple[Direction, object], Parting] = {}
        common: list[Shared] = []
        exceeds = False
        for by_old, (mine, sets) in ((True, (0, offered[0])), (False, (1, offered[1]))):
            for outputs, after in sets.by_outputs.items():
                confirmed = offered[1 - mine].by_outputs.get(outputs)
                if confirmed is not None:
                    common.append((outputs, [after, confirmed] if by_old else [confirmed, after]))
                    continue
                other, judged = judged_by(self.oracles[1 - mine], seen[1 - mine], outputs)
                if judged.blurred:
                    continue
                if not judged.departures:
                    common.append((outputs, [after, other] if by_old else [other, after]))
                for each in judged.departures:
                    found = Parting(direction_of(each, by_old, owed), by_old, outputs, each)
                    partings.setdefault((found.direction, _what(each)), found)
                    exceeds |= not by_old
        self._go_on(event, common)
        return tuple(evolve(each, exceeds=exceeds) for each in _strongest(partings))

    def _go_on(self, event: Event, common: Sequence[Shared]) -> None:
        if not common:
            self.over = True
            return
        outputs, self.oracles = self._one_of(event, common)
        self.moments.append(SharedMoment(event, outputs))
        if isinstance(event, Publish):
            self.own.add(event.message.id)
        parts = [o.part for o in outputs if isinstance(o, Sent)]
        self.shown.update(p.id for p in parts if isinstance(p, Message))

    def _one_of(self, event: Event, common: Sequence[Shared]) -> Shared:
        """The largest set, the least one, or one that hangs on the event and not on those before it: a trace
        made shorter goes on as it did."""
        if self.die < 2:
            pick = min if self.die else max
            return pick(common, key=lambda each: (len(each[0]), repr(each[0])))
        return common[crc32(repr((self.die, event)).encode()) % len(common)]

    def singles(self, event: Event) -> Iterator[Event]:
        """`event`, one peer and one heartbeat at a time; what either side waits for comes in between."""
        if not isinstance(event, Advance):
            yield from singles(event, self.oracles[1])
            return
        left_ms = event.ms
        while left_ms > 0:
            # The states are those that the slice before has led to.
            ticks_ms = (family_of(o.protocol).until_tick_ms(o.state) for o in self.oracles)
            slice_ms = min(left_ms, *ticks_ms)
            left_ms -= slice_ms
            yield Advance(slice_ms)

    def _unknown(self, event: Event) -> bool:
        """Whether a peer names a message of the router's own that nobody was sent."""
        parts = event.parts if isinstance(event, Receive) else ()
        named = {i for part in parts for i in ids_named(part)}
        return bool(named & self.own - self.shown)


def start_oracle(side: Side, of_trace: Any) -> Oracle:
    """A side at the start. Raises ValueError where the parameters of the trace do not go with its own."""
    return Oracle(side.protocol, side.parameters(of_trace), tells=False)


def judged_by(oracle: Oracle, event: Event, outputs: Sequence[Output]) -> tuple[Oracle, EventJudgement]:
    """The state of the model after `outputs`, and what it says of them; `oracle` stays as it is."""
    after = Oracle(oracle.protocol, oracle.parameters, oracle.state, oracle.open, tells=False)
    return after, after.judge(event, outputs)


@frozen
class AllowedOutputs:
    """Some of the sets of outputs that a model allows at one step."""

    by_outputs: dict[tuple[Output, ...], Oracle]
    """A set -> the state of the model after it."""
    owed: frozenset[Output]
    """Keys of the outputs that it demands, now or when they fall due, whatever is chosen. Empty where the
    answers to its choices were not all gone through."""


def allowed(oracle: Oracle, event: Event) -> AllowedOutputs:
    """Of each answer to the choices of the step the least set, the largest, and the least of what is not owed
    yet; each is confirmed by the model itself."""
    machine = family_of(oracle.protocol)

    def run(choose: ScriptedChoices) -> Any:
        return machine.step(oracle.state, event, choose)

    found, complete = outcomes(run, MAX_OUTCOMES)
    steps = [step for step, _ in found]
    if not complete:
        steps += [machine.step(oracle.state, event, SeededChoices(random.Random(k))) for k in range(DRAWN)]
    sets: dict[tuple[Output, ...], Oracle] = {}
    for step in steps:
        for outputs in _sets_of(step.permits, oracle.open):
            if outputs in sets:
                continue
            after, judged = judged_by(oracle, event, outputs)
            if not judged.departures and not judged.blurred:
                sets[outputs] = after
    demanded = [frozenset(output_key(p.output) for p in step.permits if p.must) for step in steps]
    return AllowedOutputs(sets, frozenset.intersection(*demanded) if complete else frozenset())


def _sets_of(granted: Iterable[Any], still: Iterable[Any]) -> Iterator[tuple[Output, ...]]:
    """Candidates: what must be, at once or when it falls due, with and without what may be."""
    granted, still = tuple(granted), tuple(still)
    yield _outputs(p for p in (*still, *granted) if p.must)
    yield _outputs((*still, *granted))
    yield _outputs(p for p in granted if p.must and p.within == "now")
    yield _outputs(granted)


def _outputs(permits: Iterable[Any]) -> tuple[Output, ...]:
    said = dict.fromkeys(as_sent(p.output) for p in permits)
    return tuple(sorted(said, key=repr))


def direction_of(departure: Departure, by_old: bool, owed: frozenset[Output]) -> Direction:
    """What it means that NEW judges so of what OLD allows (`by_old`), or OLD of what NEW allows.

    `owed` is what NEW demands.
    """
    if not by_old:
        said = departure.observed
        return "newly-obligatory" if said is not None and output_key(said) in owed else "newly-allowed"
    if departure.kind == "missing":
        return "newly-obligatory"
    too_few = departure.kind == "choice" and "at least" in departure.reason
    return "newly-obligatory" if too_few else "newly-forbidden"


def _what(departure: Departure) -> object:
    """What a parting is about, without regard to who allows it."""
    output = departure.observed or departure.expected
    return output_key(output) if output is not None else departure.reason.split(":")[0]


def _strongest(partings: dict[tuple[Direction, object], Parting]) -> Partings:
    """Of one output that is obligatory now, that it is allowed goes without saying; and of one that is
    forbidden now, that it may be left out."""
    told = {what for direction, what in partings if direction != "newly-allowed"}
    return tuple(p for (d, what), p in partings.items() if d != "newly-allowed" or what not in told)


# -- which change it comes of -------------------------------------------------------------------------------


@mutable
class Attribution:
    """Whether the partings on one trace come of one change: its hybrids follow the same history."""

    undone: Oracle | None
    """NEW with the change taken back; None where it has left the history."""
    made: Oracle | None
    """OLD with the change alone."""

    @classmethod
    def of(cls, change: ProtocolChange, old: Side, new: Side, of_trace: Any) -> Attribution:
        sides = change.undone(old, new), change.made(old, new)
        return cls(*(start_oracle(side, of_trace) for side in sides))

    def explains(self, parting: Parting, undone_sees: Event, made_sees: Event) -> bool:
        """Whether NEW without the change judges `parting` as OLD does, or OLD with it as NEW does."""
        what = _what(parting.departure)
        for oracle, event, as_old in ((self.undone, undone_sees, True), (self.made, made_sees, False)):
            if oracle is None or not oracle.applicable(event):
                continue
            try:
                _, judged = judged_by(oracle, event, parting.outputs)
            except KeyError:
                continue  # It asks for a handler that only another change brings.
            departs = any(_what(d) == what for d in judged.departures)
            # OLD allows what is `by_old`, and NEW does not.
            if not judged.blurred and departs != (parting.by_old == as_old):
                return True
        return False

    def follow(self, event: Event, outputs: Sequence[Output], old: Side, new: Side) -> None:
        self.undone = _followed(self.undone, new.sees(event), outputs)
        self.made = _followed(self.made, old.sees(event), outputs)


def _followed(oracle: Oracle | None, event: Event, outputs: Sequence[Output]) -> Oracle | None:
    if oracle is None or not oracle.applicable(event):
        return None
    try:
        after, judged = judged_by(oracle, event, outputs)
    except KeyError:
        return None  # It asks for a handler that only another change brings.
    return None if judged.departures or judged.blurred else after


@frozen
class SeparatingTrace:
    """A trace at whose last event OLD and NEW part because of one change."""

    trace: Trace
    die: int
    history: tuple[SharedMoment, ...]
    """What both allowed before."""
    parting: Parting
    at: Event
    """The step at which they part: one peer of the last event, or one heartbeat."""


@mutable
class SeparationWatch:
    """A pair on a trace that grows, and where it parts because of one change."""

    change: ProtocolChange
    old: Side
    new: Side
    of_trace: Any
    die: int = 0
    """As of `SidePair`."""
    events: list[Event] = field(factory=list)
    pair: SidePair = field(init=False)
    attribution: Attribution = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pair = SidePair(self.old, self.new, self.of_trace, self.die)
        self.attribution = Attribution.of(self.change, self.old, self.new, self.of_trace)

    def do(self, event: Event) -> dict[Direction, SeparatingTrace]:
        """Take `event`, to the first step of it at which they part because of the change."""
        self.events.append(event)
        found: dict[Direction, SeparatingTrace] = {}
        for single in self.pair.singles(event):
            before = tuple(self.pair.moments)
            seen = self.new.sees(single), self.old.sees(single)
            for each in self.pair.do(single):
                if each.direction not in found and self.attribution.explains(each, *seen):
                    trace = self.of_trace, tuple(self.events)
                    found[each.direction] = SeparatingTrace(trace, self.die, before, each, single)
            if found or self.pair.over:
                break
            for moment in self.pair.moments[len(before) :]:
                self.attribution.follow(moment.event, moment.outputs, self.old, self.new)
        return found


def partings_of(
    change: ProtocolChange, old: Side, new: Side, trace: Trace, die: int = 0
) -> dict[Direction, SeparatingTrace]:
    """Where the trace first parts the two because of `change`: one finding per direction.

    None where the parameters of the trace do not go with those that a side sets itself.
    """
    parameters, events = trace
    try:
        watch = SeparationWatch(change, old, new, parameters, die)
    except ValueError:
        return {}
    for event in events:
        found = watch.do(event)
        if found or watch.pair.over:
            return found
    return {}
