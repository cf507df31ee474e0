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


def built_wheel(work: Path) -> Path:
    """The wheel, built in `work` from a copy and without asking any index."""
    source = work / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in {folder.split("/")[0] for folder in FOLDERS.values()}:
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    for path in (ROOT / "pyproject.toml", *ROOT.glob("LICENSE-*"), *ROOT.glob("README.md")):
        shutil.copy(path, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    # Without HOME's configuration: a user's own index settings have no say here.
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    built = subprocess.run(
        [*command, "--wheel-dir", str(work), str(source)], capture_output=True, text=True, env=environment
    )
    assert built.returncode == 0, built.stderr
    (path,) = work.glob("quidnunc-*.whl")
    return path
