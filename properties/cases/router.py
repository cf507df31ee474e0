"""Replay of a case of one router.

Replay judges by the model and not by the recorded outputs: those tell a reader what happened, and tell replay
whether a departure is the one that was recorded or another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, mutable

from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import CaseError, SpecError, did_you_mean
from quidnunc.model.events import (
    Connect,
    Crashed,
    Disconnect,
    Event,
    Join,
    Leave,
    Output,
    Sent,
    output_key,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, CaseBlock, Control, Misfit, events_of
from quidnunc.properties.cases.finding import accounts, shown_of, within_limit
from quidnunc.properties.cases.outcome import MUST_HOLD, CaseReplay, Outcome
from quidnunc.properties.claims.catalogue import checked_claims
from quidnunc.properties.documents.clauses import load as load_clauses
from quidnunc.properties.explain.runs import blamed_beside, blamed_clauses
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Moment, Opener, Play, Subject, act_of, messages_in
from quidnunc.properties.notation.lines import event_text, output_text

REPEATS = 10
"""How often a case is replayed when it is written."""
REPEATS_S = 5.0
"""For how long, in seconds: no further replay starts then."""


def protocol_of(case: Case) -> Protocol:
    """The protocol of a case, with the quirks that it has in force. Raises CaseError for an unknown one."""
    spec = protocol_named(case.protocol)
    return edited(spec, [_quirk(name, spec, case) for name in case.as_built])


def config_of(case: Case) -> Config:
    """What to open the router with."""
    return Config(
        seed=case.seed,
        protocol=case.protocol,
        parameters=case.parameters,
        profile="shipped" if case.profile == "shipped" else "spec",
        without=case.without,
    )


def _quirk(name: str, spec: Protocol, case: Case) -> Edit:
    try:
        return edit_named(name, spec)
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


def replay_router(case: Case, opener: Opener, protocol: Protocol | None = None) -> CaseReplay:
    """Play the events of `case` to a router beside the model of `protocol`, to the first departure.

    Without `protocol`, beside the model with what the case excuses. A router that no longer does what is
    excused is judged again by the unedited model: both may be mended.

    Raises CaseError, naming the event, for what cannot be put into bytes; AdapterError where the router's
    driver broke.
    """
    if protocol is not None:
        return _replayed(case, opener, protocol)
    if case.quirk:
        # Under another protocol the edit may not fit; under its own it has to be there.
        _quirk(case.quirk, protocol_named(case.protocol), case)
    excused = _replayed(case, opener, protocol_of(case))
    if not case.as_built or excused.outcome != "different":
        return excused
    plain = _replayed(case, opener, protocol_named(case.protocol))
    return plain if plain.outcome in ("fixed", "same") else excused


def _opened(case: Case, opener: Opener) -> Subject:
    """The router of the case. Raises CaseError where it has no such addition to switch off; only the router
    itself knows what it has."""
    config = config_of(case)
    try:
        subject = opener(config)
    except AdapterError:
        if not case.without:
            raise
        # It may be the name that it refuses; asked for none, it says which there are.
        subject = opener(evolve(config, without=()))
        try:
            _check_without(case, subject.hello)
        finally:
            subject.close()
        raise
    try:
        _check_without(case, subject.hello)
    except CaseError:
        subject.close()
        raise
    return subject


def _check_without(case: Case, hello: Hello) -> None:
    """Raises CaseError for what is to be switched off and is no addition of the router."""
    for name in case.without:
        if case.profile == "shipped" and name not in hello.additions:
            known = did_you_mean(name, hello.additions) if hello.additions else "; it adds nothing"
            raise CaseError(
                f"{case.path}: without: {hello.name} has no addition {name!r} to switch off{known}"
            )


def _replayed(case: Case, opener: Opener, rules: Protocol) -> CaseReplay:
    events = events_of(case)
    subject = _opened(case, opener)
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
    rewritten = within_limit(evolve(case, blocks=tuple(_rewritten(case, run.played))))
    outcome, reason = _outcome(case, run, rules)
    return CaseReplay(
        case=case,
        outcome=outcome,
        reason=reason,
        departures=run.departures,
        at=len(run.played) - 1 if run.departures else None,
        reached=len(run.played),
        rewritten=rewritten,
        moments=tuple(run.play.moments),
        version=subject.hello.version,
    )


def repeated(
    case: Case, opener: Opener, times: int = REPEATS, is_over: Callable[[], bool] = lambda: False
) -> tuple[int, int] | None:
    """(k, n): in how many of n replays the router departs as the case records; None where it cannot be asked.

    `times` replays, or fewer where they take longer than `REPEATS_S` or the time `is_over`.
    """
    started = time.monotonic()
    outcomes: list[Outcome] = []
    try:
        while len(outcomes) < times and time.monotonic() - started < REPEATS_S and not is_over():
            outcomes.append(replay_router(case, opener).outcome)
    except (AdapterError, ValueError):
        return None
    return (outcomes.count("same"), len(outcomes)) if outcomes else None


def control_by(case: Case, ours: Opener) -> Control:
    """What our own router does with the events of the case, under the plain specification."""
    plain = evolve(case, status="fixed", quirk="", as_built=(), profile="", without=())
    try:
        return "departs" if replay_router(plain, ours).departures else "passes"
    except (AdapterError, ValueError):
        return "not asked"


def _rewritten(case: Case, played: Sequence[tuple[Event, tuple[Moment, ...]]]) -> Iterator[CaseBlock]:
    """The blocks of the case, cut after an event that turns out to have outputs."""
    shown = iter([shown_of(moments) for _, moments in played])
    for block in case.blocks:
        silent: list[Event] = []
        for event in block.events:
            silent.append(event)
            said = next(shown, ())
            if said:
                yield CaseBlock(tuple(silent), said)
                silent = []
        if silent:
            yield CaseBlock(tuple(silent))


def _outcome(case: Case, run: _Run, rules: Protocol) -> tuple[Outcome, str]:
    must_hold = case.status in MUST_HOLD
    if run.departures:
        seen = f"departs at `{event_text(run.played[-1][0], signed=case.signed)}`: {said(run.departures)}"
        if must_hold:
            return "departs", seen
        if _as_recorded(case, run, rules):
            return "same", seen
        recorded = said(recorded_departures(case)) or case.clause
        alike = recorded == said(run.departures) and len(run.played) - 1 in _departing(case)
        if case.quirk and alike:
            return "different", f"{seen}; but the recorded quirk {case.quirk} does not explain it"
        return "different", f"{seen}; recorded: {recorded}"
    if run.play.blurred:
        return "inconclusive", "a choice may concern a stalled peer, where it does not show"
    last = _departing(case)[-1]
    idle = _of_nobody(event for event, _ in run.played)
    if idle is None and not run.played[last][1]:
        idle = run.played[last][0]
    if idle is not None:
        text = event_text(idle, signed=case.signed)
        return "inconclusive", f"`{text}` could not happen to this router, so the case says nothing about it"
    owed = _still_owed(case, run)
    if owed is not None:
        return "inconclusive", (
            f"`{output_text(owed, signed=case.signed)}` was still owed when the case ended, so whether it "
            "comes is not known; add `advance 1s`, or longer, before the outputs of the last block"
        )
    if case.status == "fixed" and not recorded_departures(case) and not _claim_applied(case, run, rules):
        return "inconclusive", (
            f"no departure in {len(run.played)} events, but the claim {case.claim} never applied in them; "
            "add events in which a router could break it"
        )
    if must_hold:
        return "holds", f"no departure in {len(run.played)} events"
    return "fixed", f"no longer reproduces (recorded: {said(recorded_departures(case)) or case.clause})"


def _still_owed(case: Case, run: _Run) -> Output | None:
    """What the case says was missing, and may yet come after its last event; None where nothing is owed.

    Where a case records no departure, that is what its clause obliges to. An entry of a suite is about more
    than its last event, and owes at its end what it does not ask for.
    """
    owed = [permit for permit in run.play.oracle.open if permit.must]
    recorded = recorded_departures(case)
    missing = {output_key(d.expected) for d in recorded if d.kind == "missing" and d.expected is not None}
    of_clause = any(d.kind == "choice" for d in recorded) or (not recorded and case.status == "fixed")
    for permit in owed:
        if output_key(permit.output) in missing or (of_clause and permit.clause == case.clause):
            return permit.output
    return None


def _claim_applied(case: Case, run: _Run, rules: Protocol) -> bool:
    """Whether the run tests the claim of a case: a clause of it applied, or the run would have departed in a
    router that has the quirk."""
    claim = next((each for each in checked_claims() if each.id == case.claim), None)
    clauses = {case.claim} if claim is None else {case.clause, *claim.clauses}
    known = load_clauses()
    carried = {known[each].carried_by for each in clauses if each in known}
    if run.play.applied.keys() & (clauses | carried):
        return True
    return bool(case.quirk) and not _explained(case, run, rules)


def _explained(case: Case, run: _Run, rules: Protocol) -> bool:
    """Whether model and router agree under the quirk of the case; so where it does not fit the protocol."""
    try:
        return accounts(edit_named(case.quirk, rules), run.play.moments, rules, case.parameters)
    except SpecError:
        return True


def _of_nobody(events: Iterable[Event]) -> Event | None:
    """The first event all of whose peers the case has not connected, or that leaves a topic not joined.

    That no router can take; of a burst, those who are not there are left out. Others a router may make
    impossible by what it does right: where it hands over no forged message there is none to judge.
    """
    connected: set[Peer] = set()
    joined: set[str] = set()
    for event in events:
        match event:
            case Connect(peers):
                connected |= {*peers}
            case Join(topic):
                joined.add(topic)
            case Leave(topic) if topic not in joined:
                return event
            case _ if (named := {*getattr(event, "peers", ())}) and not named & connected:
                return event
            case Disconnect(peers):
                connected -= {*peers}
            case Leave(topic):
                joined.discard(topic)
    return None


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
    before = {(d.kind, act_of(d)) for d in recorded_departures(case)}
    same = [d for d in run.departures if not before or (d.kind, act_of(d)) in before]
    if before and len(run.played) - 1 not in _departing(case):
        return False
    if not case.quirk:
        told = blamed_clauses(run.play.moments, rules, case.parameters)
        clauses = dict(zip(run.play.moments[-1].judged.departures, told, strict=True))
        beside = blamed_beside(run.play.moments, rules, case.parameters)
        return any(case.clause in (d.clause, clauses.get(d), *beside) for d in same)
    try:
        quirk = edit_named(case.quirk, rules)
    except SpecError:
        # Under an older protocol the edit may not fit; then the act has to do.
        return bool(same)
    return bool(same) and accounts(quirk, run.play.moments, rules, case.parameters)


def recorded_departures(case: Case) -> tuple[Departure, ...]:
    """The departures that the text of a case shows, each of the clause that the case is about."""
    shown = next((block.shown for block in case.blocks if block.departs), ())
    due: list[Any] = [s.what for s in shown if s.side == "model" and not isinstance(s.what, Misfit)]
    found = [
        Departure("choice", case.clause, reason=f"{s.what.name}: {s.what.reason}")
        for s in shown
        if isinstance(s.what, Misfit)
    ]
    for each in shown:
        if each.side != "router" or isinstance(each.what, Misfit):
            continue
        observed: Any = each.what
        expected = next((o for o in due if output_key(o) == output_key(observed)), None)
        if isinstance(observed, Crashed):
            found.append(Departure("crash", case.clause, observed=observed))
        elif expected is not None:
            due.remove(expected)
            found.append(Departure("differs", case.clause, expected, observed))
        else:
            found.append(Departure("unexpected", case.clause, observed=observed))
    return (*found, *(Departure("missing", case.clause, expected=o) for o in due))


def said(departures: Sequence[Departure]) -> str:
    """Departures in a few words: `unexpected Prune (gs1.0/prune.not-answered)`."""
    return ", ".join(dict.fromkeys(f"{d.kind} {_act(d)} ({d.clause})" for d in departures))


def _act(departure: Departure) -> str:
    output = departure.observed or departure.expected
    return act_of(departure) if isinstance(output, Sent) or output is None else act_of(departure).lower()
