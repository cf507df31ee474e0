"""How often each act is drawn: the tables of `weights.toml`, by what plays and what a run is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from quidnunc.properties.tables import table

F = TypeVar("F", bound=Callable[..., object])

_TABLES = table("properties.neighbours", "weights.toml")
THEMES: Mapping[str, Mapping[str, int]] = _TABLES.pop("themes")
"""What a run of a pubsub router is mostly about -> weights over those of every run."""
WEIGHTS: Mapping[str, Mapping[str, int]] = _TABLES


def by_name(*acts: F) -> Mapping[str, F]:
    """Acts under the names that weights give them: those of their functions."""
    return {act.__name__: act for act in acts}
