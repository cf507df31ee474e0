"""The releases of go-libp2p-pubsub, each compiled with the driver in `source` and driven as a process.

`locks/VERSION` locks the modules of a release: its go.sum has the digest of each one that is built in. A
release without a lock is built, too: with the modules that Go chooses, from the lock of a release like it on.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from quidnunc.impl.drivers.builds import VERSION, Release, numbers_of, with_built
from quidnunc.impl.drivers.go_builds import DRIVER, compile_driver, digest_of, missing_go
from quidnunc.impl.seam import Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "go-libp2p-pubsub"
MODULE = f"github.com/libp2p/{NAME}"

FOLDER = Path(__file__).parent


LOCKED = tuple(sorted((each.name for each in (FOLDER / "locks").iterdir()), key=numbers_of))
"""The releases whose modules are locked, the oldest first."""

DEFAULT = LOCKED[-1]

COMMON = ("main.go", "host.go", "peers.go", "parameters.go", "router.go", "seam.go")
"""Of the driver's files, those that every release is built with."""

OLDEST = "0.3.0"
EXTENDED_SINCE = (0, 16, 0)
"""The first release with gossipsub v1.3, which the driver's `extended.go` speaks."""
GO = ((0, 19, 0), "1.26.6"), ((0, 0, 0), "1.25")
"""From which release on which version of Go is needed; the driver itself needs 1.25, for testing/synctest."""
EDITS = tuple(
    sorted(
        (each.stem.removeprefix("before-") for each in (FOLDER / "edits").glob("before-*.toml")),
        key=numbers_of,
        reverse=True,
    )
)
"""The releases that changed what the driver sees. The file of each says what the driver says otherwise for
those before it, on top of what files of later ones say."""


def _why_not(version: str) -> str:
    """Why the driver cannot drive it; empty where it can, or for all that is known."""
    if VERSION.fullmatch(version) and numbers_of(version) >= numbers_of(OLDEST):
        return ""
    return f"no release {version!r} of {NAME}: name one from {OLDEST} on; locked are {', '.join(LOCKED)}"


@lru_cache(maxsize=64)
def release_named(version: str) -> Release:
    """Any release that the driver can drive, whether it was published or not. Raises ValueError, with those
    that are locked."""
    if refused := _why_not(version):
        raise ValueError(refused)
    return Release(NAME, version, digest_of((*_sources(version), *_lock(version))))


def releases() -> tuple[Release, ...]:
    """Every release whose modules are locked, or that is built; the oldest first."""
    return tuple(release_named(each) for each in with_built(NAME, LOCKED) if not _why_not(each))


def go_needed(version: str) -> str:
    return next(go for since, go in GO if numbers_of(version) >= since)


def missing(version: str) -> str:
    """Go, where it is not on the PATH."""
    return missing_go(go_needed(version))


def open_release(version: str, config: Config) -> Driver:
    """A router of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    return open_exec(shlex.quote(str(release_named(version).needed() / DRIVER)), config)


def build(version: str, progress: Callable[[str], None]) -> Release:
    """Compile a release with the driver. Raises ValueError for one that cannot be driven, AdapterError where
    Go cannot fetch its modules, one is not as it was locked, or Go cannot compile them."""
    module = "" if version in LOCKED else MODULE
    return compile_driver(release_named(version), _sources(version), _lock(version), progress, module)


def edits_of(version: str) -> tuple[str, ...]:
    return tuple(each for each in EDITS if numbers_of(version) < numbers_of(each))


def _sources(version: str) -> tuple[Path, ...]:
    """The driver's files, and the edits of them in their order."""
    edits = edits_of(version)
    variant = "extended.go" if numbers_of(version) >= EXTENDED_SINCE else "plain.go"
    names = (*COMMON, variant, *(["older.go"] if edits else []))
    texts = [FOLDER / "edits" / f"before-{each}.toml" for each in edits]
    return (*(FOLDER / "source" / name for name in names), *texts)


def _lock(version: str) -> tuple[Path, Path]:
    """The lock of a release; where it has none, that of the nearest one which the driver sees alike, and of
    two the older."""
    folder = FOLDER / "locks" / lock_base(version)
    return folder / "go.mod", folder / "go.sum"


def lock_base(version: str) -> str:
    alike = [each for each in LOCKED if edits_of(each) == edits_of(version)] or LOCKED
    older = [each for each in alike if numbers_of(each) <= numbers_of(version)]
    return older[-1] if older else alike[0]
