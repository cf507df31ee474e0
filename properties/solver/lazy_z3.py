"""z3, loaded where it is first used: networks and statements have names where it is not installed."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """A module in whose place this stands until an attribute of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


z3: Any = LazyModule("z3")
