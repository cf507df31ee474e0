"""Cases as data, for those who cannot run Python: requests of the seam in, allowed sets out.

A request is what `quidnunc.impl.sidecar` would say to a router, bytes as base64. What is allowed after it are
permits: outputs that must or may come, each used up by one output, at the latest before the router rests
(`now`) or with what the next heartbeat sends (`heartbeat`); a step that `settles` is one. Messages
and transactions go by names, whose bytes are in `ids`. Where the text leaves a choice, it is stated with
its bounds and the answer that the rest of the case goes on from: a router that answers otherwise within the
bounds conforms, and from there on the case says nothing of it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs
from attrs import field, mutable

from quidnunc.impl.seam import Hello
from quidnunc.impl.sidecar import ExecDriver, Pipe
from quidnunc.impl.sidecar_json import init_of, text_of
from quidnunc.model.choices import PartialSet, Reveals, Seeded, SuchThat
from quidnunc.model.events import Advance, Event, Output, Publish, Receive
from quidnunc.model.machine import machine_of
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol, Targets
from quidnunc.properties.case_text import event_text, output_text
from quidnunc.properties.cases import Case, Misfit, config_of, events_of, protocol_of
from quidnunc.properties.oracle import Judged, Oracle
from quidnunc.properties.play import Play, Wire, messages_in

SCHEMA = 1

OF_BYTES = re.compile(r"x(?:[0-9a-f]{2})*")
"""Names that are the bytes themselves, in hexadecimal."""


@mutable
class Requests:
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
class Noted:
    """An oracle that keeps each choice that was free, with its bounds and its answer."""

    inner: Seeded
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

    def whether(self, name: str, shows: Callable[[Output], bool], default: bool = False) -> bool:
        answer = self.inner.whether(name, shows, default)
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
class Follower:
    """Stands where the oracle does, and judges nothing: takes each step and writes down what is allowed."""

    protocol: Protocol
    state: Any
    requests: Requests
    signed: bool
    die: random.Random
    steps: list[dict[str, Any]] = field(factory=list)

    def applicable(self, event: Event) -> bool:
        return bool(machine_of(self.protocol).applicable(self.state, event))

    def judge(self, event: Event, outputs: Sequence[Output]) -> Judged:
        noted = Noted(Seeded(self.die))
        machine = machine_of(self.protocol)
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
        return Judged((), (), (), step.permits)


def vector(case: Case) -> dict[str, Any]:
    """A case as requests and permits: `init`, then one step per event and peer, and per heartbeat."""
    rules, config = protocol_of(case), config_of(case)
    requests = Requests()
    hello = Hello(name="nobody", version="", protocols=(case.protocol,))
    subject = Wire(ExecDriver(cast("Pipe", requests), hello), config)
    state = machine_of(rules).start(rules, case.parameters)
    follower = Follower(rules, state, requests, case.signed, random.Random(case.seed))
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
    blocks = []
    for block in case.blocks:
        shown = []
        for each in block.shown:
            text = str(each.what) if isinstance(each.what, Misfit) else output_text(each.what)
            shown.append({"side": each.side, "text": text, "output": plain(each.what)})
        events = [{"text": event_text(e, signed=case.signed), "event": plain(e)} for e in block.events]
        blocks.append({"events": events, "shown": shown})
    return {
        "reason": case.reason,
        "claim": case.claim,
        "clause": case.clause,
        "protocol": case.protocol,
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
