"""The statements that the documents of gossipsub make or rely on."""

from __future__ import annotations

from quidnunc.properties.statements.gossipsub import attack, backoff, gossip, mesh, messages, partial
from quidnunc.properties.statements.gossipsub.revisions import COLUMNS, GROUPS, revision
from quidnunc.properties.statements.statement import Catalogue, read_statements

_SUBJECTS = (mesh, backoff, messages, gossip, partial, attack)
GOSSIPSUB = Catalogue(
    name="gossipsub",
    statements=read_statements("gossipsub", GROUPS, (each.LOOKS for each in _SUBJECTS), attack.EDITS),
    columns=COLUMNS,
    revision=revision,
    page="gossipsub-claims.md",
)
