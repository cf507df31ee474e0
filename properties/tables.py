"""Tables that ship beside a module: data of the kit's own, read as they are."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def table(package: str, *path: str) -> dict[str, Any]:
    """The TOML file at `path` in a package, which is named without `quidnunc`."""
    return tomllib.loads(files(f"quidnunc.{package}").joinpath(*path).read_text(encoding="utf-8"))
