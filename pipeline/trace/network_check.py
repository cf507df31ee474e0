"""Claims over the trace of a simulated network: every node beside the model, the nodes of a kind together.

A departure that one edit of the protocol accounts for is named by it, and the edit is in force from then on,
as it is in a search: so one known departure does not hide the next.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import field, frozen, mutable

from quidnunc.model.edit import Edit, edited
from quidnunc.model.machine import protocol_named
from quidnunc.pipeline.trace.files import TraceReader, TraceRecord
from quidnunc.pipeline.trace.network import NodeReplay, NodeRun, judge_node, network_runs
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.claims.catalogue import VerdictName, breach_of, claim_on, claims_of
from quidnunc.properties.explain.root_cause import accounting_edits
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import clauses_left_open
from quidnunc.properties.notation.lines import event_text, output_text
from quidnunc.properties.search.verdicts import SEVERITY, ClaimVerdict

MAX_EXPLAINED = 600
"""Moments of a run that is explained: every edit of the protocol is tried on all of them."""
MAX_QUIRKS = 12
"""Of one kind of node; beyond it departures are only counted."""
MAX_VIOLATIONS = 10_000
SUMMARY = "summary.json"
"""What `simulate` writes beside a trace."""
MAX_SUMMARY_BYTES = 16_000_000
Progress = Callable[[str], None]


def demand_whole(reading: TraceReader) -> None:
    """Raises TraceError where traces that were read have other events than the summaries beside them count.

    A file that was cut at the end of a line looks whole, and nodes would seem to do nothing after it.
    """
    twice = {file for file, _ in reading.duplicates}
    counted = {file: _events_counted(file.parent / SUMMARY) for file in reading.files if file not in twice}
    told = sum(filter(None, counted.values()))
    # Each begins with one event of the run, which is none of a node's.
    there = reading.good_count - len(counted)
    if None not in counted.values() and told != there:
        names = ", ".join(map(str, reading.files[:3]))
        raise TraceError(f"{names}: {there} events, and {SUMMARY} beside it counts {told}", is_cut=True)


def _events_counted(summary: Path) -> int | None:
    """None where there is no summary of one simulation."""
    try:
        if summary.stat().st_size > MAX_SUMMARY_BYTES:
            return None
        counted = json.loads(summary.read_bytes())["outcome"]["events"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None
    return counted if isinstance(counted, int) else None


@frozen(kw_only=True)
class NodeViolation:
    """One departure of one node: where it is, and what was seen."""

    claim: str
    clause: str
    run: str
    node: int
    sequence: int
    """The number of the event among those of the node, from 0."""
    at_ms: int
    cause: str
    """The edit that accounts for it, or `unexplained`."""
    witness: str

    @property
    def key(self) -> tuple[str, str]:
        return self.clause, self.cause


@mutable
class NodeKindReport:
    """All nodes of one protocol and one router."""

    protocol: str
    router: str
    capabilities: frozenset[str]
    nodes: int = 0
    steps: int = 0
    blurred: int = 0
    left_out: int = 0
    applied: Counter[str] = field(factory=Counter)
    violations: list[NodeViolation] = field(factory=list)
    causes: Counter[tuple[str, str]] = field(factory=Counter)
    """(clause, edit) -> nodes that depart so."""
    hidden: Counter[tuple[str, str]] = field(factory=Counter)
    """(edit, clause that a departure was judged by) -> nodes."""
    quirks: list[Edit] = field(factory=list)
    departed: list[NodeReplay] = field(factory=list)
    """The first replay with each cause, for whoever wants to make it smaller."""

    def verdicts(self) -> tuple[ClaimVerdict, ...]:
        """One of each claim of the protocol."""
        found = []
        for claim in claims_of(protocol_named(self.protocol)):
            applied = sum(self.applied[clause] for clause in claim.clauses)
            broken = [cause for clause, cause in self.causes if clause in claim.clauses]
            lacking = claim.needs - self.capabilities
            verdict: VerdictName
            if broken:
                verdict = max(
                    (breach_of(clause) for clause, _ in self.causes if clause in claim.clauses),
                    key=SEVERITY.__getitem__,
                )
                reason = ", ".join(dict.fromkeys(broken))
            elif not applied and lacking:
                verdict, reason = "unsupported", f"the driver lacks: {', '.join(sorted(lacking))}"
            elif hiding := {row for row, clause in self.hidden if clause in claim.clauses}:
                verdict, reason = "undecided", f"hidden by {', '.join(sorted(hiding))}"
            elif not applied:
                verdict, reason = "inconclusive", f"never applied to {self.nodes} nodes"
            else:
                verdict, reason = "not-refuted", f"no counterexample among {self.nodes} nodes"
            found.append(ClaimVerdict(claim, verdict, applied, reason))
        return tuple(found)


def check_network(
    records: Iterable[TraceRecord], progress: Progress = lambda text: None
) -> dict[tuple[str, str], NodeKindReport]:
    """Judge every node of every run, by (protocol, router). Raises TraceError for another trace."""
    reports: dict[tuple[str, str], NodeKindReport] = {}
    for run in network_runs(records):
        for node in run.nodes:
            key = (node.config.protocol, node.kind.router)
            report = reports.setdefault(key, NodeKindReport(*key, node.kind.hello.capabilities))
            _judge(report, run.name, node)
            progress(f"run {run.name}: {node.number + 1} of {len(run.nodes)} nodes judged")
    if not reports:
        raise TraceError("the trace contains no node; `quidnunc simulate SCENARIO -o RUN` writes one")
    bad = getattr(records, "bad_count", 0)
    if bad:
        # Who did not hear what was said looks as if it broke a claim.
        told = getattr(records, "bad", ())
        first = f"; the first: {told[0]}" if told else ""
        raise TraceError(
            f"{bad} of the records cannot be read, and a node with one missing cannot be judged{first}",
            is_cut=bool(told) and all(each.is_cut for each in told),
        )
    return reports


def _judge(report: NodeKindReport, run: str, node: NodeRun) -> None:
    """Replay one node as often as there is a new edit to be made."""
    spec = protocol_named(report.protocol)
    report.nodes += 1
    while True:
        judged = judge_node(node, edited(spec, report.quirks))
        if not judged.departures:
            break
        quirk = _explained(report, judged)
        _note(report, run, judged, quirk)
        if quirk is None:
            break
        report.quirks.append(quirk)
    report.steps += judged.steps
    report.blurred += judged.blurred
    report.left_out += judged.left_out
    report.applied.update(judged.applied)


def _explained(report: NodeKindReport, judged: NodeReplay) -> Edit | None:
    if len(judged.moments) > MAX_EXPLAINED or len(report.quirks) >= MAX_QUIRKS:
        return None
    spec = protocol_named(report.protocol)
    config = judged.node.config
    parameters = config.parameters
    known = {q.name for q in report.quirks}
    found = accounting_edits(judged.moments, edited(spec, report.quirks), parameters, spec)
    order = {"reading": 0, "replaced": 1, "dropped": 2}
    return min((q for q in found if q.name not in known), key=lambda q: order[q.kind], default=None)


def _note(report: NodeKindReport, run: str, judged: NodeReplay, quirk: Edit | None) -> None:
    first = judged.departures[0]
    clause = quirk.clause if quirk is not None else first.clause
    cause = quirk.name if quirk is not None else f"unexplained:{first.kind}"
    if (clause, cause) not in report.causes:
        report.departed.append(judged)
    report.causes[clause, cause] += 1
    if quirk is None or quirk.kind != "reading":
        report.hidden.update(
            (f"{clause} {cause}", each) for each in clauses_left_open(judged.moments[-1].judged)
        )
    if len(report.violations) >= MAX_VIOLATIONS:
        return
    claim = claim_on(clause, protocol_named(report.protocol))
    report.violations.append(
        NodeViolation(
            claim=claim.id if claim is not None else clause,
            clause=clause,
            run=run,
            node=judged.node.number,
            sequence=judged.sequence,
            at_ms=judged.node.told[judged.sequence].at_ms,
            cause=cause,
            witness=f"after `{event_text(judged.moments[-1].event)}`: {said_of(first)}",
        )
    )


def said_of(departure: Departure) -> str:
    """What was done, or left out, in a few words."""
    seen = departure.observed or departure.expected
    act = {"unexpected": "may not", "missing": "must", "differs": "differs:"}.get(
        departure.kind, departure.kind
    )
    return f"{act} {output_text(seen) if seen is not None else departure.reason}"
