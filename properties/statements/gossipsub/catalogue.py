"""The hundred and twenty statements that the documents of gossipsub make or rely on."""

from __future__ import annotations

from quidnunc.properties.statements.gossipsub import (
    attack,
    backoff,
    gossip,
    idontwant,
    mesh,
    messages,
    partial,
    scores,
)
from quidnunc.properties.statements.gossipsub.revisions import COLUMNS, revision
from quidnunc.properties.statements.statement import Catalogue

GOSSIPSUB = Catalogue(
    name="gossipsub",
    statements=(
        *mesh.STATEMENTS,
        *backoff.STATEMENTS,
        *messages.STATEMENTS,
        *gossip.STATEMENTS,
        *idontwant.STATEMENTS,
        *scores.STATEMENTS,
        *partial.STATEMENTS,
        *attack.STATEMENTS,
    ),
    columns=COLUMNS,
    revision=revision,
    page="gossipsub-claims.md",
)
