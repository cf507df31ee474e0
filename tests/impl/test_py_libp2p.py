"""The py-libp2p driver on whatever release is installed. Without one, the tests of its absence remain."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import os
import random
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from quidnunc.impl import py_libp2p_release as release_module
from quidnunc.impl import wire_pb2 as wire
from quidnunc.impl.keys import peer_id, public_key
from quidnunc.impl.py_libp2p import PyLibp2pDriver, crash_text, open_py_libp2p
from quidnunc.impl.seam import CAPABILITIES, AdapterError, Config, Delivery, Reply
from quidnunc.impl.signing import set_author, sign_as
from quidnunc.model.events import FLOODSUB, MESHSUB_1_1, MESHSUB_1_2
from quidnunc.model.parameters import DogParameters, Parameters

needs_libp2p = pytest.mark.skipif(
    importlib.util.find_spec("libp2p") is None,
    reason="libp2p is not installed: pip install 'quidnunc[py-libp2p]'",
)

TOPIC = "t"


class Open:
    """Opens drivers and closes them at the end of a test."""

    def __init__(self) -> None:
        self.drivers: list[PyLibp2pDriver] = []

    def __call__(self, *, seed: int = 0, protocol: str = "gossipsub-1.2", extras: bool = False, **p: object):
        config = Config(seed=seed, protocol=protocol, parameters=Parameters(**p), extras=extras)
        driver = open_py_libp2p(config)
        assert isinstance(driver, PyLibp2pDriver)
        self.drivers.append(driver)
        return driver


@pytest.fixture
def started() -> Iterator[Open]:
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
    assert started(protocol="floodsub").hello.fixed == {}
    assert "strict-no-sign" not in hello.capabilities


@needs_libp2p
def test_router_is_peer_0(started: Open) -> None:
    driver = started()
    meshed(driver, 1)
    sent = [wire.RPC.FromString(data) for _, _, data in driver.publish(TOPIC, b"hello").out]
    (own,) = [m for one in sent for m in one.publish]
    assert getattr(own, "from") == peer_id(0)
    assert own.data == b"hello"


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
        (lambda d: d.connect(0, MESHSUB_1_2, False), "peers count from 1"),
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
def test_unknown_protocol_and_mempool_parameters() -> None:
    with pytest.raises(AdapterError, match="does not speak 'gossipsub-9.9': choose one of floodsub, "):
        open_py_libp2p(Config(protocol="gossipsub-9.9", parameters=Parameters()))
    with pytest.raises(AdapterError, match="leave them out"):
        open_py_libp2p(Config(protocol="dog", dog=DogParameters()))


def test_absence_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_module.importlib.util, "find_spec", lambda name: None)
    assert release_module.reason_unavailable() == (
        "the package libp2p is not installed: pip install 'quidnunc[py-libp2p]'"
    )


def test_broken_installation_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(version: str) -> None:
        raise ImportError("libgmp.so.10: cannot open shared object file")

    monkeypatch.setattr(release_module, "_load", broken)
    release_module.installed.cache_clear()
    with pytest.raises(AdapterError, match="cannot be imported .libgmp"):
        release_module.installed()
    release_module.installed.cache_clear()


# Time.


@needs_libp2p
def test_heartbeats_fall_where_the_seam_promises(started: Open) -> None:
    driver = started(heartbeat_delay_ms=700, heartbeat_interval_ms=1300)
    driver.join(TOPIC)
    members(driver, 1)
    assert not to(driver.advance(699), "graft")
    assert to(driver.advance(1), "graft") == {1}
    members(driver, 2)
    assert not to(driver.advance(1299), "graft")
    reply = driver.advance(1)
    assert (reply.t_ms, to(reply, "graft")) == (2000, {2})


@needs_libp2p
def test_one_long_advance_is_many_short_ones(started: Open) -> None:
    outputs = []
    for steps in ((7000,), (500, 1000, 1, 999, 1000, 3500)):
        driver = started(seed=5)
        driver.join(TOPIC)
        members(driver, *range(1, 21))
        driver.publish(TOPIC, b"first")
        outputs.append([out for ms in steps for out in driver.advance(ms).out])
        assert driver.advance(0).t_ms == 7000
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 20


@needs_libp2p
def test_seen_ids_are_forgotten_in_virtual_time(started: Open) -> None:
    driver = started(seen_ttl_ms=2000)
    driver.join(TOPIC)
    members(driver, 1)
    one = published(message(1, 1))
    assert len(driver.rpc(1, one).delivered) == 1
    assert not driver.rpc(1, one).delivered
    driver.advance(120_001)
    assert len(driver.rpc(1, one).delivered) == 1


@needs_libp2p
def test_the_world_outside_keeps_its_clock_and_dice(started: Open) -> None:
    random.seed(3)
    expected = random.Random(3).random()
    before = time.time()
    driver = started(seed=8)
    driver.join(TOPIC)
    members(driver, *range(1, 15))
    driver.advance(60_000)
    assert random.random() == expected
    assert time.time() - before < 60


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


# Extras.


@needs_libp2p
def test_extras_are_off_unless_asked_for(started: Open) -> None:
    off, on = started(), started(extras=True)
    assert on.state().state["extras_off"] == []
    for driver in (off, on):
        driver.join(TOPIC)
        driver.publish(TOPIC, b"before")
    late = {name: driver.connect(1, MESHSUB_1_2, False) for name, driver in (("off", off), ("on", on))}
    assert to(late["off"], "message") == set()
    reply = off.rpc(1, SUBSCRIBE)
    # Nothing is owed to a peer that has just subscribed: the mesh is the heartbeat's.
    assert words(reply) == []
    names = off.state().state["extras_off"]
    if "replay of the message cache to subscribers" in names:
        assert to(on.rpc(1, SUBSCRIBE), "message") == {1}


@needs_libp2p
def test_every_extra_of_the_release_is_found() -> None:
    router = release_module.installed().gossipsub.GossipSub
    arguments = release_module._arguments(router)
    for extra in release_module.EXTRAS:
        known = [n for n in (*extra.methods, *extra.otherwise) if hasattr(router, n)]
        assert extra.argument in arguments or len(known) <= 2


# Repeatable, and nothing left behind.


def conversation(driver: PyLibp2pDriver) -> str:
    """A digest of all outputs of a run with many choices in it."""
    digest = hashlib.sha256()
    driver.join(TOPIC)
    members(driver, *range(1, 25))
    replies = [driver.advance(3000), driver.publish(TOPIC, b"one"), driver.publish("elsewhere", b"two")]
    for peer in range(1, 25, 3):
        replies += [driver.rpc(peer, GRAFT), driver.rpc(peer, published(message(peer, 1, b"%d" % peer)))]
    replies += [driver.advance(10_000), driver.leave(TOPIC), driver.advance(1000)]
    for reply in replies:
        digest.update(repr((reply.t_ms, reply.out, reply.delivered, reply.crashed)).encode())
    return digest.hexdigest()


@needs_libp2p
def test_equal_seeds_in_one_process(started: Open) -> None:
    assert conversation(started(seed=4)) == conversation(started(seed=4))
    assert conversation(started(seed=4)) != conversation(started(seed=5))


@needs_libp2p
def test_equal_seeds_across_processes() -> None:
    program = (
        "from tests.impl.test_py_libp2p import Open, conversation\n"
        "opened = Open(); driver = opened(seed=11); print(conversation(driver)); driver.close()\n"
    )
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": path}
    children = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, cwd=root)
        for _ in range(2)
    ]
    digests = [child.communicate(timeout=60)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert digests[0] == digests[1] and len(digests[0].strip()) == 64


@needs_libp2p
def test_drivers_do_not_disturb_each_other(started: Open) -> None:
    alone = conversation(started(seed=1))
    other, driver = started(seed=2), started(seed=1)
    meshed(other, 1, 2)
    assert conversation(driver) == alone
    driver.close()
    assert to(other.publish(TOPIC, b"still"), "message") == {1, 2}


@needs_libp2p
def test_nothing_is_left_behind(started: Open) -> None:
    conversation(started())
    started.drivers.pop().close()
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    threads, hooks = threading.active_count(), sys.get_asyncgen_hooks()
    traces = []
    for _ in range(3):
        driver = started()
        meshed(driver, 1, 2)
        traces.append(weakref.ref(driver._pubsub))
        driver.close()
        driver.close()
        started.drivers.clear()
        del driver
    gc.collect()
    assert [trace() for trace in traces] == [None, None, None]
    assert (threading.active_count(), sys.get_asyncgen_hooks()) == (threads, hooks)
    if descriptors is not None:
        assert len(os.listdir("/proc/self/fd")) == descriptors
