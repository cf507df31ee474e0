"""Which rules of networks were taken, by the clauses that they are a view of.

A rule is *explored* where some reachable state of its network enables it; it is *followed* where a drawn run
of routers took it. `properties/proofs/network-rules.toml` is the record, so that `quidnunc clauses` needs
neither z3 nor a search.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.tables import table


@frozen
class AppliedRules:
    """The rules of networks that are a view of one clause, and were taken."""

    explored: tuple[str, ...] = ()
    """As `NETWORK.RULE`, by exploration."""
    followed: tuple[str, ...] = ()
    """As `PROTOCOL.RULE`, by a run of routers."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.explored, *(f"{each} (followed)" for each in self.followed))


@lru_cache
def applied_rules() -> Mapping[str, AppliedRules]:
    """Clause -> the rules of networks that were taken. Raises SpecError for a record of another shape."""
    found = {}
    for clause, each in table("properties.proofs", "network-rules.toml").items():
        try:
            found[clause] = AppliedRules(tuple(each.get("explored", ())), tuple(each.get("followed", ())))
        except (AttributeError, TypeError):
            raise SpecError(
                f"network-rules.toml: {clause}: expected a table with `explored` and `followed`"
            ) from None
    return found
