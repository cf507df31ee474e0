"""Runs as they would have gone if the router had done otherwise: what an explanation leaves open.

An edit that allows what the router did says little if it allows as well that it does something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from attrs import evolve, frozen

from quidnunc.model.edit import Edit
from quidnunc.model.events import Event, Output
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.followed import (
    ASKED,
    WITHOUT,
    FollowedRun,
    FreshRun,
    agreement_from,
    applied,
)
from quidnunc.properties.judge.oracle import Departure, Oracle, garbled, is_left_out
from quidnunc.properties.judge.play import same_act

MOST_SHOWN = 3
"""Of the varied runs with the departure, the first ones."""


@frozen
class ShownDeparture:
    """A run up to the step in which the router departs, and what it did there that nothing permits."""

    run: FreshRun
    output: Output
    """The act that is to be explained."""
    outputs: tuple[Output, ...]
    """It, and what else nothing permits there: it may come with it."""

    @property
    def event(self) -> Event:
        return self.run.steps[-1][0]


@frozen
class AddedActs:
    """A run in which the router follows the protocol, and acts that would have departed in it."""

    run: FollowedRun
    with_act: tuple[tuple[int, FollowedRun], ...]
    """The step of an act, and the run up to it."""

    def allowed_by(self, edit: Edit) -> Iterator[tuple[int, bool]]:
        """Of each act: its step, and whether an edit allows all of the run up to it.

        What comes before the acts is judged once for all, and only where the edit can matter.
        """
        protocol, steps = self.run.protocol, self.run.run.steps
        changed = applied(edit, protocol)
        if changed is None:
            return
        before = self.run.matters(edit, changed)
        first = before[0] if before else len(steps)
        oracle, judged = None, first
        for at, added in self.with_act:
            if at > first:
                oracle = oracle or self.run.oracle_at(first, changed)
                if agreement_from(oracle, steps[judged:at]).agreed < at - judged:
                    return
                judged = at
                there = evolve(oracle)
            elif at in added.matters(edit, changed):
                there = self.run.oracle_at(at, changed)
            else:
                yield at, False
                continue
            yield at, agreement_from(there, added.run.steps[at:]).agreed == 1


@frozen
class Counterfactuals:
    """What an explanation of a departure is asked beside what the router did."""

    protocol: Protocol
    departure: Departure
    garbled: tuple[FollowedRun, ...]
    """With yet another number or list, where one was not as expected."""
    withheld: tuple[ShownDeparture, ...]
    """Runs with the departure: had the router not done it?"""
    added: tuple[AddedActs, ...]
    """Of runs that lack something which the departure needs: had the router departed there too?"""
    changed: tuple[AddedActs, ...] = ()
    """The same of runs in which another number is such that the router does not depart."""
    fewer: tuple[FollowedRun, ...] = ()
    """Where the router chose too few: had it sent to one less?"""

    @classmethod
    def of(cls, runs: Sequence[FollowedRun], protocol: Protocol, departure: Departure) -> Counterfactuals:
        shown = tuple(_shown(runs, departure))[:MOST_SHOWN]
        varied = [run for run in runs if run.run.varied not in ("", *ASKED)]
        lacking = [run for run in varied if WITHOUT in run.run.varied]
        changed = [run for run in varied if WITHOUT not in run.run.varied]
        return cls(
            protocol,
            departure,
            tuple(garbled_runs(runs, departure)),
            shown,
            tuple(_added(lacking, shown)),
            tuple(_added(changed, shown)),
            tuple(runs_with_fewer(runs, departure)),
        )

    def too_much(self, edit: Edit) -> float:
        """In how much of what the router could have done at another number, and did not, an edit allows it:
        from 0 to 1, which is nothing said. It is 1 where no other number makes a difference."""
        steps = sum(len({at for at, _ in run.with_act}) for run in self.changed)
        allowed = sum(len({at for at, may in run.allowed_by(edit) if may}) for run in self.changed)
        return allowed / steps if steps else 1.0

    def says_what(self, edit: Edit, *, demands: bool) -> bool:
        """Whether an edit says what the router does. A reading need not: the texts leave it open.

        `demands`: whether a router that follows the protocol departs from it in some run.
        """
        if edit.kind == "reading":
            return True
        if any(_agrees(edit, run) for run in self.garbled):
            # It takes any content.
            return False
        # Who leaves out what is owed has to do so where it says, or to choose as many as it says.
        return (
            demands
            or not is_left_out(self.departure)
            or any(self._asks_for_more(edit, r) for r in self.fewer)
        )

    def _asks_for_more(self, edit: Edit, run: FollowedRun) -> bool:
        """Whether an edit has more to be chosen than are in the last step of a run."""
        found = run.under(edit)
        last = found is not None and found.agreed == len(run.run.steps) - 1
        return last and found is not None and any(same_act(d, self.departure) for d in found.departures)

    def says_when(self, edit: Edit) -> bool:
        """Whether an edit says when the router does it."""
        if edit.kind == "reading" or not any(may for run in self.added for _, may in run.allowed_by(edit)):
            return True
        # It allows the act where the router does not do it. It does not say when, unless it demands it.
        changed = edit.applied_to(self.protocol)
        return changed is None or not all(_may_be_withheld(shown, changed) for shown in self.withheld)


def garbled_runs(runs: Sequence[FollowedRun], departure: Departure) -> Iterator[FollowedRun]:
    """Runs with the departure, up to it, in which each number and list that is not as expected is yet another
    one."""
    for each in runs:
        found = [d for d in each.plain.departures if same_act(d, departure)]
        if found and (other := garbled(found[0])) is not None:
            run = each.up_to_departure
            _, outputs = run.steps[-1]
            changed = tuple(other if output == found[0].observed else output for output in outputs)
            yield evolve(each, run=run).with_outputs(each.plain.agreed, changed)


def runs_with_fewer(runs: Sequence[FollowedRun], departure: Departure) -> Iterator[FollowedRun]:
    """The first runs in which the router chose too few, up to there, without one of the acts of that step."""
    if departure.kind != "choice":
        return
    chosen = (each for each in runs if any(same_act(d, departure) for d in each.plain.departures))
    for each in islice(chosen, MOST_SHOWN):
        run = each.up_to_departure
        _, outputs = run.steps[-1]
        for left_out in dict.fromkeys(outputs):
            others = tuple(output for output in outputs if output != left_out)
            yield evolve(each, run=run).with_outputs(each.plain.agreed, others)


def _shown(runs: Sequence[FollowedRun], departure: Departure) -> Iterator[ShownDeparture]:
    for each in runs:
        if each.run.varied and each.run.varied not in ASKED:
            for found in each.plain.departures:
                if found.kind == "unexpected" and found.observed and same_act(found, departure):
                    whole = tuple(
                        d.observed for d in each.plain.departures if d.kind == "unexpected" and d.observed
                    )
                    yield ShownDeparture(each.up_to_departure, found.observed, whole)
                    break


def _added(runs: Sequence[FollowedRun], shown: Sequence[ShownDeparture]) -> Iterator[AddedActs]:
    for run in (each for each in runs if each.plain.agreed == len(each.run.steps)):
        added = list[tuple[int, FollowedRun]]()
        for at, (event, outputs) in enumerate(run.run.steps):
            done = [act for s in shown if s.event == event for act in ((s.output,), s.outputs)]
            acts = dict.fromkeys(act for act in done if not {*act} & {*outputs})
            added += [(at, run.with_outputs(at, (*outputs, *act))) for act in acts]
        departing = tuple((at, with_act) for at, with_act in added if with_act.plain.departures)
        if departing:
            yield AddedActs(run, departing)


def _agrees(edit: Edit, run: FollowedRun) -> bool:
    """Whether an edit allows all of a run."""
    found = run.under(edit)
    return found is not None and found.agreed == len(run.run.steps)


def _may_be_withheld(shown: ShownDeparture, changed: Protocol) -> bool:
    """Whether the edited protocol neither demands the act in its step nor later."""
    oracle = Oracle(changed, shown.run.parameters, tells=False)
    *before, (event, outputs) = shown.run.steps
    for step in before:
        oracle.follow(*step)
    if not oracle.follows(event):
        return True
    judged = oracle.judge(event, tuple(output for output in outputs if output not in shown.outputs))
    owed = any(permit.must and permit.output in shown.outputs for permit in oracle.open)
    return not judged.departures and not judged.blurred and not owed
