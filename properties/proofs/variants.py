"""The texts and readings that lines of `quidnunc prove` are about: the tables of `variants.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from quidnunc.properties.tables import table

T = TypeVar("T")
_TABLES = table("properties.proofs", "variants.toml")


def variants_of(network: str, kind: type[T]) -> Mapping[str, T]:
    """Name -> variant of one sort of networks, each with its switches."""
    return {name: kind(**switches) for name, switches in _TABLES[network].items()}
