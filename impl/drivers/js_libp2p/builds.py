"""The releases of js-libp2p's gossipsub, each with its packages in a folder of its own, driven by Node.js.

`locks` has a package-lock.json for each release: every package that is installed, with the hash that npm
compares. `driver.mjs` stays here and is given the folder.
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

from quidnunc.impl.drivers.builds import Release, building, run_to_end
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "js-libp2p"
DEFAULT = "17.1.1"

PACKAGES = ((15, "@libp2p/gossipsub"), (1, "@chainsafe/libp2p-gossipsub"), (0, "libp2p-gossipsub"))
"""The first major version that a package has, the newest first."""
NODE_MIN = 20
"""The oldest Node.js that the driver runs on; the packages ask for a newer one for the sake of transports."""

INSTALL = ("--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund", "--no-progress")
"""Runs nothing of the packages, and leaves out what they only want to find beside them."""

LOADER = """\
// The driver imports packages from here.
export const load = async (name) => await import(name)
export const version = {version}
"""

_LOCKS = Path(__file__).with_name("locks")


def package_of(version: str) -> str:
    """The npm package that a release was published as."""
    major = _numbers(version)[0]
    return next(name for first, name in PACKAGES if major >= first)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


VERSIONS = tuple(sorted((each.stem for each in _LOCKS.glob("*.json")), key=_numbers))


@lru_cache(maxsize=16)
def _locked(version: str) -> Mapping[str, dict[str, str]]:
    """What the lock of a release says, by the path of each package; that of the release itself is empty."""
    found: dict[str, dict[str, str]] = json.loads(_lock(version).read_text(encoding="utf-8"))["packages"]
    return found


def _lock(version: str) -> Path:
    return _LOCKS / f"{version}.json"


def _packages(version: str) -> dict[str, dict[str, str]]:
    """By package, its version and the hash of its file."""
    return {
        path.removeprefix("node_modules/"): {key: each[key] for key in ("version", "integrity")}
        for path, each in _locked(version).items()
        if path
    }


def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in VERSIONS:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(VERSIONS)}")
    return Release(NAME, version, hashlib.sha256(_lock(version).read_bytes()).hexdigest())


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(release_named(version) for version in VERSIONS)


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
    """Install the packages of a release. Raises ValueError for an unknown one, AdapterError where npm fails
    or a package has another hash than the lock says."""
    release = release_named(version)
    with building(release) as build:
        shutil.copyfile(_lock(version), build.folder / "package-lock.json")
        (build.folder / "package.json").write_text(json.dumps(_locked(version)[""]), encoding="utf-8")
        (build.folder / "load.mjs").write_text(LOADER.format(version=json.dumps(version)), encoding="utf-8")
        progress(f"fetching {package_of(version)} {version} with what it needs")
        run_to_end(
            ["npm", "ci", *INSTALL],
            f"{release.name}: npm failed",
            "check the network and that npm reaches a registry, then build again",
            folder=build.folder,
        )
        build.record["node"] = _node_version(str(shutil.which("node")))
        build.record["packages"] = _packages(version)
    return release
