"""The hundred and twenty statements that the documents of gossipsub make or rely on."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.properties import gossipsub_list_mesh, gossipsub_list_messages, gossipsub_list_rest
from quidnunc.properties.gossipsub_statement import Statement

STATEMENTS: tuple[Statement, ...] = (
    *gossipsub_list_mesh.STATEMENTS,
    *gossipsub_list_messages.STATEMENTS,
    *gossipsub_list_rest.STATEMENTS,
)
BY_ID: Mapping[str, Statement] = {each.id: each for each in STATEMENTS}
