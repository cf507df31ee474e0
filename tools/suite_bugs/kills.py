"""Which planted bugs show in a trace: first by what the router says, then by what the judge says of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import field, frozen

from quidnunc.impl.seam import Config
from quidnunc.model.events import Event, Output
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import ModelSubject, Opener, messages_in, play
from quidnunc.properties.suite.traces import DICE, Trace
from tools.mutation.mutants import opener_of

SEED = 0
"""Of the routers: that of the case."""


@frozen
class PlayedTrace:
    """A trace as our router plays it: each event, one peer and one heartbeat at a time, and what it says."""

    protocol: str
    trace: Trace
    steps: tuple[tuple[Event, tuple[Output, ...]], ...] = field(init=False)
    in_order: bool = field(init=False)
    """Whether our router keeps to the protocol in it, and every choice can be seen."""

    def __attrs_post_init__(self) -> None:
        parameters, events = self.trace
        run = play(events, opener_of(None)(self._config), protocol_named(self.protocol), parameters)
        object.__setattr__(self, "steps", tuple((m.event, m.outputs) for m in run.moments))
        object.__setattr__(self, "in_order", not run.blurred and not last_departures(run))

    @property
    def _config(self) -> Config:
        return Config(seed=SEED, protocol=self.protocol, parameters=self.trace[0])

    def shows(self, opener: Opener) -> bool:
        """Whether a router departs in it."""
        if not self._differs(opener):
            return False
        parameters, events = self.trace
        run = play(events, opener(self._config), protocol_named(self.protocol), parameters)
        return bool(last_departures(run))

    def _differs(self, opener: Opener) -> bool:
        subject = opener(self._config)
        try:
            subject.declare(messages_in(self.trace[1]))
            return any(subject.do(event) != said for event, said in self.steps)
        finally:
            subject.close()


def shown_in(played: PlayedTrace, bugs: Iterable[str]) -> Iterator[str]:
    """The bugs that show in it."""
    for bug in bugs:
        if played.shows(opener_of(bug)):
            yield bug


def holds(trace: Trace, protocol: Protocol) -> bool:
    """Whether the model as a router is in order in it, and every choice seen, with each die."""
    for die in DICE:
        run = play(trace[1], ModelSubject(protocol, trace[0], die), protocol, trace[0])
        if run.blurred or last_departures(run):
            return False
    return True
