"""Releases of js-libp2p's gossipsub before 15, which find streams, peers and their node in other ways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quidnunc.impl import wire_pb2 as wire
from quidnunc.impl.drivers.js_libp2p import builds
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver, Reply
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.model.events import MESHSUB_1_1
from quidnunc.model.parameters import Parameters

TOPIC = "t"
UNLOCKED = ("13.2.0", "14.1.2")
OLDER = (*(version for version in builds.LOCKED if int(version.split(".")[0]) < 15), *UNLOCKED)
JOINED = wire.RPC(subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid=TOPIC)]).SerializeToString()


@pytest.fixture(params=OLDER)
def version(request: pytest.FixtureRequest) -> Iterator[str]:
    release = builds.release_named(request.param)
    if lacking := builds.missing(release.version):
        pytest.skip(lacking)
    if release.record is None:
        pytest.skip(f"{release.name} is not built here: {release.command}")
    yield release.version
    close_parked()


def opened(version: str, seed: int = 0, **given: int) -> Driver:
    parameters = Parameters(flood_publish=False, **given)  # type: ignore[arg-type]
    config = Config(seed=seed, protocol="gossipsub-1.1", parameters=parameters)
    return open_router(f"{builds.NAME}@{version}", config)


def said(reply: Reply) -> list[tuple[int, wire.RPC]]:
    return [(peer, wire.RPC.FromString(data)) for peer, _, data in reply.out]


def grafted(reply: Reply) -> set[int]:
    return {peer for peer, rpc in said(reply) if rpc.control.graft}


def test_it_meshes_publishes_and_hangs_up(version: str) -> None:
    driver = opened(version)
    assert driver.hello.version == version
    newest = ("gossipsub-1.2",) if version == "14.1.2" else ()
    assert driver.hello.protocols == ("gossipsub-1.0", "gossipsub-1.1", *newest)
    driver.join(TOPIC)
    assert [peer for peer, rpc in said(driver.connect(1, MESHSUB_1_1, False)) if rpc.subscriptions] == [1]
    driver.rpc(1, JOINED)
    assert grafted(driver.advance(500)) == {1}
    (sent,) = said(driver.publish(TOPIC, b"one"))
    assert sent[0] == 1 and [message.data for message in sent[1].publish] == [b"one"]
    driver.stall(1)
    assert not driver.publish(TOPIC, b"two").out
    assert [rpc.publish[0].data for _, rpc in said(driver.resume(1))] == [b"two"]
    driver.disconnect(1)
    assert not driver.publish(TOPIC, b"three").out
    driver.close()


def test_a_run_repeats_from_its_seed(version: str) -> None:
    def outputs(seed: int) -> list[object]:
        driver = opened(version, seed)
        driver.join(TOPIC)
        for peer in range(1, 30):
            driver.connect(peer, MESHSUB_1_1, False)
            driver.rpc(peer, JOINED)
        told: list[object] = [driver.advance(1000).out, driver.publish(TOPIC, b"one").out]
        driver.close()
        return told

    first = outputs(1)
    assert outputs(2) != first
    assert outputs(1) == first
    close_parked()
    assert outputs(1) == first


def test_a_cut_with_peer_exchange_is_sent_at_its_heartbeat(version: str) -> None:
    driver = opened(version, d=2, d_low=1, d_high=2, d_score=1, d_out=0, prune_peers=4)
    if "peer-exchange" not in driver.hello.capabilities:
        driver.close()
        pytest.skip("it has no peer exchange here")
    driver.join(TOPIC)
    graft = wire.RPC(
        control=wire.ControlMessage(graft=[wire.ControlGraft(topicID=TOPIC)])
    ).SerializeToString()
    for peer in range(1, 5):
        driver.connect(peer, MESHSUB_1_1, True)
        driver.rpc(peer, JOINED)
        driver.rpc(peer, graft)
    pruned = [rpc.control.prune[0] for _, rpc in said(driver.advance(500)) if rpc.control.prune]
    assert len(pruned) == 2 and all(prune.peers for prune in pruned)
    # What Leave sends waits for the peer store.
    assert not any(rpc.control.prune for _, rpc in said(driver.leave(TOPIC)))
    assert any(rpc.control.prune for _, rpc in said(driver.advance(1)))
    driver.close()


def test_the_package_goes_by_the_version() -> None:
    assert builds.package_of("17.1.1") == "@libp2p/gossipsub"
    assert {builds.package_of(version) for version in OLDER} == {
        "@chainsafe/libp2p-gossipsub",
        "libp2p-gossipsub",
    }
