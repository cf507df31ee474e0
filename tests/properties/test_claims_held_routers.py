"""What holds of our routers and reactors, each shown by a test that fails under a planted error
(tests/properties/test_claims_held.py)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl import signing
from quidnunc.impl import wire_pb2 as wire
from quidnunc.impl.cat import open_cat
from quidnunc.impl.cat_codec import CatCodec
from quidnunc.impl.cat_reactor import CatReactor
from quidnunc.impl.codec import Codec
from quidnunc.impl.framing import frame
from quidnunc.impl.gossipsub import Router
from quidnunc.impl.keys import public_key, sign
from quidnunc.impl.seam import Config
from quidnunc.impl.signing import fault, signed_bytes
from quidnunc.model.cat_readings import CAT_READINGS
from quidnunc.model.events import MEMPOOL, MESHSUB_1_0, MESHSUB_1_1
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Message, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.digits import Digits
from quidnunc.properties.mempool_neighbours import draw_mempool_neighbours
from quidnunc.properties.oracle import Oracle
from quidnunc.properties.play import Play, Wire
from tests.properties.held_shown import shown

# -- routers ------------------------------------------------------------------------------------------------


def _joins_anew(patch: pytest.MonkeyPatch) -> None:
    join = Router.join

    def anew(self: Router, topic: str, **flags: Any) -> None:
        self.core.joined.discard(topic)
        join(self, topic, **flags)

    patch.setattr(Router, "join", anew)


@shown(broken=_joins_anew)
def test_join_again() -> None:
    router = Router(Parameters(), protocol="gossipsub-1.0")
    for peer in range(1, 10):
        router.connect(peer, MESHSUB_1_0, outbound=True)
        router.core.enter(peer, "t1")
    router.join("t1")
    assert router.take().frames
    mesh = set(router.mesh.of["t1"])
    router.join("t1")
    assert router.mesh.of["t1"] == mesh and router.take().frames == ()


def _never_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Router, "dial_explicit", lambda self: None)


@shown(broken=_never_again)
def test_explicit_reconnected() -> None:
    router = Router(Parameters(explicit_peers=frozenset({1, 2})), protocol="gossipsub-1.1")
    router.take()
    for peer in (1, 2, 3):
        router.connect(peer, MESHSUB_1_1, outbound=True)
    for peer in (1, 3):
        router.disconnect(peer)
    for _ in range(3):
        router.advance(301_000)
        assert set(router.take().dials) == {1}
    router.connect(1, MESHSUB_1_1, outbound=True)
    router.advance(301_000)
    assert router.take().dials == ()


def _deaf_to_new_checks(patch: pytest.MonkeyPatch) -> None:
    from quidnunc.impl.gossipsub_relay import Relay

    on_message = Relay.on_message

    def fixed(self: Relay, peer: int, message: wire.Message) -> None:
        kept, self.checks = self.checks, self.checks[:5]
        on_message(self, peer, message)
        self.checks = kept

    patch.setattr(Relay, "on_message", fixed)


@shown(broken=_deaf_to_new_checks)
def test_validation_changed() -> None:
    router, codec = Router(Parameters()), Codec(Parameters())
    router.join("t1")
    router.connect(1, MESHSUB_1_1, outbound=True)

    def delivered(symbol: str) -> bool:
        router.receive(1, frame(codec.encode([Message(symbol, "t1", 1)], sender=1)))
        return bool(router.take().delivered)

    def refuses(arrival: object) -> bool:
        return False

    assert delivered("m1")
    router.relay.checks.append(refuses)
    assert not delivered("m2")
    router.relay.checks.remove(refuses)
    assert delivered("m3")


def _inlined_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(signing, "_names", lambda author, key: author[2:] == key)


@shown(broken=_inlined_only)
def test_signing_key_beside_hash() -> None:
    """As with RSA: the id tells nothing of the key but its hash. Here the key is one of Ed25519."""
    key = public_key(7)
    message = wire.Message(topic="t1", data=b"m1\n", seqno=bytes(8))
    setattr(message, "from", b"\x12\x20" + hashlib.sha256(key).digest())
    message.signature = sign(7, signed_bytes(message))
    assert fault(message, "StrictSign") == "forged"
    message.key = public_key(8)
    assert fault(message, "StrictSign") == "foreign-key"
    message.key = key
    assert fault(message, "StrictSign") == ""
    router = Router(Parameters())
    router.join("t1")
    for peer in (1, 2):
        router.connect(peer, MESHSUB_1_1, outbound=True)
    router.receive(1, frame(wire.RPC(publish=[message]).SerializeToString()))
    assert [data for _, data in router.take().delivered] == [message.data]


# -- CAT ----------------------------------------------------------------------------------------------------


def _remembers_the_evicted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CatReactor, "evict", lambda self, key: self.pool.remove(key))


@shown(broken=_remembers_the_evicted)
def test_cat_evicted() -> None:
    for protocol in ("cat-classic", "cat"):
        driver: Any = open_cat(Config(protocol=protocol, dog=DogParameters(dog=False)))
        codec = CatCodec(protocol)

        def say(part: object, driver: Any = driver, codec: CatCodec = codec) -> list[object]:
            channel, data = codec.encode(part)  # type: ignore[arg-type]
            reply = driver.rpc(1, data, channel)
            return [p for _, on, sent in reply.out for p in codec.decode(on, sent)]

        driver.connect(1, MEMPOOL, False)
        assert say(SeenTx("a")) == [WantTx("a")]
        say(Tx("a"))
        assert say(SeenTx("a")) == []
        driver.reactor.evict(hashlib.sha256(codec.tx_bytes("a")).digest())
        assert say(SeenTx("a")) == [WantTx("a")]


def departs(protocol: str, spec: Protocol, mutant: str | None, runs: int = 12) -> bool:
    """Whether our node departs from `spec` in any of some drawn runs."""
    for number in range(runs):
        digits = Digits(number)
        neighbours = draw_mempool_neighbours(digits, protocol, frozenset())
        config = Config(seed=number, protocol=protocol, dog=neighbours.parameters)
        run = Play(Wire(open_cat(config, mutant), config), Oracle(spec, config.dog))
        if any(run.do(e) for _ in range(40) for e in neighbours.act(run.oracle.state, digits)):
            return True
    return False


def _read_otherwise(name: str) -> Any:
    plain = evolve(CAT_READINGS[name], edit=lambda protocol: protocol)
    return lambda patch: patch.setitem(CAT_READINGS, name, plain)


@shown(broken=_read_otherwise("announced-again"))
def test_cat_announced_again() -> None:
    _holds_in_its_reading_alone("cat-classic", "announced-again", "cat-announces-again")


@shown(broken=_read_otherwise("own-pushed"))
def test_cat_own_pushed() -> None:
    _holds_in_its_reading_alone("cat", "own-pushed", "cat-own-is-pushed")


def _holds_in_its_reading_alone(protocol: str, reading: str, mutant: str) -> None:
    spec = protocol_named(protocol)
    read_so = CAT_READINGS[reading].edit(spec)
    assert not departs(protocol, read_so, mutant)
    assert departs(protocol, spec, mutant) and departs(protocol, read_so, None)
