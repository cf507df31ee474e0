"""What one statement about a protocol is: what it says, of which revisions, and what decides it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve, frozen

from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.network import Move
from quidnunc.properties.networks.places import Place, Revision
from quidnunc.properties.networks.world import Look, World

Run: TypeAlias = tuple[str, ...]
"""Acts, as they are written."""


@frozen(kw_only=True)
class Statement:
    """One statement, or one way to read it."""

    id: str
    """A subject and what is said of it, in words."""
    old_id: str
    """By number, as it was known before: still understood in cases."""
    says: str
    revisions: tuple[str, ...]
    """Those that it is about."""
    claims: tuple[str, ...] = ()
    """Our claims on one router that carry it (`quidnunc check`), or claims that a test holds."""
    clauses: tuple[str, ...] = ()
    """The sentences that it rests on; the first is the one that a case of it is filed under."""
    look: Look | None = None
    """What a small network is looked at for."""
    places: tuple[Place, ...] = ()
    occasion: Callable[[Move[Any]], bool] | None = None
    """What must have happened for it to be put to the test; nothing more than a run, where that is enough."""
    rounds: bool = False
    """It plays rounds from every quiet state, so that fewer states are looked at."""
    edit: Callable[[Protocol], Protocol] | None = None
    """Looked at in a protocol edited so."""
    assumes: str = ""
    """Fairness and quiescence, and what else it takes for granted."""
    reading: str = ""
    """How it is read, where that is not plain."""
    tried: tuple[tuple[Place, Run], ...] = ()
    """Runs that were thought of and not drawn; each is judged, and minimised, as the drawn ones are."""
    needs: str = ""
    """The engine that decides it where neither one router nor a small network does, and why."""

    @property
    def engines(self) -> tuple[str, ...]:
        """What decides it, in words."""
        found = ["small network"] if self.look is not None else []
        found += ["one router"] if self.claims else []
        return (*found, self.needs) if self.needs else tuple(found)

    def world(self, place: Place, revision: Revision) -> World:
        """Where it is looked at, in one revision."""
        if self.edit is not None:
            revision = evolve(revision, protocol=self.edit(revision.protocol))
        return place.world(revision)


FromTexts: TypeAlias = Callable[..., Statement]
"""Makes a statement, given the texts of it."""


def looked_at(look: Look, places: tuple[Place, ...], **more: Any) -> FromTexts:
    """What decides a statement by small networks; `more` are further fields of it."""
    return partial(Statement, look=look, places=places, **more)


@frozen(kw_only=True)
class Catalogue:
    """Statements about one family of protocols."""

    name: str
    statements: tuple[Statement, ...]
    columns: Mapping[str, str]
    """Revision -> its name in the table, in the order of the table."""
    revision: Callable[[str], Revision]
    page: str
    """The file of the page, in the documents."""


def read_statements(
    name: str, groups: Mapping[str, tuple[str, ...]], looks: Iterable[Mapping[str, FromTexts]]
) -> tuple[Statement, ...]:
    """The statements of a catalogue, whose texts are in its `statements.toml`.

    `groups` has the revisions that one word stands for there, and `looks`, by the id of a statement, what
    decides it by small networks. Raises ValueError where `looks` has an id of no statement.
    """
    path = Path(__file__).parent / name / "statements.toml"
    by_id = {statement: make for of_module in looks for statement, make in of_module.items()}
    found = []
    for text in tomllib.loads(path.read_text(encoding="utf-8"))["statement"]:
        revisions = text.pop("revisions")
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in text.items()}
        fields["revisions"] = groups[revisions] if isinstance(revisions, str) else tuple(revisions)
        found.append(by_id.pop(text["id"], Statement)(**fields))
    if by_id:
        raise ValueError(f"{path}: no statement {', '.join(sorted(by_id))}")
    return tuple(found)
