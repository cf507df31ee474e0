"""Which reading of each open place a router has, told by separating traces.

Of each reading there is a case in `properties/cases/dialects`: a run in which the kit's own reading and that
one allow different outputs. A router is played all cases of a question under each candidate; the candidate
that allows all it did is what it was observed to have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import frozen

from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.ambiguities import (
    AMBIGUITIES,
    BY_ID,
    QUESTIONS,
    SETTLED_QUESTIONS,
    WIDE,
    Question,
    reading_named,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.cases.separating import separating_traces, speaks_its_streams
from quidnunc.properties.judge.play import Opener, play
from quidnunc.properties.suite.run import departs
from quidnunc.properties.suite.traces import DICE

OWN = "own"
NEITHER = "neither"
NOT_TOLD = "not told"


@frozen(kw_only=True)
class DialectAnswer:
    """The answer of one router to one question."""

    question: Question
    reading: str
    """`own`, the name of a reading, `neither`, or `not told`."""
    reason: str
    """What the reading says or, where there is none, why."""
    clause: str

    @property
    def is_other(self) -> bool:
        return self.reading in self.question.readings


@frozen
class DialectCandidate:
    """A reading under which a router is judged."""

    name: str
    rules: Protocol


def questions_of(protocol: str) -> tuple[Question, ...]:
    """Those that make sense for a protocol: its rules can be read so, and its streams carry the trace."""
    rules = protocol_named(protocol)
    if rules.name not in PUBSUB:
        return ()
    asked = (*QUESTIONS, *SETTLED_QUESTIONS)
    return tuple(q for q in asked if _fit(q, rules) and not _foreign_streams(q, protocol))


def unasked_places() -> tuple[tuple[str, str], ...]:
    """(id and what is open, why no router is asked), of the places that no question covers in full."""
    return tuple((f"{a.id}: {a.says}", a.unasked) for a in AMBIGUITIES if a.unasked)


def dialect_of(
    protocol: str, opener: Opener, hello: Hello, quirks: Iterable[Edit] = ()
) -> tuple[DialectAnswer, ...]:
    """What a router makes of each open place of `protocol`.

    Where a router does what no reading allows, it is played again with what else is known of it in force:
    `quirks`, and the readings that the other questions told. A reading that is told is asked for again under
    the quirks that are no readings: what one of those accounts for tells nothing of the question.
    """
    spec = protocol_named(protocol)
    quirks = tuple(quirks)
    first = [_tell(q, spec, protocol, opener, hello) for q in questions_of(protocol)]
    seen = [t.reading for t in first if t.is_other]
    told = []
    for each in first:
        known = [q for q in quirks if q.kind != "reading"] if each.is_other else []
        if each.reading == NEITHER:
            known = [reading_named(n) for n in seen] + [q for q in quirks if q.name not in seen]
        known = [q for q in known if q.name not in each.question.readings]
        if known:
            again = _tell(each.question, edited(spec, known), protocol, opener, hello, changed=True)
            each = again if again.reading != NEITHER else each
        told.append(each)
    return tuple(told)


def candidates(question: Question, rules: Protocol) -> Iterator[DialectCandidate]:
    """The kit's own reading, then the others that can be read into these rules."""
    narrowed = question.narrowed
    own = narrowed.applied_to(rules) if narrowed is not None else rules
    if own is not None:
        yield DialectCandidate(OWN, own)
    for reading in question.others:
        other = reading.applied_to(rules)
        if other is not None:
            yield DialectCandidate(reading.name, other)


def agrees(case: Case, parameters: Any, rules: Protocol, protocol: str, opener: Opener) -> bool | None:
    """Whether these rules allow all that the router does in the case; None where a choice cannot be seen."""
    config = Config(seed=case.seed, protocol=protocol, parameters=parameters)
    run = play(events_of(case), opener(config), rules, parameters)
    if run.blurred:
        return None
    return not any(moment.judged.departures for moment in run.moments)


def separates(case: Case, parameters: Any, own: Protocol, other: Protocol) -> bool:
    """Whether a router of the other reading can do in the case what the kit's own one does not allow."""
    return any(departs(events_of(case), parameters, other, own, die) for die in DICE)


def _unfit(name: str, hello: Hello, own: Protocol, other: Protocol, *, changed: bool) -> str:
    """Why the case of a reading tells nothing of a router of such a hello; empty where it does.

    `changed`: other quirks are in force, under which the case has not been tried."""
    case = separating_traces()[name]
    parameters, lacking = fitted_parameters(case, hello)
    if getattr(parameters, "prune_peers", 0) and "peer-exchange" not in hello.capabilities:
        lacking = (*lacking, "peer-exchange")
    if lacking:
        return f"needs {', '.join(lacking)}"
    if (changed or parameters != case.parameters) and not separates(case, parameters, own, other):
        return "in what else this router does the readings do not differ"
    return ""


def _tell(
    question: Question, rules: Protocol, protocol: str, opener: Opener, hello: Hello, *, changed: bool = False
) -> DialectAnswer:
    """One answer."""
    left = list(candidates(question, rules))
    if len(left) <= len(question.readings):
        return _concluded(question, [c.name for c in left], ["it has no place in the router as built"])
    reasons: list[str] = []
    by_name = {c.name: c.rules for c in left}
    for name in question.readings:
        why_not = _unfit(name, hello, by_name[OWN], by_name[name], changed=changed)
        if why_not:
            reasons.append(why_not)
            continue
        case = separating_traces()[name]
        parameters, _ = fitted_parameters(case, hello)
        try:
            answers = {c.name: agrees(case, parameters, c.rules, protocol, opener) for c in left}
        except AdapterError as error:
            reasons.append(f"the driver could not be played {name}.case: {error}")
            continue
        if None in answers.values():
            reasons.append("a choice of the router could not be seen")
            continue
        left = [c for c in left if answers[c.name]]
    return _concluded(question, [c.name for c in left], reasons)


def _concluded(question: Question, left: Sequence[str], reasons: Sequence[str]) -> DialectAnswer:
    def told(reading: str, reason: str) -> DialectAnswer:
        clause = reading_named(reading if reading in question.readings else question.readings[0]).clause
        settled = BY_ID[question.place].settled
        if reading in question.readings and settled:
            reason = f"{reason} Not open: {settled}."
        return DialectAnswer(question=question, reading=reading, reason=reason, clause=clause)

    # Who keeps to a narrower reading does nothing that shows the wide one.
    names = [name for name in left if name not in WIDE] or list(left)
    if not names:
        return told(NEITHER, "does what no reading known here allows")
    if len(reasons) == len(question.readings):
        return told(NOT_TOLD, "; ".join(dict.fromkeys(reasons)))
    if len(names) > 1:
        why = "; ".join(dict.fromkeys(reasons)) or "what it did is in order under each"
        return told(NOT_TOLD, f"{' or '.join(names)}: {why}")
    return told(names[0], question.own if names[0] == OWN else reading_named(names[0]).says)


def _fit(question: Question, rules: Protocol) -> bool:
    return sum(1 for _ in candidates(question, rules)) > len(question.readings)


def _foreign_streams(question: Question, protocol: str) -> bool:
    return not all(speaks_its_streams(name, protocol) for name in question.readings)
