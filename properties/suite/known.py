"""What the suite has found before in releases of routers.

An explanation is a hypothesis, tested in some ninety fresh runs of the router. Of a release that was tested
so, the outcome is known. The suite tries it first, and is content with the runs around the minimal one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from quidnunc.impl.seam import Hello
from quidnunc.properties.tables import table


def known_causes(hello: Hello) -> tuple[str, ...]:
    """Names of edits, each of which explained a case of the suite in just this release. Some are of one
    protocol alone."""
    return known_of().get((hello.name, hello.version), ())


@cache
def known_of() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Name and version of a router -> the causes."""
    rows = table("properties.suite", "known.toml")["known"]
    return {(row["router"], row["version"]): tuple(row["causes"]) for row in rows}
