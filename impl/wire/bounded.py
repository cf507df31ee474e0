"""A dict that a peer cannot grow without limit."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedDict(Generic[K, V]):
    """A dict that forgets its oldest entry beyond a limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of: dict[K, V] = {}
        self.get = self._of.get
        self.pop = self._of.pop
        self.clear = self._of.clear

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, key: K) -> bool:
        return key in self._of

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self._of and len(self._of) >= self._limit:
            del self._of[next(iter(self._of))]
        self._of[key] = value
