"""The queries of gold by DuckDB: an engine that shares nothing with Spark but their text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import field, mutable

from quidnunc.pipeline.lake.gold.queries import GoldQuery

HOPS = """
WITH RECURSIVE far(run, message, peer, hops) AS (
  SELECT run, message, peer, 1 FROM arrivals WHERE rank = 1 AND remote = publisher
  UNION ALL
  SELECT a.run, a.message, a.peer, f.hops + 1 FROM arrivals AS a
  JOIN far AS f ON a.run = f.run AND a.message = f.message AND a.remote = f.peer
  WHERE a.rank = 1 AND a.remote <> a.publisher)
SELECT a.run, a.message, a.peer, f.hops FROM arrivals AS a
LEFT JOIN far AS f ON a.run = f.run AND a.message = f.message AND a.peer = f.peer WHERE a.rank = 1"""
"""Along the edges, where `gold/hops.py` goes from each delivery back."""


@mutable
class Duck:
    """An engine as `gold_of` wants one, over the silver in a folder."""

    silver: Path
    texts: dict[str, str] = field(factory=dict)
    """Every query as it was asked."""
    _database: Any = None

    def __attrs_post_init__(self) -> None:
        duckdb = pytest.importorskip("duckdb", reason="pip install duckdb: it is the oracle of these queries")
        self._database = duckdb.connect()
        self._database.execute("SET threads = 2")
        self._define("events", f"SELECT * FROM read_parquet('{self.silver}/bucket-*.parquet')")

    def _define(self, name: str, text: str) -> None:
        self._database.execute(f"CREATE TABLE {name} AS {text}")

    def make(self, query: GoldQuery, text: str) -> list[dict[str, Any]]:
        self.texts[query.name] = text
        self._define(query.name, text)
        return self.rows(f"SELECT * FROM {query.name}") if query.role == "row" else []

    def rows(self, text: str) -> list[dict[str, Any]]:
        found = self._database.execute(text)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def hops(self) -> None:
        self._define("hops", HOPS)

    def forget(self) -> None:
        self._database.close()
