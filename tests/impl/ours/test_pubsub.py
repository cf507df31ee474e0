"""The driver of our own routers: what it says of itself, what it refuses, and that it contains a crash."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.mempool.driver import PROTOCOLS as MEMPOOL_PROTOCOLS
from quidnunc.impl.ours.pubsub import MAX_ADVANCE_MS, PROTOCOLS, PubsubDriver, open_ours
from quidnunc.impl.seam import CAPABILITIES, AdapterError, Config
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signing import author_bytes, signature_fault
from quidnunc.model.events import MESHSUB_1_0, MESHSUB_1_2
from quidnunc.model.parameters import DogParameters, Parameters

CONFIG = Config(parameters=Parameters())


@pytest.mark.parametrize("protocol", FEATURES)
def test_hello(protocol: str) -> None:
    hello = open_ours(Config(protocol=protocol, parameters=Parameters())).hello
    assert (hello.name, hello.protocols) == ("ours", tuple(FEATURES))
    assert hello.capabilities <= CAPABILITIES
    hardened = protocol not in ("floodsub", "gossipsub-1.0")
    assert ({"score", "explicit", "flood-publish"} <= hello.capabilities) == hardened


@pytest.mark.parametrize("protocol", MEMPOOL_PROTOCOLS)
def test_mempool_protocols_are_opened_too(protocol: str) -> None:
    driver = open_ours(Config(protocol=protocol, parameters=DogParameters()))
    assert driver.hello.name == "ours" and protocol in PROTOCOLS


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            Config(protocol="gossipsub-9", parameters=Parameters()),
            "does not speak 'gossipsub-9': choose one of",
        ),
        (Config(parameters=DogParameters()), "takes Parameters, got DogParameters"),
    ],
)
def test_what_cannot_be_opened(config: Config, says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        open_ours(config)


def test_parameters_have_defaults() -> None:
    assert open_ours(Config()).join("t1").crashed == ""


def test_requests_that_make_no_sense() -> None:
    driver = open_ours(CONFIG)
    driver.connect(1, MESHSUB_1_2, False)
    senseless: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: driver.rpc(2, b""), "ours, rpc 2: it is not connected; connect it first"),
        (lambda: driver.disconnect(2), "disconnect 2"),
        (lambda: driver.stall(2), "stall 2"),
        (lambda: driver.connect(1, MESHSUB_1_0, False), "connect 1: it is connected; disconnect it first"),
        (lambda: driver.connect(2, "/x/1", False), "speaks .*/meshsub/1.2.0, not '/x/1'"),
        (lambda: driver.rpc(1, b"", 0x30), "channel 0 alone, got 48"),
        (lambda: driver.advance(-1), "advance -1 ms"),
        (lambda: driver.advance(MAX_ADVANCE_MS + 1), "take it in several steps"),
        (lambda: driver.submit(b"x"), "submit: transactions need protocol flood or dog"),
        (lambda: driver.commit(b"x"), "commit"),
        (lambda: driver.adjust(), "adjust"),
    )
    for request, says in senseless:
        with pytest.raises(AdapterError, match=says):
            request()
    assert driver.join("t1").out, "and none of it did any harm"


def test_a_crash_is_a_reply() -> None:
    driver = open_ours(CONFIG)
    assert isinstance(driver, PubsubDriver)
    driver.connect(1, MESHSUB_1_2, False)

    def fail() -> None:
        raise IndexError("out of luck")

    driver.router.beats.append(fail)
    assert driver.advance(400).crashed == ""
    assert driver.advance(400).crashed == "IndexError: out of luck"
    assert driver.join("t1").crashed.startswith("IndexError")
    assert driver.state().crashed.startswith("IndexError")
    driver.close()


def test_state_is_plain_data() -> None:
    driver = open_ours(CONFIG)
    driver.connect(1, MESHSUB_1_2, True)
    driver.rpc(1, b"\x0a\x06\x08\x01\x12\x02t1")
    driver.join("t1")
    driver.leave("t1")
    state = driver.state().state
    assert state["topics"] == [] and state["backoff_ends_ms"] == [["t1", 1, 10_000]]
    assert state["peers"] == {"1": {"stream": MESHSUB_1_2, "outbound": True, "topics": ["t1"]}}


def test_the_application_can_score_anyone() -> None:
    assert open_ours(CONFIG).score(77, -5).crashed == ""


def test_a_router_is_the_peer_that_it_is_told() -> None:
    told = open_ours(Config(parameters=Parameters(), identity=7))
    assert "identity" in told.hello.capabilities
    told.join("t1")
    told.connect(0, MESHSUB_1_2, False)
    told.rpc(0, wire.RPC(subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid="t1")]).SerializeToString())
    (_, _, data), *_ = told.publish("t1", b"data").out
    (message,) = wire.RPC.FromString(data).publish
    assert author_bytes(message) == peer_id(7) and signature_fault(message, "StrictSign") == ""
    other = open_ours(Config(parameters=Parameters(), identity=8))
    other.join("t1")
    other.connect(7, MESHSUB_1_2, False)
    assert [d.data for d in other.rpc(7, data).delivered] == [b"data"]
    # Its own message comes back, and is not taken for another's.
    assert told.rpc(0, data).delivered == ()
