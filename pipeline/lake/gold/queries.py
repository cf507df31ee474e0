"""The queries of gold, from the files in `sql`; each stands there under a line with its name and role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import resources

from attrs import evolve, frozen

HEAD = re.compile(r"^-- name: (\S+) \((\w+)\)\n", re.MULTILINE)


@frozen
class GoldQuery:
    """One named query; its text may hold names of settings in braces."""

    name: str
    role: str
    """`view`. `kept`: used often, so it is computed once. `gold`: that, and a table of the result. `row`: few
    rows for each run, which go into its metrics. Of a claim: `applied` or `violations`."""
    text: str


def read_queries(*names: str) -> tuple[GoldQuery, ...]:
    """The queries of some files of `sql`, in their order, without comments."""
    found = []
    for name in names:
        text = resources.files(__package__).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
        _, *parts = HEAD.split(text)
        for query, role, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            lines = [line for line in body.splitlines() if not line.startswith("--")]
            found.append(GoldQuery(query, role, "\n".join(lines).strip()))
    return tuple(found)


def with_settings(queries: tuple[GoldQuery, ...], settings: Mapping[str, object]) -> Iterator[GoldQuery]:
    """Each query with the settings put in."""
    return (evolve(query, text=query.text.format(**settings)) for query in queries)


METRICS = read_queries("events", "messages", "subscribers", "edges", "mesh", "missing", "routes")
HOPS = read_queries("hops")
"""Over `hops`, which `gold/hops.py` makes of `arrivals`."""
PREPARED = read_queries("prepared")
"""What the queries of claims are asked of."""
OF_CLAIMS: Mapping[tuple[str, str], str] = {(q.name, q.role): q.text for q in read_queries("claims")}
"""(claim, `applied` or `violations`) -> its text."""
VIOLATION = ("run", "peer", "seq", "at_ns", "remote", "topic", "message", "cause", "us")
"""The columns of a violation."""
