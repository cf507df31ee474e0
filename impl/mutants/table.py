"""Planted departures as they stand in a table: texts beside the module that has their edits."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from quidnunc.impl.mutant import Mutant, Router
from quidnunc.model.versions import VERSIONS

Edit: TypeAlias = Callable[[Router], None]

FIRST_PROTOCOL: Mapping[str, str] = MappingProxyType(
    {"pubsub": "floodsub", **{each.clauses: each.name for each in VERSIONS.values()}}
)
"""Prefix of a clause -> the first protocol that it is in force for, where that has another name."""


def read_mutants(module: str, kind: type[Router], edits: Mapping[str, Edit[Router]]) -> Mapping[str, Mutant]:
    """Mutants of the table beside `module` (`mesh.toml` beside `mesh.py`), by name, for one kind of router.

    Raises ValueError that names each row without an edit, and each edit without a row.
    """
    path = Path(module).with_suffix(".toml")
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    if rows.keys() != edits.keys():
        raise ValueError(f"{path}: without a row or an edit: {', '.join(sorted(rows.keys() ^ edits.keys()))}")
    return MappingProxyType({name: _mutant(kind, name, edits[name], row) for name, row in rows.items()})


def _mutant(kind: type[Router], name: str, edit: Edit[Router], row: Mapping[str, str]) -> Mutant:
    def apply(router: object) -> None:
        if not isinstance(router, kind):
            raise TypeError(f"mutant {name} edits a {kind.__name__}, not a {type(router).__name__}")
        edit(router)

    prefix = row["clause"].split("/")[0]
    protocol = row.get("protocol", FIRST_PROTOCOL.get(prefix, prefix))
    return Mutant(name, row["summary"], row["clause"], protocol, apply)
