"""A recorded trace against the model: the same oracle, claims and explanations as the check that wrote it.

Nothing of the router is needed but what the trace says. Each recorded run is judged by the protocol as built
of the explanations found up to there. A departure is explained by its minimised run, and the explanation has
to predict the fresh runs that were played for it: the trace has both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen, mutable

from quidnunc.impl.seam import Hello
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Event, Output
from quidnunc.model.machine import protocol_named
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol
from quidnunc.pipeline.trace.record import RecordedRun
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.followed import FreshRun
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Play, clauses_left_open, rejudge, same_act
from quidnunc.properties.notation.lines import event_text, output_text
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.machine import FindingSearch, ReplayableFinding, signature_of
from quidnunc.properties.search.rows import is_crash
from quidnunc.properties.search.worker import answer_of

MAX_VIOLATIONS = 10_000


@frozen(kw_only=True)
class Violation:
    """One departure in a trace: where it is, and what was seen."""

    claim: str
    clause: str
    run: str
    sequence: int
    """The number of the event in its run, from 0."""
    witness: str


@mutable
class TraceCheckResult:
    """What a trace shows."""

    campaign: Campaign
    violations: list[Violation] = field(factory=list)


@mutable
class _RecordedRouter:
    """Stands where a router does: says what the trace has it say."""

    hello: Hello
    outputs: tuple[Output, ...] = ()

    def do(self, event: Event) -> tuple[Output, ...]:
        return self.outputs

    def declare(self, messages: Sequence[Message]) -> None:
        """Ids are in the trace."""

    def close(self) -> None:
        """There is nothing to close."""


def follow(run: RecordedRun, protocol: Protocol) -> Play:
    """The model beside a recorded run, to its first departure.

    Raises TraceError where the run holds what cannot happen under the protocol.
    """
    subject = _RecordedRouter(Hello(name="trace", version="", protocols=()))
    played = Play(subject, Oracle(protocol, run.parameters))
    for at, told in enumerate(run.told):
        subject.outputs = told.outputs
        steps = played.steps
        departures = played.do(told.event)
        if departures or played.blurred:
            break
        if played.steps != steps + 1:
            raise TraceError(f"{run.place}: event {at} of the run, {told.event!r}, cannot happen there")
    return played


def check_recorded(runs: Iterable[RecordedRun]) -> TraceCheckResult:
    """Judge every run of a trace that `check --record` wrote. Raises TraceError for another's."""
    batches = _batches(runs)
    first = next(batches, None)
    if first is None:
        raise TraceError("the trace contains no run; `quidnunc check --record TRACE` writes one")
    asked = first[0].manifest
    checked = TraceCheckResult(Campaign(str(asked.get("protocol")), str(asked.get("against")), 0))
    kept: dict[tuple[str, str], ReplayableFinding] = {}
    for head, rest in _again(first, batches):
        if (head.manifest.get("protocol"), head.manifest.get("against")) != (
            checked.campaign.protocol,
            checked.campaign.against,
        ):
            raise TraceError(f"{head.place}: traces of two checks; give one at a time")
        hunt, hello = _hunt(head)
        _replay(hunt, rest, checked)
        merge(checked.campaign, answer_of({**head.manifest, "profile": _profile(head)}, hunt, hello))
        for found in hunt.found.values():
            kept.setdefault((found.finding.clause, found.finding.cause), found)
    _settle(checked.campaign, kept)
    return checked


def _again(
    first: tuple[RecordedRun, list[RecordedRun]], rest: Iterator[tuple[RecordedRun, list[RecordedRun]]]
) -> Iterator[tuple[RecordedRun, list[RecordedRun]]]:
    yield first
    yield from rest


def _batches(runs: Iterable[RecordedRun]) -> Iterator[tuple[RecordedRun, list[RecordedRun]]]:
    head: RecordedRun | None = None
    rest: list[RecordedRun] = []
    for run in runs:
        if run.manifest.get("source") != "check":
            raise TraceError(
                f"{run.place}: not a trace of `quidnunc check`, but of {run.manifest.get('source')!r}"
            )
        if run.kind == "batch":
            if head is not None:
                yield head, rest
            head, rest = run, []
        elif head is None:
            raise TraceError(f"{run.place}: a {run.kind} run before the batch that it is of")
        else:
            rest.append(run)
    if head is not None:
        yield head, rest


def _hunt(head: RecordedRun) -> tuple[FindingSearch, Hello]:
    said: Mapping[str, Any] = head.manifest
    try:
        hello = Hello(
            name=str(said["name"]),
            version=str(said["version"]),
            protocols=tuple(map(str, said["protocols"])),
            capabilities=frozenset(map(str, said["capabilities"])),
            fixed={str(name): float(value) for name, value in said["fixed"].items()},
        )
        protocol = protocol_named(str(said["protocol"]))
        quirks = [edit_named(str(name), protocol) for name in said["quirks"]]
    except (KeyError, TypeError, ValueError, AttributeError, SpecError) as error:
        raise TraceError(f"{head.place}: the batch's manifest: {error}") from None
    hunt = FindingSearch(protocol.name, _no_router, hello)
    hunt.quirks += quirks
    return hunt, hello


def _profile(head: RecordedRun) -> str:
    if "profile" in head.manifest:
        return str(head.manifest["profile"])
    return "shipped" if head.manifest.get("extras") else "spec"


def _no_router(config: object) -> Any:
    raise TraceError("a trace has no router to ask")


def _replay(hunt: FindingSearch, runs: Sequence[RecordedRun], checked: TraceCheckResult) -> None:
    """What `machine.search` did, of what the trace says instead of a router."""
    waiting = list(reversed(runs))
    while waiting:
        run = waiting.pop()
        if run.kind != "run":
            raise TraceError(f"{run.place}: a {run.kind} run, and none before it that departs")
        played = follow(run, hunt.protocol)
        departures = last_departures(played)
        hunt.runs += 1
        hunt.steps += played.steps
        hunt.applied.update(played.applied)
        hunt.blurred += played.blurred
        if departures:
            _note(checked, run, played, departures[0], hunt)
            following = []
            while waiting and waiting[-1].kind != "run":
                following.append(waiting.pop())
            key = _file(hunt, departures, following)
            hunt.leave_open(key, departures[0], clauses_left_open(played.moments[-1].judged))


def _file(
    hunt: FindingSearch, departures: Sequence[Departure], following: Sequence[RecordedRun]
) -> tuple[str, str] | None:
    """`FindingSearch.file`, with the minimised and the fresh runs of the trace."""
    if not hunt.worth_explaining(departures[0]):
        return None
    plain = next((run for run in following if run.kind == "plain"), None)
    if plain is None:
        hunt.unrepeated += 1
        return None
    played = follow(plain, hunt.protocol)
    found = [d for d in last_departures(played) if same_act(d, departures[0])]
    if not found:
        raise TraceError(f"{plain.place}: the run does not show what it is the minimised one of")
    events = tuple(told.event for told in plain.told)
    finding = Finding(events, tuple(played.moments), found[0], ())
    fresh = RecordedFreshRuns(following)
    return hunt.keep(finding, plain.parameters, plain.seed, signature_of(departures[0]), fresh)


@frozen
class RecordedFreshRuns:
    """The fresh runs of a trace, in place of those that a search plays."""

    runs: Sequence[RecordedRun]

    def around(self) -> Iterator[FreshRun]:
        return (_fresh_run(run) for run in self.runs if run.kind == "fresh")

    def measured(self, edits: Sequence[Edit]) -> Iterator[FreshRun]:
        """A recorded network is asked nothing more."""
        yield from ()

    def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> Iterator[FreshRun]:
        """Those that were played; which parameters are read is known from then."""
        return (_fresh_run(run) for run in self.runs if run.kind == "varied")


def _fresh_run(run: RecordedRun) -> FreshRun:
    steps = tuple((told.event, told.outputs) for told in run.told)
    return FreshRun.as_told(steps, run.parameters, str(run.manifest.get("of", "")))


def _note(
    checked: TraceCheckResult, run: RecordedRun, played: Play, departure: Departure, hunt: FindingSearch
) -> None:
    if len(checked.violations) >= MAX_VIOLATIONS:
        return
    claim = claim_on(departure.clause, hunt.spec)
    seen = departure.observed or departure.expected
    act = {"unexpected": "may not", "missing": "must", "differs": "differs:"}.get(
        departure.kind, departure.kind
    )
    said = output_text(seen) if seen is not None else departure.reason
    checked.violations.append(
        Violation(
            claim=claim.id if claim is not None else departure.clause,
            clause=departure.clause,
            run=run.name,
            sequence=len(played.moments) - 1,
            witness=f"after `{event_text(played.moments[-1].event)}`: {act} {said}",
        )
    )


def _settle(campaign: Campaign, kept: Mapping[tuple[str, str], ReplayableFinding]) -> None:
    """`campaign.settle`, of what the trace says instead of a router."""
    built = edited(protocol_named(campaign.protocol), list(campaign.quirks))
    unexplained = [k for k, r in campaign.roots.items() if r.kind == "unexplained" and not is_crash(r)]
    if not campaign.quirks:
        return
    for key in unexplained:
        found = kept[key]
        if rejudge(found.finding.moments, built, found.parameters)[0] == len(found.finding.moments):
            del campaign.roots[key]
