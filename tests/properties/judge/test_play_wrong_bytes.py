"""A router that sends bytes which are no message departs: that is a finding, with a case, and no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import AdapterError, Config, Driver, Reply
from quidnunc.impl.wire.codec import Codec, WireError
from quidnunc.impl.wire.mempool_codec import StrayMessage
from quidnunc.model.events import FLOODSUB, Connect, Join, Sent
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Stray
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.claims.catalogue import breach_of
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.search.worker import hello_of, opener_of
from quidnunc.properties.suite.run import run_suite

NO_MESSAGE = b"\xff\xff"


class Garbling:
    """Ours, but that what it sends upon one request is no message."""

    def __init__(self, driver: Driver, request: str) -> None:
        self._driver, self._request, self.hello = driver, request, driver.hello

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._driver, name)
        return self._garbled(asked) if name == self._request else asked

    def _garbled(self, asked: Callable[..., Reply]) -> Callable[..., Reply]:
        def request(*values: object) -> Reply:
            reply = asked(*values)
            return evolve(reply, out=tuple((peer, channel, NO_MESSAGE) for peer, channel, _ in reply.out))

        return request


def garbling(request: str) -> Callable[[Config], WireSubject]:
    def opener(config: Config) -> WireSubject:
        driver: Any = Garbling(open_ours(config), request)
        return WireSubject(driver, config)

    return opener


def test_the_bytes_are_none() -> None:
    with pytest.raises(WireError):
        Codec(Parameters()).decode(NO_MESSAGE)


def test_an_rpc_on_a_channel_is_an_error_of_the_driver_where_there_are_none() -> None:
    """Mutant: it is taken for one on channel 0, and a driver that has the channels wrong passes."""
    driver: Any = open_ours(Config())
    asked = driver.connect

    def connect(*values: object) -> Reply:
        reply: Reply = asked(*values)
        return evolve(reply, out=tuple((peer, 7, data) for peer, _, data in reply.out))

    driver.connect = connect
    subject = WireSubject(driver, Config())
    subject.do(Join("t1"))
    with pytest.raises(AdapterError, match="channel 7; pubsub has no channels, so answer 0"):
        subject.do(Connect((1,)))


def test_they_are_seen_as_what_was_sent() -> None:
    subject = garbling("join")(Config(protocol="floodsub", parameters=Parameters()))
    subject.do(Connect((1,), FLOODSUB, False))
    assert subject.do(Join("t1")) == (Sent(1, Stray("bytes")),)


@pytest.mark.parametrize("protocol", ["dog", "flood", "cat", "cat-classic"])
@pytest.mark.parametrize("data", [NO_MESSAGE, b"", b"\x7a\x00"], ids=["garbage", "empty", "unknown"])
def test_a_mempool_tells_them_apart_from_a_wrong_channel(protocol: str, data: bytes) -> None:
    subject = garbling("join")(Config(protocol=protocol, parameters=DogParameters()))
    with pytest.raises(StrayMessage) as caught:
        subject._codec.decode(0x30, data)
    assert caught.value.fault == "bytes"


@pytest.mark.parametrize(
    ("protocol", "request_", "clause"),
    [
        ("floodsub", "join", "pubsub/rpc.any-combination"),
        ("flood", "submit", "flood/rpc.txs-only"),
        ("dog", "submit", "flood/rpc.txs-only"),
        ("cat", "submit", "cat/rpc.channels"),
    ],
)
def test_the_suite_files_them_as_a_case(protocol: str, request_: str, clause: str) -> None:
    assert not run_suite(protocol, "ours").roots
    opener = garbling(request_)
    campaign = run_suite(protocol, "ours", opener)
    root = campaign.roots[clause, "unexplained:unexpected"]
    assert "stray bytes" in render(root.case)
    case = parse(render(root.case))
    assert case == root.case
    assert replay_router(case, opener).outcome == "same"
    assert replay_router(case, opener_of("ours")).outcome == "fixed"


def test_a_search_files_them_as_a_case() -> None:
    hunt = search(FindingSearch("floodsub", garbling("join"), hello_of("ours", "floodsub")), runs=2, seed=1)
    key = ("pubsub/rpc.any-combination", "unexplained:unexpected")
    assert key in hunt.found
    assert breach_of(key[0]) == "fails", "a replay of the case fails too"
