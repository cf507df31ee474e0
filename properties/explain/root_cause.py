"""From the shortest run that departs to its root cause: the smallest edit that accounts for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import frozen

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.ambiguities import WIDE
from quidnunc.model.edits.catalogue import edit_named, explaining_edits, hypotheses_of, size_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import Crashed, Event
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.followed import FollowedRun, FreshRun
from quidnunc.properties.judge.crashes import crash_name
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Moment, Play, steps_of

UNEXPLAINED_CAUSE = "unexplained:"
"""Of a finding that nothing explains; then the kind of the departure."""
CRASH = "crash:"
"""Of a root cause that is a crash; then the name of the crash."""


@frozen
class Finding:
    """A departure with the shortest run that shows it."""

    events: tuple[Event, ...]
    moments: tuple[Moment, ...]
    departure: Departure
    quirks: tuple[Edit, ...]
    """The edits that account for it, best first; empty where none does."""
    blamed: tuple[str, ...] = ()
    """A clause for each departure of the last moment, as the whole run tells it (`explain/runs.py`)."""
    suspects: frozenset[str] = frozenset()
    """Rules by some edit of which this run could be accounted for, whether or not it predicts others."""
    ties: tuple[Edit, ...] = ()
    """Those of `quirks` beside the first that predict just as much and are as small."""
    nearly: Edit | None = None
    """An explanation that accounts for it, and that a run of the router contradicts."""
    known: str = ""
    """What is known of it although nothing explains it, as a sentence."""

    @property
    def clause(self) -> str:
        departures = self.moments[-1].judged.departures if self.moments else ()
        told = dict(zip(departures, self.blamed, strict=False)).get(self.departure, self.departure.clause)
        return self.quirks[0].against(told, self.departure.kind) if self.quirks else told

    @property
    def cause(self) -> str:
        """The name of the root cause, or what was seen where nothing accounts for it."""
        if self.quirks:
            return self.quirks[0].name
        crash = self.departure.observed
        if isinstance(crash, Crashed):
            return CRASH + crash_name(crash)
        return f"{UNEXPLAINED_CAUSE}{self.departure.kind}"


def last_departures(run: Play) -> tuple[Departure, ...]:
    return run.moments[-1].judged.departures if run.moments and not run.blurred else ()


def accounting_edits(
    moments: Sequence[Moment],
    protocol: Protocol,
    parameters: Any,
    spec: Protocol | None = None,
    among: Iterable[Edit] | None = None,
) -> list[Edit]:
    """The one-edit changes under which every moment is in order, the departing one included; smallest first.

    Edits are those of `spec` by which a single run may be explained, or `among` if given. They are made to
    `protocol`, which may have other edits in force.
    """
    spec = spec or protocol
    tried = explaining_edits(spec) if among is None else among
    found = (edit for edit in tried if accounts_for(edit, moments, protocol, parameters))
    return sorted(found, key=lambda edit: size_of(edit, spec))


def allowing_readings(
    moments: Sequence[Moment], protocol: Protocol, parameters: Any, spec: Protocol
) -> tuple[str, ...]:
    """Names of the readings of the texts each of which allows all of it. `protocol` may have other edits."""
    readings = [edit for edit in explaining_edits(spec) if edit.kind == "reading"]
    return tuple(edit.name for edit in accounting_edits(moments, protocol, parameters, spec, readings))


def readings_that_allow(
    moments: Sequence[Moment], spec: Protocol, in_force: Iterable[str], parameters: Any
) -> tuple[str, ...]:
    """The same beside the edits `in_force`, without those readings that allow much."""
    built = edited(spec, [edit_named(name, spec) for name in in_force])
    return tuple(n for n in allowing_readings(moments, built, parameters, spec) if n not in WIDE)


def allowed_in_words(reading: str, spec: Protocol) -> str:
    """What a row says that nothing explains, and that a reading allows which did not predict other runs."""
    says = edit_named(reading, spec).says
    return f'It is in order where the text is read so: "{says}" It does not predict other runs.'


def hypotheses(moments: Sequence[Moment], protocol: Protocol, parameters: Any, spec: Protocol) -> list[Edit]:
    """As `accounting_edits`, with what operators make of the rules: too many to believe one without a test
    (`quidnunc.properties.explain.hypotheses`)."""
    run = FollowedRun.of(FreshRun(steps_of(moments), parameters), protocol)

    def accounts(edit: Edit) -> bool:
        found = run.under(edit)
        return found is not None and found.agreed == len(run.run.steps)

    tried = (*hypotheses_of(spec), *(made.edit for made in operated(spec).values() if run.shows(made)))
    return sorted(filter(accounts, tried), key=lambda edit: size_of(edit, spec))


def accounts_for(edit: Edit, moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> bool:
    """Whether every moment is in order once `protocol` has the edit."""
    changed = edit.applied_to(protocol)
    if changed is None:
        return False
    return _in_order(Oracle(changed, parameters, tells=False), moments)


def _in_order(oracle: Oracle, moments: Sequence[Moment]) -> bool:
    try:
        for moment in moments:
            if oracle.passes_over(moment.event, moment.outputs):
                continue
            if not oracle.follows(moment.event):
                return False
            judged = oracle.judge(moment.event, moment.outputs)
            if judged.departures or judged.blurred:
                return False
    except KeyError:
        # An edit can take away what other rules count on.
        return False
    return True
