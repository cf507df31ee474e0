"""Our reactor speaks the dialects of DOG: beside the model of each, with metrics, under settings by name."""

from __future__ import annotations

import pytest

from quidnunc.impl.dog import open_dog
from quidnunc.impl.dog_config import DELTA, ENABLED, INTERVAL, LIMITS, TARGET, TYPE, dog_parameters
from quidnunc.impl.dog_dialects import DIALECT_MUTANTS, DIALECTS, SWITCHES
from quidnunc.impl.dog_reactor import Reactor
from quidnunc.impl.mempool_driver import DOG_DIALECTS, MempoolDriver
from quidnunc.impl.seam import Config
from quidnunc.model import dog_dialects
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from quidnunc.properties.digits import Digits
from quidnunc.properties.mempool_neighbours import draw_mempool_neighbours
from quidnunc.properties.oracle import Departure, Oracle
from quidnunc.properties.play import Play, Wire
from tests.impl.mempool_node import Node


def departures(number: int, switches: tuple[str, ...], name: str) -> tuple[Departure, ...]:
    """Of our reactor with `switches` beside the model with the same ones, in the run of that number."""
    digits = Digits(number)
    quint = "integers" in switches
    neighbours = draw_mempool_neighbours(digits, "dog-quint" if quint else "dog-go", frozenset())
    parameters = neighbours.parameters
    reactor = Reactor(parameters, dog=True, seed=number)
    for each in switches:
        SWITCHES[each](reactor)
    config = Config(seed=number, protocol=name, dog=parameters)
    wire = Wire(MempoolDriver(reactor, name="ours", protocols=(name,)), config)
    run = Play(wire, Oracle(dog_dialects.dialect(name, *switches), parameters))
    for _ in range(30):
        for event in neighbours.act(run.oracle.state, digits):
            found = run.do(event)
            if found:
                return found
    return ()


def test_both_sides_have_the_same_switches_and_dialects() -> None:
    assert set(SWITCHES) == set(dog_dialects.SWITCHES)
    assert dict(DIALECTS) == dict(dog_dialects.TURNED)
    assert DOG_DIALECTS == tuple(DIALECTS)


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_alone_is_spoken_as_the_model_has_it(switch: str) -> None:
    for number in range(12):
        assert departures(number, (switch,), "dog") == (), number


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_is_spoken_as_the_model_has_it(name: str) -> None:
    for number in range(20):
        assert departures(number, DIALECTS[name], name) == (), number
    assert open_dog(Config(protocol=name)).hello.name == "ours"
    assert protocol_named(name).name == name


@pytest.mark.parametrize(
    ("switch", "numbers"), [("one-inbox", 30), ("starts-blocked", 10), ("joiner-gets-later", 10)]
)
def test_a_reactor_of_another_dialect_is_noticed(switch: str, numbers: int) -> None:
    """The comparison can fail: the same reactor beside our own reading departs."""
    dialects = {"one-inbox": "dog-quint", "starts-blocked": "dog-adr", "joiner-gets-later": "dog-quint-run"}

    def departs(number: int) -> bool:
        digits = Digits(number)
        neighbours = draw_mempool_neighbours(digits, "dog-quint", frozenset())
        config = Config(seed=number, protocol=dialects[switch], dog=neighbours.parameters)
        run = Play(Wire(open_dog(config), config), Oracle(protocol_named("dog"), config.dog))
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


@pytest.mark.parametrize("name", DIALECT_MUTANTS)
def test_the_model_notices_each_mutant_of_a_dialect(name: str) -> None:
    protocol = DIALECT_MUTANTS[name].protocol

    def departs(number: int) -> bool:
        digits = Digits(number)
        neighbours = draw_mempool_neighbours(digits, protocol, frozenset())
        config = Config(seed=number, protocol=protocol, dog=neighbours.parameters)
        run = Play(Wire(open_dog(config, name), config), Oracle(protocol_named(protocol), config.dog))
        return any(run.do(e) for _ in range(40) for e in neighbours.act(run.oracle.state, digits))

    assert any(map(departs, range(60)))
    with pytest.raises(TypeError, match="edits a mempool Reactor, not a str"):
        DIALECT_MUTANTS[name].apply("a router")
