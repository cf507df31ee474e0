"""The claims as they stand in `claims.toml`, each with the occasions of its clauses."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from quidnunc.model.errors import SpecError
from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.occasions.catalogue import OCCASIONS


def _read() -> dict[str, tuple[Claim, ...]]:
    path = Path(__file__).parent / "claims.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    named = {clause for claims in tables.values() for each in claims for clause in each["clauses"]}
    if not OCCASIONS.keys() <= named:
        unused = ", ".join(sorted(OCCASIONS.keys() - named))
        raise SpecError(f"{path}: no claim names {unused}, of which there is an occasion")
    return {subject: tuple(map(_claim, claims)) for subject, claims in tables.items()}


def _claim(table: Mapping[str, Any]) -> Claim:
    clauses = (OCCASIONS.get(each, each) for each in table["clauses"])
    return claim(table["id"], table.get("says", ""), *clauses, needs=table.get("needs", ()))


BY_SUBJECT: Mapping[str, tuple[Claim, ...]] = _read()
ALL: tuple[Claim, ...] = tuple(chain.from_iterable(BY_SUBJECT.values()))
