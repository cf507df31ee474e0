"""Random runs of a model under itself: traces in which edits of its rules are looked for."""

from __future__ import annotations

from quidnunc.model.events import Advance, Event
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.regress.pool import with_occasions
from quidnunc.properties.suite.traces import DICE, MAX_ACTS, Trace, draw_walk

MAX_PARTS = 48
"""Parts of RPCs in one walk, at most: more are slow to judge, and no file has room for them."""


def walked(protocol: Protocol, rule: str, number: int) -> Trace | None:
    """One random run of the model under itself; None where a choice in it cannot be seen."""
    d = SeededDraws(number)
    parameters, act = draw_walk(protocol, rule, d)
    act = with_occasions(act, protocol)
    run = Play(ModelSubject(protocol, parameters, d.below(len(DICE))), Oracle(protocol, parameters))
    events: list[Event] = []
    count = d.one_of((8, MAX_ACTS, MAX_ACTS))
    for at in range(count + 1):
        for event in act(run.oracle.state, d) if at < count else (Advance(1000),):
            events.append(event)
            if run.do(event) or run.blurred:
                return None
    small = sum(len(getattr(e, "parts", ())) for e in events) <= MAX_PARTS
    return (parameters, tuple(events)) if small else None


def seed_of(rule: str) -> int:
    return sum(byte * 257**at for at, byte in enumerate(rule.encode()[:6]))
