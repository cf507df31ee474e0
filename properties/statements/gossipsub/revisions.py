"""The revisions of gossipsub and its kin that statements are about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from quidnunc.model.machine import protocol_named
from quidnunc.model.versions import VERSIONS
from quidnunc.properties.networks.places import Revision

COLUMNS: Mapping[str, str] = {each.name: each.label for each in VERSIONS.values()}
"""The revisions, oldest first, by the names of the table."""
READINGS = ("partial-messages-jvm", "partial-messages-go")
"""Readings of partial messages: looked at for what is about these alone."""


def _since(first: str) -> tuple[str, ...]:
    """The revisions from one on; the readings of partial messages only for what is about these."""
    names = [*COLUMNS]
    later = names[names.index(first) :]
    return tuple(name for name in later if first == "partial-messages" or name not in READINGS)


GROUPS: Mapping[str, tuple[str, ...]] = {f"since {name}": _since(name) for name in COLUMNS}


@cache
def revision(name: str) -> Revision:
    return Revision(name, protocol_named(name))
