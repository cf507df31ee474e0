"""From a run that departs to the shortest one that departs in the same way, with plain parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import evolve

from quidnunc.model.events import Advance, Connect, Event, Join, Receive, Score
from quidnunc.model.parameters import Parameters
from quidnunc.properties.explain.plain_scores import plainer_scores
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.explain.thresholds import limits_of
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import Play, same_act

MAX_REPLAYS = 600
"""How many replays the minimiser may spend on one departure."""

ONE_BY_ONE = 6
"""Of so many peers in a burst each is left out in turn; of more, only the first and the last."""

Replay = Callable[[Sequence[Event]], Play]


def shrink(
    events: Sequence[Event],
    departures: Sequence[Departure],
    replay: Replay,
    out_of_time: Callable[[], bool] = lambda: False,
    newest: str = "",
) -> tuple[Event, ...]:
    """The events that still lead to the same act against the same clause, fewer and simpler.

    The first departure must stay; that no others join it keeps two root causes from meeting in one step.

    Deletion in halving chunks, then bursts, RPCs and waits made smaller, until nothing helps or the replays
    or the time are spent. Every step is checked against the live subject. Peers speak the `newest` stream
    protocol where they may: of an older one much is left open.
    """
    spent = 0

    def may_replay() -> bool:
        return spent < MAX_REPLAYS and not out_of_time()

    def fails(candidate: Sequence[Event]) -> bool:
        nonlocal spent
        spent += 1
        found = last_departures(replay(candidate))
        return any(same_act(d, departures[0]) for d in found) and all(
            any(same_act(d, known) for known in departures) for d in found
        )

    best = list(events)
    changed = True
    while changed and may_replay():
        changed = False
        size = max(1, len(best) // 2)
        while size >= 1 and may_replay():
            at = 0
            while at < len(best) and may_replay():
                candidate = best[:at] + best[at + size :]
                if candidate and fails(candidate):
                    best, changed = candidate, True
                else:
                    at += size
            size //= 2
        for at in range(len(best)):
            for simpler in (*_newer(best[at], newest), *simplifications(best[at])):
                if not may_replay():
                    break
                candidate = [*best[:at], simpler, *best[at + 1 :]]
                if fails(candidate):
                    best, changed = candidate, True
                    break
    return tuple(best)


def _newer(event: Event, newest: str) -> Iterable[Event]:
    if isinstance(event, Connect) and newest and event.protocol != newest:
        yield evolve(event, protocol=newest)


def simplifications(event: Event) -> Iterable[Event]:
    """Smaller versions of one event, the boldest first."""
    if isinstance(event, Advance):
        for ms in (100, 500, 1000, 1500, 2000, 3000):
            if ms < event.ms:
                yield Advance(ms)
        return
    if isinstance(event, Join) and (event.requests or event.supports):
        yield Join(event.topic)
        if event.requests:
            yield Join(event.topic, False, True)
        return
    if isinstance(event, Score):
        # The highest one that will do says which threshold it is about.
        lows = (limit - 1 for limit in reversed(limits_of(Parameters())))
        yield from (evolve(event, value=low) for low in lows if low > event.value)
    peers: tuple[int, ...] = getattr(event, "peers", ())
    burst: Any = event
    if len(peers) > 1:
        for keep in (1, 2, len(peers) // 2, len(peers) - 1):
            if 0 < keep < len(peers):
                yield evolve(burst, peers=peers[:keep])
        yield evolve(burst, peers=peers[1:])
        if len(peers) <= ONE_BY_ONE:
            inner = range(1, len(peers) - 1)
            yield from (evolve(burst, peers=peers[:at] + peers[at + 1 :]) for at in inner)
    if isinstance(event, Receive) and len(event.parts) > 1:
        for at in range(len(event.parts)):
            yield evolve(event, parts=event.parts[:at] + event.parts[at + 1 :])


def plainer_parameters(parameters: Any, fails: Callable[[Any], bool], keep: Iterable[str] = ()) -> Any:
    """`parameters` with every field at its default that may be without `fails` coming to an end.

    All at once first, then one by one; a combination that the specification forbids is passed over.
    """
    fields = [a for a in type(parameters).__attrs_attrs__ if a.name not in set(keep)]
    changed = [a for a in fields if getattr(parameters, a.name) != a.default]
    for group in ([changed], [[a] for a in changed]):
        for some in group:
            try:
                candidate = evolve(parameters, **{a.name: a.default for a in some})
            except ValueError:
                continue
            if candidate != parameters and fails(candidate):
                parameters = candidate
                if some is changed:
                    return parameters
    if getattr(parameters, "scores", None) is not None:
        parameters = plainer_scores(parameters, fails)
    return parameters


def shortest_run(
    events: Sequence[Event],
    departures: Sequence[Departure],
    replay: Replay,
    out_of_time: Callable[[], bool] = lambda: False,
    newest: str = "",
) -> Finding | None:
    """The shortest run found that departs in the same way, unexplained; None where it does not repeat."""
    short = shrink(events, departures, replay, out_of_time, newest)
    run = replay(short)
    again = [d for d in last_departures(run) if same_act(d, departures[0])]
    return Finding(short, tuple(run.moments), again[0], ()) if again else None
