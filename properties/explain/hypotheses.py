"""Explanations as hypotheses: an edit that accounts for one run has to predict others.

A minimal run is short, and many edits account for it by chance. So the router is played again: in runs of
which the minimal one is a part, and in others. An edit stands if it says what the router did in some of them
where the protocol without it does not, and errs in none where the protocol does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from quidnunc.model.edit import Edit
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import RecordedStep, same_act

MOST_EXPLANATIONS = 6
"""Of one finding."""
MISSED = 2
"""An edit that says nothing new in the first so many runs with the departure is given up."""
NEARLY = 0.97
"""Of the steps of the best edit: who says so many is as good, because runs end where other faults show."""
MISSED_IN = 4
"""An edit may miss the departure in one of so many runs: another fault can look the same."""
LEAST_PREDICTED = 3
"""In so many fresh runs an explanation says what the router did where the protocol without it does not."""


@frozen
class FreshRun:
    """What the router did in a run that was not used to find the explanation."""

    steps: tuple[RecordedStep, ...]
    """Each event with what the router did."""
    parameters: Any


@frozen
class Agreement:
    """How far a protocol agrees with a run, and the departures of the next moment if it has any."""

    agreed: int
    departures: tuple[Departure, ...] = ()


@frozen
class Prediction:
    """How an edit did in fresh runs, each beside the protocol without it."""

    right: int = 0
    """Runs in which it says more of what the router did."""
    wrong: int = 0
    """Runs in which it says less."""
    missed: int = 0
    """Runs in which the departure that it is to explain comes, and it says no more."""
    agreed: int = 0
    """Steps of all runs up to where it does not say what the router did."""

    @property
    def stands(self) -> bool:
        return not self.wrong and self.right >= LEAST_PREDICTED and self.right >= MISSED_IN * self.missed


def agreement(run: FreshRun, protocol: Protocol) -> Agreement:
    """How far the protocol agrees: up to an event that cannot happen, or a choice that cannot be seen."""
    oracle = Oracle(protocol, run.parameters, tells=False)
    for at, (event, outputs) in enumerate(run.steps):
        if not oracle.applicable(event):
            return Agreement(at)
        try:
            judged = oracle.judge(event, outputs)
        except KeyError:
            # An edit can take away what other rules count on.
            return Agreement(at)
        if judged.blurred:
            return Agreement(at)
        if judged.departures:
            return Agreement(at, judged.departures)
    return Agreement(len(run.steps))


def predict(
    edit: Edit, runs: Iterable[tuple[FreshRun, Agreement]], protocol: Protocol, departure: Departure
) -> Prediction:
    """How an edit of `protocol` does in runs, each with how far the protocol without it agrees.

    Ends with the first run in which the edit is wrong, or when it was not right in any of the first runs in
    which the departure came.
    """
    changed = edit.applied_to(protocol)
    right = missed = agreed = 0
    if changed is None:
        return Prediction(wrong=1)
    for run, without in runs:
        found = agreement(run, changed)
        agreed += found.agreed
        if found.agreed > without.agreed:
            right += 1
        elif found.agreed < without.agreed and found.departures:
            return Prediction(right, 1, missed)
        elif any(same_act(d, departure) for d in without.departures):
            missed += 1
            if missed >= MISSED and not right:
                break
    return Prediction(right, 0, missed, agreed)


def standing(
    edits: Sequence[Edit], runs: Sequence[FreshRun], protocol: Protocol, departure: Departure
) -> list[Edit]:
    """The edits that predict the runs, at most `MOST_EXPLANATIONS`: of those that say nearly the most of them
    who comes first in `edits`, then the others."""
    beside = [(run, agreement(run, protocol)) for run in runs]
    tried = [(edit, predict(edit, beside, protocol, departure)) for edit in edits]
    stand = [(edit, told) for edit, told in tried if told.stands]
    enough = NEARLY * max((told.agreed for _, told in stand), default=0)
    stand.sort(key=lambda each: each[1].agreed < enough)
    return [edit for edit, _ in stand[:MOST_EXPLANATIONS]]
