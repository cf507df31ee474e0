"""The minimal run with one number changed at a time: what a departure depends on, and what it does not.

A number is a wait, a score, an announced backoff, how often the last event comes, or a parameter. Edits that
agree in the minimal run and differ in what they read of it say different things here: a clock that is a
millisecond ahead, and one that counts whole seconds; one parameter that is taken for another.

The run is minimal, so that each of its events, and each parameter that it was left with, is needed: without
it the router does not depart. An edit that still says so is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

from attrs import evolve, fields, frozen

from quidnunc.model.edits.large_numbers import MANY_OFFERED, TOO_LARGE_S
from quidnunc.model.edits.operators.catalogue import SIBLINGS
from quidnunc.model.events import Advance, Connect, Disconnect, Event, Join, Leave, Receive, Score
from quidnunc.model.rpc import Peer, Prune, Subscribe
from quidnunc.properties.explain.followed import WITHOUT
from quidnunc.properties.explain.plain_scores import each_without_a_term
from quidnunc.properties.explain.thresholds import limits_of
from quidnunc.properties.judge.play import messages_in

WAITS_MS = (-999, -500, -99, -1, 1, 99, 500, 999)
"""Added to a wait: on both sides of a deadline, near it and up to a second off."""
LONG_MS = 2000
"""A wait from which on also a quarter of it, half and three quarters are waited: its end may be far off."""
MOST_LATER = 2
"""Events, the last ones of the run, before which a heartbeat is put."""
BEATS = 2
"""In the place of a last act."""
MOST_WAITS = 2
"""Waits that are varied, the last ones of the run; and backoffs that are set to each of `LARGE_S`, the first
ones."""
STEPS = (-2, -1, 1, 2)
"""Added to any other number: on both sides of a boundary, next to it and not."""
LARGE = 8
"""A parameter from which on half of it and twice as much are given, too."""
AGAIN = (2, 4, 16)
"""How often the last event comes, where it is an RPC."""
LARGE_S = tuple(least_s for least_s, _ in TOO_LARGE_S.values())
"""Backoffs from which some routers read no number; one that is as long is varied at each of them."""
UNLIKE = (
    {"d": 6, "d_low": 5, "d_high": 8, "d_score": 3, "d_out": 2},
    {"d": 7, "d_low": 4, "d_high": 8, "d_score": 5, "d_out": 1},
)
"""Sizes of a mesh, all different: where they are small no single one can be changed."""
MORE, MOST_KINDS = (1, 3), 3
"""How many peers more do as one does, and of how many kinds of peers that is asked."""
MOST_CHANGED = 2
"""Of so many kinds of peers, the last ones, it is asked what comes where they are of another kind."""
TWINS = 11
"""Peers that do as one of the run does, so that a mesh of those sizes is full."""


@frozen
class VariedRun:
    """The events and the parameters of a run with one number changed."""

    what: str
    """Of what the number is; the same in all runs in which that one is changed."""
    events: tuple[Event, ...]
    parameters: Any
    goes_on: bool = False
    """Whether neighbours act after the events: what a number is read for may come later."""


def varied_runs(
    events: Sequence[Event],
    parameters: Any,
    read: Collection[str],
    fixed: Collection[str] = (),
    streams: Sequence[str] = (),
) -> Iterator[VariedRun]:
    """Runs with one number changed; of the parameters those in `read`, by their attributes, and none that
    is `fixed`. `streams` are the protocols that peers may speak, newest first."""
    yield from runs_without(events, parameters, fixed)
    yield from runs_later(events, parameters)
    yield from runs_of_its_own(events, parameters)
    yield from runs_apart(events, parameters)
    interval_ms = getattr(parameters, "heartbeat_interval_ms", 0)
    beat = (Advance(interval_ms),) if interval_ms else ()
    waits = [at for at, event in enumerate(events) if isinstance(event, Advance)]
    large = [at for at, event in enumerate(events) if _announces_long(event)]
    for at, event in enumerate(events):
        near = at in (*waits[-MOST_WAITS:], *large[:MOST_WAITS])
        for told, goes_on in _otherwise(event, parameters, in_full=near):
            yield VariedRun(f"event {at}", (*events[:at], told, *events[at + 1 :]), parameters, goes_on)
        for longer in _longer_than_backoffs(events, at, parameters):
            yield VariedRun(f"event {at}", (*events[:at], longer, *events[at + 1 :]), parameters)
    if events and isinstance(events[-1], Receive):
        # What is only allowed in a topic that the router is not in is due in one that it is in, in the end.
        for first in (tuple(events), tuple(in_more_topics(events, peers=False))):
            for times in AGAIN:
                again = (*first, *[events[-1]] * (times - 1), *beat)
                yield VariedRun("the last event", again, parameters)
    yield from runs_with_more(events, parameters)
    yield from runs_of_other_peers(events, parameters, streams)
    yield from _unlike_siblings(events, parameters, read)
    yield from _like_siblings(events, parameters, {*read} - {*fixed})
    for name in sorted({*read} - {*fixed}):
        value = getattr(parameters, name)
        others = [value + step for step in STEPS if not value >= 0 > value + step]
        if isinstance(value, int) and value >= LARGE:
            others += [value // 2, 2 * value]
        for other in others:
            try:
                given = evolve(parameters, **{name: other})
            except ValueError:
                # The specification forbids it with the others.
                continue
            yield VariedRun(name, tuple(events), given)


def runs_without(
    events: Sequence[Event], parameters: Any, fixed: Collection[str] = ()
) -> Iterator[VariedRun]:
    """Runs that each lack one thing of a minimal run: an event, that a peer leaves and comes back or the
    router does in a topic, all of a peer before it came back, a part of an RPC, or a parameter that is not
    the default and not `fixed`."""
    for at in range(len(events) - 1):
        rest = (*events[:at], *events[at + 1 :])
        yield VariedRun(f"{WITHOUT} event {at}", rest, parameters)
    for gone, back in returns(events):
        rest = (*events[:gone], *events[gone + 1 : back], *events[back + 1 :])
        yield VariedRun(f"{WITHOUT} events {gone} and {back}", rest, parameters)
        if isinstance(left := events[gone], Disconnect):
            others = [_without(event, left.peers) for event in events[:gone]]
            rest = (*(event for event in others if event is not None), *events[gone + 1 :])
            yield VariedRun(f"{WITHOUT} the connection before event {back}", rest, parameters)
    for at, event in enumerate(events):
        parts = event.parts if isinstance(event, Receive) else ()
        for n in range(len(parts) if len(parts) > 1 else 0):
            assert isinstance(event, Receive)
            left = evolve(event, parts=parts[:n] + parts[n + 1 :])
            told = (*events[:at], left, *events[at + 1 :])
            yield VariedRun(f"event {at} {WITHOUT} part {n}", told, parameters)
    for each in fields(type(parameters)):
        if each.name in fixed or getattr(parameters, each.name) == each.default:
            continue
        try:
            given = evolve(parameters, **{each.name: each.default})
        except ValueError:
            # The specification forbids it with the others.
            continue
        yield VariedRun(f"{each.name} at its default", tuple(events), given)
    if getattr(parameters, "scores", None) is not None:
        for given in each_without_a_term(parameters):
            yield VariedRun("a plainer score", tuple(events), given)


def _without(event: Event, peers: Collection[Peer]) -> Event | None:
    """An event without these peers; None where it is of nobody else."""
    if not hasattr(event, "peers"):
        return event
    of: Any = event
    left = tuple(peer for peer in of.peers if peer not in peers)
    return cast("Event", evolve(of, peers=left)) if left else None


def returns(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """What peers that disconnect, and just these connect again, or a router that leaves a topic and joins it
    again, can do without before the last event: to leave and to come back, or to have come before."""
    for gone, event in enumerate(events):
        back = next((at for at in range(gone + 1, len(events) - 1) if _undoes(event, events[at])), None)
        if back is None:
            continue
        yield gone, back
        came = next((at for at in range(gone - 1, -1, -1) if _undoes(event, events[at])), None)
        if came is not None:
            # The peers may speak another protocol when they come back.
            yield came, gone


def _undoes(event: Event, other: Event) -> bool:
    """Whether an event is that a peer or the router leaves, and the other one that it comes."""
    match event, other:
        case (Disconnect(left), Connect(peers)):
            return {*left} == {*peers}
        case (Leave(left), Join(topic)):
            return left == topic
    return False


def runs_later(events: Sequence[Event], parameters: Any) -> Iterator[VariedRun]:
    """Runs in which a heartbeat passes before one of the last events: what was still owed or allowed then is
    over."""
    ms = getattr(parameters, "heartbeat_interval_ms", 0)
    for at in range(max(1, len(events) - MOST_LATER), len(events)) if ms else ():
        yield VariedRun(f"later from event {at}", (*events[:at], Advance(ms), *events[at:]), parameters)


def _longer_than_backoffs(events: Sequence[Event], at: int, parameters: Any) -> Iterator[Event]:
    """A wait after a PRUNE that is longer than the router's own backoff, which it may have taken for the one
    that was announced; of the last wait alone, because many heartbeats pass in it."""
    pruned = any(isinstance(event, Receive) and _prunes(event) for event in events[:at])
    last = not any(isinstance(event, Advance) for event in events[at + 1 :])
    event = events[at]
    if isinstance(event, Advance) and pruned and last:
        yield Advance(event.ms + 1000 * parameters.prune_backoff_s)


def _prunes(event: Receive) -> bool:
    return any(isinstance(part, Prune) for part in event.parts)


def runs_of_its_own(events: Sequence[Event], parameters: Any) -> Iterator[VariedRun]:
    """Runs without the last act of another, in which heartbeats pass in its place: what the router does by
    itself of what is to explain its answer. In one of them peers are in all topics, so that it may turn to
    them."""
    ms = getattr(parameters, "heartbeat_interval_ms", 0)
    last = max((at for at, event in enumerate(events) if not isinstance(event, Advance)), default=0)
    before = events[:last]
    for first in (before, in_more_topics(before, peers=True)) if ms and before else ():
        yield VariedRun(f"{WITHOUT} the last act", (*first, *(Advance(ms),) * BEATS), parameters)


def runs_apart(events: Sequence[Event], parameters: Any) -> Iterator[VariedRun]:
    """Runs in which the parts of one RPC come in RPCs of their own: a bound on RPCs is none on parts."""
    for at, event in enumerate(events):
        if isinstance(event, Receive) and len(event.parts) > 1:
            apart = (evolve(event, parts=(part,)) for part in event.parts)
            yield VariedRun(f"event {at} part by part", (*events[:at], *apart, *events[at + 1 :]), parameters)


def runs_with_more(events: Sequence[Event], parameters: Any) -> Iterator[VariedRun]:
    """Runs in which more peers do as the last one of its kind does: a bound on how many there are is crossed
    by more than one."""
    kinds = {(e.protocol, e.outbound): e.peers[-1] for e in events if isinstance(e, Connect)}
    first = 1 + max((peer for event in events for peer in getattr(event, "peers", ())), default=0)
    for one in [*kinds.values()][-MOST_KINDS:]:
        for more in MORE:
            told = tuple(with_twins(event, one, tuple(range(first, first + more))) for event in events)
            yield VariedRun(f"how many do as peer {one}", told, parameters)


def runs_of_other_peers(
    events: Sequence[Event], parameters: Any, streams: Sequence[str]
) -> Iterator[VariedRun]:
    """Runs in which the peers of one kind speak the next older protocol, or the next newer one, or are on the
    other end of their connection."""
    kinds = dict.fromkeys((e.protocol, e.outbound) for e in events if isinstance(e, Connect))
    for protocol, outbound in [*kinds][-MOST_CHANGED:]:
        at = streams.index(protocol) if protocol in streams else len(streams)
        near = streams[max(0, at - 1) : at + 2]
        others = [(each, outbound) for each in near if each != protocol]
        for kind in (*others, (protocol, not outbound)):
            told = (
                evolve(e, protocol=kind[0], outbound=kind[1])
                if isinstance(e, Connect) and (e.protocol, e.outbound) == (protocol, outbound)
                else e
                for e in events
            )
            end = "dialled" if outbound else "that dialled"
            what = f"what kind peers {end} are that speak {protocol}: {kind}"
            yield VariedRun(what, tuple(told), parameters)


def _unlike_siblings(events: Sequence[Event], parameters: Any, read: Collection[str]) -> Iterator[VariedRun]:
    busy = Counter(peer for event in events for peer in getattr(event, "peers", ()))
    if "d" not in read or not busy:
        return
    one, first = busy.most_common(1)[0][0], max(busy) + 1
    told = tuple(with_twins(event, one, tuple(range(first, first + TWINS))) for event in events)
    for sizes in UNLIKE:
        yield VariedRun("the sizes of a mesh", told, evolve(parameters, **sizes))


def _like_siblings(events: Sequence[Event], parameters: Any, read: Collection[str]) -> Iterator[VariedRun]:
    """Runs in which a parameter has the value of another one, for which it may be taken: nothing differs then
    for who takes it so."""
    for siblings in (each for each in SIBLINGS if "d" not in each):
        for name in sorted(siblings & {*read}):
            for other in sorted(siblings & {*read} - {name}):
                value = getattr(parameters, name)
                if value == getattr(parameters, other):
                    continue
                try:
                    given = evolve(parameters, **{other: value})
                except ValueError:
                    continue
                yield VariedRun(f"{other} like {name}", tuple(events), given)


def with_twins(event: Event, one: Peer, more: tuple[Peer, ...]) -> Event:
    """The event, in which `more` do as `one` does."""
    burst: Any = event
    return evolve(burst, peers=(*burst.peers, *more)) if one in getattr(event, "peers", ()) else event


def _announces_long(event: Event) -> bool:
    parts = event.parts if isinstance(event, Receive) else ()
    return any(isinstance(part, Prune) and (part.backoff_s or 0) >= min(LARGE_S) for part in parts)


def in_more_topics(events: Sequence[Event], *, peers: bool) -> list[Event]:
    """The events, before which the router joins each topic that they name; or in which each peer that
    connects subscribes to it."""
    parts = [part for event in events if isinstance(event, Receive) for part in event.parts]
    named = [getattr(each, "topic", "") for each in (*events, *parts, *messages_in(events))]
    topics = sorted({topic for topic in named if topic})
    if not peers:
        return [*map(Join, topics), *events]
    subscriptions = tuple(map(Subscribe, topics))
    if not topics:
        return list(events)
    found: list[Event] = []
    for event in events:
        found.append(event)
        if isinstance(event, Connect):
            found.append(Receive(event.peers, subscriptions))
    return found


def _otherwise(event: Event, parameters: Any, *, in_full: bool) -> Iterator[tuple[Event, bool]]:
    match event:
        case Advance(ms) if in_full:
            yield from ((Advance(ms + more), False) for more in WAITS_MS if ms + more > 0)
            if ms >= LONG_MS:
                yield from ((Advance(part * ms // 4), False) for part in (1, 2, 3))
        case Score(peers, value):
            for limit in limits_of(parameters):
                yield from (
                    (Score(peers, each), True) for each in (limit - 1, limit, limit + 1) if each != value
                )
        case Receive(peers, parts):
            for at, part in enumerate(parts):
                if isinstance(part, Prune) and part.peers:
                    for many in (*MANY_OFFERED, *(most + 1 for most in MANY_OFFERED), len(part.peers) - 1):
                        fewer = evolve(part, peers=part.peers[:many])
                        if 0 < many < len(part.peers):
                            yield Receive(peers, (*parts[:at], fewer, *parts[at + 1 :])), False
                if not isinstance(part, Prune) or not part.backoff_s:
                    continue
                own_s = parameters.prune_backoff_s
                near = [*(part.backoff_s + step for step in STEPS), own_s, 2 * own_s]
                if in_full and part.backoff_s >= min(LARGE_S):
                    near += [limit + step for limit in LARGE_S for step in (-1, 0, limit // 2)]
                for seconds in near:
                    if seconds > 0:
                        told = evolve(part, backoff_s=seconds)
                        yield Receive(peers, (*parts[:at], told, *parts[at + 1 :])), False
