"""The list of routers, the names that open them, and the example of docs/adapters.md."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from quidnunc.impl import mutants, routers
from quidnunc.impl.drivers.py_libp2p import release as py_libp2p_release
from quidnunc.impl.mempool.driver import PROTOCOLS as MEMPOOL_PROTOCOLS
from quidnunc.impl.routers import WITHOUT_ADAPTER, available, mutants_by_name, open_router
from quidnunc.impl.seam import AdapterError, Config, Delivery
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import FLOODSUB
from quidnunc.model.parameters import DogParameters, Parameters

PUBSUB = Config(protocol="gossipsub-1.2", parameters=Parameters())
GUIDE = Path(__file__).parents[2] / "docs" / "adapters.md"


def test_list_names_every_router_once_with_a_reason_for_each_absence() -> None:
    listed = {router.name: router for router in available()}
    assert len(listed) == len(available())
    assert listed["ours"].available and listed["ours"].kind == "ours"
    assert {name for name, router in listed.items() if router.kind == "mutant"} == {
        f"ours:{name}" for name in mutants_by_name()
    }
    assert len(mutants_by_name()) > 20
    for name in WITHOUT_ADAPTER:
        assert not listed[name].available and listed[name].reason.startswith("no adapter yet")
    assert {router.name for router in listed.values() if router.kind == "external"} == {
        "exec:COMMAND",
        "python:MODULE:FACTORY",
    }
    assert all(router.available or router.reason for router in listed.values())


def test_no_planted_bug_hides_behind_another_of_its_name() -> None:
    tables = Path(mutants.__file__).parent.glob("*.toml")
    rows = [name for table in tables for name in tomllib.loads(table.read_text("utf-8"))]
    assert {name for name in rows if rows.count(name) > 1} == set()
    assert {*rows} <= {*mutants_by_name()}


def test_py_libp2p_is_listed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    (real,) = [router for router in available() if router.name == "py-libp2p"]
    assert real.available == (py_libp2p_release.reason_unavailable() == "")
    assert bool(real.version) == real.available
    monkeypatch.setattr(py_libp2p_release, "reason_unavailable", lambda: "it is not installed")
    monkeypatch.setattr(py_libp2p_release, "installed_version", lambda: "")
    (absent,) = [router for router in available() if router.name == "py-libp2p"]
    assert (absent.available, absent.version, absent.reason) == (False, "", "it is not installed")


def test_ours_and_its_mutants_open() -> None:
    assert open_router("ours", PUBSUB).hello.name == "ours"
    assert open_router("ours", Config(protocol="dog", parameters=DogParameters())).hello.name == "ours"
    for name, mutant in mutants_by_name().items():
        config = (
            Config(protocol=mutant.protocol, parameters=DogParameters())
            if mutant.protocol in MEMPOOL_PROTOCOLS
            else (Config(protocol=mutant.protocol, parameters=Parameters()))
        )
        driver = open_router(f"ours:{name}", config)
        assert driver.hello.name == f"ours:{name}"
        driver.close()


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        (
            "theirs",
            ValueError,
            "no router 'theirs': there are ours, ours:MUTANT, py-libp2p, py-libp2p@VERSION",
        ),
        ("ours:no-such", ValueError, "no mutant 'no-such' of ours; .*routers --all` lists them"),
        ("ours:cut-at-d-hihg", ValueError, "did you mean ours:cut-at-d-high"),
        ("ours:", ValueError, "no mutant '' of ours"),
        ("py-libp2p:x", ValueError, "no router 'py-libp2p:x'"),
        ("rust-libp2p", AdapterError, "rust-libp2p has no adapter yet; write one as docs/adapters.md says"),
        ("exec:", ValueError, "no command given"),
        ("python:toy", ValueError, "write python:MODULE:FACTORY"),
        ("python::x", ValueError, "write python:MODULE:FACTORY"),
        (
            "python:no_such_module_here:x",
            AdapterError,
            "cannot import 'no_such_module_here'.*run from its folder",
        ),
        ("python:json:nothing", AdapterError, "json has no callable 'nothing'"),
        ("python:builtins:id", AdapterError, "id gave a int without `hello`"),
    ],
)
def test_names_that_open_nothing(spec: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        open_router(spec, PUBSUB)


# The example of the guide.


def toy_source() -> str:
    (source,) = re.findall(r"```python\n(# toy_router.py\n.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    return str(source)


@pytest.fixture
def in_folder_of_toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toy_router.py").write_text(toy_source())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "toy_router", raising=False)
    return tmp_path


@pytest.mark.parametrize("host", [None, "sidecar_host"])
def test_the_example_of_the_guide_works(in_folder_of_toy: Path, host: str | None) -> None:
    path = list(sys.path)
    spec = "python:toy_router:open_toy"
    if host:
        spec = f"exec:{sys.executable} -m quidnunc.impl.sidecar_host {spec}"
    driver = open_router(spec, Config(protocol="floodsub", parameters=Parameters()))
    try:
        assert driver.hello.name == "toy" and driver.hello.protocols == ("floodsub",)
        driver.connect(1, FLOODSUB, False)
        (out,) = driver.join("a").out
        assert wire.RPC.FromString(out[2]).subscriptions[0].topicid == "a"
        driver.connect(2, FLOODSUB, False)
        subscribe = wire.RPC(subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid="a")])
        driver.rpc(2, subscribe.SerializeToString())
        reply = driver.rpc(1, wire.RPC(publish=[wire.Message(topic="a", data=b"x")]).SerializeToString())
        assert reply.delivered == (Delivery(topic="a", data=b"x"),)
        assert [(peer, channel) for peer, channel, _ in reply.out] == [(2, 0)]
        assert driver.advance(5).t_ms == 5
        with pytest.raises(AdapterError, match="'stall' is a request that it cannot do"):
            driver.stall(1)
    finally:
        driver.close()
        close_parked()
    assert sys.path == path


def test_the_example_is_as_short_as_the_guide_says() -> None:
    lines = [line for line in toy_source().splitlines() if line.strip() and not line.startswith("#")]
    assert 40 <= len(lines) <= 45


def test_the_guide_names_what_there_is() -> None:
    text = GUIDE.read_text()
    from quidnunc.impl.drivers.py_libp2p.release import ADDITIONS
    from quidnunc.impl.seam import CAPABILITIES
    from quidnunc.impl.seam.requests import REQUESTS

    assert all(f"`{request}`" in text for request in (*REQUESTS, "init"))
    assert all(f"`{capability}`" in text for capability in CAPABILITIES)
    assert ADDITIONS
    assert routers.EXTERNAL == ("exec:COMMAND", "python:MODULE:FACTORY")
