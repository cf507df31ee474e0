"""Modules of extras, loaded where they are first used: what can be asked has names where they are missing."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """A module in whose place this stands until an attribute of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            # Asked of what is copied or pickled, before it has a name.
            raise AttributeError(attribute)
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


z3: Any = LazyModule("z3")
numpy: Any = LazyModule("numpy")
pyarrow: Any = LazyModule("pyarrow")
compute: Any = LazyModule("pyarrow.compute")
parquet: Any = LazyModule("pyarrow.parquet")
