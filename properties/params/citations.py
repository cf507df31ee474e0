"""What each guarantee of `quidnunc params` says, rests on and assumes: the rows of `guarantees.toml`."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from quidnunc.properties.tables import table


@frozen
class GuaranteeRow:
    """What is said of one guarantee whatever the file has."""

    text: str = ""
    clauses: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    advisories: tuple[str, ...] = ()
    """Public advisories about parameters without it."""


def _read() -> Mapping[str, GuaranteeRow]:
    return {
        name: GuaranteeRow(
            row.get("text", ""),
            *(tuple(row.get(field, ())) for field in ("clauses", "assumptions", "advisories")),
        )
        for name, row in table("properties.params", "guarantees.toml").items()
    }


OF_COMET_SIZES = "sizes of CometBFT"
ROWS: Mapping[str, GuaranteeRow] = _read()
"""First word of a guarantee's id, or a kind of it -> its row."""


def row_of(identity: str) -> GuaranteeRow:
    """The row of a guarantee by its id, which may go on with the names of two networks; an empty one where
    there is none."""
    return ROWS.get(identity.split(" ", 1)[0], GuaranteeRow())


def guarantees_on(*clauses: str) -> tuple[str, ...]:
    """The guarantees that rest on any of `clauses`."""
    return tuple(name for name, row in ROWS.items() if set(clauses) & set(row.clauses))
