"""The fifty-two statements that the documents about Flood, DOG, CAT and the peer limit make or rely on."""

from __future__ import annotations

from quidnunc.properties.statements.dog import cat, delivery, flood, routes
from quidnunc.properties.statements.dog.revisions import GROUPS, NAMES, revision
from quidnunc.properties.statements.statement import Catalogue, read_statements

DOG = Catalogue(
    name="dog",
    statements=read_statements(
        "dog", GROUPS, (flood.LOOKS, routes.LOOKS, delivery.LOOKS, cat.LOOKS), routes.EDITS
    ),
    columns={name: name for name in NAMES},
    revision=revision,
    page="dog-statements.md",
)
