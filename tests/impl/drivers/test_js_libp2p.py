"""The js-libp2p driver: its builds, and what its router does behind the seam."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from quidnunc.impl.drivers.js_libp2p import builds
from quidnunc.impl.routers import build_release, built_routers, open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, NotBuiltError
from quidnunc.impl.seam.sidecar import ExecDriver, close_parked
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import frame
from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signed_records import record_of
from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_2
from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers import js_libp2p_node
from tests.helpers.js_libp2p_node import OpenJs, needs_js_libp2p, opening
from tests.helpers.py_libp2p_node import (
    GRAFT,
    SUBSCRIBE,
    TOPIC,
    control,
    message,
    origin,
    published,
    to,
    words,
)

started = pytest.fixture(opening)


def members(driver: Driver, *peers: int, protocol: str = MESHSUB_1_2) -> None:
    for peer in peers:
        driver.connect(peer, protocol, False)
        driver.rpc(peer, SUBSCRIBE)


def meshed(driver: Driver, *peers: int) -> None:
    driver.join(TOPIC)
    members(driver, *peers)
    for peer in peers:
        driver.rpc(peer, GRAFT)


# Builds.


@pytest.fixture
def npm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Sequence[str]]:
    """An empty cache, and the commands that a build would have run."""
    ran: list[Sequence[str]] = []
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    monkeypatch.setattr(builds, "missing", lambda version: "")
    monkeypatch.setattr(builds, "run_to_end", lambda command, *_, **__: ran.append(command))
    return ran


def test_a_build_installs_what_the_lock_says_and_runs_no_script(npm: list[Sequence[str]]) -> None:
    folder = Path(build_release("js-libp2p", lambda _: None))
    assert folder.name == builds.DEFAULT
    ((program, action, *flags),) = npm
    assert (program, action) == ("npm", "ci") and "--ignore-scripts" in flags
    locked = json.loads((folder / "package-lock.json").read_text())
    assert json.loads((folder / "package.json").read_text()) == locked["packages"][""]
    record = builds.release_named(builds.DEFAULT).record
    assert record is not None and isinstance(record["packages"], dict)
    assert record["packages"]["@libp2p/gossipsub"]["version"] == builds.DEFAULT
    assert json.dumps(builds.DEFAULT) in (folder / "load.mjs").read_text()


def test_a_release_without_a_lock_has_companions_that_suit_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = list[Sequence[str]]()
    asks = {"@libp2p/crypto": "^4.0.0", "@libp2p/peer-id": "^4.0.5", "denque": "^2.1.0"}

    def run(command: Sequence[str], *_: object, folder: Path, **__: object) -> str:
        ran.append(command)
        if command[1] == "install":
            (folder / "package-lock.json").write_text(
                '{"packages": {"": {}, "node_modules/denque": {"version": "2"}}}'
            )
        return json.dumps(asks)

    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    monkeypatch.setattr(builds, "missing", lambda version: "")
    monkeypatch.setattr(builds, "run_to_end", run)
    folder = Path(build_release("js-libp2p@13.2.0", lambda _: None))
    assert [command[1] for command in ran] == ["view", "install"] and "--ignore-scripts" in ran[1]
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    assert wanted["@chainsafe/libp2p-gossipsub"] == "13.2.0" and wanted["@libp2p/peer-id"] == "^4.0.5"
    assert wanted["@libp2p/peer-record"] == "^7.0.0" and "denque" not in wanted
    assert (
        wanted["@sinonjs/fake-timers"] == builds._locked("9.1.0")[""]["dependencies"]["@sinonjs/fake-timers"]
    )
    record = builds.release_named("13.2.0").record
    assert (
        record is not None
        and record["locked"] is False
        and record["packages"] == {"denque": {"version": "2"}}
    )
    assert "13.2.0" in [each.version for each in builds.releases()]


def test_what_was_built_of_another_lock_is_built_again(npm: list[Sequence[str]]) -> None:
    file = Path(build_release("js-libp2p", lambda _: None)) / "build.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"source": "another lock"}))
    assert builds.release_named(builds.DEFAULT).record is None
    build_release("js-libp2p", lambda _: None)
    assert len(npm) == 2 and builds.release_named(builds.DEFAULT).record


@pytest.mark.parametrize("version", builds.LOCKED)
def test_a_lock_pins_every_package_and_names_no_place_to_take_it_from(version: str) -> None:
    lock = Path(builds.__file__).with_name("locks") / f"{version}.json"
    packages = json.loads(lock.read_text())["packages"]
    assert packages.pop("")["dependencies"][builds.package_of(version)] == version
    assert len(packages) > 20
    for path, each in packages.items():
        assert each["integrity"].startswith("sha512-"), path
        assert re.match(r"\d+\.\d+\.\d+", each["version"]) and "resolved" not in each, path


def test_releases_are_in_order_and_the_bare_name_is_one() -> None:
    assert builds.DEFAULT in builds.LOCKED
    assert {*builds.LOCKED} <= {each.version for each in builds.releases()}
    assert built_routers()["js-libp2p"] is builds
    with pytest.raises(ValueError, match="no release '1' of js-libp2p: name one from 0.11.0 on; .*17.1.1"):
        open_router("js-libp2p@1", Config())


def test_a_release_that_imports_libp2p_is_refused() -> None:
    with pytest.raises(ValueError, match="js-libp2p@0.14.1 cannot be driven: it imports libp2p"):
        open_router("js-libp2p@0.14.1", Config())


def test_a_folder_of_what_cannot_be_driven_is_not_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    for name in ("0.14.1", "0.1.0", "12.0.0", ".17.1.1-half", "notes"):
        (tmp_path / "routers" / "js-libp2p" / name).mkdir(parents=True)
    assert [each.version for each in builds.releases() if each.version not in builds.LOCKED] == ["12.0.0"]


def test_nothing_is_built_by_opening(npm: list[Sequence[str]]) -> None:
    with pytest.raises(NotBuiltError, match="to build it: quidnunc routers build js-libp2p@17.1.1"):
        open_router("js-libp2p", Config(parameters=Parameters()))
    assert npm == []


def test_what_is_missing_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert builds.missing(builds.DEFAULT) == "" or "install Node.js" in builds.missing(builds.DEFAULT)
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    assert builds.missing(builds.DEFAULT).startswith(
        "there is no node and no npm on the PATH; install Node.js"
    )
    monkeypatch.setattr(shutil, "which", lambda tool: f"/bin/{tool}")
    for version, lacks in (("v18.19.0", True), ("", True), ("v20.20.2", False), ("v100.1.0", False)):
        monkeypatch.setattr(builds, "_node_version", lambda node, version=version: version)
        assert builds.missing(builds.DEFAULT).startswith("this Node.js is ") == lacks


def test_a_build_without_node_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(AdapterError, match="js-libp2p@17.1.1 cannot be built here: there is no node"):
        build_release("js-libp2p", lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_the_skip_of_what_needs_the_release_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    monkeypatch.setattr(builds, "missing", lambda version: "")
    said = js_libp2p_node.reason_absent()
    assert said == "js-libp2p@17.1.1 is not built here: quidnunc routers build js-libp2p@17.1.1"
    monkeypatch.setattr(builds, "missing", lambda version: "there is no node")
    assert js_libp2p_node.reason_absent() == "there is no node"
    assert needs_js_libp2p.kwargs["reason"]


# Time and chance.


@needs_js_libp2p
def test_heartbeats_fall_where_the_seam_promises(started: OpenJs) -> None:
    driver = started(heartbeat_delay_ms=700, heartbeat_interval_ms=1300)
    driver.join(TOPIC)
    members(driver, 1)
    assert not to(driver.advance(699), "graft")
    assert to(driver.advance(1), "graft") == {1}
    members(driver, 2)
    assert not to(driver.advance(1299), "graft")
    reply = driver.advance(1)
    assert (reply.t_ms, to(reply, "graft")) == (2000, {2})


@needs_js_libp2p
def test_one_long_advance_is_many_short_ones(started: OpenJs) -> None:
    outputs = []
    for steps in ((7000,), (500, 1000, 1, 999, 1000, 3500)):
        driver = started(seed=5)
        driver.join(TOPIC)
        members(driver, *range(1, 21))
        driver.publish(TOPIC, b"first")
        outputs.append([out for ms in steps for out in driver.advance(ms).out])
        assert driver.advance(0).t_ms == 7000
        driver.close()
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 14


@needs_js_libp2p
def test_a_run_is_the_same_after_others_in_the_process_and_in_another_one(started: OpenJs) -> None:
    def outputs(seed: int, d: int) -> list[object]:
        driver = started(seed=seed, d=d)
        driver.join(TOPIC)
        members(driver, *range(1, 30))
        said = [driver.publish(TOPIC, b"one").out, driver.publish(TOPIC, b"two").out]
        said += [driver.advance(1000).out for _ in range(4)]
        driver.close()
        return [*said]

    first = outputs(1, 6)
    assert isinstance(started.drivers[0], ExecDriver) and started.drivers[0].pipe.child.poll() is None
    assert outputs(2, 5) != first
    assert outputs(1, 6) == first
    assert len({driver.pipe.child.pid for driver in started.drivers if isinstance(driver, ExecDriver)}) == 1
    close_parked()
    assert outputs(1, 6) == first


# What the router is given.


@needs_js_libp2p
def test_the_hello_says_what_is_so(started: OpenJs) -> None:
    driver = started(mcache_len=4, profile="shipped")
    assert (driver.hello.name, driver.hello.version) == ("js-libp2p", builds.DEFAULT)
    assert driver.hello.protocols == ("gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2")
    assert driver.hello.fixed["idontwant_heartbeats"] == 4
    with pytest.raises(AdapterError, match="no protocol gossipsub-1.3: there are gossipsub-1.0"):
        started(protocol="gossipsub-1.3")


@needs_js_libp2p
def test_additions_are_on_as_shipped_and_off_by_the_spec(started: OpenJs) -> None:
    off, on = started(), started(profile="shipped")
    assert on.state().state["additions_off"] == []
    assert set(off.state().state["additions_off"]) == {*off.hello.additions} == {*on.hello.additions}  # type: ignore[call-overload]
    for driver, grafted in ((off, set()), (on, {1})):
        driver.join(TOPIC)
        driver.connect(1, MESHSUB_1_2, False)
        assert to(driver.rpc(1, SUBSCRIBE), "graft") == grafted


@needs_js_libp2p
def test_one_addition_is_switched_off_alone(started: OpenJs) -> None:
    names = {*started(profile="shipped").hello.additions}
    assert names >= {"score-cache", "accept-list", "graft-on-subscribe", "publish-to-d"}
    for name in names:
        driver = started(profile="shipped", without=(name,))
        assert driver.state().state["additions_off"] == [name]
        assert [what for what in driver.hello.switched if f"switches off {name}:" in what]
    with pytest.raises(AdapterError, match="no addition nosuch; there are score-cache"):
        started(profile="shipped", without=("nosuch",))


@needs_js_libp2p
@pytest.mark.parametrize("kept", ["score-cache", "accept-list"])
def test_a_score_counts_at_once_where_no_addition_remembers_another(started: OpenJs, kept: str) -> None:
    subscribed = wire.RPC(subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid="u")]).SerializeToString()
    others = tuple({"score-cache", "accept-list"} - {kept})
    for without, is_taken in ((("score-cache", "accept-list"), False), (others, True)):
        driver = started(profile="shipped", without=without)
        driver.join("u")
        driver.connect(1, MESHSUB_1_2, False)
        driver.rpc(1, GRAFT)
        driver.score(1, -100)
        driver.rpc(1, subscribed)
        sent = driver.publish("u", b"data")
        # The gate of own messages would refuse the peer as well.
        driver.score(1, 0)
        driver.advance(2000)
        assert (to(sent, "message") | to(driver.publish("u", b"more"), "message") == {1}) == is_taken


@needs_js_libp2p
def test_own_messages_reach_beyond_a_small_mesh_unless_that_is_off(started: OpenJs) -> None:
    for without, sent_to in (((), {1, 2, 3}), (("publish-to-d",), {1})):
        driver = started(profile="shipped", without=("graft-on-subscribe", *without), flood_publish=False)
        driver.join(TOPIC)
        members(driver, 1, 2, 3)
        driver.rpc(1, GRAFT)
        assert to(driver.publish(TOPIC, b"data"), "message") == sent_to


@needs_js_libp2p
@pytest.mark.parametrize("kind", ["origin", "content", "hex"])
def test_messages_are_served_under_the_id_that_is_asked_for(started: OpenJs, kind: str) -> None:
    from hashlib import sha256

    driver = started(message_id=kind)
    meshed(driver, 1)
    made = message(1, 1)
    assert [each.data for each in driver.rpc(1, published(made)).delivered] == [b"data"]
    content = sha256(b"data").digest()
    known = {"origin": origin(made), "content": content, "hex": content.hex().encode()}
    for name, id_ in known.items():
        asked = control(iwant=[wire.ControlIWant(messageIDs=[id_])])
        assert (to(driver.rpc(1, asked), "message") == {1}) == (name == kind)


@needs_js_libp2p
def test_peers_of_old_protocols_are_spoken_to_in_theirs(started: OpenJs) -> None:
    driver = started()
    meshed(driver, 1)
    driver.connect(2, MESHSUB_1_0, False)
    driver.rpc(2, SUBSCRIBE)
    driver.rpc(2, GRAFT)
    members(driver, 3, protocol=FLOODSUB)
    said = driver.rpc(1, published(message(1, 1)))
    assert to(said, "message") == {2, 3} and to(said, "idontwant") == set()
    with pytest.raises(AdapterError, match="no protocol in common: it offers /meshsub/1.2.0"):
        driver.connect(4, "/meshsub/1.3.0", False)


@needs_js_libp2p
def test_a_large_message_is_read_and_passed_on(started: OpenJs) -> None:
    driver = started()
    meshed(driver, 1, 2)
    data = bytes(300_000)
    reply = driver.rpc(1, published(message(1, 1, data)))
    assert [each.data for each in reply.delivered] == [data]
    assert to(reply, "message") == {2}


@needs_js_libp2p
def test_a_peer_that_stops_reading_gets_everything_later(started: OpenJs) -> None:
    driver = started()
    meshed(driver, 1, 2)
    driver.stall(2)
    assert not to(driver.rpc(1, published(message(1, 1))), "message")
    assert to(driver.resume(2), "message") == {2}


@needs_js_libp2p
def test_messages_wait_for_their_verdict(started: OpenJs) -> None:
    driver = started(validation="manual")
    meshed(driver, 1, 2)
    for number, judgement in enumerate(("accept", "reject", "ignore")):
        made = message(1, number)
        reply = driver.rpc(1, published(made))
        assert not reply.delivered and not to(reply, "message")
        reply = driver.verdict(origin(made), judgement)  # type: ignore[arg-type]
        assert len(reply.delivered) == (judgement == "accept") == len(to(reply, "message"))
        assert driver.verdict(origin(made), "accept").delivered == ()


@needs_js_libp2p
def test_explicit_peers_are_dialled_and_not_grafted(started: OpenJs) -> None:
    driver = started(explicit_peers=frozenset({7}))
    driver.join(TOPIC)
    assert driver.advance(1500).dials == (7,)
    members(driver, 7)
    assert to(driver.advance(2000), "graft") == set()
    driver = started(explicit_peers=frozenset({7, 8}))
    driver.connect(7, MESHSUB_1_2, False)
    assert driver.advance(1500).dials == (8,)


@needs_js_libp2p
def test_a_peer_is_dialled_by_its_own_record_alone(started: OpenJs) -> None:
    driver = started(prune_peers=16)
    meshed(driver, 1)
    offered = [(5, b""), (6, record_of(6)), (7, record_of(6)), (8, b"junk"), (1, b"")]
    infos = [wire.PeerInfo(peerID=peer_id(peer), signedPeerRecord=record or None) for peer, record in offered]
    reply = driver.rpc(1, control(prune=[wire.ControlPrune(topicID=TOPIC, peers=infos)]))
    assert {*reply.dials} == {5, 6}


@needs_js_libp2p
def test_peers_of_one_address_share_an_ip(started: OpenJs) -> None:
    scores = ScoreParameters(ip_colocation_factor_weight=-1.0, topics=(TopicScoreParameters(topic=TOPIC),))
    driver = started(scores=scores)
    assert isinstance(driver, ExecDriver)
    for peer, address in ((1, 1), (2, 1), (3, 2)):
        driver.connect(peer, MESHSUB_1_2, False, address)
    assert driver.state().state["scores"] == {"1": -1, "2": -1, "3": 0}


@needs_js_libp2p
def test_a_peer_whose_stream_the_router_closes_counts_as_gone(started: OpenJs) -> None:
    driver = started()
    meshed(driver, 1)
    assert driver.raw(1, frame(b"no RPC")).closed == ()
    assert driver.raw(1, b"\xff" * 20).closed == (1,)
    assert words(driver.rpc(1, GRAFT)) == []
    driver.disconnect(1)
    with pytest.raises(AdapterError, match="no peer 1; connect it first"):
        driver.rpc(1, GRAFT)
    members(driver, 1)
    assert to(driver.advance(62_000), "graft") == {1}


@needs_js_libp2p
@pytest.mark.parametrize(
    ("thrown", "says"),
    [
        (
            "subscribe () { throw new TypeError('of 0123456789abcdef0') }",
            "TypeError: of ...",
        ),
        ("subscribe () { throw new Error('at once') }", "Error: at once"),
        ("subscribe () { setTimeout(() => { throw new RangeError('late') }, 5) }", "RangeError: late"),
        ("subscribe () { Promise.reject(new Error('unheard')) }", "Error: unheard"),
    ],
)
def test_a_router_that_fails_is_told_without_bytes(tmp_path: Path, thrown: str, says: str) -> None:
    """The release's own packages, with another router in place of the released one."""
    built = builds.release_named(builds.DEFAULT).needed() / "load.mjs"
    (tmp_path / "load.mjs").write_text(
        f"import {{ load as real }} from {json.dumps(built.as_uri())}\n"
        "class Stub extends EventTarget {\n"
        "  score = { params: {} }; status = {}; acceptFromWhitelist = {}\n"
        "  async start () {}\n  async stop () {}\n  runHeartbeat () {}\n"
        f"  {thrown}\n}}\n"
        "export const load = async (name) =>\n"
        "  name === '@libp2p/gossipsub' ? { gossipsub: () => () => new Stub() } : await real(name)\n"
        "export const version = '99.0.0'\n"
    )
    program = Path(builds.__file__).with_name("driver.mjs")
    driver = open_router(
        f"exec:node {program} {tmp_path}", Config(parameters=Parameters(), profile="shipped")
    )
    try:
        driver.join(TOPIC)
        assert driver.advance(10).crashed == says
    finally:
        driver.close()
        close_parked()


def test_a_release_that_a_registry_does_not_have_is_no_fault_of_the_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def failing(command: Sequence[str], failed: str, advice: str, *, folder: Path) -> str:
        raise AdapterError(f"{failed}; it ended with: No match found for version 99.0.0\nnext: {advice}")

    monkeypatch.setattr(builds, "run_to_end", failing)
    with pytest.raises(AdapterError, match=r"npm has no @libp2p/gossipsub 99\.0\.0; locked are .*17\.1\.1"):
        builds._chosen(builds.release_named("99.0.0"), tmp_path)
    monkeypatch.setattr(builds, "UNKNOWN_VERSION", "something else")
    with pytest.raises(AdapterError, match="check the network"):
        builds._chosen(builds.release_named("99.0.0"), tmp_path)
