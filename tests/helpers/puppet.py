"""Routers made by hand: what they do is written down, or follows from the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import evolve, field, mutable

from quidnunc.impl.seam import Config, Hello
from quidnunc.model.choices import ScriptedChoices
from quidnunc.model.events import Advance, Event, Output
from quidnunc.model.machine import family_of
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import ModelSubject
from quidnunc.properties.search.machine import FindingSearch, next_run

EVERYTHING = frozenset(
    {
        "score",
        "verdict",
        "stall",
        "explicit",
        "flood-publish",
        "raw",
        "strict-no-sign",
        "score-parameters",
        "test-extension",
        "partial",
        "message-limit",
        "rsa-keys",
        "secp256k1-keys",
        "ecdsa-keys",
    }
)
MODEL = Hello(name="model", version="1", protocols=(), capabilities=EVERYTHING)


@mutable
class Puppet:
    """Does what it is told: one tuple of outputs per single event; nothing where there are no more."""

    answers: list[tuple[Output, ...]] = field(factory=list)
    asked: list[Event] = field(factory=list)
    closed: bool = False
    hello: Hello = MODEL

    def do(self, event: Event) -> tuple[Output, ...]:
        self.asked.append(event)
        return self.answers.pop(0) if self.answers else ()

    def declare(self, messages: Sequence[Any]) -> None:
        return None

    def close(self) -> None:
        self.closed = True


def state_after(protocol: Protocol, parameters: Any, events: Iterable[Event]) -> Any:
    """The state after `events`, each choice being the first possible one."""
    machine = family_of(protocol)
    state = machine.start(protocol, parameters)
    for event in events:
        for single in singly(event, machine.until_tick_ms(state)):
            assert machine.applicable(state, single), single
            state = machine.step(state, single, ScriptedChoices()).router
    return state


def singly(event: Event, until_tick_ms: int) -> Iterable[Event]:
    """One peer at a time. An Advance is one step, or ends at the next tick."""
    assert not isinstance(event, Advance) or event.ms <= until_tick_ms
    peers = getattr(event, "peers", None)
    burst: Any = event
    return [event] if peers is None else [evolve(burst, peers=(p,)) for p in peers]


Step = tuple[Event, Iterable[Output]]


def judge(protocol: Protocol, parameters: Any, before: Iterable[Event], *steps: Step) -> list[Departure]:
    """What is said of a router that did so, from the state after `before` on."""
    oracle = Oracle(protocol, parameters, state=state_after(protocol, parameters, before))
    return [d for event, outputs in steps for d in oracle.judge(event, tuple(outputs)).departures]


def hunt(
    protocol_name: str,
    built: Protocol,
    *,
    stop: Callable[[FindingSearch], bool] | None = None,
    steered: bool = True,
) -> FindingSearch:
    """A search of the model `built`, as a router, for departures from the protocol of that name."""

    def opener(config: Config) -> ModelSubject:
        return ModelSubject(built, config.parameters, config.seed)

    made = FindingSearch(protocol_name, opener, MODEL, steered=steered)
    if stop is not None:
        made.stop_when = stop
    return made


def played(hunt: FindingSearch, *, runs: int, seed: int) -> FindingSearch:
    """The runs of a search, to where it stops, without the engine around them."""
    while hunt.runs < runs and not hunt.stop_when(hunt):
        next_run(hunt, seed=seed)
    return hunt
