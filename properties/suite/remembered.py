"""A router of which it is known what it did in a run, so that it is played again only where that ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import field, mutable

from quidnunc.impl.seam import Hello
from quidnunc.model.events import Event, Output
from quidnunc.model.rpc import Message
from quidnunc.properties.judge.play import RecordedStep, Subject


class PlayedOtherwiseError(Exception):
    """After the same events the router did something else than before."""


@mutable
class RememberedSubject:
    """A router that is opened only where it is asked for more than is known.

    `do` raises PlayedOtherwiseError where it then does not do again what is known.
    """

    hello: Hello
    open_router: Callable[[], Subject]
    known: list[RecordedStep]
    """What it did, from the start; what it is seen to do next is added."""
    _at: int = 0
    _declared: list[Message] = field(factory=list)
    _router: Subject | None = None

    def do(self, event: Event) -> tuple[Output, ...]:
        if self._at < len(self.known) and self.known[self._at][0] != event:
            # The run goes another way, and the list is for whoever goes this one.
            self.known = self.known[: self._at]
        if self._at == len(self.known):
            self.known.append((event, self._played_so_far().do(event)))
        self._at += 1
        return self.known[self._at - 1][1]

    def _played_so_far(self) -> Subject:
        if self._router is None:
            self._router = self.open_router()
            self._router.declare(self._declared)
            for event, outputs in self.known:
                if self._router.do(event) != outputs:
                    raise PlayedOtherwiseError
        return self._router

    def declare(self, messages: Sequence[Message]) -> None:
        self._declared += messages
        if self._router is not None:
            self._router.declare(messages)

    def close(self) -> None:
        if self._router is not None:
            self._router.close()
