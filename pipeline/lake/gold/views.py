"""The queries of gold on a Spark session of their own.

What is used often is computed once, written, and read from there: so plans stay short, and how large a table
is, is known when the next is planned.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, mutable

from quidnunc.pipeline.lake.gold.hops import hops_of
from quidnunc.pipeline.lake.gold.queries import GoldQuery
from quidnunc.pipeline.lake.tasks import Say

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[dict[str, Any]]


@mutable
class SparkEngine:
    """Named results over silver. Tables of gold are written to `folder`."""

    session: SparkSession
    folder: Path
    say: Say
    _scratch: list[str] = field(factory=list)

    @classmethod
    def over(cls, session: SparkSession, silver: Path, folder: Path, say: Say) -> SparkEngine:
        """Views with `events`: all buckets of a silver. Names are not shared with who else uses the
        session."""
        views = cls(session.newSession(), folder, say)
        files = sorted(map(_literal, silver.glob("bucket-*.parquet")))
        views.session.read.parquet(*files).createOrReplaceTempView("events")
        return views

    def make(self, query: GoldQuery, text: str) -> Rows:
        """Define one query; of a `row` query, its rows."""
        self.say(f"gold: {query.name}")
        frame = self.session.sql(text)
        if query.role in ("view", "row"):
            frame.createOrReplaceTempView(query.name)
            return self.collect(frame) if query.role == "row" else []
        self.write(query.name, frame, gold=query.role == "gold")
        return []

    def write(self, name: str, frame: DataFrame, *, gold: bool) -> None:
        """Compute a data frame and give it its name; it stays in the folder where it is a table of gold."""
        place = (self.folder / name).resolve()
        frame.write.parquet(str(place))
        self.session.read.schema(frame.schema).parquet(_literal(place)).createOrReplaceTempView(name)
        if not gold:
            self._scratch.append(name)

    def rows(self, text: str) -> Rows:
        return self.collect(self.session.sql(text))

    def collect(self, frame: DataFrame) -> Rows:
        return [row.asDict() for row in frame.collect()]

    def hops(self) -> None:
        """Define `hops`, of `arrivals`."""
        self.say("gold: hops")
        self.write("hops", hops_of(self.session.table("arrivals")), gold=True)

    def forget(self) -> None:
        """Remove what is no table of gold."""
        for name in self._scratch:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._scratch.clear()


def _literal(path: Path) -> str:
    """A path as Spark reads it: as it stands, although its characters may be those of a pattern."""
    return re.sub(r"([\\{}\[\]*?^])", r"\\\1", str(path.resolve()))
