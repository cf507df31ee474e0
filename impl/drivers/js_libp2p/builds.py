"""The releases of js-libp2p's gossipsub, each with its packages in a folder of its own, driven by Node.js.

`locks` has a package-lock.json for some releases: every package that is installed, with the hash that npm
compares. A release without a lock is built, too: with the packages that npm chooses. `driver.mjs` stays here
and is given the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from quidnunc.impl.drivers.builds import (
    VERSION,
    Release,
    building,
    numbers_of,
    run_to_end,
    with_built,
)
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "js-libp2p"
DEFAULT = "17.1.1"

PACKAGES = ((15, "@libp2p/gossipsub"), (1, "@chainsafe/libp2p-gossipsub"), (0, "libp2p-gossipsub"))
"""The first major version that a package has, the newest first."""
NODE_MIN = 20
"""The oldest Node.js that the driver runs on; the packages ask for a newer one for the sake of transports."""

COMPANIONS = ("@libp2p/crypto", "@libp2p/peer-id", "@multiformats/multiaddr")
"""Packages of which the driver makes what it gives to the router. They have to be the router's own."""
RECORD_AFTER_ID = 3
"""By how much the major version of @libp2p/peer-record is ahead of that of its @libp2p/peer-id."""

INSTALL = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-progress")
"""Runs nothing of the packages, and leaves out what they only want to find beside them."""

LOADER = """\
// The driver imports packages from here.
export const load = async (name) => await import(name)
export const version = {version}
"""

KEPT = ("version", "integrity")
"""What a build records of each package: its version and the hash of its file."""

_LOCKS = Path(__file__).with_name("locks")


def package_of(version: str) -> str:
    """The npm package that a release was published as."""
    major = numbers_of(version)[0]
    return next(name for first, name in PACKAGES if major >= first)


LOCKED = tuple(sorted((each.stem for each in _LOCKS.glob("*.json")), key=numbers_of))
"""The releases whose packages are locked, the oldest first."""
OLDEST = "0.11.0"
NEEDS_LIBP2P = (0, 14)
"""Releases that begin so import libp2p, which the driver does not bring."""


@lru_cache(maxsize=16)
def _locked(version: str) -> Mapping[str, dict[str, str]]:
    """What the lock of a release says, by the path of each package; that of the release itself is empty."""
    found: dict[str, dict[str, str]] = json.loads(_lock(version).read_text(encoding="utf-8"))["packages"]
    return found


def _lock(version: str) -> Path:
    return _LOCKS / f"{version}.json"


def _packages(lock: Path) -> dict[str, dict[str, str]]:
    """By package, its version and the hash of its file."""
    return {
        path.removeprefix("node_modules/"): {key: each[key] for key in KEPT if key in each}
        for path, each in json.loads(lock.read_text(encoding="utf-8"))["packages"].items()
        if path
    }


def lock_base(version: str) -> str:
    """The release whose lock is taken: its own, or else the nearest older one's."""
    older = [each for each in LOCKED if numbers_of(each) <= numbers_of(version)]
    return older[-1] if older else LOCKED[0]


def _why_not(version: str) -> str:
    """Why the driver cannot drive it; empty where it can, or for all that is known."""
    if VERSION.fullmatch(version) and numbers_of(version)[:2] == NEEDS_LIBP2P:
        return f"{NAME}@{version} cannot be driven: it imports libp2p, which the driver does not bring"
    if not VERSION.fullmatch(version) or numbers_of(version) < numbers_of(OLDEST):
        return f"no release {version!r} of {NAME}: name one from {OLDEST} on; locked are {', '.join(LOCKED)}"
    return ""


@lru_cache(maxsize=64)
def release_named(version: str) -> Release:
    """Any release that the driver can drive, whether it was published or not. Raises ValueError, with those
    that are locked."""
    if refused := _why_not(version):
        raise ValueError(refused)
    return Release(NAME, version, hashlib.sha256(_lock(lock_base(version)).read_bytes()).hexdigest())


def releases() -> tuple[Release, ...]:
    """Every release whose packages are locked, or that is built; the oldest first."""
    return tuple(release_named(each) for each in with_built(NAME, LOCKED) if not _why_not(each))


def missing(version: str) -> str:
    """What of Node.js and npm is not here, or too old, and what to install; else empty."""
    install = f"install Node.js {NODE_MIN} or newer (https://nodejs.org), which brings npm"
    absent = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if absent:
        return f"there is no {' and no '.join(absent)} on the PATH; {install}"
    found = _node_version(str(shutil.which("node")))
    if (number := re.match(r"v(\d+)\.", found)) is None or int(number[1]) < NODE_MIN:
        return f"this Node.js is {found or 'one that does not say its version'}; {install}"
    return ""


@lru_cache(maxsize=4)
def _node_version(node: str) -> str:
    try:
        ran = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip()


def open_release(version: str, config: Config) -> Driver:
    """A router of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    release = release_named(version)
    folder = release.needed()
    if lacking := missing(version):
        raise AdapterError(f"{release.name} cannot run here: {lacking}")
    driver = Path(__file__).with_name("driver.mjs")
    return open_exec(shlex.join(["node", str(driver), str(folder)]), config)


def build(version: str, progress: Callable[[str], None]) -> Release:
    """Install the packages of a release. Raises ValueError for one that cannot be driven, AdapterError where
    npm fails or a package has another hash than the lock says."""
    release = release_named(version)
    with building(release) as build:
        (build.folder / "load.mjs").write_text(LOADER.format(version=json.dumps(version)), encoding="utf-8")
        progress(f"fetching {package_of(version)} {version} with what it needs")
        package = build.folder / "package.json"
        if version in LOCKED:
            shutil.copyfile(_lock(version), build.folder / "package-lock.json")
            package.write_text(json.dumps(_locked(version)[""]), encoding="utf-8")
            _npm(release, "ci", *INSTALL, folder=build.folder)
        else:
            package.write_text(json.dumps({"dependencies": _chosen(release, build.folder)}), encoding="utf-8")
            _npm(release, "install", *INSTALL, folder=build.folder)
        build.record["locked"] = version in LOCKED
        build.record["node"] = _node_version(str(shutil.which("node")))
        build.record["packages"] = _packages(build.folder / "package-lock.json")
    return release


UNKNOWN_VERSION = "No match found for version"
"""What npm says of a version that a registry does not have."""


def _chosen(release: Release, folder: Path) -> dict[str, str]:
    """What to install for a release without a lock: what the nearest lock has, and where the release itself
    names a range of versions, that."""
    router = package_of(release.version)
    try:
        asked = _npm(release, "view", f"{router}@{release.version}", "dependencies", "--json", folder=folder)
    except AdapterError as error:
        if UNKNOWN_VERSION in str(error):
            said = f"{release.name}: npm has no {router} {release.version}; locked are {', '.join(LOCKED)}"
            raise AdapterError(said) from None
        raise
    try:
        own = json.loads(asked or "{}")
    except ValueError as error:
        raise AdapterError(f"{release.name}: npm does not say what it depends on: {asked[:200]}") from error
    base = lock_base(release.version)
    wanted: dict[str, str] = {**_locked(base)[""]["dependencies"]}  # type: ignore[dict-item]
    wanted.pop(package_of(base))
    wanted |= {name: own[name] for name in COMPANIONS if name in own} | {router: release.version}
    if major := re.match(r"\D*(\d+)", own.get("@libp2p/peer-id", "")):
        wanted["@libp2p/peer-record"] = f"^{int(major[1]) + RECORD_AFTER_ID}.0.0"
    return wanted


def _npm(release: Release, *words: str, folder: Path) -> str:
    return run_to_end(
        ["npm", *words],
        f"{release.name}: npm failed",
        "check the network and that npm reaches a registry, then build again",
        folder=folder,
    )
