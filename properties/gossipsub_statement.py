"""What one statement about gossipsub is: what it says, from which revision on, and what decides it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.pubsub_network import Move
from quidnunc.properties.pubsub_world import Look, Place

Revision: TypeAlias = Literal[
    "floodsub",
    "gossipsub-1.0",
    "gossipsub-1.1",
    "gossipsub-1.2-draft",
    "gossipsub-1.2",
    "gossipsub-1.3",
    "partial-messages",
    "partial-messages-jvm",
    "partial-messages-go",
]
COLUMNS: Mapping[Revision, str] = {
    "floodsub": "floodsub",
    "gossipsub-1.0": "1.0",
    "gossipsub-1.1": "1.1",
    "gossipsub-1.2-draft": "1.2-draft",
    "gossipsub-1.2": "1.2",
    "gossipsub-1.3": "1.3",
    "partial-messages": "partial",
    "partial-messages-jvm": "partial-jvm",
    "partial-messages-go": "partial-go",
}
"""The revisions, oldest first, by the names of the table."""
READINGS: tuple[Revision, ...] = ("partial-messages-jvm", "partial-messages-go")
"""Readings of partial messages: looked at for what is about these alone."""
Edit: TypeAlias = Callable[[Protocol], Protocol]


@frozen(kw_only=True)
class Statement:
    """One statement, or one way to read it."""

    id: str
    """P01 to P120; with a letter behind it for another way to read it."""
    says: str
    since: Revision = "gossipsub-1.0"
    only: tuple[Revision, ...] = ()
    """The revisions that it is about, where it is not all from one on."""
    claims: tuple[str, ...] = ()
    """Our claims on one router that carry it (`quidnunc check`), or claims that a test holds."""
    look: Look | None = None
    """What a small network is looked at for."""
    places: tuple[Place, ...] = ()
    occasion: Callable[[Move], bool] | None = None
    """What must have happened for it to be put to the test; nothing more than a run, where that is enough."""
    rounds: bool = False
    """It plays rounds from every quiet state, so that fewer states are looked at."""
    edit: Edit | None = None
    """Looked at in a protocol edited so."""
    assumes: str = ""
    """Fairness and quiescence, and what else it takes for granted."""
    reading: str = ""
    """How it is read, where that is not plain."""
    tried: tuple[tuple[str, ...], ...] = ()
    """Runs that were thought of and not drawn; each is judged, and minimised, as the drawn ones are."""
    clause: str = ""
    """The clause that a case of it is filed under, where some run refutes it."""
    needs: str = ""
    """The engine that decides it where neither one router nor a small network does, and why."""

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """Those that it is about; the readings of partial messages only where it says so."""
        if self.only:
            return self.only
        names = [*COLUMNS]
        later = names[names.index(self.since) :]
        about_parts = self.since == "partial-messages"
        return tuple(name for name in later if about_parts or name not in READINGS)

    @property
    def engines(self) -> tuple[str, ...]:
        """What decides it, in words."""
        found = ["small network"] if self.look is not None else []
        found += ["one router"] if self.claims else []
        return (*found, self.needs) if self.needs else tuple(found)

    def protocol(self, revision: Revision) -> Protocol:
        """The rules that it is looked at in."""
        found = protocol_named(revision)
        return self.edit(found) if self.edit is not None else found
