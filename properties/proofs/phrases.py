"""The rules of networks in words, by network: the tables of `phrases.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from quidnunc.properties.tables import table


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, Mapping[str, str]]:
    return table("properties.proofs", "phrases.toml")


def phrases_of(network: str) -> Mapping[str, str]:
    """Kind of a rule -> what it does, with the peers that it is about as {0} and {1}. Raises KeyError."""
    return _tables()[network]
