"""Which edits of rules the suite shows, as the search for its cases left it (`tools.suite_edits`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from attrs import field, frozen

EDITS_FILE = "EDITS.toml"


@frozen
class ShownEdits:
    """Of the edits of one protocol's rules that made a difference in some run: how many a case shows."""

    edits: int = 0
    unshown: Mapping[str, Sequence[str]] = field(factory=dict)
    """Rule -> its edits that no case shows."""

    @property
    def missed(self) -> int:
        return sum(map(len, self.unshown.values()))

    @property
    def shown(self) -> int:
        return self.edits - self.missed


@cache
def _shipped() -> Mapping[str, ShownEdits]:
    path = resources.files("quidnunc.properties.suite").joinpath("cases", "edits", EDITS_FILE)
    if not path.is_file():
        return {}
    tables = tomllib.loads(path.read_text("utf-8"))
    return {name: ShownEdits(table["edits"], table.get("unshown", {})) for name, table in tables.items()}


def shown_edits(protocol: str) -> ShownEdits:
    """Those of one protocol; none where the search has not looked at it."""
    return _shipped().get(protocol, ShownEdits())
