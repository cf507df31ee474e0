"""The report of `quidnunc check --dialect`: the router's reading of each open place of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quidnunc.model.profiles import PROFILES
from quidnunc.output import table
from quidnunc.properties.suite.dialect import DialectAnswer, unasked_places


def print_dialect(told: Sequence[DialectAnswer], *, profile: str | None) -> None:
    """One row per question, and the places that nothing is asked about."""
    if not told:
        print("\nseparating traces: none for this protocol")
        return
    others = sum(each.is_other for each in told)
    print(f"\nopen places, by separating traces: {others} of {len(told)} read differently from the kit")
    rows = [(t.question.place, t.question.asks, t.reading, _remark(t, profile)) for t in told]
    print(table(("place", "about", "reading", ""), rows))
    print("\nopen places that no trace decides, or only in part:")
    for what, why in unasked_places():
        print(f"  {what} {why[0].upper()}{why[1:]}.")


def dialect_json(told: Sequence[DialectAnswer] | None, *, profile: str | None) -> dict[str, Any]:
    """The keys `profile` and, where it was asked for, `dialect` of the object of one protocol."""
    found: dict[str, Any] = {"profile": profile or "spec"}
    if told is not None:
        found["dialect"] = [_row(each, profile) for each in told]
    return found


def _row(each: DialectAnswer, profile: str | None) -> dict[str, Any]:
    return {
        "place": each.question.place,
        "about": each.question.asks,
        "reading": each.reading,
        "reason": each.reason,
        "clause": each.clause,
        "documented": _documented(each, profile),
    }


def _documented(each: DialectAnswer, profile: str | None) -> str | None:
    """Where the profile has the reading; None without a profile, and where it does not have it."""
    return PROFILES[profile].readings.get(each.reading) if profile else None


def _remark(each: DialectAnswer, profile: str | None) -> str:
    where = _documented(each, profile)
    if where:
        return f"documented: {where}"
    undocumented = profile and each.is_other
    return f"{each.reason} (not documented for {profile})" if undocumented else each.reason
