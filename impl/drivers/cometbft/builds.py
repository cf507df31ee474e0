"""The releases of CometBFT, each compiled with the driver in `source` and driven as a process.

`locks/VERSION` locks the modules of a release: its go.sum has the digest of each one that is built in.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from quidnunc.impl.drivers.builds import Release
from quidnunc.impl.drivers.go_builds import DRIVER, compile_driver, digest_of, missing_go
from quidnunc.impl.seam import Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "cometbft"

FOLDER = Path(__file__).parent

RELEASES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (FOLDER / "builds.toml").read_text(encoding="utf-8")
)

DEFAULT = "2.0.0-rc1"
"""The last one that has DOG: later releases went back to the code of v0.38."""

SOURCES = ("main.go", "network.go", "node.go", "peer.go", "seam.go")


@lru_cache(maxsize=64)
def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in RELEASES:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(RELEASES)}")
    return Release(NAME, version, digest_of((*_sources(), *_lock(version))))


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(release_named(version) for version in RELEASES)


def missing(version: str) -> str:
    """Go, where it is not on the PATH."""
    return missing_go(RELEASES[version]["go"])


def open_release(version: str, config: Config) -> Driver:
    """A reactor of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    return open_exec(shlex.quote(str(release_named(version).needed() / DRIVER)), config)


def build(version: str, progress: Callable[[str], None]) -> Release:
    """Compile a release with the driver. Raises ValueError for an unknown one, AdapterError where Go cannot
    fetch its modules, one is not as it was locked, or Go cannot compile them."""
    return compile_driver(release_named(version), _sources(), _lock(version), progress)


def _sources() -> tuple[Path, ...]:
    return tuple(FOLDER / "source" / name for name in SOURCES)


def _lock(version: str) -> tuple[Path, Path]:
    folder = FOLDER / "locks" / version
    return folder / "go.mod", folder / "go.sum"
