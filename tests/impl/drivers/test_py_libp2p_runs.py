"""Runs of the py-libp2p driver: virtual time, additions, repeatability, and what is left over."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from quidnunc.impl.drivers.py_libp2p.driver import PyLibp2pDriver
from quidnunc.impl.seam import AdapterError
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import MESHSUB_1_2
from tests.helpers.py_libp2p_node import (
    GRAFT,
    SUBSCRIBE,
    TOPIC,
    Open,
    control,
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


# Additions to the protocol.


@needs_libp2p
def test_additions_are_on_as_shipped_and_off_by_the_spec(started: Open) -> None:
    off, on = started(), started(profile="shipped")
    assert on.state().state["additions_off"] == []
    for driver in (off, on):
        driver.join(TOPIC)
        driver.publish(TOPIC, b"before")
    late = {name: driver.connect(1, MESHSUB_1_2, False) for name, driver in (("off", off), ("on", on))}
    assert to(late["off"], "message") == set()
    reply = off.rpc(1, SUBSCRIBE)
    # Nothing is owed to a peer that has just subscribed: the mesh is the heartbeat's.
    assert words(reply) == []
    names = off.state().state["additions_off"]
    assert set(names) == set(off.hello.additions) == set(on.hello.additions)
    if "replay-to-subscribers" in names:
        assert to(on.rpc(1, SUBSCRIBE), "message") == {1}


@needs_libp2p
def test_one_addition_is_switched_off_alone(started: Open) -> None:
    on = started(profile="shipped")
    for name in on.hello.additions:
        driver = started(profile="shipped", without=(name,))
        assert driver.state().state["additions_off"] == [name]
        assert [what for what in driver.hello.switched if f"switches off {name}:" in what]
        assert not [what for what in on.hello.switched if "switches off" in what]
    with pytest.raises(AdapterError, match="no addition nosuch; there are adaptive-gossip"):
        started(profile="shipped", without=("nosuch",))


@needs_libp2p
def test_what_bounds_gossip_is_on_in_every_profile(started: Open) -> None:
    """Ten IHAVE and ten IWANT a second are how the release keeps the bounds that v1.1 demands."""
    for profile in ("shipped", "spec"):
        driver = started(profile=profile)
        meshed(driver, 1)
        sent = message(1, 1)
        driver.rpc(1, published(sent))
        asked = control(iwant=[wire.ControlIWant(messageIDs=[origin(sent)])])
        answers = [to(driver.rpc(1, asked), "message") for _ in range(40)]
        assert sum(bool(each) for each in answers) == 10


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
        "from tests.impl.drivers.test_py_libp2p_runs import Open, conversation\n"
        "opened = Open(); driver = opened(seed=11); print(conversation(driver)); driver.close()\n"
    )
    root = str(Path(__file__).parents[3])
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
        # Fewer, where something of an earlier test was collected meanwhile.
        assert len(os.listdir("/proc/self/fd")) <= descriptors
