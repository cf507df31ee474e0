"""What is behind the cases of the fixed suite that depart."""

from __future__ import annotations

from typing import Any

from attrs import evolve, field, mutable

from quidnunc.model.edit import Edit, edited
from quidnunc.model.events import Event
from quidnunc.properties.explain.root_cause import Finding, accounts_for, last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import Moment, Play, clauses_left_open
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch, in_order, signature_of


@mutable
class SuiteExplanations:
    """What is behind the cases that depart, tested on the router as in a search."""

    hunt: FindingSearch
    confirmed: list[Edit] = field(factory=list)
    unexplained: dict[tuple[str, str], list[tuple[tuple[Moment, ...], Any]]] = field(factory=dict)
    """Clause and cause -> runs, with their parameters."""

    def finding(self, events: tuple[Event, ...], run: Play, parameters: Any, seed: int) -> Finding | None:
        """The finding of one case; None where enough that departed in this way was not explained.

        An explanation that stands for an earlier case is taken for this one.
        """
        protocol, departure = self.hunt.spec, last_departures(run)[0]
        moments = tuple(run.moments)
        found = Finding(events, moments, departure, (), blamed_clauses(moments, protocol, parameters))
        known = tuple(q for q in self.confirmed if accounts_for(q, moments, protocol, parameters))
        if known:
            return evolve(found, quirks=known)
        if not self.hunt.worth_explaining(departure):
            self.hunt.leave_open(None, departure, {*clauses_left_open(moments[-1].judged)})
            return None

        fresh = FreshRuns(self.hunt, protocol, events, (parameters,), seed)
        found = self.hunt.explained(found, parameters, fresh)
        if found.quirks:
            self.confirmed.append(found.quirks[0])
        else:
            self.hunt.signatures[signature_of(departure)] += 1
            self.unexplained.setdefault((found.clause, found.cause), []).append((moments, parameters))
        return found

    def combined(self) -> list[tuple[str, str]]:
        """What no single edit explains, and those of other cases together do."""
        built = edited(self.hunt.spec, self.confirmed)
        return [
            key
            for key, runs in self.unexplained.items()
            if all(in_order(moments, built, parameters) for moments, parameters in runs)
        ]
