"""The report of `quidnunc check --dialect`: the router's reading of each open place of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quidnunc.model.profiles import PROFILES
from quidnunc.output import table
from quidnunc.properties.suite.dialect import DialectAnswer, unasked_places


def print_dialect(told: Sequence[DialectAnswer], *, documented: str | None) -> None:
    """One row per question, and the places that nothing is asked about."""
    if not told:
        print("\nseparating traces: none for this protocol")
        return
    others = sum(each.is_other for each in told)
    print(f"\nopen places, by separating traces: {others} of {len(told)} read differently from the kit")
    rows = [(t.question.place, t.question.asks, t.reading, _remark(t, documented)) for t in told]
    print(table(("place", "about", "reading", ""), rows))
    print("\nopen places that no trace decides, or only in part:")
    for what, why in unasked_places():
        print(f"  {what} {why[0].upper()}{why[1:]}.")


def dialect_json(told: Sequence[DialectAnswer] | None, *, documented: str | None) -> dict[str, Any]:
    """Where it was asked for, the key `dialect` of the object of one protocol, and `documented`: the router
    with whose documented readings it is compared."""
    if told is None:
        return {}
    return {"documented": documented, "dialect": [_row(each, documented) for each in told]}


def _row(each: DialectAnswer, router: str | None) -> dict[str, Any]:
    return {
        "place": each.question.place,
        "about": each.question.asks,
        "reading": each.reading,
        "reason": each.reason,
        "clause": each.clause,
        "documented": _documented(each, router),
    }


def _documented(each: DialectAnswer, router: str | None) -> str | None:
    """Where `router` has the reading documented; None without a router, and where it has not."""
    return PROFILES[router].readings.get(each.reading) if router else None


def _remark(each: DialectAnswer, router: str | None) -> str:
    where = _documented(each, router)
    if where:
        return f"documented: {where}"
    undocumented = router and each.is_other
    return f"{each.reason} (not documented for {router})" if undocumented else each.reason
