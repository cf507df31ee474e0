"""Why a released router does what a case shows, as somebody read it in the source of that release.

`mechanisms/ROUTER.toml` has a table for each case, under the name of its file without `.case`, as it is in
`counterexamples/routers/ROUTER`. It is told of that release alone; where there is no table, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from attrs import frozen

from quidnunc.properties.cases.case import Case
from quidnunc.properties.tables import table

_PACKAGE = "reports.pages"
_FOLDER = "mechanisms"


@frozen(kw_only=True)
class SourceMechanism:
    """Sentences are Markdown."""

    where: str
    """Files and functions."""
    mechanism: str
    also: tuple[str, ...] = ()
    """Other names of the same: of its clause and root cause, as the kit tells them now."""
    fix: str = ""
    """The smallest that we see, as the rest of "Smallest fix: "; empty where there may be none to make."""
    upstream: str = ""
    """What is known of it upstream."""
    state: str = ""
    """How far its sources were compared with later ones."""


def mechanism_of(case: Case) -> SourceMechanism | None:
    """By the file of a case, or by the clause and the root cause of one that was just found."""
    router, _, version = case.against.partition(" ")
    release, told = mechanisms_of(router)
    if version != release:
        return None
    named = PurePath(case.path).name.removesuffix(".case")
    found = f"{case.clause.replace('/', '.')}.{case.quirk}"
    again = (each for each in told.values() if found in each.also)
    return told.get(named) or told.get(found) or next(again, None)


@lru_cache(maxsize=8)
def mechanisms_of(router: str) -> tuple[str, Mapping[str, SourceMechanism]]:
    """The release whose source was read, and what was found by the names of the cases."""
    name = f"{router}.toml"
    if not files(f"quidnunc.{_PACKAGE}").joinpath(_FOLDER, name).is_file():
        return "", {}
    read: dict[str, Any] = table(_PACKAGE, _FOLDER, name)
    release, state = read.pop("release"), read.pop("state", "")
    told = {key: SourceMechanism(**_stripped(row), state=state) for key, row in read.items()}
    return release, told


def _stripped(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: " ".join(said.split()) if isinstance(said, str) else tuple(said) for name, said in row.items()
    }
