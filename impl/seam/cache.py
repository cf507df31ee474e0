"""Where the kit keeps what it builds: releases of routers, compiled searches."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """QUIDNUNC_CACHE, or the kit's part of the user's cache folder."""
    named = os.environ.get("QUIDNUNC_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "quidnunc"
