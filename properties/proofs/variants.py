"""The networks of `quidnunc prove` as tables: the variants of each, and its rules in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from quidnunc.properties.solver.edits import EditableVariants
from quidnunc.properties.tables import table

T = TypeVar("T")
_TABLES = table("properties.proofs", "variants.toml")
_PHRASES: Mapping[str, Mapping[str, str]] = table("properties.proofs", "phrases.toml")


def variants_of(network: str, kind: type[T]) -> Mapping[str, T]:
    """Name -> variant of one sort of networks, each with its switches."""
    return EditableVariants({name: kind(**switches) for name, switches in _TABLES[network].items()})


def phrases_of(network: str) -> Mapping[str, str]:
    """Kind of a rule -> what it does, with the peers that it is about as {0} and {1}. Raises KeyError."""
    return _PHRASES[network]
