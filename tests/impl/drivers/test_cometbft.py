"""The released mempool reactor of CometBFT: its builds, and its driver where one is built here."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from quidnunc.impl.drivers.cometbft import builds
from quidnunc.impl.drivers.go_builds import DRIVER
from quidnunc.impl.routers import available, build_release, open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, NotBuiltError, Reply
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.impl.wire.mempool_codec import IGNORED_MEMPOOL, MALFORMED_MEMPOOL, MempoolCodec, tx_bytes
from quidnunc.model.events import MEMPOOL
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, Tx

RELEASE = builds.release_named(builds.DEFAULT)
needs_build = pytest.mark.skipif(
    RELEASE.record is None, reason=f"{RELEASE.name} is not built here; to build it: {RELEASE.command}"
)
ROOT = Path(__file__).parents[3]
CODEC = MempoolCodec()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    return tmp_path


def opened(protocol: str = "dog-go", **given: object) -> Driver:
    return open_router(builds.NAME, Config(protocol=protocol, parameters=DogParameters(**given)))  # type: ignore[arg-type]


@pytest.fixture
def driver() -> Iterator[Driver]:
    made = opened()
    for peer in (1, 2, 3):
        made.connect(peer, MEMPOOL, False)
    yield made
    made.close()
    close_parked()


def give(driver: Driver, peer: int, part: Part) -> Reply:
    channel, data = CODEC.encode(part)
    return driver.rpc(peer, data, channel)


def sent(reply: Reply) -> set[tuple[int, Part]]:
    return {(peer, part) for peer, channel, data in reply.out for part in CODEC.decode(channel, data)}


# -- builds -------------------------------------------------------------------------------------------------


def test_every_release_has_a_lock_of_its_own_that_names_it() -> None:
    for release in builds.releases():
        lock = builds.FOLDER / "locks" / release.version
        said = (lock / "go.mod").read_text()
        assert f"github.com/cometbft/cometbft/v2 v{release.version}\n" in said
        assert f"\ngo {builds.RELEASES[release.version]['go']}" in said
        assert f"/cometbft/v2 v{release.version} h1:" in (lock / "go.sum").read_text()
    assert builds.DEFAULT in builds.RELEASES


def test_what_a_build_needs_ships_with_the_kit() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    found = {
        path for pattern in shipped["quidnunc.impl.drivers.cometbft"] for path in builds.FOLDER.glob(pattern)
    }
    for version in builds.RELEASES:
        assert {*builds._sources(), *builds._lock(version)} <= found
    assert {*(builds.FOLDER / "source").glob("*.go")} <= {*builds._sources()}


def test_a_release_without_go_is_named_with_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    listed = {each.name: each for each in available()}
    for name in (builds.NAME, RELEASE.name):
        says = "not built here: go is not on the PATH: install Go 1.25 or later; then quidnunc routers"
        assert not listed[name].available and says in listed[name].reason
    with pytest.raises(AdapterError, match="cannot be built here: go is not on the PATH: install Go 1.25"):
        build_release(builds.NAME, lambda _: None)
    with pytest.raises(NotBuiltError, match=f"to build it: quidnunc routers build {RELEASE.name}"):
        opened()


def test_there_is_no_other_release() -> None:
    with pytest.raises(ValueError, match=r"no release '9' of cometbft: there are 2\.0\.0-rc1"):
        open_router("cometbft@9", Config())


# -- the driver ---------------------------------------------------------------------------------------------


@needs_build
def test_it_says_what_it_is(driver: Driver) -> None:
    hello = driver.hello
    assert (hello.name, hello.version) == (builds.NAME, builds.DEFAULT)
    assert {"flood", "peer-limit", "dog-go"} <= {*hello.protocols}
    assert hello.fixed == {"delta_percent": 10} and "clock" in hello.capabilities


@needs_build
def test_it_forwards_to_all_but_the_sender(driver: Driver) -> None:
    assert sent(give(driver, 1, Tx("t"))) == {(2, Tx("t")), (3, Tx("t"))}
    assert sent(driver.submit(tx_bytes("own"))) == {(peer, Tx("own")) for peer in (1, 2, 3)}
    assert not driver.submit(tx_bytes("bad1")).out
    state = driver.state().state
    assert len(state["senders"]) == 2  # type: ignore[arg-type]


@needs_build
def test_a_duplicate_is_answered_once_until_the_controller_finds_too_much(driver: Driver) -> None:
    give(driver, 1, Tx("t"))
    assert sent(give(driver, 2, Tx("t"))) == {(2, HaveTx("t"))}
    assert not give(driver, 3, Tx("t")).out
    # Two duplicates of one transaction: more than wanted.
    assert not driver.adjust().out
    assert sent(give(driver, 3, Tx("t"))) == {(3, HaveTx("t"))}


@needs_build
def test_a_route_is_closed_by_havetx_and_opened_by_resetroute(driver: Driver) -> None:
    give(driver, 1, Tx("t"))
    assert not give(driver, 3, HaveTx("t")).out
    assert driver.state().state["disabled_routes"] == 1
    assert sent(give(driver, 1, Tx("u"))) == {(2, Tx("u"))}
    give(driver, 3, ResetRoute())
    assert sent(give(driver, 1, Tx("v"))) == {(2, Tx("v")), (3, Tx("v"))}


@needs_build
def test_its_controller_runs_when_it_is_asked_to_and_at_a_loss(driver: Driver) -> None:
    give(driver, 1, Tx("t"))
    assert not driver.advance(3_600_000).out
    asked = sent(driver.adjust())
    assert len(asked) == 1 and {part for _, part in asked} == {ResetRoute()}
    assert not driver.adjust().out, "nothing came since"
    assert driver.advance(1).t_ms == 3_600_001
    # After a HaveTx its timer starts anew.
    give(driver, 2, Tx("t"))
    give(driver, 1, Tx("u"))
    give(driver, 1, Tx("v"))
    assert {part for _, part in sent(driver.adjust())} == {ResetRoute()}
    give(driver, 1, Tx("w"))
    assert {part for _, part in sent(driver.disconnect(3))} <= {ResetRoute()}


@needs_build
def test_a_committed_transaction_leaves_the_pool(driver: Driver) -> None:
    give(driver, 1, Tx("t"))
    assert len(driver.state().state["pool"]) == 1  # type: ignore[arg-type]
    driver.commit(tx_bytes("t"))
    assert driver.state().state["pool"] == []
    assert not sent(driver.connect(4, MEMPOOL, True))


@needs_build
def test_it_comes_to_rest_though_the_reactor_sends_without_end(driver: Driver) -> None:
    """Its iterator goes round and round once the newest transaction is committed before an older one."""
    driver.submit(tx_bytes("t"))
    driver.submit(tx_bytes("u"))
    driver.commit(tx_bytes("u"))
    reply = driver.connect(4, MEMPOOL, False)
    assert len(reply.out) == 3 and sent(reply) == {(4, Tx("t"))}
    assert len(driver.advance(1).out) == 3
    assert {peer for peer, _, _ in driver.submit(tx_bytes("v")).out} == {1, 2, 3, 4}
    assert not driver.advance(1).out, "a new transaction ends it"


@needs_build
def test_a_reactor_that_never_rests_has_failed(driver: Driver) -> None:
    """As above, but with nothing to send on the way."""
    give(driver, 3, Tx("t"))
    driver.submit(tx_bytes("u"))
    driver.disconnect(3)
    driver.commit(tx_bytes("u"))
    reply = driver.connect(3, MEMPOOL, False)
    assert reply.crashed == "panic in cometbft: it does not come to rest"
    assert opened().connect(1, MEMPOOL, False).crashed == ""


@needs_build
def test_who_does_not_read_gets_it_when_it_reads_again(driver: Driver) -> None:
    driver.stall(2)
    assert sent(give(driver, 1, Tx("t"))) == {(3, Tx("t"))}
    assert sent(driver.resume(2)) == {(2, Tx("t"))}


@needs_build
@pytest.mark.parametrize("kind", sorted({*MALFORMED_MEMPOOL} - IGNORED_MEMPOOL))
def test_what_no_honest_mempool_sends_ends_the_connection(driver: Driver, kind: str) -> None:
    reply = driver.raw(2, MALFORMED_MEMPOOL[kind])
    assert reply.closed == (2,) and not reply.crashed
    assert not give(driver, 2, Tx("late")).out
    assert not driver.disconnect(2).out
    assert sent(driver.connect(2, MEMPOOL, False)) == set()


@needs_build
def test_a_limit_holds_until_a_peer_leaves() -> None:
    driver = opened("peer-limit", dog=False, max_non_persistent=1, unconditional_peers=frozenset({3}))
    for peer in (1, 2, 3):
        driver.connect(peer, MEMPOOL, False)
    assert sent(driver.submit(tx_bytes("t"))) == {(1, Tx("t")), (3, Tx("t"))}
    assert sent(driver.disconnect(1)) == {(2, Tx("t"))}
    driver.close()
    close_parked()


@needs_build
def test_flood_has_no_controls() -> None:
    driver = opened("flood", dog=False)
    driver.connect(1, MEMPOOL, False)
    driver.connect(2, MEMPOOL, False)
    give(driver, 1, Tx("t"))
    assert not give(driver, 2, Tx("t")).out and not driver.adjust().out
    driver.close()
    close_parked()


@needs_build
def test_it_refuses_what_it_cannot_be() -> None:
    with pytest.raises(AdapterError, match='does not speak "cat"'):
        opened("cat")
    with pytest.raises(AdapterError, match="takes the parameters of one"):
        open_router(builds.NAME, Config(protocol="dog", parameters=Parameters()))
    with pytest.raises(AdapterError, match="peer 9 is not connected"):
        opened().stall(9)
    close_parked()


# -- networks -----------------------------------------------------------------------------------------------


@needs_build
def test_reactors_form_a_network_on_virtual_time() -> None:
    """Three in a ring: who submits sends two copies, and the others one each to the other."""
    network = {
        "nodes": 3,
        "edges": [[0, 1, 10], [1, 2, 10], [0, 2, 30]],
        "dog": {"dog": False, "target_redundancy": 1, "cache_size": 10, "pool_size": 10,
                "max_pool_bytes": 1000, "max_tx_bytes": 100},
        "interval_ms": 1000,
        "traffic": [[1000, 0], [2000, 1]],
        "until_ms": 60_000,
    }  # fmt: skip
    command = [str(RELEASE.needed() / DRIVER), "network"]
    ran = subprocess.run(command, input=json.dumps(network), capture_output=True, text=True, check=True)
    figures = json.loads(ran.stdout)
    assert figures["reached"] == [3, 3] and not figures["missed"]
    # 0 sends to 1 and 2; 1 sends to 2 at 10 ms, and 2 to 0 at 20 ms, before it has the copy of 0.
    assert figures["copies"] == [4, 4]
    assert sorted(figures["latencies_ms"][0]) == [0, 10, 20]
    assert sum(figures["have_tx"]) == sum(figures["reset_route"]) == 0
