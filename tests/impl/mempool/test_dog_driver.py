"""Our mempool reactor behind the seam: refusals, limits, malformed input, determinism."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from quidnunc.impl.mempool.dog.reactor import MAX_WAITING_CONTROLS, DogReactor
from quidnunc.impl.mempool.dog.redundancy import RedundancyController
from quidnunc.impl.mempool.driver import MempoolDriver
from quidnunc.impl.mempool.pool import MAX_SENDERS
from quidnunc.impl.mutants.dog import DOG_MUTANTS
from quidnunc.impl.ours.mempool import open_dog
from quidnunc.impl.seam import AdapterError, Config, Driver, Reply
from quidnunc.impl.wire import mempool_pb2
from quidnunc.impl.wire.mempool_codec import (
    CONTROL_CHANNEL,
    IGNORED_MEMPOOL,
    MALFORMED_MEMPOOL,
    TX_CHANNEL,
    MempoolCodec,
)
from quidnunc.model.events import MEMPOOL, MESHSUB_1_2
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx

CODEC = MempoolCodec()


def opened(protocol: str = "dog", seed: int = 0, peers: int = 3, **parameters: float) -> Driver:
    driver = open_dog(Config(seed=seed, protocol=protocol, parameters=DogParameters(**parameters)))  # type: ignore[arg-type]
    for peer in range(1, peers + 1):
        driver.connect(peer, MEMPOOL, False)
    return driver


def tx(symbol: str) -> bytes:
    return CODEC.encode(Tx(symbol))[1]


def give(driver: Driver, peer: int, symbol: str) -> Reply:
    return driver.rpc(peer, tx(symbol), TX_CHANNEL)


@pytest.mark.parametrize(
    ("config", "mutant", "told"),
    [
        (Config(protocol="gossipsub-1.2"), None, "does not speak 'gossipsub-1.2'"),
        (Config(protocol="dog", parameters=Parameters()), None, "takes DogParameters, got Parameters"),
        (
            Config(protocol="dog"),
            "no-such",
            "no mempool mutant 'no-such'; `quidnunc routers --all` lists them",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused_by_name(config: Config, mutant: str | None, told: str) -> None:
    with pytest.raises(AdapterError, match=told):
        open_dog(config, mutant)


def test_hello_names_the_mutant() -> None:
    assert open_dog(Config(protocol="flood")).hello.name == "ours"
    assert open_dog(Config(protocol="dog"), "reset-all").hello.name == "ours:reset-all"
    assert opened().hello.capabilities == {"state", "clock", "stall", "raw", "peers-without-dog"}


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (lambda d: d.join("t"), "`join` is a request to a pubsub router"),
        (lambda d: d.leave("t"), "`leave`"),
        (lambda d: d.publish("t", b""), "`publish`"),
        (lambda d: d.verdict(b"m", "accept"), "`verdict`"),
        (lambda d: d.score(1, 3), "`score`"),
        (lambda d: d.connect(1, MEMPOOL, False), "connect 1: it is connected"),
        (lambda d: d.connect(9, MESHSUB_1_2, False), "need 'mempool'"),
        (lambda d: d.rpc(9, b"", TX_CHANNEL), "rpc 9: no such peer"),
        (lambda d: d.disconnect(9), "disconnect 9: no such peer"),
        (lambda d: d.stall(9), "stall 9: no such peer"),
        (lambda d: d.advance(-1), "advance -1: time in ms"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(request_: Callable[[Driver], Reply], told: str) -> None:
    with pytest.raises(AdapterError, match=told):
        request_(opened())


def test_time_moves_and_nothing_else() -> None:
    driver = opened()
    before = driver.state().state
    assert driver.advance(1500) == Reply(t_ms=1500)
    assert driver.state().state == before


def test_protocol_dog_with_dog_off_is_flood() -> None:
    driver = open_dog(Config(protocol="dog", parameters=DogParameters(dog=False)))
    driver.connect(1, MEMPOOL, False)
    give(driver, 1, "a")
    assert give(driver, 1, "a").out == ()


@pytest.mark.parametrize("kind", sorted(MALFORMED_MEMPOOL))
def test_malformed_input_closes_that_peer_alone(kind: str) -> None:
    driver = opened()
    reply = driver.raw(1, MALFORMED_MEMPOOL[kind])
    if kind in IGNORED_MEMPOOL:
        assert reply == Reply()
        return
    assert (reply.closed, reply.out, reply.crashed) == ((1,), (), "")
    assert driver.state().state["peers"] == [2, 3]
    assert give(driver, 1, "late") == Reply()
    assert driver.state().state["pool"] == []
    assert driver.disconnect(1) == Reply()
    with pytest.raises(AdapterError, match="no such peer"):
        give(driver, 1, "later")
    assert driver.connect(1, MEMPOOL, True).closed == ()


def test_a_closed_peer_is_a_lost_peer() -> None:
    driver = opened()
    give(driver, 1, "a")
    driver.rpc(2, CODEC.encode(HaveTx("a"))[1], CONTROL_CHANNEL)
    assert driver.state().state["routes"] == [[1, 2]]
    reply = driver.raw(1, MALFORMED_MEMPOOL["unknown-message"])
    assert driver.state().state["routes"] == []
    assert [channel for _, channel, _ in reply.out] == [CONTROL_CHANNEL]
    assert reply.out[0][0] != 1


def test_a_dog_off_node_drops_controls_unread() -> None:
    driver = opened("flood")
    assert driver.raw(1, MALFORMED_MEMPOOL["have-tx-31-bytes"]) == Reply()


@pytest.mark.parametrize("protocol", ["flood", "dog"])
def test_two_thousand_broken_messages_leave_a_working_node(protocol: str) -> None:
    die = random.Random(f"broken {protocol}")
    driver = opened(protocol, peers=0)
    whole = [tx("a"), CODEC.encode(HaveTx("a"))[1], CODEC.encode(ResetRoute())[1]]
    for k in range(2000):
        if 1 not in driver.state().state["peers"]:  # type: ignore[operator]
            driver.connect(1, MEMPOOL, False)
        data = bytearray(die.choice(whole))
        for _ in range(die.randint(1, 4)):
            data[die.randrange(len(data))] = die.randrange(256)
        broken = bytes(data[: die.randint(0, len(data))]) if k % 2 else die.randbytes(die.randint(0, 60))
        reply = driver.rpc(1, broken, die.choice([TX_CHANNEL, CONTROL_CHANNEL, CONTROL_CHANNEL, 0x32]))
        assert not reply.crashed
        assert set(reply.closed) <= {1}
        if reply.closed:
            driver.disconnect(1)
    driver.connect(2, MEMPOOL, False)
    assert 2 in [peer for peer, _, _ in driver.submit(b"still there").out]


def test_a_transaction_or_message_that_is_too_large() -> None:
    driver = opened(max_tx_bytes=100)
    driver.submit(b"t" * 101)
    assert driver.state().state["pool"] == []
    fits = mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[b"t" * 100])).SerializeToString()
    assert driver.rpc(1, fits, TX_CHANNEL).closed == ()
    large = mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[b"t" * 200])).SerializeToString()
    assert driver.rpc(1, large, TX_CHANNEL).closed == (1,)


def test_a_full_pool_takes_no_more_and_forgets_none() -> None:
    driver = opened(pool_size=3, cache_size=5)
    sent = [len(give(driver, 1, f"t{k}").out) for k in range(5)]
    assert sent == [2, 2, 2, 0, 0]
    assert (driver.state().state["first_time"], driver.state().state["duplicates"]) == (3, 0)
    driver.commit(CODEC.tx_bytes("t0"))
    assert len(give(driver, 1, "t4").out) == 2


def test_the_cache_forgets_the_stalest_but_never_the_pool() -> None:
    driver = opened(cache_size=2)
    for symbol in ("a", "b", "c", "d"):
        give(driver, 1, symbol)
    assert give(driver, 2, "a").out == ((2, *CODEC.encode(HaveTx("a"))),)
    for symbol in ("a", "b", "c", "d"):
        driver.commit(CODEC.tx_bytes(symbol))
    assert driver.state().state["duplicates"] == 1
    give(driver, 2, "d")
    assert driver.state().state["duplicates"] == 2
    assert len(give(driver, 2, "b").out) == 2


def test_what_waits_for_a_stalled_peer_is_bounded() -> None:
    driver = opened(peers=1)
    assert isinstance(driver, MempoolDriver)
    assert isinstance(driver.reactor, DogReactor)
    driver.stall(1)
    for _ in range(MAX_WAITING_CONTROLS + 5):
        driver.submit(b"once")
        driver.reactor.redundancy.first_time, driver.reactor.redundancy.duplicates = 1, 0
        driver.adjust()
    assert len(driver.reactor.links[1].controls) == MAX_WAITING_CONTROLS
    give(driver, 1, "a")
    give(driver, 1, "a")
    # The answer could not be sent, so that the permission to send one stays.
    assert driver.state().state["blocked"] is False
    assert len(driver.resume(1).out) == MAX_WAITING_CONTROLS + 1


def test_senders_of_one_transaction_are_bounded() -> None:
    driver = opened("flood", peers=0)
    for peer in range(1, MAX_SENDERS + 3):
        driver.connect(peer, MEMPOOL, False)
        give(driver, peer, "a")
        driver.disconnect(peer)
    senders = driver.state().state["senders"]
    assert isinstance(senders, dict)
    assert [len(s) for s in senders.values()] == [MAX_SENDERS]


def test_bounds_are_those_of_the_reactor_in_use_to_the_last_bit() -> None:
    tenth = RedundancyController(DogParameters(target_redundancy=0.1))
    assert tenth.lower == 0.09000000000000001
    tenth.first_time, tenth.duplicates = 100, 9
    assert tenth.level() == "low"


def test_equal_seeds_give_equal_runs_and_others_differ() -> None:
    def run(seed: int) -> list[Reply]:
        driver = opened(seed=seed, peers=8)
        replies = []
        for k in range(200):
            replies.append(give(driver, 1 + k % 8, f"t{k}"))
            replies.append(driver.rpc(1 + (3 * k) % 8, CODEC.encode(HaveTx(f"t{k}"))[1], CONTROL_CHANNEL))
            replies.append(driver.rpc(1 + (5 * k) % 8, CODEC.encode(ResetRoute())[1], CONTROL_CHANNEL))
            replies.append(driver.adjust())
        return [*replies, driver.state()]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_fault_of_the_reactor_is_a_crash_and_not_an_error() -> None:
    driver = opened()
    assert isinstance(driver, MempoolDriver)
    assert isinstance(driver.reactor, DogReactor)

    def breaks(entry: object) -> None:
        raise IndexError("no such entry")

    driver.reactor.forward = breaks  # type: ignore[method-assign]
    assert driver.submit(b"t").crashed == "IndexError: no such entry"
    driver.close()


def test_a_mutant_edits_a_reactor_and_nothing_else() -> None:
    with pytest.raises(TypeError, match="mutant reset-all edits a DogReactor, not a str"):
        DOG_MUTANTS["reset-all"].apply("a router")
    assert len(DOG_MUTANTS) >= 7
    assert {m.protocol for m in DOG_MUTANTS.values()} == {"flood", "dog"}
