"""The released go-libp2p-pubsub: its builds, and its driver where one is built here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from quidnunc.impl.drivers import go_builds
from quidnunc.impl.drivers.builds import Release, building
from quidnunc.impl.drivers.go_libp2p import builds
from quidnunc.impl.routers import available, build_release, open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, NotBuiltError, PartialDecision
from quidnunc.impl.seam.sidecar import ExecDriver, close_parked
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import WireSubject, play
from quidnunc.properties.suite.files import bound_cases
from tests.helpers.py_libp2p_node import SUBSCRIBE, TOPIC, to

RELEASE = builds.release_named(builds.DEFAULT)
needs_build = pytest.mark.skipif(
    RELEASE.record is None, reason=f"{RELEASE.name} is not built here; to build it: {RELEASE.command}"
)
ROOT = Path(__file__).parents[3]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    return tmp_path


def opened(protocol: str = "gossipsub-1.2", **given: object) -> Driver:
    return open_router(builds.NAME, Config(protocol=protocol, parameters=Parameters(**given)))  # type: ignore[arg-type]


@pytest.fixture
def driver() -> Iterator[Driver]:
    made = opened()
    yield made
    made.close()
    close_parked()


# -- builds -------------------------------------------------------------------------------------------------


def test_every_release_has_a_lock_of_its_own_that_names_it() -> None:
    for version in builds.LOCKED:
        lock = builds.FOLDER / "locks" / version
        said = (lock / "go.mod").read_text()
        assert f"github.com/libp2p/{builds.NAME} v{version}\n" in said
        assert f"\ngo {builds.go_needed(version)}" in said
        assert f"/{builds.NAME} v{version} h1:" in (lock / "go.sum").read_text()
        assert builds.lock_base(version) == version
    assert {*builds.LOCKED} <= {each.version for each in builds.releases()}


@pytest.mark.parametrize(
    ("version", "base", "edits"),
    [
        ("0.20.0", "0.19.0", ()),
        ("0.18.0", "0.17.0", ()),
        ("0.9.3", "0.8.0", ("0.12.0", "0.10.0")),
        ("0.6.0", "0.6.1", ("0.12.0", "0.10.0", "0.9.0", "0.8.0", "0.7.0")),
        ("0.3.4", "0.3.4", ("0.12.0", "0.10.0", "0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.3.6")),
    ],
)
def test_a_release_without_a_lock_begins_with_that_of_one_like_it(
    version: str, base: str, edits: tuple[str, ...]
) -> None:
    assert (builds.lock_base(version), builds.edits_of(version)) == (base, edits)


@pytest.mark.parametrize("version", ["0.2.7", "0.19", "v0.19.0", "0.19.0-rc1", "../0.19.0"])
def test_what_cannot_be_driven_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="name one from 0.3.0 on; locked are 0.3.0, .* 0.19.0"):
        builds.release_named(version)


def test_what_a_build_needs_ships_with_the_kit() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    found = {
        path for pattern in shipped["quidnunc.impl.drivers.go_libp2p"] for path in builds.FOLDER.glob(pattern)
    }
    for version in builds.LOCKED:
        assert {*builds._sources(version), *builds._lock(version)} <= found
    assert {*(builds.FOLDER / "source").glob("*.go")} <= found


def test_a_release_without_go_is_named_with_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    listed = {each.name: each for each in available()}
    for name in (builds.NAME, RELEASE.name):
        says = "not built here: go is not on the PATH: install Go 1.26.6 or later; then quidnunc routers"
        assert not listed[name].available and says in listed[name].reason
    with pytest.raises(AdapterError, match="cannot be built here: go is not on the PATH: install Go 1.26.6"):
        build_release(builds.NAME, lambda _: None)
    with pytest.raises(NotBuiltError, match=f"to build it: quidnunc routers build {RELEASE.name}"):
        open_router(builds.NAME, Config(protocol="gossipsub-1.2", parameters=Parameters()))


def test_the_bare_name_builds_the_default_release(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str], failed: str, advice: str, *, folder: Path, environment: object) -> str:
        ran.append(command)
        assert {"main.go", "extended.go", "go.mod", "go.sum"} <= {path.name for path in folder.iterdir()}
        return "driver: go1.26.6\n\tpath\tx\n\tdep\tgithub.com/libp2p/go-msgio\tv0.3.0\th1:abc=\n"

    monkeypatch.setattr(go_builds, "run_to_end", run)
    monkeypatch.setattr(builds, "missing", lambda version: "")
    assert build_release(builds.NAME, lambda _: None) == str(RELEASE.folder)
    assert [command[1] for command in ran] == ["mod", "build", "version"]
    record = RELEASE.record
    assert record is not None and record["go"] == "go1.26.6"
    assert record["modules"] == {"github.com/libp2p/go-msgio": "v0.3.0"}
    build_release(RELEASE.name, lambda _: None)
    assert len(ran) == 3


def test_a_build_of_another_driver_is_not_this_one(cache: Path) -> None:
    other = Release(builds.NAME, builds.DEFAULT, "of an older kit")
    with building(other):
        pass
    assert other.record is not None and RELEASE.record is None
    with building(RELEASE):
        pass
    assert RELEASE.record is not None and other.record is None


def test_what_is_not_built_is_not_opened() -> None:
    with pytest.raises(NotBuiltError, match="to build it: quidnunc routers build go-libp2p-pubsub@9.9.9"):
        open_router(f"{builds.NAME}@9.9.9", Config(protocol="gossipsub-1.2", parameters=Parameters()))


# -- the driver ---------------------------------------------------------------------------------------------


@needs_build
def test_it_says_what_it_is(driver: Driver) -> None:
    assert (driver.hello.name, driver.hello.version) == (builds.NAME, builds.DEFAULT)
    assert "gossipsub-1.3" in driver.hello.protocols and "clock" in driver.hello.capabilities


@needs_build
def test_its_heartbeats_are_in_virtual_time(driver: Driver) -> None:
    driver.join(TOPIC)
    assert to(driver.connect(1, MESHSUB_1_2, False), "sub") == {1}
    driver.rpc(1, SUBSCRIBE)
    assert not to(driver.advance(499), "graft")
    assert to(driver.advance(1), "graft") == {1}
    assert driver.advance(3_600_000).t_ms == 3_600_500
    assert driver.state().state == {"topics": [TOPIC], "peers": [1], "waiting": []}


@needs_build
def test_two_runs_of_a_seed_are_equal_to_the_byte() -> None:
    def run() -> list[object]:
        driver = opened()
        replies = [driver.join(TOPIC), driver.connect(1, MESHSUB_1_2, False), driver.rpc(1, SUBSCRIBE)]
        replies += [driver.advance(500), driver.publish(TOPIC, b"x" * 2000), driver.leave(TOPIC)]
        driver.close()
        return [*replies]

    first, parked = run(), run()
    close_parked()
    assert first == parked == run()
    close_parked()


@needs_build
def test_one_process_serves_one_router_after_the_other() -> None:
    first = opened(explicit_peers=frozenset({2}))
    assert isinstance(first, ExecDriver)
    first.join(TOPIC)
    process = first.pipe.child.pid
    first.close()
    second = opened()
    assert isinstance(second, ExecDriver) and second.pipe.child.pid == process
    assert second.state().state["topics"] == []
    second.close()
    close_parked()


@needs_build
def test_a_stream_that_the_router_resets_is_a_closed_peer(driver: Driver) -> None:
    driver.connect(1, MESHSUB_1_2, False)
    assert driver.raw(1, b"\x03\xff\xff\xff").closed == (1,)
    assert driver.rpc(1, SUBSCRIBE).out == ()
    driver.disconnect(1)
    with pytest.raises(AdapterError, match="go-libp2p-pubsub, rpc at 0 ms: peer 1 is not connected"):
        driver.rpc(1, SUBSCRIBE)
    assert driver.connect(1, MESHSUB_1_2, True).closed == ()


@needs_build
def test_a_stalled_peer_is_written_to_when_it_reads_again(driver: Driver) -> None:
    driver.connect(1, MESHSUB_1_2, False)
    driver.stall(1)
    assert driver.join(TOPIC).out == ()
    assert to(driver.resume(1), "sub") == {1}


@needs_build
def test_a_crash_is_told_by_its_type_and_place() -> None:
    given = Parameters()
    # Parameters refuse it; the release takes it, and divides by it.
    object.__setattr__(given, "opportunistic_graft_ticks", 0)
    driver = open_router(builds.NAME, Config(protocol="gossipsub-1.2", parameters=given))
    driver.join(TOPIC)
    place = "go-libp2p-pubsub.(*GossipSubRouter).heartbeat"
    assert driver.advance(500).crashed == f"runtime error in {place}: integer divide by zero"
    assert driver.advance(500).crashed
    driver.close()
    # The process is kept, and has another router now.
    after = opened()
    after.join(TOPIC)
    assert not after.advance(500).crashed
    after.close()
    close_parked()


@needs_build
@pytest.mark.parametrize("version", ["0.10.0", "0.12.0", "0.16.0"])
def test_older_releases_are_driven_too(version: str) -> None:
    release = builds.release_named(version)
    if release.record is None:
        pytest.skip(f"{release.name} is not built here; to build it: {release.command}")
    # Builds of an older kit do not say it.
    assert release.record.get("locked", True) == (version in builds.LOCKED)
    spoken, stream = ("gossipsub-1.1", MESHSUB_1_1) if version == "0.10.0" else ("gossipsub-1.2", MESHSUB_1_2)
    driver = open_router(release.name, Config(protocol=spoken, parameters=Parameters()))
    driver.join(TOPIC)
    driver.connect(1, stream, False)
    driver.rpc(1, SUBSCRIBE)
    assert to(driver.advance(500), "graft") == {1}
    assert ("gossipsub-1.3" in driver.hello.protocols) == (version == "0.16.0")
    driver.close()
    close_parked()


@needs_build
def test_it_refuses_what_it_does_not_speak() -> None:
    for protocol in ("gossipsub-9", "gossipsub-1.0"):
        with pytest.raises(AdapterError, match=f'0.19.0 does not speak "{protocol}"'):
            opened(protocol)
    with pytest.raises(AdapterError, match="it is a pubsub router"):
        open_router(builds.NAME, Config(protocol="dog", parameters=DogParameters()))
    close_parked()


# -- partial messages ---------------------------------------------------------------------------------------


@needs_build
def test_partial_messages_reach_the_application_and_the_peer() -> None:
    driver = open_router(builds.NAME, Config(protocol="partial-messages-go", parameters=Parameters()))
    assert isinstance(driver, ExecDriver)
    flags = wire.RPC.SubOpts(subscribe=True, topicid=TOPIC, requestsPartial=True)
    named = wire.ControlMessage(extensions=wire.ControlExtensions(partialMessages=True))
    graft = wire.ControlMessage(graft=[wire.ControlGraft(topicID=TOPIC)])
    driver.join_partial(TOPIC, requests=True, supports=True)
    driver.connect(1, MESHSUB_1_3, False)
    driver.rpc(1, wire.RPC(subscriptions=[flags], control=named).SerializeToString())
    driver.rpc(1, wire.RPC(control=graft).SerializeToString())
    given = wire.PartialMessagesExtension(topicID=TOPIC, groupID=b"g", partsMetadata=b"m")
    (call,) = driver.rpc(1, wire.RPC(partial=given).SerializeToString()).partial
    assert (call.kind, call.peer, call.group, call.metadata, call.payload) == ("hand", 1, b"g", b"m", None)
    decided = PartialDecision(peer=1, payload=b"part", next_state=b"kept")
    reply = driver.publish_partial(TOPIC, b"g", [decided])
    (offer,) = reply.partial
    assert (offer.kind, offer.peer, offer.state, offer.requests) == ("offer", 1, None, True)
    ((peer, _, sent),) = reply.out
    assert peer == 1 and wire.RPC.FromString(sent).partial.partialMessage == b"part"
    (again,) = driver.publish_partial(TOPIC, b"g", []).partial
    assert again.state == b"kept"
    driver.close()
    close_parked()


@needs_build
@pytest.mark.parametrize("name", ["feedback-counts", "feedback-delivers"])
def test_what_is_said_of_parts_counts_as_the_model_has_it(name: str) -> None:
    """Mutant: the driver tells the router nothing."""
    spec = protocol_named("partial-messages-go")
    case = dict(bound_cases(spec.name))[name]
    parameters = parameters_of(case)
    config = Config(protocol=spec.name, parameters=parameters, profile="spec")
    run = play(events_of(case), WireSubject(open_router(builds.NAME, config), config), spec, parameters)
    assert not last_departures(run) and not run.blurred
    assert len(run.moments) >= len(events_of(case))
    close_parked()
