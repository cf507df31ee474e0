"""What one statement about a protocol is: what it says, of which revisions, and what decides it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.places import Revision
from quidnunc.properties.networks.world import Look


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
    quotes: tuple[str, ...] = ()
    """The sentences that it is about: a clause that quotes one, or `TEXT: SENTENCE`. Where none is named, the
    first quote of a clause that it rests on."""
    unquoted: str = ""
    """What stands in the place of a quote: that the statement is ours, or why its sentence is not quoted."""
    look: Look | None = None
    """What a small network is looked at for."""
    edit: Callable[[Protocol], Protocol] | None = None
    """Looked at in a protocol edited so."""
    assumes: str = ""
    """Fairness and quiescence, and what else it takes for granted."""
    reading: str = ""
    """How it is read, where that is not plain."""
    needs: str = ""
    """The engine that decides it where neither one router nor a small network does, and why."""

    @property
    def engines(self) -> tuple[str, ...]:
        """What decides it, in words."""
        found = ["small network"] if self.look is not None else []
        found += ["one router"] if self.claims else []
        return (*found, self.needs) if self.needs else tuple(found)


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
    name: str,
    groups: Mapping[str, tuple[str, ...]],
    looks: Iterable[Mapping[str, Look]],
    edits: Mapping[str, Callable[[Protocol], Protocol]] | None = None,
) -> tuple[Statement, ...]:
    """The statements of a catalogue, whose texts are in its `statements.toml`.

    `groups` has the revisions that one word stands for there, and `looks`, by the id of a statement, what
    a small network is looked at for; `edits`, how the protocol is edited for that. Raises ValueError where
    `looks` has an id of no statement.
    """
    path = Path(__file__).parent / name / "statements.toml"
    by_id = {statement: look for of_module in looks for statement, look in of_module.items()}
    found = []
    for text in tomllib.loads(path.read_text(encoding="utf-8"))["statement"]:
        revisions = text.pop("revisions")
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in text.items()}
        fields["revisions"] = groups[revisions] if isinstance(revisions, str) else tuple(revisions)
        look, edit = by_id.pop(text["id"], None), (edits or {}).get(text["id"])
        found.append(Statement(look=look, edit=edit, **fields))
    if by_id:
        raise ValueError(f"{path}: no statement {', '.join(sorted(by_id))}")
    return tuple(found)
