"""The search for the effect of one change: known traces, those of the shared walks, and the shortest of them.

What is tried separates OLD and NEW; and where these part before the change can show, NEW and NEW without the
change, or OLD and OLD with it. What is found is minimised by deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model.errors import RuleError, SpecError
from quidnunc.model.events import Advance, Connect, Event
from quidnunc.model.rpc import ids_named
from quidnunc.model.rules import refused_rule
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.diff_clauses import clause_changes
from quidnunc.properties.regress.pair import DIRECTIONS, Direction, SeparatingTrace, partings_of
from quidnunc.properties.regress.play import first_departing
from quidnunc.properties.regress.reads import names_read
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.shrink import smallest_trace
from quidnunc.properties.suite.traces import Trace, size_of

DICE = range(4)
"""Ways of going on by what both allow with which a trace is tried."""
TRIED = 2
"""Walks on which a change shows that are made smaller and compared."""
DEPARTING_REPLAYS = 80
"""How many candidates may be tried to make one of these smaller, before the two are compared on it."""
REPLAYS = (4, 40, 250)
"""How many candidates the minimiser may try on one trace, the fewest where it is huge: at least a few, and"""
REPLAYED = 1500
"""about so many steps of it in all."""
CONFIRMED = 24
"""Candidates of a directed search on which the two are compared."""

MAX_CLAUSES = 3
"""Clauses that are named of a parameter."""

STRICTER = ("newly-forbidden", "newly-obligatory")
"""Directions in which a router that conforms to OLD does not conform to NEW."""

Verdict: TypeAlias = Direction | Literal["newly-undescribed"]
UNDESCRIBED: Literal["newly-undescribed"] = "newly-undescribed"
"""What OLD leaves to a router and NEW does not speak of: a router that does it departs from NEW, and no
sentence of NEW forbids it."""


@frozen
class BehaviourChange:
    """One change in behaviour: what it comes of, its direction, and a trace that shows it."""

    change: ProtocolChange
    direction: Direction
    found: SeparatingTrace
    between: tuple[Side, Side]
    """OLD and NEW; or, where these part before, NEW without the change and NEW, or OLD and OLD with it."""
    alone: bool = False
    """Whether it is one of the latter two."""

    @property
    def verdict(self) -> Verdict:
        """The direction; of what OLD's text leaves to a router, and NEW's does not speak of, that."""
        gone = self.change.kind == "removed" and self.direction == "newly-forbidden"
        return UNDESCRIBED if gone and is_undescribed(self.change, *self.between) else self.direction

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clause of the change. Of a parameter, the clause of what departs where a rule that reads the
        parameter has it, or else those of the rules that read it, the first few."""
        if self.change.clause or self.change.kind != "parameter":
            return tuple(filter(None, [self.change.clause]))
        rules = [rule for side in self.between for _, rule in side.protocol.rules()]
        read = tuple(dict.fromkeys(r.clause for r in rules if self.change.name in names_read(r)))
        departure = self.found.parting.departure
        # Of an output that nothing permits, the clause is a guess from its kind.
        if departure.clause in read or departure.kind != "unexpected" or not read:
            return tuple(filter(None, [departure.clause]))
        return read[:MAX_CLAUSES]

    @property
    def clause(self) -> str:
        """The same, as reports and files have them."""
        return ", ".join(self.clauses)

    @property
    def key(self) -> tuple[str, Verdict]:
        return self.change.key, self.verdict


def is_undescribed(change: ProtocolChange, old: Side, new: Side) -> bool:
    """Whether a permission of OLD's text has no counterpart in NEW's."""
    removed = clause_changes(old, new).removed
    return any(c.id == change.clause and c.optional for c in removed)


def pairs(change: ProtocolChange, old: Side, new: Side) -> Iterator[tuple[Side, Side]]:
    """What a trace of a change may separate, in the order in which it is tried."""
    yield old, new
    undone, made = change.undone(old, new), change.made(old, new)
    # Where it is the only change of a parameter, these are OLD and NEW again.
    if (undone.protocol, undone.overrides) != (old.protocol, old.overrides):
        yield undone, new
    if (made.protocol, made.overrides) != (new.protocol, new.overrides):
        yield old, made


@mutable
class ChangeSearch:
    """The search for one change."""

    change: ProtocolChange
    old: Side
    new: Side
    pairs: Sequence[tuple[Side, Side]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pairs = list(pairs(self.change, self.old, self.new))

    def among_known(
        self, known: Sequence[Trace], declared: Sequence[Trace] = ()
    ) -> Sequence[BehaviourChange]:
        """Where OLD and NEW part on one of `known` or `declared`: each is tried, and the shortest is kept by
        direction. Where they do on none, a change alone on those that are declared."""
        best: dict[Direction, SeparatingTrace] = {}
        for trace in (*declared, *known):
            for die in DICE:
                _keep(best, partings_of(self.change, self.old, self.new, trace, die))
        if best:
            return self._minimised(best, 0)
        for at in range(1, len(self.pairs)):
            for trace in declared:
                _keep(best, self._first_of(trace, at))
            if best:
                return self._minimised(best, at)
        return []

    def among(self, known: Sequence[Trace], drawn: Sequence[Trace]) -> Sequence[BehaviourChange]:
        """Where OLD and NEW part on one of `drawn`, made smaller; or else a change alone there or on one of
        `known`. The first one that does."""
        small: list[Trace] = []
        for trace in drawn:
            departing = first_departing(self.pairs[1:] or self.pairs, trace, DEPARTING_REPLAYS)
            if departing is None:
                continue
            small.append(departing.trace)
            best = self._first_of(departing.trace, 0)
            if best:
                return self._minimised(best, 0)
            if len(small) == TRIED:
                break
        for at in range(1, len(self.pairs)):
            for trace in [*known, *small]:
                best = self._first_of(trace, at)
                if best:
                    return self._minimised(best, at)
        return []

    def among_directed(self, candidates: Iterable[Trace]) -> Sequence[BehaviourChange]:
        """Where OLD and NEW part on the first candidate on which they do."""
        for trace in islice(candidates, CONFIRMED):
            best = self._first_of(trace, 0)
            if best:
                return self._minimised(best, 0)
        return []

    def others_among(
        self, traces: Iterable[Trace], known: Collection[Direction]
    ) -> Sequence[BehaviourChange]:
        """Where OLD and NEW part on `traces` in a direction that is not `known` yet: the shortest of each."""
        best: dict[Direction, SeparatingTrace] = {}
        for trace in traces:
            for die in DICE:
                found = partings_of(self.change, self.old, self.new, trace, die)
                _keep(best, {d: f for d, f in found.items() if d not in known})
        return self._minimised(best, 0)

    def _first_of(self, trace: Trace, at: int) -> Mapping[Direction, SeparatingTrace]:
        for die in DICE:
            try:
                found = partings_of(self.change, *self.pairs[at], trace, die)
            except KeyError:
                if not at:
                    raise
                # A rule may ask for a handler that only another change brings: it cannot stand alone.
                return {}
            if found:
                return found
        return {}

    def _minimised(self, best: Mapping[Direction, SeparatingTrace], at: int) -> list[BehaviourChange]:
        old, new = self.pairs[at]
        found = {d: self._smallest(f, d, old, new) for d, f in best.items()}
        return [
            BehaviourChange(self.change, d, found[d], (old, new), at > 0) for d in DIRECTIONS if d in found
        ]

    def _smallest(
        self, found: SeparatingTrace, direction: Direction, old: Side, new: Side
    ) -> SeparatingTrace:
        def still(trace: Trace) -> bool:
            return direction in partings_of(self.change, old, new, trace, found.die)

        trace = merged(smallest_trace(found.trace, still, new.base, _replays(found.trace)), still)
        return parting_again(self.change, old, new, trace, found.die, direction)


def parting_again(
    change: ProtocolChange, old: Side, new: Side, trace: Trace, die: int, direction: Direction
) -> SeparatingTrace:
    """What a trace has shown already. Raises RuleError where it does not show it again."""
    found = partings_of(change, old, new, trace, die).get(direction)
    if found is not None:
        return found
    rules = [r for each in change.members or (change,) for r in (each.new, each.old) if r is not None]
    all_rules = [*rules, *(r for side in (new, old) for _, r in side.protocol.rules())]
    said = "does not do the same twice: it draws at random, or keeps something between two calls"
    for each in all_rules:
        if not each.of_the_kit:
            raise refused_rule(each, f"(or another one there) {said}; ask `choose`, and use r.kept")
    raise RuleError(f"{change.says}: a trace shows nothing when it is played again, so a rule {said}")


def merged(trace: Trace, still: Callable[[Trace], bool]) -> Trace:
    """The trace with peers that connect at once where they did one after another, and nobody outbound."""
    parameters, events = trace
    for event in events:
        if isinstance(event, Connect) and event.outbound:
            plain = tuple(evolve(e, outbound=False) if e is event else e for e in events)
            events = plain if still((parameters, plain)) else events
    connects = [(n, e) for n, e in enumerate(events) if isinstance(e, Connect)]
    for (first, one), (later, other) in reversed(list(combinations(connects, 2))):
        if evolve(one, peers=other.peers) == other and not set(one.peers) & set(other.peers):
            both = evolve(one, peers=one.peers + other.peers)
            rest = (*events[:first], both, *events[first + 1 : later], *events[later + 1 :])
            if still((parameters, rest)):
                return merged((parameters, rest), still)
    return parameters, events


def _replays(trace: Trace) -> int:
    tick_ms = getattr(trace[0], "heartbeat_interval_ms", 0)
    steps = sum(_size_of(event, tick_ms) for event in trace[1])
    fewest, few, most = REPLAYS
    return min(most, max(few if steps < REPLAYED else fewest, REPLAYED // max(1, steps)))


def _size_of(event: Event, tick_ms: int) -> int:
    """About as many steps as an event costs."""
    if isinstance(event, Advance):
        return 1 + (event.ms // tick_ms if tick_ms else 0)
    ids = sum(len(ids_named(part)) for part in getattr(event, "parts", ()))
    return (len(getattr(event, "peers", ())) or 1) + ids


def _keep(best: dict[Direction, SeparatingTrace], more: Mapping[Direction, SeparatingTrace]) -> None:
    for direction, found in more.items():
        known = best.get(direction)
        if known is None or size_of(found.trace) < size_of(known.trace):
            best[direction] = found


def suite_or_none(side: Side) -> Mapping[str, Case]:
    """Rule -> its case in the suite of the protocol that a side is of; empty where there is no suite."""
    try:
        return dict(suite_of(side.base))
    except SpecError:
        return {}


def known_traces(change: ProtocolChange, old: Side, new: Side) -> list[Trace]:
    """Traces of the suites that show the rules of a change at work."""
    found: list[Trace] = []
    rules = [(s, r) for each in change.members or (change,) for s, r in ((new, each.new), (old, each.old))]
    for side, rule in rules:
        case = suite_or_none(side).get(rule.name) if rule is not None else None
        if case is not None:
            found.append((parameters_of(case), events_of(case)))
    return found


def related_traces(change: ProtocolChange, old: Side, new: Side) -> tuple[list[Trace], list[Trace]]:
    """The cases of the rules that a change is about, and all others of the suite, the shortest first. A
    parameter is about the rules that read it."""
    names = {r.name for each in change.members or (change,) for r in (each.old, each.new) if r is not None}
    if change.kind == "parameter":
        names = {rule.name for _, rule in new.protocol.rules() if change.name in names_read(rule)}
    suite = suite_or_none(new) or suite_or_none(old)
    # `RULE`, or `RULE-N` where the rule is there and wrong.
    related = {name for name in suite if {name, name.rpartition("-")[0]} & names}
    found: tuple[list[Trace], list[Trace]] = [], []
    for name, case in suite.items():
        found[name not in related].append((parameters_of(case), events_of(case)))
    return sorted(found[0], key=size_of), sorted(found[1], key=size_of)


def suite_traces(old: Side, new: Side) -> list[Trace]:
    """All of NEW's suite, or else of OLD's, the shortest first."""
    cases = suite_or_none(new).values() or suite_or_none(old).values()
    return sorted(((parameters_of(c), events_of(c)) for c in cases), key=size_of)
