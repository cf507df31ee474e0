"""The py-libp2p driver on whatever release is installed. Without one, the tests of its absence remain."""

from __future__ import annotations

import hashlib
from fnmatch import fnmatch

import pytest

from quidnunc.impl.drivers.py_libp2p import loop as loop_module
from quidnunc.impl.drivers.py_libp2p import release as release_module
from quidnunc.impl.drivers.py_libp2p.driver import crash_text, open_py_libp2p
from quidnunc.impl.seam import CAPABILITIES, AdapterError, Config, Delivery, Profile, Reply
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signing import signature_fault
from quidnunc.model.events import FLOODSUB, MESHSUB_1_1, MESHSUB_1_2
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.documents.clauses import load
from tests.helpers.py_libp2p_node import (
    GRAFT,
    SUBSCRIBE,
    TOPIC,
    Open,
    members,
    meshed,
    message,
    needs_libp2p,
    opening,
    origin,
    published,
    to,
    words,
)

started = pytest.fixture(opening)


# Shape of the seam.


@needs_libp2p
def test_hello_says_only_what_is_true(started: Open) -> None:
    hello = started().hello
    assert hello.name == "py-libp2p" and hello.version
    assert hello.capabilities <= CAPABILITIES
    assert {"verdict", "clock", "stall", "raw", "explicit", "state"} <= hello.capabilities
    assert "flood-publish" not in hello.capabilities
    assert {"floodsub", "gossipsub-1.0", "gossipsub-1.1"} <= set(hello.protocols)
    # 6 since 0.6, and D before; the default of D is 6 too.
    assert hello.fixed["d_lazy"] == 6 and hello.fixed["flood_publish"] == 0
    assert hello.fixed["opportunistic_graft_ticks"] > 1 << 30
    assert "opportunistic_graft_ticks" not in started(profile="shipped").hello.fixed
    assert started(protocol="floodsub").hello.fixed == {}
    assert "strict-no-sign" not in hello.capabilities


@needs_libp2p
def test_switches_name_clauses_that_there_are(started: Open) -> None:
    clauses = load()
    for profile in ("shipped", "spec"):
        for what, patterns in started(profile=profile).hello.switched.items():
            assert patterns, what
            assert all(any(fnmatch(c, p) for c in clauses) for p in patterns), what


@needs_libp2p
def test_router_is_peer_0(started: Open) -> None:
    driver = started()
    meshed(driver, 1)
    sent = [wire.RPC.FromString(data) for _, _, data in driver.publish(TOPIC, b"hello").out]
    (own,) = [m for one in sent for m in one.publish]
    assert getattr(own, "from") == peer_id(0)
    assert own.data == b"hello"


@needs_libp2p
def test_router_is_the_peer_that_it_is_told(started: Open) -> None:
    driver = open_py_libp2p(Config(parameters=Parameters(), identity=5))
    try:
        assert "identity" in driver.hello.capabilities
        meshed(driver, 0)
        (data,) = [d for _, _, d in driver.publish(TOPIC, b"hello").out if wire.RPC.FromString(d).publish]
        (own,) = wire.RPC.FromString(data).publish
        assert getattr(own, "from") == peer_id(5) and signature_fault(own, "StrictSign") == ""
        # A second one in the same process takes the first one's message for another's.
        other = started()
        meshed(other, 5)
        assert other.rpc(5, data).delivered == (Delivery(topic=TOPIC, data=b"hello"),)
    finally:
        driver.close()


@needs_libp2p
def test_new_peer_hears_of_subscriptions(started: Open) -> None:
    driver = started()
    driver.join(TOPIC)
    assert words(driver.connect(1, MESHSUB_1_2, False)) == [(1, "sub")]


@needs_libp2p
@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda d: d.rpc(9, SUBSCRIBE), "rpc peer 9 .*no such peer; connect it first"),
        (lambda d: d.connect(1, MESHSUB_1_2, False), "connect peer 1 .*disconnect it first"),
        (
            lambda d: d.connect(2, "/meshsub/9.9.9", False),
            "no protocol in common: it offers .*/meshsub/1.2.0",
        ),
        (lambda d: d.connect(0, MESHSUB_1_2, False), "that is the router itself"),
        (lambda d: d.rpc(1, SUBSCRIBE, 0x30), "channel 0x30"),
        (lambda d: d.advance(-1), "advance -1: time in ms cannot be negative"),
        (lambda d: d.submit(b"tx"), "request to a mempool"),
        (lambda d: d.connect(1 << 40, MESHSUB_1_2, False), "peer 1099511627776"),
    ],
)
def test_requests_that_make_no_sense(started: Open, act, says: str) -> None:
    driver = started()
    driver.connect(1, MESHSUB_1_2, False)
    with pytest.raises(AdapterError, match=says):
        act(driver)


@needs_libp2p
@pytest.mark.parametrize("where", ["a task", "the scheduler"])
def test_a_signal_that_comes_while_the_loop_turns_is_no_crash(
    started: Open, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SIGTERM was lost so: the suite took it for a crash of the router, and went on for minutes."""
    loop = started()._loop

    def raised(*_: object) -> None:
        raise KeyboardInterrupt(15)

    async def interrupted() -> None:
        raised()

    if where == "a task":
        loop.spawn(interrupted)
    else:
        monkeypatch.setattr(loop.world.clock, "deadline_to_sleep_time", raised)
    with pytest.raises(KeyboardInterrupt) as told:
        loop.settle()
    loop.close()
    assert told.value.args == (15,)


@needs_libp2p
def test_ids_that_it_asks_for_are_those_of_its_own_loop(started: Open) -> None:
    """Each loop counts its own; outside of all loops they are the system's."""
    stand_in = loop_module._Uuid()
    before = stand_in.uuid4()
    for _ in range(2):
        with started()._loop.turning():
            first, second = stand_in.uuid4(), stand_in.uuid4()
        assert second.int == first.int + 1 < 1000
    assert before != stand_in.uuid4() and stand_in.uuid4().version == 4


@needs_libp2p
def test_unknown_protocol_and_mempool_parameters() -> None:
    with pytest.raises(AdapterError, match="does not speak 'gossipsub-9.9': choose one of floodsub, "):
        open_py_libp2p(Config(protocol="gossipsub-9.9", parameters=Parameters()))
    with pytest.raises(AdapterError, match="py-libp2p is a pubsub router; this is about mempools"):
        open_py_libp2p(Config(protocol="dog", parameters=DogParameters()))


def test_absence_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_module.importlib.util, "find_spec", lambda name: None)
    assert release_module.reason_unavailable() == (
        "the package libp2p is not installed: pip install '.[py-libp2p]' in a clone of quidnunc"
    )


def test_broken_installation_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(version: str) -> None:
        raise ImportError("libgmp.so.10: cannot open shared object file")

    monkeypatch.setattr(release_module, "_load", broken)
    release_module.installed_release.cache_clear()
    with pytest.raises(AdapterError, match="cannot be imported .libgmp"):
        release_module.installed_release()
    release_module.installed_release.cache_clear()


# Parameters.


@needs_libp2p
def test_degrees_reach_the_router(started: Open) -> None:
    driver = started(d=3, d_low=2, d_high=4, d_out=1)
    driver.join(TOPIC)
    members(driver, *range(1, 11))
    assert len(to(driver.advance(500), "graft")) == 3


@needs_libp2p
def test_backoff_on_leaving_is_that_of_unsubscribing(started: Open) -> None:
    driver = started(unsubscribe_backoff_s=7)
    meshed(driver, 1)
    sent = [wire.RPC.FromString(data).control for _, _, data in driver.leave(TOPIC).out]
    (prune,) = [p for one in sent for p in one.prune]
    assert (prune.topicID, prune.backoff) == (TOPIC, 7)


@needs_libp2p
def test_content_ids(started: Open) -> None:
    driver = started(message_id="content")
    meshed(driver, 1, 2)
    driver.rpc(1, published(message(1, 1, b"same")))
    assert not driver.rpc(2, published(message(2, 9, b"same"))).delivered
    if "gossipsub-1.2" in driver.hello.protocols:
        reply = driver.rpc(1, published(message(1, 2, b"other")))
        ids = {
            i
            for _, _, data in reply.out
            for d in wire.RPC.FromString(data).control.idontwant
            for i in d.messageIDs
        }
        assert ids == {hashlib.sha256(b"other").digest()}


@needs_libp2p
@pytest.mark.parametrize(("profile", "is_own"), [("shipped", True), ("spec", False)])
def test_as_shipped_it_makes_ids_by_its_own_function(
    started: Open, monkeypatch: pytest.MonkeyPatch, profile: Profile, is_own: bool
) -> None:
    """What the kit's function would be is a wrong one here, so that the ids tell whose is used."""
    monkeypatch.setitem(release_module.MESSAGE_IDS, "origin", lambda message: b"ours")  # type: ignore[index]
    driver = started(profile=profile)
    meshed(driver, 1, 2)
    if "gossipsub-1.2" not in driver.hello.protocols:
        pytest.skip("before 1.2 it names no id at once")
    out = driver.rpc(1, published(message(1, 1))).out
    named = {
        i for _, _, data in out for w in wire.RPC.FromString(data).control.idontwant for i in w.messageIDs
    }
    assert named and (b"ours" not in named) == is_own


@needs_libp2p
def test_signature_policy(started: Open) -> None:
    unsigned = message(1, 1)
    unsigned.ClearField("signature")
    for policy, deliveries in (("StrictSign", 0), ("StrictNoSign", 1)):
        driver = started(signature_policy=policy, message_id="content")
        meshed(driver, 1)
        assert len(driver.rpc(1, published(unsigned)).delivered) == deliveries


@needs_libp2p
def test_explicit_peers_are_dialled_and_stay_outside_the_mesh(started: Open) -> None:
    driver = started(explicit_peers=frozenset({7}))
    assert driver.advance(1000).dials == (7,)
    driver.join(TOPIC)
    driver.connect(7, MESHSUB_1_2, True)
    driver.rpc(7, SUBSCRIBE)
    assert to(driver.rpc(7, GRAFT), "prune") == {7}
    assert driver.state().state["mesh"] == {TOPIC: []}


@needs_libp2p
def test_score_of_the_application_gates(started: Open) -> None:
    driver = started()
    if "score" not in driver.hello.capabilities:
        with pytest.raises(AdapterError, match="takes no score"):
            driver.score(1, -5)
        return
    meshed(driver, 1, 2)
    driver.score(1, -1000)
    assert to(driver.publish(TOPIC, b"hello"), "message") == {2}
    driver.score(1, 0)
    assert to(driver.publish(TOPIC, b"again"), "message") == {1, 2}


@needs_libp2p
def test_floodsub_router(started: Open) -> None:
    driver = started(protocol="floodsub")
    driver.join(TOPIC)
    members(driver, 1, 2, 3, protocol=FLOODSUB)
    reply = driver.rpc(1, published(message(4, 1)))
    assert to(reply, "message") == {2, 3}
    assert reply.delivered == (Delivery(topic=TOPIC, data=b"data"),)
    assert not driver.advance(60_000).out


@needs_libp2p
def test_peers_of_older_protocols(started: Open) -> None:
    driver = started()
    driver.join(TOPIC)
    driver.connect(1, FLOODSUB, False)
    driver.rpc(1, SUBSCRIBE)
    assert to(driver.publish(TOPIC, b"hello"), "message") == {1}
    assert not words(driver.advance(5000))


# Validation by the harness.


@needs_libp2p
@pytest.mark.parametrize("judgement", ["accept", "reject", "ignore"])
def test_message_waits_for_its_verdict(started: Open, judgement) -> None:
    driver = started(validation="manual")
    meshed(driver, 1, 2)
    one, two = message(1, 1, b"one"), message(1, 2, b"two")
    assert not driver.rpc(1, published(one, two)).delivered
    assert driver.state().state["waiting"] == sorted([origin(one).hex(), origin(two).hex()])
    assert "message" not in {word for _, word in words(driver.advance(4999))}
    reply = driver.verdict(origin(one), judgement)
    accepted = judgement == "accept"
    assert reply.delivered == ((Delivery(topic=TOPIC, data=b"one"),) if accepted else ())
    assert to(reply, "message") == ({2} if accepted else set())
    assert driver.state().state["waiting"] == [origin(two).hex()]


@needs_libp2p
def test_many_messages_wait_at_once_and_for_long(started: Open) -> None:
    driver = started(validation="manual")
    meshed(driver, 1)
    many = [message(1, n, b"%d" % n) for n in range(1, 31)]
    for one in many:
        driver.rpc(1, published(one))
    driver.advance(30_000)
    for one in reversed(many):
        assert [d.data for d in driver.verdict(origin(one), "accept").delivered] == [one.data]


@needs_libp2p
def test_own_messages_and_unknown_ids_need_no_verdict(started: Open) -> None:
    driver = started(validation="manual")
    meshed(driver, 1)
    assert to(driver.publish(TOPIC, b"own"), "message") == {1}
    assert driver.verdict(b"nobody's", "accept") == Reply()


# Streams.


@needs_libp2p
def test_stalled_peer_gets_all_of_it_later(started: Open) -> None:
    driver = started()
    meshed(driver, 1)
    driver.stall(1)
    # Before 0.7 the router writes in the publisher's own task, which then waits for the peer.
    driver.publish(TOPIC, b"one")
    assert not driver.publish(TOPIC, b"two").out
    sent = [wire.RPC.FromString(data) for _, _, data in driver.resume(1).out]
    assert sorted(m.data for one in sent for m in one.publish) == [b"one", b"two"]
    assert not driver.resume(1).out


@needs_libp2p
def test_stalled_peer_may_leave(started: Open) -> None:
    driver = started()
    meshed(driver, 1, 2)
    driver.stall(1)
    driver.publish(TOPIC, b"one")
    reply = driver.disconnect(1)
    assert not reply.crashed
    assert to(driver.publish(TOPIC, b"two"), "message") == {2}


@needs_libp2p
def test_peer_comes_back(started: Open) -> None:
    driver = started()
    meshed(driver, 1, 2)
    driver.disconnect(1)
    assert driver.state().state["mesh"] == {TOPIC: [2]}
    assert words(driver.connect(1, MESHSUB_1_1, True)) == [(1, "sub")]
    with pytest.raises(AdapterError, match="no such peer"):
        driver.disconnect(5)


@needs_libp2p
def test_rpc_may_come_in_pieces(started: Open) -> None:
    driver = started()
    driver.join(TOPIC)
    driver.connect(1, MESHSUB_1_2, False)
    framed = bytes([len(SUBSCRIBE)]) + SUBSCRIBE
    for byte in framed + b"\x00":
        driver.raw(1, bytes([byte]))
    assert to(driver.advance(1000), "graft") == {1}


@needs_libp2p
def test_malformed_bytes_end_a_stream_or_the_router_and_no_more(started: Open) -> None:
    driver = started()
    meshed(driver, 1, 2)
    reply = driver.raw(1, b"\x06" + b"\xff" * 6)
    assert reply.crashed or reply.closed == (1,)
    assert "xff" not in reply.crashed
    if reply.crashed:
        again = driver.rpc(2, GRAFT)
        assert again.crashed == reply.crashed and not again.out
        assert driver.advance(1000).crashed == reply.crashed


@needs_libp2p
def test_prefix_without_end_closes_the_stream(started: Open) -> None:
    driver = started()
    meshed(driver, 1, 2)
    reply = driver.raw(1, b"\xff" * 20)
    assert reply.crashed or reply.closed == (1,)
    if not reply.crashed:
        # A peer whose stream is gone is heard no more, and may be connected again.
        assert not driver.rpc(1, GRAFT).out
        assert to(driver.publish(TOPIC, b"hello"), "message") == {2}
        assert words(driver.connect(1, MESHSUB_1_2, False)) == [(1, "sub")]


def test_crash_text_has_no_bytes() -> None:
    error = ExceptionGroup(
        "many", [ExceptionGroup("more", [ValueError(r"bad b'\x00\xff' and 00ff00ff00ff00ff00")])]
    )
    assert crash_text(error) == "ValueError: bad ... and ..."
    assert crash_text(KeyError()) == "KeyError"
    assert len(crash_text(ValueError("x " * 500))) <= 200


@needs_libp2p
def test_crash_text_says_where_in_the_router_it_was() -> None:
    from libp2p.peer.id import ID

    with pytest.raises(Exception) as caught:
        ID.from_string("0OIl")
    place = "libp2p.peer.id.ID.from_string"
    assert crash_text(caught.value).startswith(f"{type(caught.value).__name__} in {place}: ")
