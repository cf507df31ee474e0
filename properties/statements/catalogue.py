"""Every statement about the protocols, by name and by clause.

A statement was known by a number before it had a name of words (`old_id`); cases of users may still say it.
"""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.statements.dog.catalogue import DOG
from quidnunc.properties.statements.gossipsub.catalogue import GOSSIPSUB
from quidnunc.properties.statements.statement import Catalogue, Statement

CATALOGUES: Mapping[str, Catalogue] = {each.name: each for each in (GOSSIPSUB, DOG)}
STATEMENTS: tuple[Statement, ...] = (*GOSSIPSUB.statements, *DOG.statements)
ALIASES: Mapping[str, str] = {each.old_id: each.id for each in STATEMENTS}
"""Old id -> id."""
_BY_ID: Mapping[str, Statement] = {each.id: each for each in STATEMENTS}
_RESTS_ON: Mapping[str, tuple[str, ...]] = {
    **{claim.id: claim.clauses for claim in ALL},
    **{name: claim.clauses for name, claim in HELD.items()},
}


def statement_named(name: str) -> Statement | None:
    """The statement of an id, or of an old id; None where there is none."""
    return _BY_ID.get(ALIASES.get(name, name))


def clauses_of(statement: Statement) -> tuple[str, ...]:
    """The sentences that a statement rests on: by itself, and by the claims that carry it."""
    by_claims = (clause for claim in statement.claims for clause in _RESTS_ON[claim])
    return tuple(dict.fromkeys((*statement.clauses, *by_claims)))


def statements_on(clause: str) -> tuple[Statement, ...]:
    """The statements that rest on a clause."""
    return tuple(each for each in STATEMENTS if clause in clauses_of(each))
