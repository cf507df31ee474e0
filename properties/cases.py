"""Cases: made of a finding, kept as text, replayed against a router.

Replay judges by the model and not by the recorded outputs: those tell a reader what happened, and tell replay
whether a departure is the one that was recorded or another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import Config
from quidnunc.model.errors import CaseError, SpecError
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
    Sent,
    Stall,
    key,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.quirks import Quirk, as_built, quirk_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.blame import forbidding_clause
from quidnunc.properties.blame_run import blamed, blamed_beside
from quidnunc.properties.case_file import (
    Block,
    Case,
    Misfit,
    Shown,
    Status,
    against_text,
    body_of,
    command_of,
    events_of,
    load,
    parameters_of,
    parse,
    render,
    router_of,
)
from quidnunc.properties.case_front import ParameterSet
from quidnunc.properties.case_text import event_text, in_order
from quidnunc.properties.explain import Finding
from quidnunc.properties.oracle import Departure, Oracle, differing_clause
from quidnunc.properties.play import Moment, Opener, Play, act_of, messages_in, rejudge

MAX_CRASH_TEXT = 200

Outcome: TypeAlias = Literal["same", "different", "fixed", "holds", "departs", "inconclusive"]
"""`same`: departs as recorded. `different`: departs otherwise. `fixed`: departs no more. Of a case that must
hold: `holds`, `departs`. `inconclusive`: could not be told."""
MUST_HOLD: frozenset[Status] = frozenset({"fixed", "suite"})


# -- from findings ------------------------------------------------------------------------------------------


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
    extras: bool = False,
) -> Case:
    """The case of a finding. `protocol` is a name.

    `quirks_in_force` names those of the protocol as built under which it was found; the case keeps the ones
    without which it would depart earlier or not at all.
    """
    spec = protocol_named(protocol)
    return Case(
        reason=reason,
        claim=claim,
        clause=finding.clause,
        protocol=protocol,
        against=against,
        status=status,
        quirk=finding.quirks[0].name if finding.quirks else "",
        as_built=_needed(quirks_in_force, spec, finding, parameters),
        found_by=found_by,
        argument=argument,
        parameters=parameters,
        extras=extras,
        seed=seed,
        reproduced=reproduced,
        blocks=tuple(_blocks(_aligned(finding.events, finding.moments))),
    )


def _needed(
    names: Sequence[str], spec: Protocol, finding: Finding, parameters: ParameterSet
) -> tuple[str, ...]:
    """Those of `names` without which the departure is another one, or has another cause."""
    moments = finding.moments
    shown = set(moments[-1].judged.departures)
    kept = list(dict.fromkeys(names))
    for name in tuple(kept):
        fewer = as_built(spec, [quirk_named(n, spec) for n in kept if n != name])
        agreed, departures = rejudge(moments, fewer, parameters)
        as_before = agreed == len(moments) - 1 and set(departures) == shown
        if as_before and all(_accounts(q, moments, fewer, parameters) for q in finding.quirks[:1]):
            kept.remove(name)
    return tuple(kept)


def _accounts(quirk: Quirk, moments: Sequence[Moment], rules: Protocol, parameters: ParameterSet) -> bool:
    """Whether model and router agree under the quirk, to the end."""
    agreed, departures = rejudge(moments, quirk.edit(rules), parameters)
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


def _blocks(played: Iterator[tuple[Event, tuple[Moment, ...]]]) -> Iterator[Block]:
    """Blocks that end where there is something to show."""
    silent: list[Event] = []
    for event, moments in played:
        silent.append(event)
        shown = _shown_of(moments)
        if shown:
            yield Block(tuple(silent), shown)
            silent = []
    if silent:
        yield Block(tuple(silent))


def _shown_of(moments: Sequence[Moment]) -> tuple[Shown, ...]:
    """What both said or, where the last moment departs, what differs."""
    departures = moments[-1].judged.departures if moments and not moments[-1].judged.blurred else ()
    if not departures:
        return tuple(Shown("both", o) for o in in_order(o for m in moments for o in m.outputs))
    expected = in_order(d.expected for d in departures if d.expected is not None)
    observed = in_order(_brief(d.observed) for d in departures if d.observed is not None)
    misfits = [Misfit(*d.reason.split(": ", 1)) for d in departures if d.kind == "choice"]
    # A choice is wrong as a whole, so all that was done shows what was chosen.
    chosen = in_order(moments[-1].outputs) if misfits and not expected and not observed else ()
    return (
        *(Shown("both", o) for o in chosen),
        *(Shown("model", m) for m in misfits),
        *(Shown("model", o) for o in expected),
        *(Shown("router", o) for o in observed),
    )


def _brief(output: Output) -> Output:
    return Crashed(output.text[:MAX_CRASH_TEXT]) if isinstance(output, Crashed) else output


# -- replay -------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Replayed:
    """What a replay came to."""

    case: Case
    outcome: Outcome
    reason: str
    """The outcome in a sentence."""
    departures: tuple[Departure, ...] = ()
    at: int | None = None
    """Which event departed, from 0."""
    rewritten: Case
    """The case with outputs anew; what was not reached has none."""
    moments: tuple[Moment, ...] = ()

    @property
    def departs(self) -> bool:
        return bool(self.departures)

    @property
    def as_expected(self) -> bool:
        """Whether the status of the case says so."""
        return self.outcome in ("same", "holds")

    @property
    def divergence(self) -> str:
        """The block that departs, as text; empty where none does."""
        for block, lines in zip(self.rewritten.blocks, body_of(self.rewritten), strict=True):
            if block.departs:
                return "\n".join(lines)
        return ""


def protocol_of(case: Case) -> Protocol:
    """The protocol of a case, with the quirks that it has in force. Raises CaseError for an unknown one."""
    spec = protocol_named(case.protocol)
    return as_built(spec, [_quirk(name, spec, case) for name in case.as_built])


def config_of(case: Case) -> Config:
    """What to open the router with."""
    pubsub = isinstance(case.parameters, Parameters)
    family = "parameters" if pubsub else "dog"
    given: dict[str, Any] = {family: case.parameters}
    return Config(seed=case.seed, protocol=case.protocol, extras=case.extras, **given)


def _quirk(name: str, spec: Protocol, case: Case) -> Quirk:
    try:
        return quirk_named(name, spec)
    except SpecError as error:
        raise CaseError(f"{case.path}: {error}") from None


@mutable
class _Run:
    """A replay that goes on: what each event came to."""

    play: Play
    played: list[tuple[Event, tuple[Moment, ...]]] = field(factory=list)
    departures: tuple[Departure, ...] = ()

    def do(self, event: Event) -> bool:
        """Whether to go on."""
        before = len(self.play.moments)
        self.departures = self.play.do(event)
        self.played.append((event, tuple(self.play.moments[before:])))
        return not self.departures and not self.play.blurred


def replay(case: Case, opener: Opener, protocol: Protocol | None = None) -> Replayed:
    """Play the events of `case` to a router beside the model of `protocol`, to the first departure.

    Raises CaseError, naming the event, for what cannot be put into bytes; AdapterError where the router's
    driver broke.
    """
    rules = protocol_of(case) if protocol is None else protocol
    if protocol is None and case.quirk:
        # Under another protocol the edit may not fit; under its own it has to be there.
        _quirk(case.quirk, protocol_named(case.protocol), case)
    events = events_of(case)
    subject = opener(config_of(case))
    event: Event | None = None
    try:
        run = _Run(Play(subject, Oracle(rules, case.parameters)))
        subject.declare(messages_in(events))
        for event in events:
            if not run.do(event):
                break
    except ValueError as error:
        place = f"{case.path}: `{event_text(event, signed=case.signed)}`" if event else case.path
        raise CaseError(f"{place}: {error}") from None
    finally:
        subject.close()
    rewritten = evolve(case, blocks=tuple(_rewritten(case, run.played)))
    outcome, reason = _outcome(case, run, rules)
    return Replayed(
        case=case,
        outcome=outcome,
        reason=reason,
        departures=run.departures,
        at=len(run.played) - 1 if run.departures else None,
        rewritten=rewritten,
        moments=tuple(run.play.moments),
    )


def _rewritten(case: Case, played: Sequence[tuple[Event, tuple[Moment, ...]]]) -> Iterator[Block]:
    """The blocks of the case, cut after an event that turns out to have outputs."""
    shown = iter([_shown_of(moments) for _, moments in played])
    for block in case.blocks:
        silent: list[Event] = []
        for event in block.events:
            silent.append(event)
            said = next(shown, ())
            if said:
                yield Block(tuple(silent), said)
                silent = []
        if silent:
            yield Block(tuple(silent))


def _outcome(case: Case, run: _Run, rules: Protocol) -> tuple[Outcome, str]:
    must_hold = case.status in MUST_HOLD
    if run.departures:
        seen = f"departs at `{event_text(run.played[-1][0], signed=case.signed)}`: {said(run.departures)}"
        if must_hold:
            return "departs", seen
        if _as_recorded(case, run, rules):
            return "same", seen
        return "different", f"{seen}; recorded was: {said(recorded(case)) or case.clause}"
    if run.play.blurred:
        return "inconclusive", "a choice could have fallen on a stalled peer, where it can not be seen"
    last = _departing(case)[-1]
    if not run.played[last][1]:
        idle = event_text(run.played[last][0], signed=case.signed)
        return "inconclusive", f"`{idle}` could not happen to this router, so nothing was told"
    if must_hold:
        return "holds", f"holds in all of {len(run.played)} events"
    return "fixed", f"departs no more (recorded was: {said(recorded(case)) or case.clause})"


def _departing(case: Case) -> range:
    """Which events (from 0) the recorded departure belongs to; the last one where none is recorded."""
    at = 0
    for block in case.blocks:
        if block.departs:
            return range(at, at + len(block.events))
        at += len(block.events)
    return range(at - 1, at)


def _as_recorded(case: Case, run: _Run, rules: Protocol) -> bool:
    """Whether a departure is the recorded one: at that event, the same act, of the same root cause."""
    before = {(d.kind, act_of(d)) for d in recorded(case)}
    same = [d for d in run.departures if not before or (d.kind, act_of(d)) in before]
    if before and len(run.played) - 1 not in _departing(case):
        return False
    if not case.quirk:
        told = blamed(run.play.moments, rules, case.parameters)
        clauses = dict(zip(run.play.moments[-1].judged.departures, told, strict=True))
        beside = blamed_beside(run.play.moments, rules, case.parameters)
        return any(case.clause in (d.clause, clauses.get(d), *beside) for d in same)
    try:
        quirk = quirk_named(case.quirk, rules)
    except SpecError:
        # Under an older protocol the edit may not fit; then the act has to do.
        return bool(same)
    return bool(same) and _accounts(quirk, run.play.moments, rules, case.parameters)


def recorded(case: Case) -> tuple[Departure, ...]:
    """The departures that the text of a case shows, with a clause only where their act tells it."""
    shown = next((block.shown for block in case.blocks if block.departs), ())
    due = [s.what for s in shown if s.side == "model" and not isinstance(s.what, Misfit)]
    found = [
        Departure("choice", case.clause, reason=f"{s.what.name}: {s.what.reason}")
        for s in shown
        if isinstance(s.what, Misfit)
    ]
    for each in shown:
        if each.side != "router" or isinstance(each.what, Misfit):
            continue
        observed = each.what
        expected = next((o for o in due if key(o) == key(observed)), None)
        if isinstance(observed, Crashed):
            found.append(Departure("crash", case.clause, observed=observed))
        elif expected is not None:
            due.remove(expected)
            found.append(Departure("differs", differing_clause(expected), expected, observed))
        else:
            found.append(Departure("unexpected", forbidding_clause(observed), observed=observed))
    return (*found, *(Departure("missing", case.clause, expected=o) for o in due))


def said(departures: Sequence[Departure]) -> str:
    """Departures in a few words: `unexpected Prune (gs1.0/prune.not-answered)`."""
    return ", ".join(dict.fromkeys(f"{d.kind} {_act(d)} ({d.clause})" for d in departures))


def _act(departure: Departure) -> str:
    output = departure.observed or departure.expected
    return act_of(departure) if isinstance(output, Sent) or output is None else act_of(departure).lower()


__all__ = [
    "Block",
    "Case",
    "Misfit",
    "Outcome",
    "Replayed",
    "Shown",
    "Status",
    "against_text",
    "command_of",
    "config_of",
    "events_of",
    "from_finding",
    "load",
    "parameters_of",
    "parse",
    "protocol_of",
    "recorded",
    "render",
    "replay",
    "router_of",
]
