"""The releases of go-libp2p-pubsub, each compiled with the driver in `source` and driven as a process.

`locks/VERSION` locks the modules of a release: its go.sum has the digest of each one that is built in.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from quidnunc.impl.drivers.builds import Release
from quidnunc.impl.drivers.go_builds import DRIVER, compile_driver, digest_of, missing_go
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


def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in RELEASES:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(RELEASES)}")
    return Release(NAME, version, digest_of(tuple(_files(version))))


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(release_named(version) for version in RELEASES)


def missing(version: str) -> str:
    """Go, where it is not on the PATH."""
    return missing_go(RELEASES[version]["go"])


def open_release(version: str, config: Config) -> Driver:
    """A router of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    return open_exec(shlex.quote(str(release_named(version).needed() / DRIVER)), config)


def build(version: str, progress: Callable[[str], None]) -> Release:
    """Compile a release with the driver. Raises ValueError for an unknown one, AdapterError where Go cannot
    fetch its modules, one is not as it was locked, or Go cannot compile them."""
    return compile_driver(release_named(version), _files(version), progress)


def _files(version: str) -> list[Path]:
    lock = FOLDER / "locks" / version
    edits = RELEASES[version].get("edits", "").split()
    names = (*COMMON, f"{RELEASES[version]['variant']}.go", *(["older.go"] if edits else []))
    texts = [FOLDER / "edits" / f"{name}.toml" for name in edits]
    return [*(FOLDER / "source" / name for name in names), lock / "go.mod", lock / "go.sum", *texts]
