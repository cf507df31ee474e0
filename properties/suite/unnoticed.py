"""Rules whose absence no trace can show, each with the reason, and the check that they change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from attrs import field, frozen, validators

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.tables import table

Because: TypeAlias = Literal["never-asked", "never-decides", "does-nothing", "shadowed", "unread"]


@frozen
class UnnoticedRule:
    """A rule without which the same outputs are allowed as with it."""

    rule: str
    protocols: tuple[str, ...] = field(converter=tuple, validator=validators.min_len(1))
    because: Because = field(validator=validators.in_(get_args(Because)))
    """`never-asked`: nothing uses what it says. `never-decides`: what it is for does not come about here.
    `does-nothing`: it decides for what happens without it too. `shadowed`: a later rule does the same.
    `unread`: what it changes in the state is not looked at."""
    reason: str = field(validator=validators.min_len(20))


@lru_cache
def unnoticed_rules() -> tuple[UnnoticedRule, ...]:
    """The committed list.

    Raises SpecError for an entry that names no protocol or no rule of one.
    """
    listed = table("properties.suite", "cases", "UNNOTICED.toml").get("unnoticed", ())
    entries = tuple(UnnoticedRule(**entry) for entry in listed)
    for entry in entries:
        for name in entry.protocols:
            if name not in PROTOCOLS or entry.rule not in {r.name for _, r in PROTOCOLS[name].rules()}:
                raise SpecError(f"suite/UNNOTICED.toml: {name!r} has no rule {entry.rule!r}; take it off")
    return entries


@lru_cache
def unnoticed_of(name: str) -> Mapping[str, UnnoticedRule]:
    """Rule -> its entry, for one protocol."""
    return {entry.rule: entry for entry in unnoticed_rules() if name in entry.protocols}
