"""The limit on peers in our mempool reactor, beside the model, and its mutants."""

from __future__ import annotations

import pytest

from quidnunc.impl.mempool.peer_limit import PeerSlots
from quidnunc.impl.mutants.peer_limit import PEER_LIMIT_MUTANTS
from quidnunc.impl.ours.mempool import open_dog
from quidnunc.impl.seam import Config
from quidnunc.impl.seam.sidecar_json import config_of, init_of
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Play, WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.peer_limit import ACTS
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS


def departures(number: int, mutant: str | None) -> tuple[Departure, ...]:
    """Those of the first step that has any, in the run of that number."""
    digits = SeededDraws(number)
    neighbours = draw_mempool_neighbours(digits, "peer-limit", frozenset())
    config = Config(seed=number, protocol="peer-limit", parameters=neighbours.parameters)
    run = Play(
        WireSubject(open_dog(config, mutant), config), Oracle(protocol_named("peer-limit"), config.parameters)
    )
    for _ in range(30):
        for event in neighbours.act(run.oracle.state, digits):
            found = run.do(event)
            if found:
                return found
    return ()


def test_ours_never_departs() -> None:
    assert set(ACTS) == set(WEIGHTS["peer-limit"])
    for number in range(100):
        assert departures(number, None) == (), number


@pytest.mark.parametrize("name", sorted(PEER_LIMIT_MUTANTS))
def test_the_model_notices_each_mutant(name: str) -> None:
    assert any(departures(number, name) for number in range(40))


def test_slots_pass_to_the_one_that_waited_longest() -> None:
    slots = PeerSlots(DogParameters(dog=False, max_non_persistent=1, persistent_peers=frozenset({9})))
    assert [slots.enter(p) for p in (1, 2, 3, 9)] == [True, False, False, True]
    assert slots.leave(2) is None and slots.leave(9) is None
    assert slots.leave(1) == 3 and slots.holds(3)
    assert slots.leave(3) is None


def test_its_parameters_cross_the_seam() -> None:
    parameters = DogParameters(dog=False, max_persistent=2, unconditional_peers=frozenset({1, 7}))
    config = Config(protocol="peer-limit", parameters=parameters)
    assert config_of(init_of(config)) == config


def test_a_mutant_edits_a_reactor_and_nothing_else() -> None:
    with pytest.raises(TypeError, match="edits a DogReactor, not a str"):
        PEER_LIMIT_MUTANTS["limit-ignored"].apply("a router")
