"""The sides that `quidnunc diff` and `quidnunc regress` compare, by what they are called.

A side is a protocol of the kit, one of the user's own (`python:MODULE:NAME`, which may be taken from an older
revision of the user's repository: `REVISION@python:MODULE:NAME`), or a router as it is known to be built
(`ROUTER:as-built`); and after each `+` what is otherwise in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from attrs import evolve, frozen

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError, did_you_mean
from quidnunc.model.events import Connect, Event
from quidnunc.model.machine import PROTOCOLS, family_of, protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.notation.parameters import attribute_of
from quidnunc.properties.regress.as_built import AS_BUILT, as_built_named
from quidnunc.properties.regress.own_protocols import OWN, OwnProtocol, own_named

MAX_EDITS = 20
"""Words that may follow the `+` signs of one side."""
SWITCHES = {"yes": True, "no": False, "true": True, "false": False}


@frozen
class Side:
    """One of the two that are compared: a protocol, edited or not, and what it sets of its parameters."""

    name: str
    """As it was asked for: `gossipsub-1.2+d=8`."""
    protocol: Protocol
    overrides: tuple[tuple[str, object], ...] = ()
    """Parameters that this side has whatever the trace says."""
    claims: tuple[Claim, ...] = ()
    """Those that come with a protocol of one's own."""

    @property
    def base(self) -> str:
        """The name of the protocol of the kit that it is, or is an edit of, or is the most like."""
        return base_of(self.protocol)

    @property
    def streams(self) -> tuple[str, ...]:
        """The protocol ids that it negotiates, newest first."""
        return family_of(self.protocol).streams(self.base)

    def parameters(self, of_trace: Any) -> Any:
        """Those of a trace with this side's own. Raises ValueError where the two do not go together."""
        return evolve(of_trace, **dict(self.overrides)) if self.overrides else of_trace

    def sees(self, event: Event) -> Event:
        """A peer that speaks newer versions connects by the newest one that this side has, too."""
        if isinstance(event, Connect) and event.protocol not in self.streams:
            return evolve(event, protocol=self.streams[0])
        return event


@lru_cache(maxsize=1000)
def base_of(protocol: Protocol) -> str:
    """The name of the protocol of the kit that it is, or that has the most rules in common with it."""
    if protocol.name in PROTOCOLS:
        return protocol.name
    rules = _rules(protocol)
    kin = [p for p in PROTOCOLS.values() if p.family == protocol.family]
    return min(kin, key=lambda p: len(rules ^ _rules(p))).name


def _rules(protocol: Protocol) -> frozenset[tuple[str, object]]:
    return frozenset((handler, each.apply) for handler, each in protocol.rules())


def side_named(text: str) -> Side:
    """The side that is written `PROTOCOL`, or `PROTOCOL+EDIT+EDIT`.

    An edit is one of `quidnunc.model.edits.catalogue` by its name, or `PARAMETER=VALUE`.
    Raises SpecError, which names what is not known.
    """
    name, *edits = text.split("+")
    if len(edits) > MAX_EDITS:
        raise SpecError(f"{name}: {len(edits)} edits, at most {MAX_EDITS} are allowed")
    if OWN in name:
        own = own_named(name)
    else:
        own = OwnProtocol(as_built_named(name) if name.endswith(AS_BUILT) else protocol_named(name))
    protocol, overrides = own.protocol, dict(own.parameters)
    given = [attribute_of(edit.partition("=")[0]) if "=" in edit else edit for edit in edits]
    for each in given:
        if each and given.count(each) > 1:
            raise SpecError(f"{text}: {each} is given {given.count(each)} times; leave it once")
    for edit in edits:
        if "=" in edit:
            key, value = edit.split("=", 1)
            overrides[attribute_of(key)] = _value(protocol, key, value, text)
        else:
            protocol = _edited(protocol, edit, text)
    side = Side(text, protocol, tuple(sorted(overrides.items())), own.claims)
    try:
        side.parameters(family_of(protocol).parameters())
    except ValueError as error:
        raise SpecError(f"{text}: {error}") from None
    return side


def _edited(protocol: Protocol, edit: str, text: str) -> Protocol:
    if not edit:
        raise SpecError(f"{text}: expected an edit after each +, such as {protocol.name}+PARAMETER=VALUE")
    if edit in {a.name for a in family_of(protocol).parameters().__attrs_attrs__}:
        raise SpecError(f"{text}: {edit} is a parameter; write {edit}=VALUE")
    return edit_named(edit, protocol).change(protocol)


def _value(protocol: Protocol, key: str, value: str, text: str) -> object:
    defaults = family_of(protocol).parameters()
    key = attribute_of(key)
    known = getattr(defaults, key, None) if key in {a.name for a in defaults.__attrs_attrs__} else None
    if not isinstance(known, bool | int | float):
        names = [a.name for a in defaults.__attrs_attrs__]
        numbers = [name for name in names if isinstance(getattr(defaults, name), int | float)]
        raise SpecError(f"{text}: {key!r} is not a parameter of {protocol.name}{did_you_mean(key, numbers)}")
    if isinstance(known, bool):
        # As Python writes them, and as cases do.
        if value not in SWITCHES:
            raise SpecError(f"{text}: {key} is yes or no, not {value!r}")
        return SWITCHES[value]
    try:
        return type(known)(value)
    except ValueError:
        raise SpecError(f"{text}: {key} needs a number like {known}, not {value!r}") from None


def levelled_sides(old: Side, new: Side) -> tuple[Side, Side]:
    """Both, each with its default for what the other one sets: or a trace would decide it for one of them."""
    defaults = family_of(old.protocol).parameters()
    named = {name for side in (old, new) for name, _ in side.overrides}
    filled = [{n: getattr(defaults, n) for n in named} | dict(side.overrides) for side in (old, new)]
    first, second = (
        evolve(side, overrides=tuple(sorted(values.items())))
        for side, values in zip((old, new), filled, strict=True)
    )
    return first, second
