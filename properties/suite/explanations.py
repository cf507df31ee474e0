"""What is behind the cases of the fixed suite that depart."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen, mutable

from quidnunc.model.edit import Edit, edited
from quidnunc.model.events import Event
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.root_cause import Finding, accounts_for, last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import Play, clauses_left_open, play
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch, signature_of


@frozen
class SuiteFinding:
    """What one case shows."""

    finding: Finding
    in_force: tuple[str, ...] = ()
    """Explanations of other cases that take part in it."""


@mutable
class SuiteExplanations:
    """What is behind the cases that depart, tested on the router as in a search."""

    hunt: FindingSearch
    confirmed: list[Edit] = field(factory=list)

    def finding(
        self, events: tuple[Event, ...], run: Play, parameters: Any, seed: int
    ) -> SuiteFinding | None:
        """The finding of one case; None where enough that departed in this way was not explained, or where
        what was found in other cases accounts for all of it.

        An explanation that stands for an earlier case is taken for this one. Those that do not account for it
        alone are in force while the rest is explained.
        """
        spec, moments = self.hunt.spec, tuple(run.moments)
        known = tuple(q for q in self.confirmed if accounts_for(q, moments, spec, parameters))
        if known:
            departure, told = last_departures(run)[0], blamed_clauses(moments, spec, parameters)
            return SuiteFinding(Finding(events, moments, departure, known, told))
        self.hunt.quirks[:] = self._taking_part(events, run, parameters, seed)
        if self.hunt.quirks:
            run = self._played(events, self.hunt.protocol, parameters, seed)
            if not last_departures(run):
                return None
        return self._explained(events, run, parameters, seed)

    def again(self, events: tuple[Event, ...], parameters: Any, seed: int) -> SuiteFinding | None:
        """The finding of a case that nothing explained, with all that was found since in force; None where
        that accounts for it."""
        self.hunt.quirks[:] = self.confirmed
        run = self._played(events, self.hunt.protocol, parameters, seed)
        return self._told(events, run, parameters, seed) if last_departures(run) else None

    def _taking_part(self, events: tuple[Event, ...], run: Play, parameters: Any, seed: int) -> list[Edit]:
        """Explanations of other cases under which the router departs later in this one, or in less."""
        part = list[Edit]()
        for each in self.confirmed:
            built = edited(self.hunt.spec, (*part, each))
            other = self._played(events, built, parameters, seed)
            if other.blurred or _how_far(other) <= _how_far(run):
                continue
            part, run = [*part, each], other
        return part

    def _played(self, events: tuple[Event, ...], protocol: Protocol, parameters: Any, seed: int) -> Play:
        return play(events, self.hunt.opener(self.hunt.config(parameters, seed)), protocol, parameters)

    def _explained(
        self, events: tuple[Event, ...], run: Play, parameters: Any, seed: int
    ) -> SuiteFinding | None:
        departure, moments = last_departures(run)[0], tuple(run.moments)
        if not self.hunt.worth_explaining(departure):
            self.hunt.leave_open(None, departure, {*clauses_left_open(moments[-1].judged)})
            return None
        return self._told(events, run, parameters, seed)

    def _told(self, events: tuple[Event, ...], run: Play, parameters: Any, seed: int) -> SuiteFinding:
        protocol, departure, moments = self.hunt.protocol, last_departures(run)[0], tuple(run.moments)
        found = Finding(events, moments, departure, (), blamed_clauses(moments, protocol, parameters))
        fresh = FreshRuns(self.hunt, protocol, events, (parameters,), seed)
        found = self.hunt.explained(found, parameters, fresh)
        if found.quirks:
            self.confirmed.append(found.quirks[0])
        else:
            self.hunt.signatures[signature_of(departure)] += 1
        return SuiteFinding(found, self.hunt.in_force)


def _how_far(run: Play) -> tuple[int, int]:
    """How far a run goes without a departure, and with how few it ends there."""
    found = last_departures(run)
    return (len(run.moments) if found else len(run.moments) + 1, -len(found))
