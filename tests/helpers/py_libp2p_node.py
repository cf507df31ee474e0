"""What the tests of the py-libp2p driver share: open drivers, RPCs, and what an RPC says in words."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from quidnunc.impl.drivers.py_libp2p.driver import PyLibp2pDriver, open_py_libp2p
from quidnunc.impl.seam import Config, Profile, Reply
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import public_key
from quidnunc.impl.wire.signing import set_author, sign_as
from quidnunc.model.events import MESHSUB_1_2
from quidnunc.model.parameters import Parameters

needs_libp2p = pytest.mark.skipif(
    importlib.util.find_spec("libp2p") is None,
    reason="libp2p is not installed: pip install '.[py-libp2p]'",
)

TOPIC = "t"


class Open:
    """Opens drivers and closes them at the end of a test."""

    def __init__(self) -> None:
        self.drivers: list[PyLibp2pDriver] = []

    def __call__(
        self,
        *,
        seed: int = 0,
        protocol: str = "gossipsub-1.2",
        profile: Profile = "spec",
        without: tuple[str, ...] = (),
        **p: object,
    ):
        parameters = Parameters(**p)
        config = Config(seed=seed, protocol=protocol, parameters=parameters, profile=profile, without=without)
        driver = open_py_libp2p(config)
        assert isinstance(driver, PyLibp2pDriver)
        self.drivers.append(driver)
        return driver


def opening() -> Iterator[Open]:
    """For a fixture: opens drivers, and closes them at the end of the test."""
    opened = Open()
    yield opened
    for driver in opened.drivers:
        driver.close()


def rpc(**parts: object) -> bytes:
    return wire.RPC(**parts).SerializeToString()


def control(**parts: object) -> bytes:
    return rpc(control=wire.ControlMessage(**parts))


SUBSCRIBE = rpc(subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid=TOPIC)])
GRAFT = control(graft=[wire.ControlGraft(topicID=TOPIC)])


def message(author: int, number: int, data: bytes = b"data", topic: str = TOPIC) -> wire.Message:
    made = wire.Message(data=data, seqno=number.to_bytes(8, "big"), topic=topic)
    set_author(made, author)
    sign_as(made, author)
    # Releases before 0.6 read the key from the message alone.
    made.key = public_key(author)
    return made


def published(*messages: wire.Message) -> bytes:
    return rpc(publish=messages)


def origin(made: wire.Message) -> bytes:
    return getattr(made, "from") + made.seqno


def words(reply: Reply) -> list[tuple[int, str]]:
    """What went to whom: one word for each part of each RPC."""
    said = []
    for peer, _, data in reply.out:
        sent = wire.RPC.FromString(data)
        said += [(peer, "sub" if s.subscribe else "unsub") for s in sent.subscriptions]
        said += [(peer, "message") for _ in sent.publish]
        for kind in ("ihave", "iwant", "graft", "prune", "idontwant"):
            said += [(peer, kind) for _ in getattr(sent.control, kind)]
    return said


def to(reply: Reply, word: str) -> set[int]:
    return {peer for peer, said in words(reply) if said == word}


def members(driver: PyLibp2pDriver, *peers: int, protocol: str = MESHSUB_1_2) -> None:
    """Connect `peers` and let them subscribe."""
    for peer in peers:
        driver.connect(peer, protocol, False)
        driver.rpc(peer, SUBSCRIBE)


def meshed(driver: PyLibp2pDriver, *peers: int) -> None:
    """Join, and have `peers` in the mesh by their own GRAFT."""
    driver.join(TOPIC)
    members(driver, *peers)
    for peer in peers:
        driver.rpc(peer, GRAFT)
