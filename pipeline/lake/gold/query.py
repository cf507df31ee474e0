"""What a query of gold is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from attrs import frozen

Role: TypeAlias = Literal["view", "kept", "gold", "row"]
"""`kept`: used often, so it is computed once. `gold`: that, and a table of the result. `row`: few rows for
each run, which go into its metrics."""


@frozen
class GoldQuery:
    """One named query; its text may hold names of settings in braces."""

    name: str
    role: Role
    text: str


def query_texts(
    queries: tuple[GoldQuery, ...], settings: dict[str, object]
) -> Iterator[tuple[GoldQuery, str]]:
    """Each query with its text, the settings put in."""
    for query in queries:
        yield query, query.text.format(**settings) if "{" in query.text else query.text
