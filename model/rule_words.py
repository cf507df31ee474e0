"""What is said of the kit's own rules: `rules.toml` in the folder of each family, by module and function.

The only module of the model that reads a file. It reads what ships with the rules, once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

TABLES: Mapping[str, str] = {"pubsub": "pubsub/rules.toml", "mempool": "mempool/rules.toml"}
"""Folder of a family -> its table."""


@lru_cache
def rule_words(family: str) -> Mapping[str, Any]:
    """The table of a family: a row `mesh.while_backing_off` for that function of `mesh.py`."""
    return tomllib.loads(files("quidnunc.model").joinpath(TABLES[family]).read_text(encoding="utf-8"))


def words_of(module: str, function: str) -> Mapping[str, str]:
    """`lacking` and `when` of the rule that is made of a function; nothing where it has no row."""
    package, _, inner = module.removeprefix("quidnunc.model.").partition(".")
    if not module.startswith("quidnunc.model.") or package not in TABLES:
        return {}
    found = rule_words(package)
    for name in (*inner.split("."), function):
        found = found.get(name, {})
    return found
