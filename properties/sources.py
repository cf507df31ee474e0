"""Which state of the kit a result is of: results of other sources are not taken up again."""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from pathlib import Path
from typing import Any

SEARCHED = ("model", "impl", "properties")
"""Packages that a search of one router runs on."""
TABLES = ("clauses", "claims", "neighbours", "suite", "mutants", "ours")
"""Folders of tables that results rest on."""
SIMULATED = (*SEARCHED, "pipeline")
"""Packages that a simulated network runs on."""


@lru_cache
def digest_of_sources(packages: tuple[str, ...]) -> str:
    """Twelve hex digits of the modules and tables of these packages of `quidnunc`."""
    found = hashlib.sha256()
    for name in packages:
        package: Any = importlib.import_module(f"quidnunc.{name}")
        folder = Path(next(iter(package.__path__)))
        tables = [path for name in TABLES for path in folder.glob(f"{name}/*.toml")]
        for path in sorted((*folder.rglob("*.py"), *tables)):
            found.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:12]
