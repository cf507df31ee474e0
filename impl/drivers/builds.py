"""Releases of other people's routers, each built into a folder of its own in the user's cache.

A folder is there in whole or not at all: a build goes on beside it and is renamed at its end. Nothing here is
built because it is asked for: only `quidnunc routers build` builds.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from quidnunc.impl.seam import AdapterError, NotBuiltError
from quidnunc.impl.seam.cache import cache_folder

RECORD = "build.json"
FORMAT = 1

VERSION = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}")
"""A published version; no other is built."""

LOG_LINES = 5
"""Of what a command said, what an error repeats."""

COMMAND_TIMEOUT_S = 900


@frozen
class Release:
    """One version of a router: `py-libp2p@0.2.8`."""

    router: str
    version: str
    source: str = ""
    """A digest of what this kit builds into it, if anything. A build with another one does not count."""

    @property
    def name(self) -> str:
        return f"{self.router}@{self.version}"

    @property
    def folder(self) -> Path:
        """Where it is, once it is built."""
        return cache_folder() / "routers" / self.router / self.version

    @property
    def command(self) -> str:
        """The command that builds it."""
        return f"quidnunc routers build {self.name}"

    @property
    def record(self) -> Mapping[str, object] | None:
        """What was written down when it was built; None where it is not built, or for another kit."""
        try:
            record = json.loads((self.folder / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            return None
        return record if record.get("source", "") == self.source else None

    def needed(self) -> Path:
        """Its folder. Raises NotBuiltError."""
        if self.record is None:
            raise NotBuiltError(f"{self.name} is not built here; to build it: {self.command}")
        return self.folder


def versions_built(router: str) -> tuple[str, ...]:
    """Versions of a router that have a folder in the user's cache, the oldest first. A build of an older kit
    may be among them."""
    folder = cache_folder() / "routers" / router
    found = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return tuple(sorted((each for each in found if VERSION.fullmatch(each)), key=numbers_of))


def numbers_of(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def with_built(router: str, locked: Sequence[str]) -> tuple[str, ...]:
    """The locked versions of a router and those that are built, the oldest first."""
    return tuple(sorted({*locked, *versions_built(router)}, key=numbers_of))


@frozen
class Build:
    """A build that goes on: where to put the files, and what to write down of them."""

    folder: Path
    record: dict[str, object] = field(factory=dict)


@contextmanager
def building(release: Release) -> Iterator[Build]:
    """Build inside: at the end the folder becomes that of `release`; after an exception it is gone.

    Raises AdapterError where the cache folder cannot be written.
    """
    final = release.folder
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{release.version}-", dir=final.parent))
    except OSError as error:
        raise AdapterError(
            f"{release.name}: cannot write to {final.parent} ({error.strerror}); "
            "name another folder in QUIDNUNC_CACHE"
        ) from error
    try:
        build = Build(beside)
        yield build
        record = {"format": FORMAT, "router": release.router, "version": release.version, **build.record}
        if release.source:
            record["source"] = release.source
        (beside / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        if release.record is None:
            # What an older kit left there.
            shutil.rmtree(final, ignore_errors=True)
            _rename(beside, release)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _rename(folder: Path, release: Release) -> None:
    try:
        folder.rename(release.folder)
    except OSError:
        # Another process may have built the same meanwhile.
        if release.record is None:
            raise


def run_to_end(
    command: Sequence[str],
    failed: str,
    advice: str,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a command of a build, in `folder`; what it said. Raises AdapterError, which begins with `failed`,
    has the last words of the command, and ends with `advice`."""
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_TIMEOUT_S,
            text=True,
            errors="replace",
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise AdapterError(f"{failed}: no end after {COMMAND_TIMEOUT_S} s") from error
    except OSError as error:
        raise AdapterError(f"{failed}: cannot start {command[0]}: {error.strerror}") from error
    if ran.returncode:
        last = "\n  ".join(ran.stdout.strip().splitlines()[-LOG_LINES:]) or "it said nothing"
        raise AdapterError(f"{failed}; it ended with:\n  {last}\nnext: {advice}")
    return ran.stdout
