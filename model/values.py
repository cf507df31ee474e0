"""A changed copy of a frozen value, for those of which a step makes many.

A router has some thirty fields. attrs looks them up at each copy, and sets them one by one; where a class
keeps them in a dictionary (`slots=False`) all are copied at once, in a quarter of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    # What mypy knows of attrs's own holds of ours.
    from attrs import evolve as evolve
else:

    def evolve(value: object, **changes: object) -> object:
        """`value` with some of its fields changed, as `attrs.evolve` gives it."""
        cls = type(value)
        made_anew = _MADE_ANEW.get(cls, _UNASKED)
        if made_anew is _UNASKED:
            made_anew = _MADE_ANEW[cls] = _made_anew(cls)
        if made_anew is None:
            return attrs.evolve(value, **changes)
        own = value.__dict__
        # A dictionary that is made so, and not an updated one, is read a third faster.
        fields = {**own, **changes}
        if len(fields) != len(own):
            raise TypeError(f"{cls.__name__} has no field {min(changes.keys() - own.keys())}")
        for name, factory in made_anew:
            fields[name] = factory()
        copy = object.__new__(cls)
        object.__setattr__(copy, "__dict__", fields)
        return copy


_UNASKED: Final = object()
_MADE_ANEW: dict[type, Any] = {}
"""By class, what `_made_anew` says of it: asked at every copy, a cache would take a tenth of the time."""


def _made_anew(cls: type) -> tuple[tuple[str, type], ...] | None:
    """The fields that every value makes for itself; None where it takes more than to copy a dictionary."""
    fields = attrs.fields(cls)
    checked = any(each.converter or each.validator for each in fields)
    if checked or any("__slots__" in vars(each) for each in cls.__mro__[:-1]):
        return None
    return tuple((each.name, each.default.factory) for each in fields if not each.init)
