"""Which engine works: Spark where it can start, unless another is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine, demand_embedded, workers_for
from quidnunc.pipeline.lake.engines.seam import Engine, EngineMissing, Say
from quidnunc.pipeline.lake.engines.spark import SparkEngine
from quidnunc.pipeline.lake.spark_session import MASTER, spark_session, why_not

SHORT_BYTES = 200 << 20
"""Sources up to here take seconds, in which the JVM's last compiler would not pay."""


def chosen(asked: str, master: str | None = None) -> tuple[str, str]:
    """`spark` or `duckdb`, and why, where `auto` or one of them is asked for.

    Raises EngineMissing where something is not installed.
    """
    if asked == "duckdb":
        demand_embedded()
        return "duckdb", "as asked"
    lacking = why_not()
    if lacking is None:
        if asked == "spark":
            return "spark", "as asked"
        return "spark", "pyspark and Java are here; --engine duckdb is quicker"
    if asked == "spark" or master or os.environ.get(MASTER):
        raise EngineMissing(lacking)
    return _instead_of_spark(lacking)


def _instead_of_spark(lacking: str) -> tuple[str, str]:
    try:
        demand_embedded()
    except EngineMissing as error:
        raise EngineMissing(f"{error}; or, for Spark: {lacking}") from None
    return "duckdb", f"no Spark: {lacking}"


@contextmanager
def opened(
    asked: str, say: Say, tell: Callable[[str], None], *, master: str | None = None, size: int = 0
) -> Iterator[Engine]:
    """The engine, for traces of `size` bytes; `tell` is given a line that names it. Raises EngineMissing."""
    name, why = chosen(asked, master)
    if name == "spark":
        try:
            session = spark_session(master=master, short=size < SHORT_BYTES)
        except EngineMissing as error:
            if asked == "spark" or master or os.environ.get(MASTER):
                raise
            name, why = _instead_of_spark(str(error))
    tell(f"engine: {name} ({why})")
    if name == "spark":
        if address := session.sparkContext.uiWebUrl:
            tell(f"Spark's own pages: {address}")
        yield SparkEngine(session, say)
        return
    with EmbeddedEngine(workers_for(size), say) as engine:
        yield engine
