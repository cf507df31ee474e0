"""A case of the suite that names the planted bugs that show in it."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.root_cause import Finding
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.mutants import mutant_named
from quidnunc.properties.suite.traces import Trace

BUGS = "Planted bugs that show here: "
MAX_NAMED = 6
"""Bugs that a case names."""


def bug_case(name: str, trace: Trace, reason: str, bugs: Sequence[str], found_by: str) -> Case:
    """The case of a trace, about the clause of the first bug, with the outputs of a conforming router."""
    protocol = protocol_named(name)
    parameters, events = trace
    run = play(events, ModelSubject(protocol, parameters, 0), protocol, parameters)
    clause = mutant_named(bugs[0]).clause if bugs else next(r.clause for _, r in protocol.rules())
    claim = claim_on(clause, protocol)
    case = from_finding(
        Finding(events, tuple(run.moments), Departure("choice", clause), ()),
        reason=reason,
        claim=claim.id if claim else clause,
        protocol=name,
        against="any",
        parameters=parameters,
        found_by=found_by,
        status="suite",
    )
    return evolve(case, notes=(f"{BUGS}{', '.join(bugs[:MAX_NAMED])}.",) if bugs else ())


def bugs_named(case: Case) -> tuple[str, ...]:
    """The planted bugs that a case says it shows."""
    said = next((note for note in case.notes if note.startswith(BUGS)), "")
    return tuple(said.removeprefix(BUGS).rstrip(".").split(", ")) if said else ()
