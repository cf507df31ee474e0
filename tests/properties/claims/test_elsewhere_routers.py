"""What holds of our routers and reactors, each shown by a test that fails under a planted error
(tests/properties/claims/test_elsewhere.py)."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub import relay as gossipsub_relay
from quidnunc.impl.gossipsub import router as gossipsub
from quidnunc.impl.gossipsub.relay import Relay
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.ours.mempool import open_cat
from quidnunc.impl.seam import Config
from quidnunc.impl.wire import signing
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.cat_codec import CatCodec
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.impl.wire.keys import public_key, sign
from quidnunc.impl.wire.signing import set_author, sign_as, signature_fault, signed_bytes
from quidnunc.model.edits.catalogue import NAMED, edit_named
from quidnunc.model.events import (
    FLOODSUB,
    MEMPOOL,
    MESHSUB_1_0,
    MESHSUB_1_1,
    Advance,
    Connect,
    Receive,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters, SignaturePolicy
from quidnunc.model.rpc import RSA_AUTHOR, Message, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import Play, WireSubject
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from tests.helpers.held_shown import shown

# -- routers ------------------------------------------------------------------------------------------------


def _joins_anew(patch: pytest.MonkeyPatch) -> None:
    join = GossipsubRouter.join

    def anew(self: GossipsubRouter, topic: str, **flags: Any) -> None:
        self.core.joined.discard(topic)
        join(self, topic, **flags)

    patch.setattr(GossipsubRouter, "join", anew)


@shown(broken=_joins_anew)
def test_join_again() -> None:
    router = GossipsubRouter(Parameters(), protocol="gossipsub-1.0")
    for peer in range(1, 10):
        router.connect(peer, MESHSUB_1_0, outbound=True)
        router.core.enter(peer, "t1")
    router.join("t1")
    assert router.take().frames
    mesh = set(router.mesh.of["t1"])
    router.join("t1")
    assert router.mesh.of["t1"] == mesh and router.take().frames == ()


def _never_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GossipsubRouter, "dial_explicit", lambda self: None)


@shown(broken=_never_again)
def test_explicit_reconnected() -> None:
    router = GossipsubRouter(Parameters(explicit_peers=frozenset({1, 2})), protocol="gossipsub-1.1")
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
    on_message = Relay.on_message

    def fixed(self: Relay, peer: int, message: wire.Message) -> None:
        kept, self.checks = self.checks, self.checks[:5]
        on_message(self, peer, message)
        self.checks = kept

    patch.setattr(Relay, "on_message", fixed)


@shown(broken=_deaf_to_new_checks)
def test_validation_changed() -> None:
    router, codec = GossipsubRouter(Parameters()), Codec(Parameters())
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
    patch.setattr(signing, "id_of_key", lambda key: bytes((0, len(key) & 0xFF)) + key)


@shown(broken=_inlined_only)
def test_signing_key_beside_hash() -> None:
    """With RSA the id tells nothing of the key but its hash."""
    key = public_key(RSA_AUTHOR)
    message = wire.Message(topic="t1", data=b"m1\n", seqno=bytes(8))
    setattr(message, "from", b"\x12\x20" + hashlib.sha256(key).digest())
    message.signature = sign(RSA_AUTHOR, signed_bytes(message))
    assert signature_fault(message, "StrictSign") == "no-key"
    message.key = public_key(8)
    assert signature_fault(message, "StrictSign") == "foreign-key"
    message.key = key
    assert signature_fault(message, "StrictSign") == ""
    router = GossipsubRouter(Parameters())
    router.join("t1")
    for peer in (1, 2):
        router.connect(peer, MESHSUB_1_1, outbound=True)
    router.receive(1, frame(wire.RPC(publish=[message]).SerializeToString()))
    assert [data for _, data in router.take().delivered] == [message.data]


def lax(policy: SignaturePolicy) -> GossipsubRouter:
    """A router of that policy made lax, with two peers in its topic that take what floods."""
    router = GossipsubRouter(Parameters(signature_policy=policy, message_id="content"))
    with pytest.warns(DeprecationWarning, match="legacy"):
        router.sign_laxly()
    router.join("t1")
    for peer in (1, 2):
        router.connect(peer, FLOODSUB, outbound=True)
        router.core.enter(peer, "t1")
    router.take()
    return router


def relayed(router: GossipsubRouter, message: wire.Message) -> list[wire.Message]:
    """What the second peer is sent after the first one sent `message`."""
    router.receive(1, frame(wire.RPC(publish=[message]).SerializeToString()))
    return sent_to(router, 2)


def sent_to(router: GossipsubRouter, peer: int) -> list[wire.Message]:
    found = [data for to, data in router.take().frames if to == peer]
    payloads = [payload for data in found for payload in FrameDecoder().feed(data)[0]]
    return [message for payload in payloads for message in wire.RPC.FromString(payload).publish]


def a_message(name: bytes, *, signed: bool, good: bool = True) -> wire.Message:
    message = wire.Message(topic="t1", data=name, seqno=bytes(8))
    set_author(message, 7)
    if signed:
        sign_as(message, 7 if good else 8)
    return message


def _strict_all_the_same(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        gossipsub_relay, "signature_fault", lambda message, policy, lax: signature_fault(message, policy)
    )


def _signs_and_verifies_where_signed(policy: SignaturePolicy, *, signs: bool) -> None:
    router = lax(policy)
    plain = wire.Message(topic="t1", data=b"plain")
    for message in (plain, a_message(b"a", signed=False), a_message(b"b", signed=True)):
        assert relayed(router, message) == [message]
    assert relayed(router, a_message(b"c", signed=True, good=False)) == []
    router.publish("t1", b"own")
    own = sent_to(router, 2)
    assert [bool(message.signature) for message in own] == [signs]
    assert not signs or not signature_fault(own[0], "StrictSign")


@shown(broken=_strict_all_the_same)
def test_signing_lax_sign() -> None:
    _signs_and_verifies_where_signed("StrictSign", signs=True)


@shown(broken=_strict_all_the_same)
def test_signing_lax_no_sign() -> None:
    _signs_and_verifies_where_signed("StrictNoSign", signs=False)


@shown(broken=lambda patch: patch.setattr(gossipsub.warnings, "warn", lambda *said, **how: None))
def test_signing_lax_warned() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        router = GossipsubRouter(Parameters())
        assert said == []
        router.sign_laxly()
    assert [each.category for each in said] == [DeprecationWarning]
    assert "legacy" in str(said[0].message)


def _answers_what_it_refuses(patch: pytest.MonkeyPatch) -> None:
    def answered(self: Relay, arrival: Any, check: object) -> None:
        self.outbox.to(arrival.forwarder).iwant[arrival.id] = None

    patch.setattr(Relay, "note_refused", answered)


@shown(broken=_answers_what_it_refuses)
def test_validation_local() -> None:
    """With a log of its own, and without one: what is refused leads to nothing that a peer sees."""
    logs: list[list[object]] = []
    for logging in (False, True):
        router, log = GossipsubRouter(Parameters()), list[object]()
        note = router.relay.note_refused
        if logging:

            def noted(arrival: Any, check: Any, note: Any = note, log: Any = log) -> None:
                log.append(arrival.id)
                note(arrival, check)

            router.relay.note_refused = noted  # type: ignore[method-assign]
        router.join("t1")
        router.connect(1, MESHSUB_1_1, outbound=True)
        router.take()
        for refused in (a_message(b"a", signed=False), a_message(b"b", signed=True, good=False)):
            router.receive(1, frame(wire.RPC(publish=[refused]).SerializeToString()))
        effects = router.take()
        assert effects.frames == () and effects.delivered == () and effects.closed == ()
        logs.append(log)
    assert [len(log) for log in logs] == [0, 2]


# -- CAT ----------------------------------------------------------------------------------------------------


def _remembers_the_evicted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CatReactor, "evict", lambda self, key: self.pool.remove(key))


@shown(broken=_remembers_the_evicted)
def test_cat_evicted() -> None:
    for protocol in ("cat-classic", "cat"):
        driver: Any = open_cat(Config(protocol=protocol, parameters=DogParameters(dog=False)))
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
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, protocol, frozenset())
        config = Config(seed=number, protocol=protocol, parameters=neighbours.parameters)
        run = Play(WireSubject(open_cat(config, mutant), config), Oracle(spec, config.parameters))
        if any(run.do(e) for _ in range(40) for e in neighbours.act(run.oracle.state, digits)):
            return True
    return False


def _read_otherwise(name: str) -> Any:
    plain = evolve(NAMED["mempool"][name], change=lambda protocol: protocol)
    return lambda patch: patch.setitem(NAMED["mempool"], name, plain)


@shown(broken=_read_otherwise("announced-again"))
def test_cat_announced_again() -> None:
    _holds_in_its_reading_alone("cat-classic", "announced-again", "cat-announces-again")


@shown(broken=_read_otherwise("own-pushed"))
def test_cat_own_pushed() -> None:
    _holds_in_its_reading_alone("cat", "own-pushed", "cat-own-is-pushed")


@shown(broken=_read_otherwise("holders-asked"))
def test_cat_holders_asked() -> None:
    events = (
        *(Connect((peer,), MEMPOOL) for peer in (1, 2)),
        *(Receive((2,), (Tx("x1t"),)), Receive((1,), (SeenTx("x1t"),)), Advance(60_000)),
    )
    spec = protocol_named("cat")
    read_so = edit_named("holders-asked", spec).change(spec)
    for judge, mutant, departing in (
        *((spec, "cat-asks-holders", True), (read_so, "cat-asks-holders", False)),
        *((spec, None, False), (read_so, None, False)),
    ):
        config = Config(protocol="cat", parameters=DogParameters(dog=False))
        run = Play(WireSubject(open_cat(config, mutant), config), Oracle(judge, config.parameters))
        assert any([run.do(event) for event in events]) == departing


def _holds_in_its_reading_alone(protocol: str, reading: str, mutant: str) -> None:
    spec = protocol_named(protocol)
    read_so = edit_named(reading, spec).change(spec)
    assert not departs(protocol, read_so, mutant)
    assert departs(protocol, spec, mutant) and departs(protocol, read_so, None)
