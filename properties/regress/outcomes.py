"""What follows from separating traces: cases with another outcome, routers that newly fail, refinement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, frozen

from quidnunc.model.events import Advance
from quidnunc.model.machine import family_of
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.search import DICE, BehaviourChange, suite_or_none
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.suite.simpler_traces import on_streams_of
from quidnunc.properties.suite.traces import Trace

ASKED = 20
"""Changes of which each is asked whether it makes a case of the suite fail."""


@frozen
class SuiteOutcome:
    """A case of OLD's suite that a router which conforms to OLD fails under NEW."""

    rule: str
    departs: int
    """With so many of `dice`."""
    dice: int
    change: str = ""
    """Key of the first change that alone makes it fail; empty where none does."""


def outcomes_of_suite(
    old: Side, new: Side, changes: Sequence[ProtocolChange] = ()
) -> tuple[SuiteOutcome, ...]:
    """Which cases of OLD's suite change their outcome: the model of OLD is the router, that of NEW judges.
    Of `changes` each case gets the first that alone makes it fail, or without which it holds."""
    found = []
    alone = [(each, each.made(old, new)) for each in changes[:ASKED]]
    without = [(each, each.undone(old, new)) for each in changes[:ASKED]]
    for rule, case in suite_or_none(old).items():
        trace = parameters_of(case), events_of(case)
        departs = _departs(old, new, trace)
        if departs:
            makes = (change.key for change, side in alone if _departs_by(old, side, trace))
            keeps = (change.key for change, side in without if _departs_by(old, side, trace) is False)
            change = next(makes, None) or next(keeps, "")
            found.append(SuiteOutcome(rule, departs, len(DICE), change))
    return tuple(found)


def _departs_by(old: Side, side: Side, trace: Trace) -> bool | None:
    """Whether a router of OLD departs from a side with a change more or less; None where it cannot stand."""
    try:
        return bool(_departs(old, side, trace, DICE[:1]))
    except KeyError:
        return None  # A rule asks for a handler that only another change brings.


def _departs(subject: Side, oracle: Side, trace: Trace, dice: Sequence[int] = DICE) -> int:
    """With how many dice a router of `subject` departs from `oracle` on a trace."""
    parameters, events = on_streams_of(trace, oracle.base)
    departs = 0
    for die in dice:
        try:
            router = ModelSubject(subject.protocol, subject.parameters(parameters), die)
            run = play(events, router, oracle.protocol, oracle.parameters(parameters))
        except ValueError:
            # The parameters of the case do not go with those that a side sets itself.
            break
        departs += bool(last_departures(run))
    return departs


@frozen
class RouterOutcome:
    """A router as it is known to be built, and a change that it does not make."""

    router: str
    change: str
    departs: int
    dice: int


def newly_failing(
    separations: Iterable[BehaviourChange], old: Side, new: Side, routers: Mapping[str, Protocol]
) -> tuple[RouterOutcome, ...]:
    """Routers, built to OLD with their departures, that fail NEW on a separating trace on which they do not
    fail OLD."""
    found: dict[tuple[str, str], RouterOutcome] = {}
    for each in separations:
        if each.alone or each.verdict not in ("newly-forbidden", "newly-obligatory"):
            continue
        for name, protocol in routers.items():
            router = evolve(old, name=name, protocol=protocol)
            departs = _departs(router, new, each.found.trace)
            if departs and not _departs(router, old, each.found.trace):
                found.setdefault(
                    (name, each.change.key), RouterOutcome(name, each.change.key, departs, len(DICE))
                )
    return tuple(found.values())


@frozen
class NewBehaviour:
    """A trace on which NEW does what OLD does not allow."""

    separation: BehaviourChange
    waits: bool = False
    """It shows at the heartbeat after the trace, for which what OLD demands may wait; NEW leaves it out."""

    def __str__(self) -> str:
        events = len(self.separation.found.trace[1])
        return f"{self.separation.change.says}, in {events} events{' and a heartbeat' * self.waits}"


def against_refinement(separations: Sequence[BehaviourChange]) -> NewBehaviour | None:
    """The shortest trace on which NEW does what OLD does not allow; None where none was found, and then it is
    not refuted that NEW refines OLD.

    A router of NEW is also played on each trace and to the heartbeat after it, with OLD as its judge.
    """
    of_both = [s for s in separations if not s.alone]
    for each in sorted(of_both, key=lambda s: len(s.found.trace[1])):
        if each.found.parting.exceeds:
            return NewBehaviour(each)
        (parameters, events), (old, new) = each.found.trace, each.between
        # The first heartbeat of all may be later than one interval.
        wait_ms = family_of(new.protocol).first_tick_ms(parameters)
        if wait_ms and _departs(new, old, (parameters, (*events, Advance(wait_ms)))):
            return NewBehaviour(each, waits=True)
    return None
