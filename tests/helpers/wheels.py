"""The wheel of the tree as it stands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
"""Package -> the folder that holds it."""


TOLD = ("README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Containerfile", "docs/SECURITY.md")


def built_wheel(work: Path) -> Path:
    """The wheel, built in `work` from a copy and without asking any index."""
    return wheel_of(_copied(work), work)


def built_archive(work: Path) -> Path:
    """The source archive, built likewise."""
    call = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    _run(sys.executable, "-c", call, str(work), cwd=_copied(work))
    (path,) = work.glob("quidnunc-*.tar.gz")
    return path


def wheel_of(source: Path, work: Path) -> Path:
    """The wheel of a tree of sources."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    _run(*command, "--wheel-dir", str(work), str(source), cwd=work)
    (path,) = work.glob("quidnunc-*.whl")
    return path


def _copied(work: Path) -> Path:
    source = work / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in {folder.split("/")[0] for folder in FOLDERS.values()}:
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for path in (*map(ROOT.joinpath, ("pyproject.toml", "MANIFEST.in", *TOLD)), *ROOT.glob("LICENSE-*")):
        place = source / path.relative_to(ROOT)
        place.parent.mkdir(exist_ok=True)
        shutil.copy(path, place)
    return source


def _run(*command: str, cwd: Path) -> None:
    # Without HOME's configuration: a user's own index settings have no say here.
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
