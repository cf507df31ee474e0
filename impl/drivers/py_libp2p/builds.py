"""The releases of py-libp2p, each in a virtual environment of its own, driven behind the sidecar host."""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from quidnunc.impl.drivers.builds import Release, building
from quidnunc.impl.drivers.py_libp2p.child import PACKAGES
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.seam.sidecar import open_exec

NAME = "py-libp2p"

WHEELS = {
    "0.2.0": "61be1ddb282a9ba90d09e125324cfdb2c99e1a5414ec3c6d55af25eb868836c0",
    "0.2.1": "e4e6f99dfe0f9691cc2954abd161d5fe28540fcdbf5af9a399dd322d1b6f633e",
    "0.2.2": "22beaed67936239843c8e287e2b988ec682d1f942a4482d73e32d95ee0f96d92",
    "0.2.3": "02c8188a3286c3bd3a634dca38116a61cdfb3569b09e1d7d332c88298d3bade1",
    "0.2.4": "2f2ae8842dfe25a20c2c66d5493ece9a6fa8fc245d020b9a21e2a17feeacb81b",
    "0.2.5": "0705e735d074efb839750e19d6ca8f3004c6959e61eb0caaf1064d920437a0af",
    "0.2.6": "bf4a7befb72da0826da21bc5fb55db4c8f7f9edd274f7d8623dd02f508cd10c5",
    "0.2.7": "6d342e8ba1a6cc6daf975b0c8cabf0b2a1e85fbd5a1f80db83c51a4361316117",
    "0.2.8": "1bcea6f8d585e292e7fd1fc5fbe7e08b265b6d79555e3e9ba797991c64137708",
    "0.2.9": "10caf7b67ed3e0b125d5ea8097b25c00a6ef8b293d5b1905e7f71ff5ec03551f",
    "0.3.0": "16544d1b83fcf45278dcd3c95a88c3534cedcb9ceb3f4d574460f7725ff7321c",
    "0.4.0": "cfa152c3c56ef205049a2c085a59ddcc2de8f4dd68935bfe0568e2669587784d",
    "0.5.0": "dc46e3fa2e5ddbb6d0fe18c1d5c0eeeb02b16de1dc18a2463b12f5164ea8c351",
    "0.6.0": "1f1248d8553081b636022c5b5d5453ff71cf40d5dd31f19d0c56aa1e49edc678",
    "0.7.0": "3989d2dc3432c478833eb6aaa0d2a18627e08e56164644fdf0739af258bf39c4",
    "0.8.0": "b758f931ee50a67075cf10ee10135bb7ee43d8cf5422d3dd51da73c5e9dfa7d4",
    "0.8.1": "3d53daa20a6a78984c9b4ed1654d771757b187282f90376d7156c2b67828b308",
}
"""By release, the SHA-256 of its wheel. Older ones need Python 3.8 or an older trio."""

NEEDED = ("attrs>=23.2", "cryptography>=42", "trio==0.35.0")
"""What the kit needs beside a release; of trio it uses private names (`loop`)."""

LOG_LINES = 5
"""Of what pip said, what an error repeats."""

PIP_TIMEOUT_S = 900

Progress = Callable[[str], None]


def release_named(version: str) -> Release:
    """Raises ValueError, with those that there are."""
    if version not in WHEELS:
        raise ValueError(f"no release {version!r} of {NAME}: there are {', '.join(WHEELS)}")
    return Release(NAME, version)


def releases() -> tuple[Release, ...]:
    """Every release that can be built, the oldest first."""
    return tuple(Release(NAME, version) for version in WHEELS)


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
    """Raises AdapterError, which begins with `failed` and ends with the last words of the command."""
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PIP_TIMEOUT_S,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise AdapterError(f"{failed}: no end after {PIP_TIMEOUT_S} s") from error
    except OSError as error:
        raise AdapterError(f"{failed}: cannot start {command[0]}: {error.strerror}") from error
    if ran.returncode:
        last = "\n  ".join(ran.stdout.strip().splitlines()[-LOG_LINES:]) or "it said nothing"
        raise AdapterError(
            f"{failed}; it ended with:\n  {last}\n"
            "next: check the network and that pip reaches a package index, then build again"
        )
