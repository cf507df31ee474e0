"""Cases made of findings: events in blocks, and what is shown after each.

A step that departs shows all of it: what was due or allowed and seen, what was due and not seen, what was
seen and not allowed, what is owed later, and what else was allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import evolve

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import (
    Advance,
    Connect,
    Crashed,
    Disconnect,
    Event,
    Output,
    Raw,
    Receive,
    Resume,
    Score,
    Stall,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import ParameterSet
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, CaseBlock, CaseOutput, Misfit, Side, Status
from quidnunc.properties.cases.file import MAX_BODY_LINES, body_of
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.explain.root_cause import Finding
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import Moment, rejudge
from quidnunc.properties.notation.lines import case_order, in_order, without_peer

MAX_CRASH_TEXT = 200


def from_finding(
    finding: Finding,
    *,
    reason: str,
    claim: str,
    protocol: str,
    against: str,
    parameters: ParameterSet,
    seed: int = 0,
    found_by: str = "",
    status: Status = "open",
    quirks_in_force: Sequence[str] = (),
    argument: str = "",
    reproduced: tuple[int, int] | None = None,
    profile: str = "",
    without: Sequence[str] = (),
) -> Case:
    """The case of a finding. `protocol` is a name.

    `quirks_in_force` names those of the protocol as built under which it was found; the case keeps the ones
    without which it would depart earlier or not at all.
    """
    spec = protocol_named(protocol)
    reads, broken = any(quirk.kind == "reading" for quirk in finding.quirks[:1]), load().get(finding.clause)
    if status == "open" and (reads or (broken is not None and broken.breach == "observed")):
        # What is no failure in a report is none when it is replayed.
        status = "observed"
    case = Case(
        reason=reason,
        claim=claim,
        clause=finding.clause,
        protocols=protocol,
        against=against,
        status=status,
        quirk=finding.quirks[0].name if finding.quirks else "",
        as_built=_needed(quirks_in_force, spec, finding, parameters),
        found_by=found_by,
        argument=argument,
        parameters=parameters,
        profile=profile,
        without=tuple(without),
        seed=seed,
        reproduced=reproduced,
        blocks=tuple(_blocks(_aligned(finding.events, finding.moments))),
    )
    return within_limit(case)


def _needed(
    names: Sequence[str], spec: Protocol, finding: Finding, parameters: ParameterSet
) -> tuple[str, ...]:
    """Those of `names` without which the departure is another one, or has another cause."""
    moments = finding.moments
    shown = set(moments[-1].judged.departures)
    kept = list(dict.fromkeys(names))
    for name in tuple(kept):
        fewer = edited(spec, [edit_named(n, spec) for n in kept if n != name])
        agreed, departures = rejudge(moments, fewer, parameters)
        as_before = agreed == len(moments) - 1 and set(departures) == shown
        if as_before and all(accounts(q, moments, fewer, parameters) for q in finding.quirks[:1]):
            kept.remove(name)
    return tuple(kept)


def accounts(quirk: Edit, moments: Sequence[Moment], rules: Protocol, parameters: ParameterSet) -> bool:
    """Whether model and router agree under the quirk, to the end."""
    agreed, departures = rejudge(moments, quirk.change(rules), parameters)
    return agreed == len(moments) and not departures


def _aligned(
    events: Sequence[Event], moments: Sequence[Moment]
) -> Iterator[tuple[Event, tuple[Moment, ...]]]:
    """Each event with its moments: those of its peers, of its heartbeats, or none where it did not apply.

    What follows the last moment was never played, and is left out.
    """
    at = 0
    for event in events:
        if at == len(moments):
            return
        start = at
        for single in _singles(event):
            if at < len(moments) and moments[at].event == single:
                at += 1
        waited_ms = 0
        while isinstance(event, Advance) and at < len(moments) and waited_ms < event.ms:
            slept = moments[at].event
            if not isinstance(slept, Advance):
                break
            waited_ms += slept.ms
            at += 1
        yield event, tuple(moments[start:at])


def _singles(event: Event) -> Iterator[Event]:
    """What was played of an event other than Advance, at most: the event, once per peer."""
    match event:
        case Advance():
            return
        case Connect(peers) | Disconnect(peers) | Stall(peers) | Resume(peers):
            yield from (evolve(event, peers=(peer,)) for peer in peers)
        case Receive(peers) | Raw(peers) | Score(peers):
            yield from (evolve(event, peers=(peer,)) for peer in peers)
        case _:
            yield event


def _blocks(played: Iterator[tuple[Event, tuple[Moment, ...]]]) -> Iterator[CaseBlock]:
    """Blocks that end where there is something to show."""
    silent: list[Event] = []
    for event, moments in played:
        silent.append(event)
        shown = shown_of(moments)
        if shown:
            yield CaseBlock(tuple(silent), shown)
            silent = []
    if silent:
        yield CaseBlock(tuple(silent))


def shown_of(moments: Sequence[Moment]) -> tuple[CaseOutput, ...]:
    """What both said and, where the last moment departs, what differs and what else was due or allowed."""
    departures = moments[-1].judged.departures if moments and not moments[-1].judged.blurred else ()
    expected = [d.expected for d in departures if d.expected is not None]
    observed = [d.observed for d in departures if d.observed is not None]
    alone = [d for d in departures if d.kind != "differs"]
    agreed = Counter(o for m in moments for o in m.outputs) - Counter(observed)
    shown: list[tuple[Side, Sequence[Output | Misfit]]] = [("both", in_order(agreed.elements()))]
    if departures:
        unspent = moments[-1].judged.unspent
        later = {p.output for p in unspent if p.must}.difference(expected)
        may = {p.output for p in unspent if not p.must}.difference(expected, later)
        shown += [
            ("model", [Misfit(*d.reason.split(": ", 1)) for d in departures if d.kind == "choice"]),
            *_beside(departures),
            ("model", in_order(d.expected for d in alone if d.expected is not None)),
            ("router", in_order(_brief(d.observed) for d in alone if d.observed is not None)),
            ("later", in_order(later)),
            ("may", in_order(may)),
        ]
    return tuple(CaseOutput(side, what) for side, several in shown for what in several)


def _beside(departures: Sequence[Departure]) -> Iterator[tuple[Side, Sequence[Output]]]:
    """What was due beside what came in its place, one such pair after the other; peers share one."""
    pairs: dict[tuple[object, object], tuple[list[Output], list[Output]]] = {}
    for each in departures:
        if each.kind == "differs" and each.expected is not None and each.observed is not None:
            shape = (without_peer(each.expected), without_peer(each.observed))
            due, came = pairs.setdefault(shape, ([], []))
            due.append(each.expected)
            came.append(each.observed)
    for due, came in sorted(pairs.values(), key=lambda pair: [*map(case_order, (pair[0][0], pair[1][0]))]):
        yield "model", in_order(due)
        yield "router", in_order(came)


def _brief(output: Output) -> Output:
    return Crashed(output.text[:MAX_CRASH_TEXT]) if isinstance(output, Crashed) else output


_DISPENSABLE: tuple[Side, ...] = ("may", "later", "both")
"""What is left out first of a step that departs, where a case would be too long."""


def within_limit(case: Case) -> Case:
    """The case; without what it can do without, where it has more than `MAX_BODY_LINES`."""
    for side in _DISPENSABLE:
        if sum(map(len, body_of(case))) <= MAX_BODY_LINES:
            break
        case = evolve(case, blocks=tuple(_without(side, block) for block in case.blocks))
    return case


def _without(side: Side, block: CaseBlock) -> CaseBlock:
    if not block.departs:
        return block
    return evolve(block, shown=tuple(each for each in block.shown if each.side != side))


def brief(case: Case) -> Case:
    """The case without what tells it in words, and with nothing but the departure in the step that departs.

    Of two findings the one is kept that is shorter so.
    """
    blocks = case.blocks
    for side in _DISPENSABLE:
        blocks = tuple(_without(side, block) for block in blocks)
    return evolve(case, blocks=blocks, reason="-", argument="", notes=())
