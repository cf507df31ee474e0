"""The table of known bugs: what each one is, and the case that shows it or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from attrs import frozen

from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse
from quidnunc.properties.tables import table


@frozen(kw_only=True)
class KnownBug:
    """A bug that a router's maintainers fixed."""

    id: str
    router: str
    affected: str
    """The last release that has it, or the nearest one that can be had."""
    fixed: str
    """The first release without it, or the nearest one that can be had."""
    says: str
    case: str = ""
    """The name of its case file; empty where it is not driven."""
    right: tuple[str, ...] = ()
    """The clauses that a departure may be filed under."""
    not_driven: str = ""
    """Why it is not played."""
    missing: str = ""
    """What model, inputs or driver would need, where it is not found."""

    @property
    def releases(self) -> tuple[str, str]:
        """The names of both releases, as `--against` takes them."""
        return f"{self.router}@{self.affected}", f"{self.router}@{self.fixed}"


@lru_cache(maxsize=1)
def known_bugs() -> Mapping[str, KnownBug]:
    """Every row of the table, by id."""
    rows = table("properties.recall", "bugs.toml")
    return {id: KnownBug(id=id, **{**row, "right": tuple(row.get("right", ()))}) for id, row in rows.items()}


def case_text(bug: KnownBug) -> str:
    """Its case file. Raises FileNotFoundError where the package lacks it."""
    return files("quidnunc.properties.recall").joinpath("cases", bug.case).read_text(encoding="utf-8")


def case_of(bug: KnownBug) -> Case:
    """The case of a bug that is driven."""
    return parse(case_text(bug), bug.case)
