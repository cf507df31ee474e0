"""The fifty statements that the documents about Flood, DOG, CAT and the peer limit make or rely on."""

from __future__ import annotations

from quidnunc.properties.statements.dog import cat, delivery, flood, routes
from quidnunc.properties.statements.dog.revisions import NAMES, revision
from quidnunc.properties.statements.statement import Catalogue

DOG = Catalogue(
    name="dog",
    statements=(*flood.STATEMENTS, *routes.STATEMENTS, *delivery.STATEMENTS, *cat.STATEMENTS),
    columns={name: name for name in NAMES},
    revision=revision,
    page="dog-statements.md",
)
