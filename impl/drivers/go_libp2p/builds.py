"""The releases of go-libp2p-pubsub, each compiled with the driver in `source` and driven as a process.

`locks/VERSION` locks the modules of a release: its go.sum has the digest of each one that is built in.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path

from quidnunc.impl.drivers.builds import Release, building, run_to_end
from quidnunc.impl.seam import Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "go-libp2p-pubsub"

FOLDER = Path(__file__).parent

RELEASES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (FOLDER / "builds.toml").read_text(encoding="utf-8")
)

DEFAULT = "0.19.0"
"""The newest one that the Go proxy has, in November 2026."""

COMMON = ("main.go", "host.go", "parameters.go", "router.go", "seam.go")
"""Of the driver's files, those that every release is built with."""

NEXT = "check the network, and that go reaches a module proxy (GOPROXY), then build again"

DRIVER = "driver"
"""The program of a build."""


def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in RELEASES:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(RELEASES)}")
    return Release(NAME, version, _digest(version))


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(release_named(version) for version in RELEASES)


def missing(version: str) -> str:
    """Go, where it is not on the PATH."""
    if shutil.which("go"):
        return ""
    return f"go is not on the PATH: install Go {RELEASES[version]['go']} or later"


def open_release(version: str, config: Config) -> Driver:
    """A router of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    return open_exec(shlex.quote(str(release_named(version).needed() / DRIVER)), config)


def build(version: str, progress: Callable[[str], None]) -> Release:
    """Compile a release with the driver. Raises ValueError for an unknown one, AdapterError where Go cannot
    fetch its modules, one is not as it was locked, or Go cannot compile them."""
    release = release_named(version)
    with building(release) as build:
        source = build.folder / "source"
        source.mkdir()
        for path in _files(version):
            shutil.copy(path, source)
        # The lock alone decides what is built in, whatever this environment says of modules.
        environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
        progress(f"fetching {NAME} {version} and what it needs")
        go = partial(_go, release, source, environment)
        go("mod", "download")
        progress("compiling it with the driver")
        program = str(build.folder / DRIVER)
        go("build", "-trimpath", "-ldflags", f"-s -X main.version={version}", "-o", program, ".")
        said = go("version", "-m", program)
        build.record["go"], build.record["modules"] = said.split()[1], _modules(said)
    return release


def _go(release: Release, folder: Path, environment: Mapping[str, str], *words: str) -> str:
    command = [str(shutil.which("go") or "go"), *words]
    return run_to_end(command, f"{release.name}: go failed", NEXT, folder=folder, environment=environment)


def _files(version: str) -> list[Path]:
    lock = FOLDER / "locks" / version
    names = (*COMMON, f"{RELEASES[version]['variant']}.go")
    return [*(FOLDER / "source" / name for name in names), lock / "go.mod", lock / "go.sum"]


@lru_cache(maxsize=64)
def _digest(version: str) -> str:
    """Of the driver's sources and the lock: a build with others is not this one."""
    digest = hashlib.sha256()
    for path in _files(version):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _modules(said: str) -> dict[str, str]:
    """By module, its version, from `go version -m`."""
    rows = [line.split() for line in said.splitlines()]
    return {row[1]: row[2] for row in rows if row and row[0] == "dep"}
