"""The neighbours of one router for one run, whichever protocol it speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from quidnunc.model.events import Event
from quidnunc.model.machine import protocol_named
from quidnunc.model.rpc import Message
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.pubsub import draw_pubsub_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws


class DrawnNeighbours(Protocol):
    """The neighbours, users and applications of one router."""

    parameters: Any
    """Those that the router is given."""

    def act(self, view: Any, d: SeededDraws) -> list[Event]:
        """What happens next, never nothing, where `view` is what the model says of the router."""
        ...

    def take_undeclared(self) -> list[Message]:
        """Messages that were named since this was last asked."""
        ...


DRAW: Mapping[str, Callable[..., Any]] = {
    "pubsub": draw_pubsub_neighbours,
    "mempool": draw_mempool_neighbours,
}
"""By the name that `Protocol.family` has."""


def draw_neighbours(
    d: SeededDraws, protocol: str, capabilities: frozenset[str], *, steered: bool = True
) -> DrawnNeighbours:
    """The parameters and the neighbours of one run. `capabilities`: what the router's driver says it can;
    `steered`: with the weights that lead to the occasions of claims, and not with equal ones."""
    drawn: DrawnNeighbours = DRAW[protocol_named(protocol).family](d, protocol, capabilities, steered=steered)
    return drawn
