"""Drivers in Go: each compiled with the release that it drives, whose modules are locked."""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from quidnunc.impl.drivers.builds import Release, building, run_to_end
from quidnunc.impl.seam import AdapterError

NEXT = "check the network, and that go reaches a module proxy (GOPROXY), then build again"

DRIVER = "driver"
"""The program of a build."""

PROCESS = Path(__file__).with_name("go_process.go")
"""What every driver in Go is compiled with: the conversation, the bubble, and the answer after a crash."""


def missing_go(version: str) -> str:
    """Go, where it is not on the PATH; `version` is the oldest that will do."""
    return "" if shutil.which("go") else f"go is not on the PATH: install Go {version} or later"


def compile_driver(
    release: Release,
    sources: Sequence[Path],
    lock: tuple[Path, Path],
    progress: Callable[[str], None],
    unlocked: str = "",
) -> Release:
    """Compile a release with the driver in `sources`, among which are edits of it, and the modules of `lock`,
    a go.mod and a go.sum.

    `unlocked`: the module of the router, where the lock is another release's. Go then chooses the modules,
    none of them older than in the lock.

    Raises AdapterError where Go cannot fetch its modules, one is not as it was locked, or Go cannot compile
    them.
    """
    with building(release) as build:
        source = build.folder / "source"
        source.mkdir()
        for path in (PROCESS, *sources, *lock):
            if path.suffix == ".toml":
                _edit(source, path)
            else:
                shutil.copy(path, source)
        # The lock alone decides what is built in, whatever this environment says of modules.
        environment = {**os.environ, "GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
        progress(f"fetching {release.router} {release.version} and what it needs")
        if unlocked:
            choosing = partial(_go, release, source, {**environment, "GOFLAGS": "-mod=mod"})
            choosing("mod", "edit", f"-require={unlocked}@v{release.version}")
            # Of what only tests of the modules need, some is no longer there.
            choosing("mod", "tidy", "-e")
        go = partial(_go, release, source, environment)
        go("mod", "download")
        progress("compiling it with the driver")
        program = str(build.folder / DRIVER)
        linked = f"-s -X main.version={release.version}"
        go("build", "-trimpath", "-ldflags", linked, "-o", program, ".")
        said = go("version", "-m", program)
        build.record["go"], build.record["modules"] = said.split()[1], _modules(said)
        build.record["locked"] = not unlocked
    return release


@lru_cache(maxsize=64)
def digest_of(files: tuple[Path, ...]) -> str:
    """Of the driver's sources and the lock: a build with others is not this one."""
    digest = hashlib.sha256()
    for path in (PROCESS, *files):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _edit(source: Path, edits: Path) -> None:
    """Carry out the edits of a file: of imports wherever they stand, of others where `old` stands once."""
    asked = tomllib.loads(edits.read_text(encoding="utf-8"))
    for path in source.glob("*.go"):
        text = path.read_text(encoding="utf-8")
        for old, new in asked.get("imports", {}).items():
            text = text.replace(f'"{old}', f'"{new}')
        path.write_text(text, encoding="utf-8")
    for each in asked["edit"]:
        path = source / each["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(each["old"]) != 1:
            raise AdapterError(
                f"{edits.name}: {each['file']} does not have once what is edited: {each['old']!r}"
            )
        path.write_text(text.replace(each["old"], each["new"]), encoding="utf-8")


def _go(release: Release, folder: Path, environment: Mapping[str, str], *words: str) -> str:
    command = [str(shutil.which("go") or "go"), *words]
    return run_to_end(command, f"{release.name}: go failed", NEXT, folder=folder, environment=environment)


def _modules(said: str) -> dict[str, str]:
    """By module, its version, from `go version -m`."""
    rows = [line.split() for line in said.splitlines()]
    return {row[1]: row[2] for row in rows if row and row[0] == "dep"}
