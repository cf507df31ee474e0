"""Cases as data, for those who cannot run Python: requests of the seam in, allowed sets out.

A request is what `quidnunc.impl.seam.sidecar` would say to a router, bytes as base64. What is allowed after
it are permits: outputs that must or may come, each used up by one output, at the latest before the router
rests (`now`) or with what the next heartbeat sends (`heartbeat`); a step that `settles` is one. Messages
and transactions go by names, whose bytes are in `ids`. Where the text leaves a choice, it is stated with
its bounds and the answer that the rest of the case goes on from: a router that answers otherwise within the
bounds conforms, and from there on the case says nothing of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs
from attrs import field, mutable

from quidnunc.impl.seam import Hello
from quidnunc.impl.seam.sidecar import ExecDriver, Pipe
from quidnunc.impl.seam.sidecar_json import init_of, text_of
from quidnunc.model.choices import PartialSet, Reveals, SeededChoices, Shows, SuchThat
from quidnunc.model.events import Advance, Event, Output, Publish, Receive
from quidnunc.model.machine import family_of
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol, Targets
from quidnunc.properties.cases.case import Case, Misfit, NodeOutput, events_of
from quidnunc.properties.cases.file import letter_of, schedule_of
from quidnunc.properties.cases.router import config_of, protocol_of
from quidnunc.properties.judge.oracle import EventJudgement, Oracle
from quidnunc.properties.judge.play import Play, WireSubject, messages_in
from quidnunc.properties.notation.lines import event_text, output_text

SCHEMA = 1

OF_BYTES = re.compile(r"x(?:[0-9a-f]{2})*")
"""Names that are the bytes themselves, in hexadecimal."""


@mutable
class RequestRecorder:
    """Stands where a child process would: keeps what it is asked and answers that nothing happened."""

    asked: list[dict[str, object]] = field(factory=list)

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        self.asked.append(request)
        return {"t": 0}

    def taken(self) -> list[dict[str, object]]:
        asked, self.asked = self.asked, []
        return asked

    def close(self) -> None:
        """There is no process to end."""


@mutable
class ChoiceRecorder:
    """An oracle that keeps each choice that was free, with its bounds and its answer."""

    inner: SeededChoices
    choices: list[dict[str, Any]] = field(factory=list)

    def fired(self, clause: str) -> None:
        self.inner.fired(clause)

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        answer = self.inner.some(name, clause, among, count, reveals=reveals, such_that=such_that)
        self._note(name, among.all, count, answer, clause=clause, conditioned=such_that is not None)
        return answer

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        answer = self.inner.hidden(name, among)
        spare = len(among.must)
        self._note(name, among.may, (among.least - spare, among.most - spare), answer.must - among.must)
        return answer

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        return self._said(name, self.inner.whether(name, shows, default))

    def free(self, name: str, likely: Shows | None = None) -> bool:
        return self._said(name, self.inner.free(name, likely))

    def _said(self, name: str, answer: bool) -> bool:
        self.choices.append({"name": name, "answer": answer})
        return answer

    def _note(
        self,
        name: str,
        among: frozenset[Peer],
        count: tuple[int, int],
        answer: frozenset[Peer],
        *,
        clause: str = "",
        conditioned: bool = False,
    ) -> None:
        least, most = max(0, count[0]), min(count[1], len(among))
        if least == most and most in (0, len(among)):
            return
        self.choices.append(
            {
                "name": name,
                "clause": clause,
                "among": sorted(among),
                "least": least,
                "most": most,
                # A condition beyond the bounds (the best are kept, say) is in the clause's words alone.
                "conditioned": conditioned,
                "answer": sorted(answer),
            }
        )


@mutable
class StepExporter:
    """Stands where the oracle does, and judges nothing: takes each step and writes down what is allowed."""

    protocol: Protocol
    state: Any
    requests: RequestRecorder
    signed: bool
    die: random.Random
    steps: list[dict[str, Any]] = field(factory=list)

    def applicable(self, event: Event) -> bool:
        return bool(family_of(self.protocol).applicable(self.state, event))

    def judge(self, event: Event, outputs: Sequence[Output]) -> EventJudgement:
        noted = ChoiceRecorder(SeededChoices(self.die))
        machine = family_of(self.protocol)
        settles = isinstance(event, Advance) and machine.until_tick_ms(self.state) == event.ms
        step = machine.step(self.state, event, noted)
        self.state = step.router
        self.steps.append(
            {
                "event": event_text(event, signed=self.signed),
                "requests": self.requests.taken(),
                "settles": settles,
                "choices": noted.choices,
                "allowed": [_permit(p, self.signed) for p in step.permits],
                "because": list(dict.fromkeys(noted.inner.because)),
            }
        )
        return EventJudgement((), (), (), step.permits)


def vector(case: Case) -> dict[str, Any]:
    """A case as requests and permits: `init`, then one step per event and peer, and per heartbeat."""
    rules, config = protocol_of(case), config_of(case)
    requests = RequestRecorder()
    hello = Hello(name="nobody", version="", protocols=(case.protocol,))
    subject = WireSubject(ExecDriver(cast("Pipe", requests), hello), config)
    state = family_of(rules).start(rules, case.parameters)
    follower = StepExporter(rules, state, requests, case.signed, random.Random(case.seed))
    events = events_of(case)
    subject.declare(messages_in(events))
    run = Play(subject, cast("Oracle", follower))
    for event in events:
        run.do(event)
    return {
        "claim": case.claim,
        "clause": case.clause,
        "protocol": case.protocol,
        "reason": case.reason,
        "init": init_of(config),
        "ids": {name: text_of(subject.id_of(name)) for name in _named(follower.steps, events)},
        "steps": follower.steps,
    }


def _named(steps: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[str]:
    """Messages and transactions that are spoken of. The ids of a router's own messages are its own affair."""
    found: set[str] = set()
    own = {event.message.id for event in events if isinstance(event, Publish)}
    parts = [p for e in events if isinstance(e, Receive) for p in e.parts]
    for value in (*map(plain, parts), *(permit["output"] for s in steps for permit in s["allowed"])):
        part = value.get("part") or value.get("message") or value
        found.update(part.get("ids", ()), [part["id"]] if "id" in part else [])
    # What stands for its own bytes is not listed, and neither are ids by another function.
    return sorted(name for name in found - own if not OF_BYTES.fullmatch(name) and "@" not in name)


def _permit(permit: Permit, signed: bool) -> dict[str, Any]:
    return {
        "text": output_text(permit.output, signed=signed),
        "output": plain(permit.output),
        "must": permit.must,
        "within": permit.within,
        "clause": permit.clause,
    }


def case_data(case: Case) -> dict[str, Any]:
    """A case as it stands in its file, as values."""
    return _network_data(case) if case.is_network else _router_data(case)


def _network_data(case: Case) -> dict[str, Any]:
    act_text = schedule_of(case.protocol).event_text
    return {
        "nodes": [*map(letter_of, case.nodes)],
        "attackers": [letter_of(i) for i in sorted(case.attackers)],
        "links": [[letter_of(a), letter_of(b)] for a, b in case.links],
        "before": [*map(act_text, case.before)],
        "blocks": [
            {
                "acts": [*map(act_text, block.events)],
                "said": [each.what.text for each in block.shown if isinstance(each.what, NodeOutput)],
                "broken": block.broken or None,
            }
            for block in case.blocks
        ],
    }


def _router_data(case: Case) -> dict[str, Any]:
    blocks = []
    for block in case.blocks:
        shown = []
        for each in block.shown:
            what: Any = each.what
            text = str(what) if isinstance(what, Misfit) else output_text(what)
            shown.append({"side": each.side, "text": text, "output": plain(each.what)})
        events = [{"text": event_text(e, signed=case.signed), "event": plain(e)} for e in block.events]
        blocks.append({"events": events, "shown": shown})
    return {
        "reason": case.reason,
        "claim": case.claim,
        "clause": case.clause,
        "protocol": case.protocol,
        "protocols": list(case.protocols),
        "against": case.against,
        "status": case.status,
        "quirk": case.quirk,
        "as_built": list(case.as_built),
        "argument": case.argument,
        "parameters": plain(case.parameters),
        "seed": case.seed,
        "blocks": blocks,
    }


def plain(value: object) -> Any:
    """Values of the vocabulary as JSON: an attrs value is an object whose `is` names its class."""
    kind = type(value)
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        return {"is": kind.__name__, **{name: plain(getattr(value, name)) for name in names}}
    if isinstance(value, frozenset):
        return sorted(plain(each) for each in value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value
