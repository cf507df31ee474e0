"""Releases in environments of their own: built whole or not at all, and only on request."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from quidnunc.impl.drivers.builds import Release, building
from quidnunc.impl.drivers.py_libp2p import builds
from quidnunc.impl.routers import available, build_release, open_router
from quidnunc.impl.seam import AdapterError, Config, NotBuiltError
from quidnunc.impl.seam.cache import cache_folder
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.model.events import MESHSUB_1_2
from quidnunc.model.parameters import Parameters
from tests.helpers.py_libp2p_node import SUBSCRIBE, TOPIC, needs_libp2p, to

RELEASE = Release("py-libp2p", "0.2.8")
WHEEL = b"a wheel"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The commands that a build would have run; each leaves the files that the real one leaves."""
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str], failed: str) -> None:
        ran.append(command)
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        elif "download" in command:
            folder = Path(command[command.index("--dest") + 1])
            folder.mkdir()
            (folder / "libp2p-0.2.8-py3-none-any.whl").write_bytes(WHEEL)
        else:
            about = {"metadata": {"name": "libp2p", "version": "0.2.8"}}
            told = about | {"download_info": {"archive_info": {"hashes": {"sha256": "abc"}}}}
            Path(command[command.index("--report") + 1]).write_text(json.dumps({"install": [told]}))

    monkeypatch.setattr(builds, "_run", run)
    monkeypatch.setitem(builds.WHEELS, "0.2.8", hashlib.sha256(WHEEL).hexdigest())
    return ran


def test_the_cache_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path
    monkeypatch.delenv("QUIDNUNC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert RELEASE.folder == Path("/elsewhere/quidnunc/routers/py-libp2p/0.2.8")


def test_a_build_leaves_its_folder_and_what_is_in_it(pip: list[Sequence[str]], cache: Path) -> None:
    said: list[str] = []
    folder = build_release("py-libp2p@0.2.8", said.append)
    assert folder == str(cache / "routers" / "py-libp2p" / "0.2.8")
    record = RELEASE.record
    assert record is not None and RELEASE.needed() == RELEASE.folder
    assert record["packages"] == {"libp2p": {"version": "0.2.8", "sha256": "abc"}}
    assert len(said) == 3 and len(pip) == 3
    assert build_release("py-libp2p@0.2.8", said.append) == folder and len(pip) == 3
    assert [each.name for each in available() if each.kind == "release" and each.available] == [RELEASE.name]


def test_another_wheel_than_the_released_one_is_refused(
    pip: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(builds.WHEELS, "0.2.8", "0" * 64)
    with pytest.raises(AdapterError, match="libp2p-0.2.8-py3-none-any.whl has SHA-256 .*another file"):
        build_release("py-libp2p@0.2.8", lambda _: None)
    assert len(pip) == 2 and list(RELEASE.folder.parent.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_build_that_ends_early_leaves_nothing(error: type[BaseException]) -> None:
    with pytest.raises(error), building(RELEASE) as build:
        (build.folder / "half").touch()
        raise error
    assert RELEASE.record is None and list(RELEASE.folder.parent.iterdir()) == []


def test_a_folder_without_a_record_is_not_used_and_is_replaced() -> None:
    RELEASE.folder.mkdir(parents=True)
    (RELEASE.folder / "half").touch()
    with pytest.raises(NotBuiltError):
        RELEASE.needed()
    with building(RELEASE) as build:
        (build.folder / "whole").touch()
    assert {each.name for each in RELEASE.needed().iterdir()} == {"whole", "build.json"}


def test_the_first_of_two_builds_stays() -> None:
    with building(RELEASE) as first, building(RELEASE) as second:
        (first.folder / "first").touch()
        (second.folder / "second").touch()
    assert {each.name for each in RELEASE.needed().iterdir()} == {"second", "build.json"}
    assert len(list(RELEASE.folder.parent.iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_named(cache: Path) -> None:
    (cache / "routers").touch()
    with pytest.raises(AdapterError, match="cannot write to .*QUIDNUNC_CACHE"), building(RELEASE):
        pass


def test_nothing_is_built_by_opening(pip: list[Sequence[str]]) -> None:
    with pytest.raises(NotBuiltError, match="to build it: quidnunc routers build py-libp2p@0.2.8"):
        open_router("py-libp2p@0.2.8", Config(protocol="gossipsub-1.0", parameters=Parameters()))
    assert pip == []
    for name in ("py-libp2p@9", "py-libp2p@../x"):
        with pytest.raises(ValueError, match="no release .* of py-libp2p: there are 0.2.0, "):
            open_router(name, Config())
    with pytest.raises(ValueError, match="'ours@1' cannot be built: write py-libp2p@VERSION or "):
        build_release("ours@1", lambda _: None)


def test_what_a_command_said_last_is_told() -> None:
    script = "print('one\\ntwo\\nERROR: no network'); raise SystemExit(1)"
    with pytest.raises(AdapterError, match=r"^pip failed; it ended with:(.|\n)*ERROR: no network\n.*network"):
        builds._run([sys.executable, "-c", script], "pip failed")
    with pytest.raises(AdapterError, match="cannot start /no/such"):
        builds._run(["/no/such"], "pip failed")


@needs_libp2p
def test_the_kit_is_driven_from_its_folders_in_another_environment() -> None:
    python = RELEASE.folder / "bin" / "python"
    with building(RELEASE) as build:
        (build.folder / "bin").mkdir()
        script = build.folder / "bin" / "python"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        script.chmod(0o755)
    assert python.exists()
    driver = open_router(RELEASE.name, Config(protocol="gossipsub-1.2", parameters=Parameters()))
    try:
        assert driver.hello.name == "py-libp2p"
        driver.join(TOPIC)
        driver.connect(1, MESHSUB_1_2, False)
        driver.rpc(1, SUBSCRIBE)
        assert to(driver.advance(500), "graft") == {1}
    finally:
        driver.close()
        close_parked()
