"""Runs as they would have gone if the router had done otherwise: what an explanation leaves open.

An edit that allows what the router did says little if it allows as well that it does something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from quidnunc.model.edit import Edit
from quidnunc.model.events import Event, Output
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.followed import ASKED, WITHOUT, FollowedRun, FreshRun
from quidnunc.properties.judge.oracle import Departure, Oracle, garbled
from quidnunc.properties.judge.play import same_act

MOST_SHOWN = 3
"""Of the varied runs with the departure, the first ones."""


@frozen
class ShownDeparture:
    """A run up to the step in which the router departs, and what it did there that nothing permits."""

    run: FreshRun
    output: Output

    @property
    def event(self) -> Event:
        return self.run.steps[-1][0]


@frozen
class Counterfactuals:
    """What an explanation of a departure is asked beside what the router did."""

    protocol: Protocol
    departure: Departure
    garbled: tuple[FollowedRun, ...]
    """With yet another number or list, where one was not as expected."""
    withheld: tuple[ShownDeparture, ...]
    """Runs with the departure: had the router not done it?"""
    added: tuple[FollowedRun, ...]
    """Runs that lack something which the departure needs, in which the router follows the protocol: had it
    departed there too?"""

    @classmethod
    def of(cls, runs: Sequence[FollowedRun], protocol: Protocol, departure: Departure) -> Counterfactuals:
        shown = tuple(_shown(runs, departure))[:MOST_SHOWN]
        return cls(
            protocol,
            departure,
            tuple(garbled_runs(runs, protocol, departure)),
            shown,
            tuple(_added(runs, shown, protocol)) if shown else (),
        )

    def told_by(self, edit: Edit, sharpness: int) -> bool:
        """Whether an edit says what the router does, and when. A reading need not: the texts leave it open.

        `sharpness` is in how many runs a router that follows the protocol departs from it.
        """
        if edit.kind == "reading":
            return True
        if any(_agrees(edit, run) for run in self.garbled):
            # It takes any content.
            return False
        if self.departure.kind == "missing" and not sharpness:
            # It only says that what is owed may be left out.
            return False
        if not any(_agrees(edit, run) for run in self.added):
            return True
        # It allows the act where the router does not do it. It does not say when, unless it demands it.
        changed = edit.applied_to(self.protocol)
        return changed is None or not all(_may_be_withheld(shown, changed) for shown in self.withheld)


def garbled_runs(
    runs: Sequence[FollowedRun], protocol: Protocol, departure: Departure
) -> Iterator[FollowedRun]:
    """Runs with the departure, up to it, in which each number and list that is not as expected is yet another
    one."""
    for each in runs:
        found = [d for d in each.plain.departures if same_act(d, departure)]
        if found and (other := garbled(found[0])) is not None:
            run = each.up_to_departure
            event, outputs = run.steps[-1]
            changed = tuple(other if output == found[0].observed else output for output in outputs)
            yield FollowedRun.of(evolve(run, steps=(*run.steps[:-1], (event, changed))), protocol)


def _shown(runs: Sequence[FollowedRun], departure: Departure) -> Iterator[ShownDeparture]:
    for each in runs:
        if each.run.varied and each.run.varied not in ASKED:
            for found in each.plain.departures:
                if found.kind == "unexpected" and found.observed and same_act(found, departure):
                    yield ShownDeparture(each.up_to_departure, found.observed)
                    break


def _added(
    runs: Sequence[FollowedRun], shown: Sequence[ShownDeparture], protocol: Protocol
) -> Iterator[FollowedRun]:
    lacking = (each for each in runs if WITHOUT in each.run.varied and not each.plain.departures)
    for run in (each.run for each in lacking if each.plain.agreed == len(each.run.steps)):
        for at, (event, outputs) in enumerate(run.steps):
            for done in (s.output for s in shown if s.event == event and s.output not in outputs):
                steps = (*run.steps[:at], (event, (*outputs, done)))
                followed = FollowedRun.of(evolve(run, steps=steps, notes=None), protocol)
                if followed.plain.departures:
                    yield followed


def _agrees(edit: Edit, run: FollowedRun) -> bool:
    """Whether an edit allows all of a run."""
    found = run.under(edit)
    return found is not None and found.agreed == len(run.run.steps)


def _may_be_withheld(shown: ShownDeparture, changed: Protocol) -> bool:
    """Whether the edited protocol neither demands the act in its step nor later."""
    oracle = Oracle(changed, shown.run.parameters, tells=False)
    *before, (event, outputs) = shown.run.steps
    for step in before:
        oracle.judge(*step)
    judged = oracle.judge(event, tuple(output for output in outputs if output != shown.output))
    owed = any(permit.must and permit.output == shown.output for permit in oracle.open)
    return not judged.departures and not judged.blurred and not owed
