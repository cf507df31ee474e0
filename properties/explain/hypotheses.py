"""Explanations as hypotheses: an edit that accounts for one run has to predict others.

A minimal run is short, and many edits account for it by chance. So the router is played again: in runs of
which the minimal one is a part, and in others. An edit stands if it says what the router did in some of them
where the protocol without it does not, and errs in none where the protocol does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from attrs import frozen

from quidnunc.model.edit import Edit
from quidnunc.model.edits.operators.everywhere import EVERYWHERE
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import ModelSubject, RecordedStep, play, same_act, steps_of

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

MOST_WIDE = 3
"""So many edits of several rules besides: they are larger, and tell what else is as many rows."""
SHARP = 0.5
"""Of the runs in which a router without an edit departs from the best one."""


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
    agreed_in: tuple[int, ...] = ()
    """Steps of each run up to where it does not say what the router did."""

    @property
    def agreed(self) -> int:
        return sum(self.agreed_in)

    def outdoes(self, other: Prediction) -> bool:
        """Whether it says more of some run, and less of none."""
        pairs = tuple(zip(self.agreed_in, other.agreed_in, strict=True))
        return all(own >= its for own, its in pairs) and any(own > its for own, its in pairs)

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
    right = missed = 0
    agreed = list[int]()
    if changed is None:
        return Prediction(wrong=1)
    for run, without in runs:
        found = agreement(run, changed)
        agreed.append(found.agreed)
        if found.agreed > without.agreed:
            right += 1
        elif found.agreed < without.agreed and found.departures:
            return Prediction(right, 1, missed)
        elif any(same_act(d, departure) for d in without.departures):
            missed += 1
            if missed >= MISSED and not right:
                break
    return Prediction(right, 0, missed, tuple(agreed))


def standing(
    edits: Sequence[Edit],
    runs: Sequence[FreshRun],
    protocol: Protocol,
    departure: Departure,
    clauses: Collection[str] = (),
) -> list[Edit]:
    """The edits that predict the runs, the best first: at most `MOST_EXPLANATIONS` of one rule, and then
    those of several rules.

    Of those that say nearly the most, one that another outdoes comes behind. Readings come first. Then those
    that a router without them departs from (another one allows more than it says), and that drop a rule, or
    change one of `clauses`, which the departure was judged by. Of equals, who comes first in `edits`.
    """
    beside = [(run, agreement(run, protocol)) for run in runs]
    tried = [(edit, predict(edit, beside, protocol, departure)) for edit in edits]
    stand = [(edit, told) for edit, told in tried if told.stands]
    if not stand:
        return []
    plain = [plain_run(run, protocol, seed) for seed, run in enumerate(runs)]
    sharpness = {edit: _departs_in(edit.applied_to(protocol), plain) for edit, _ in stand}
    enough, sharp = NEARLY * max(told.agreed for _, told in stand), SHARP * max(sharpness.values())
    if departure.kind == "missing":
        # It was owed. Who explains that does not only say that it may be left out; a reading may.
        stand = [(e, told) for e, told in stand if sharpness[e] or e.kind == "reading"]
    best = [told for edit, told in stand if sharpness[edit] >= sharp]

    def rank(each: tuple[Edit, Prediction]) -> tuple[bool, ...]:
        edit, told = each
        outdone = any(other.outdoes(told) for other in best)
        elsewhere = edit.kind != "dropped" and edit.clause not in clauses
        # What the texts leave open is no fault, whatever else would explain as much.
        worse = () if edit.kind == "reading" else (True, sharpness[edit] < sharp, elsewhere)
        return (told.agreed < enough, outdone, *worse)

    found = [edit for edit, _ in sorted(stand, key=rank)]
    wide = [edit for edit in found if edit.name.startswith(EVERYWHERE)]
    narrow = [edit for edit in found if edit not in wide]
    return [*narrow[:MOST_EXPLANATIONS], *wide[:MOST_WIDE]]


def _departs_in(changed: Protocol | None, runs: Iterable[FreshRun]) -> int:
    return sum(bool(agreement(run, changed).departures) for run in runs) if changed is not None else 0


def plain_run(run: FreshRun, protocol: Protocol, seed: int) -> FreshRun:
    """The same events, and what a router does that follows the protocol."""
    subject = ModelSubject(protocol, run.parameters, seed)
    played = play([event for event, _ in run.steps], subject, protocol, run.parameters)
    return FreshRun(steps_of(played.moments), run.parameters)
