"""The neighbours of a DOG node: a router that fails at what is rare is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.driver import MempoolDriver
from quidnunc.impl.seam import Config
from quidnunc.model.events import MEMPOOL_WITHOUT_DOG, Connect, Event, Raw, Resume, Stall
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play, WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

NAME = "dog"
CAN = frozenset({"peers-without-dog", "stall", "raw"})
RUNS = 100


def departs(number: int, subject: Callable[[DogParameters], Any]) -> bool:
    """Whether a router departs in one run by number."""
    digits = SeededDraws(number)
    neighbours = draw_mempool_neighbours(digits, NAME, CAN)
    run = Play(subject(neighbours.parameters), Oracle(protocol_named(NAME), neighbours.parameters))
    for _ in range(30):
        if any(run.do(event) for event in neighbours.act(run.oracle.state, digits)):
            return True
    return False


def keeps_controls(reactor: DogReactor) -> None:
    resume = reactor.resume

    def resumed(peer: int) -> None:
        kept = list(reactor.links[peer].controls)
        resume(peer)
        reactor.links[peer].controls.extend(kept)

    reactor.resume = resumed  # type: ignore[method-assign]


def test_a_router_that_sends_again_what_waited_for_a_peer_is_noticed() -> None:
    def planted(parameters: DogParameters) -> WireSubject:
        reactor = DogReactor(parameters, dog=True, seed=0)
        keeps_controls(reactor)
        driver = MempoolDriver(reactor, name="planted", protocols=(NAME,))
        return WireSubject(driver, Config(protocol=NAME, parameters=parameters))

    assert any(departs(number, planted) for number in range(RUNS))


@pytest.mark.parametrize("can", [CAN - {"stall"}, CAN - {"raw"}, CAN - {"peers-without-dog"}])
def test_a_driver_is_asked_only_for_what_it_can(can: frozenset[str]) -> None:
    """Mutant: `stall` and `raw` go to every driver, and the search ends with an error of the adapter."""
    lacking = {Stall: "stall", Resume: "stall", Raw: "raw"}
    asked = set[str]()
    for number in range(RUNS):
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, NAME, can)
        run = Play(
            ModelSubject(protocol_named(NAME), neighbours.parameters),
            Oracle(protocol_named(NAME), neighbours.parameters),
        )
        for _ in range(30):
            for event in neighbours.act(run.oracle.state, digits):
                asked |= {lacking.get(type(event), "")} - {""}
                asked |= {"peers-without-dog"} & {_needed_by(event)}
                run.do(event)
    assert asked == can


def _needed_by(event: Event) -> str:
    return "peers-without-dog" if isinstance(event, Connect) and event.protocol == MEMPOOL_WITHOUT_DOG else ""


def test_a_router_that_keeps_to_the_protocol_is_not_noticed() -> None:
    spec = protocol_named(NAME)
    assert not any(departs(n, lambda parameters: ModelSubject(spec, parameters, 0)) for n in range(RUNS // 2))
