"""The queries of gold by DuckDB, over tables of memory: what both engines are compared with."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from quidnunc.pipeline.lake.engines.embedded import DuckQueries
from quidnunc.pipeline.lake.engines.seam import Rows, ignore_task_progress
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


@define
class Duck:
    """An engine as `gold_of` wants one, over the silver in a folder: the embedded one, but for the hops."""

    silver: Path
    _queries: Any = field(init=False)
    _folder: tempfile.TemporaryDirectory[str] = field(factory=tempfile.TemporaryDirectory, init=False)

    def __attrs_post_init__(self) -> None:
        pytest.importorskip("duckdb", reason="pip install duckdb: it is the oracle of these queries")
        self._queries = DuckQueries.over(self.silver, Path(self._folder.name), 2, ignore_task_progress)

    def make(self, query: GoldQuery) -> Rows:
        found: Rows = self._queries.make(query)
        return found

    def rows(self, text: str) -> Rows:
        found: Rows = self._queries.rows(text)
        return found

    def group(self, name: str, *_: object) -> None:
        assert name == "hops"
        self._queries.database.execute(f"CREATE TABLE hops AS {HOPS}")

    def forget(self) -> None:
        self._queries.forget()
