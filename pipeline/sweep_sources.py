"""Which state of the kit a result is of."""

from __future__ import annotations

import hashlib
import importlib
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGES = ("quidnunc.model", "quidnunc.impl", "quidnunc.properties", "quidnunc.pipeline")


@lru_cache(maxsize=1)
def sources() -> str:
    """Digest of the sources and tables that take part in a run."""
    found = hashlib.sha256()
    for name in PACKAGES:
        package: Any = importlib.import_module(name)
        folder = Path(next(iter(package.__path__)))
        for path in sorted((*folder.glob("*.py"), *folder.glob("clauses/*.toml"))):
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:12]
