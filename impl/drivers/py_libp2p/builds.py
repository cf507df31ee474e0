"""The releases of py-libp2p, each in a virtual environment of its own, driven behind the sidecar host."""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import shlex
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from quidnunc.impl.drivers.builds import Release, building, run_to_end
from quidnunc.impl.drivers.py_libp2p.child import PACKAGES
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "py-libp2p"

DEFAULT = ""
"""The bare name is the release that is installed beside this kit."""

WHEELS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""By release, the SHA-256 of its wheel."""


NEEDED = ("attrs>=23.2", "cryptography>=42", "trio==0.35.0")
"""What the kit needs beside a release; of trio it uses private names (`loop`)."""

Progress = Callable[[str], None]


def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in WHEELS:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(WHEELS)}")
    return Release(NAME, version)


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(Release(NAME, version) for version in WHEELS)


def missing(version: str) -> str:
    """Nothing: this Python builds every release."""
    return ""


def open_release(version: str, config: Config) -> Driver:
    """A router of that release, in a process of its own. Raises ValueError, NotBuiltError, AdapterError."""
    python = _python(release_named(version).needed())
    folders = [importlib.import_module(name).__path__[0] for name in PACKAGES]
    child = Path(__file__).with_name("child.py")
    # A PYTHONPATH names packages of this process, the release that is installed here among them.
    command = ["env", "-u", "PYTHONPATH", str(python), "-P", str(child), NAME, *folders]
    return open_exec(shlex.join(command), config)


def build(version: str, progress: Progress) -> Release:
    """Make the environment of a release. Raises ValueError for an unknown one, AdapterError where Python
    cannot make environments, pip fails, or the wheel is not the one that was released."""
    release = release_named(version)
    with building(release) as build:
        progress("making a virtual environment")
        _run([sys.executable, "-m", "venv", str(build.folder)], f"{release.name}: Python cannot make a venv")
        pip = [str(_python(build.folder)), "-m", "pip", "--disable-pip-version-check", "--no-input"]
        failed = f"{release.name}: pip failed"
        progress(f"fetching libp2p {version}")
        fetched = build.folder / "fetched"
        _run([*pip, "download", "--no-deps", "--dest", str(fetched), f"libp2p=={version}"], failed)
        wheel = _checked(release, fetched)
        progress("installing it with what it needs")
        report = build.folder / "pip.json"
        _run([*pip, "install", "--report", str(report), str(wheel), *NEEDED], failed)
        build.record["python"] = platform.python_version()
        build.record["packages"] = _installed(report)
    return release


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _checked(release: Release, folder: Path) -> Path:
    (wheel,) = folder.iterdir()
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != WHEELS[release.version]:
        raise AdapterError(
            f"{release.name}: {wheel.name} has SHA-256 {found}, need {WHEELS[release.version]}: "
            "the package index gave another file than was released; check where pip takes packages from"
        )
    return wheel


def _installed(report: Path) -> dict[str, dict[str, str]]:
    """By package, its version and the SHA-256 of its file, from pip's report."""
    packages = {}
    for each in json.loads(report.read_text(encoding="utf-8"))["install"]:
        hashes = each["download_info"].get("archive_info", {}).get("hashes", {})
        about = each["metadata"]
        packages[about["name"].lower()] = {"version": about["version"], "sha256": hashes.get("sha256", "")}
    return dict(sorted(packages.items()))


def _run(command: Sequence[str], failed: str) -> None:
    run_to_end(command, failed, "check the network and that pip reaches a package index, then build again")
