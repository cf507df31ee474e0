"""Our reactor speaks the variants of DOG: beside the model of each, with metrics, under settings by name."""

from __future__ import annotations

import pytest

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.driver import DOG_VARIANTS, MempoolDriver
from quidnunc.impl.ours.dog_variants import SWITCHES, VARIANT_MUTANTS, VARIANTS
from quidnunc.impl.ours.mempool import open_dog
from quidnunc.impl.seam import Config
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.dog import variants as dog_variants
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Play, WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from tests.helpers.dog_config import DELTA, ENABLED, INTERVAL, LIMITS, TARGET, TYPE, dog_parameters
from tests.helpers.mempool_node import Node


def departures(number: int, switches: tuple[str, ...], name: str) -> tuple[Departure, ...]:
    """Of our reactor with `switches` beside the model with the same ones, in the run of that number."""
    digits = SeededDraws(number)
    quint = "integers" in switches
    neighbours = draw_mempool_neighbours(digits, "dog-quint" if quint else "dog-go", frozenset())
    parameters = neighbours.parameters
    reactor = DogReactor(parameters, dog=True, seed=number)
    for each in switches:
        SWITCHES[each](reactor)
    config = Config(seed=number, protocol=name, parameters=parameters)
    wire = WireSubject(MempoolDriver(reactor, name="ours", protocols=(name,)), config)
    run = Play(wire, Oracle(dog_variants.variant(name, *switches), parameters))
    for _ in range(30):
        for event in neighbours.act(run.oracle.state, digits):
            found = run.do(event)
            if found:
                return found
    return ()


def test_both_sides_have_the_same_switches_and_variants() -> None:
    assert set(SWITCHES) == set(dog_variants.SWITCHES)
    assert dict(VARIANTS) == dict(dog_variants.TURNED)
    assert DOG_VARIANTS == tuple(VARIANTS)


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_alone_is_spoken_as_the_model_has_it(switch: str) -> None:
    for number in range(12):
        assert departures(number, (switch,), "dog") == (), number


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_spoken_as_the_model_has_it(name: str) -> None:
    for number in range(20):
        assert departures(number, VARIANTS[name], name) == (), number
    assert open_dog(Config(protocol=name)).hello.name == "ours"
    assert protocol_named(name).name == name


@pytest.mark.parametrize(
    ("switch", "numbers"), [("one-inbox", 30), ("starts-blocked", 10), ("joiner-gets-later", 10)]
)
def test_a_reactor_of_another_variant_is_noticed(switch: str, numbers: int) -> None:
    """The comparison can fail: the same reactor beside our own reading departs."""
    variants = {
        "one-inbox": "dog-quint",
        "starts-blocked": "dog-adr-prose",
        "joiner-gets-later": "dog-quint-run",
    }

    def departs(number: int) -> bool:
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, "dog-quint", frozenset())
        config = Config(seed=number, protocol=variants[switch], parameters=neighbours.parameters)
        run = Play(WireSubject(open_dog(config), config), Oracle(protocol_named("dog"), config.parameters))
        return any(run.do(e) for _ in range(30) for e in neighbours.act(run.oracle.state, digits))

    assert any(map(departs, range(numbers)))


# -- metrics and settings -----------------------------------------------------------------------------------


def metrics(node: Node) -> dict[str, object]:
    found = node.driver.state().state["metrics"]
    assert isinstance(found, dict)
    return found


def test_metrics_have_the_names_and_the_values_of_the_decision_record() -> None:
    node = Node("dog", None)
    assert set(metrics(node)) == {
        "mempool.already_received_txs",
        "mempool.disabled_routes",
        "mempool.redundancy",
        "p2p.message_send_bytes_total",
        "p2p.message_receive_bytes_total",
    }
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("a"))
    node.receive(2, HaveTx("a"))
    found = metrics(node)
    assert found["mempool.already_received_txs"] == 1
    assert found["mempool.disabled_routes"] == 1
    assert found["mempool.redundancy"] == 0.0
    assert found["p2p.message_send_bytes_total"] == {"HaveTx": 36, "Txs": 6}
    assert found["p2p.message_receive_bytes_total"] == {"HaveTx": 36, "Txs": 12}
    node.adjust()
    assert metrics(node)["mempool.redundancy"] == 1.0
    node.adjust()
    assert metrics(node)["mempool.redundancy"] == 1.0, "an idle look leaves it as it was"
    node.receive(2, ResetRoute())
    assert metrics(node)["mempool.disabled_routes"] == 0
    node.receive(1, Tx("b"))
    node.receive(2, HaveTx("b"))
    node.lose(1)
    assert metrics(node)["mempool.disabled_routes"] == 0


def test_settings_have_the_defaults_of_the_decision_record() -> None:
    assert dog_parameters({}) == DogParameters()
    given = dog_parameters({ENABLED: True, INTERVAL: "1500ms", TARGET: 0.5})
    assert (given.adjust_interval_ms, given.target_redundancy, given.delta_percent) == (1500, 0.5, 10.0)
    assert dog_parameters({INTERVAL: "1s"}).adjust_interval_ms == 1000
    off = dog_parameters({ENABLED: False, TYPE: "nop", LIMITS[1]: 10})
    assert (off.dog, off.max_persistent, off.max_non_persistent) == (False, 0, 10)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({TARGET: 0}, "dog_target_redundancy is 0: need a number above 0"),
        ({TARGET: -1.0}, "need a number above 0"),
        ({TARGET: float("nan")}, "need a number above 0"),
        ({TARGET: True}, "need a number above 0"),
        ({INTERVAL: "999ms"}, "dog_adjust_interval is 999ms: need 1000ms or more"),
        ({INTERVAL: "soon"}, "need a duration"),
        ({INTERVAL: 1000}, "need a duration"),
        ({DELTA: 0.2}, "fixed at 10.0 % and no setting"),
        ({ENABLED: "yes"}, "need true or false"),
        ({TYPE: "nop"}, "DOG works with type flood only"),
        ({LIMITS[0]: 10}, "choose one of the two"),
        ({ENABLED: False, LIMITS[0]: -1}, "need a whole number"),
        ({"p2p.dog": 1}, "no setting 'p2p.dog'; there are mempool.dog_protocol_enabled"),
    ],
)
def test_settings_that_a_node_refuses(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        dog_parameters(settings)


@pytest.mark.parametrize("name", VARIANT_MUTANTS)
def test_the_model_notices_each_mutant_of_a_variant(name: str) -> None:
    protocol = VARIANT_MUTANTS[name].protocol

    def departs(number: int) -> bool:
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, protocol, frozenset())
        config = Config(seed=number, protocol=protocol, parameters=neighbours.parameters)
        run = Play(
            WireSubject(open_dog(config, name), config), Oracle(protocol_named(protocol), config.parameters)
        )
        return any(run.do(e) for _ in range(40) for e in neighbours.act(run.oracle.state, digits))

    assert any(map(departs, range(60)))
    with pytest.raises(TypeError, match="edits a DogReactor, not a str"):
        VARIANT_MUTANTS[name].apply("a router")
