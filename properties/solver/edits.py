"""Edits of rules: switches of a variant that are turned for the length of a `with` block.

The rules of a network, or of an arithmetic, are built from a variant: a frozen object whose fields are the
switches of its text. An edit turns some of them. Whatever looks the variant up meanwhile builds the edited
rules, by the same definitions; what is claimed of them stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from attrs import evolve, fields_dict

from quidnunc.model.errors import SpecError

T = TypeVar("T")
_TURNED: ContextVar[Mapping[str, Any]] = ContextVar("turned", default={})  # noqa: B039


@contextmanager
def editing(switches: Mapping[str, Any]) -> Iterator[None]:
    """With these switches turned. `routes.stuck` is the switch `stuck` of the variant's `routes`."""
    token = _TURNED.set(dict(switches))
    try:
        yield
    finally:
        _TURNED.reset(token)


class EditableVariants(Mapping[str, T]):
    """Name -> variant, with the edit that is in force."""

    def __init__(self, known: Mapping[str, T]) -> None:
        self._known = dict(known)

    def __getitem__(self, name: str) -> T:
        """Raises SpecError where the edit in force turns a switch that there is not."""
        variant = self._known[name]
        for switch, value in _TURNED.get().items():
            variant = _turned(variant, switch.split("."), value)
        return variant

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _turned(variant: T, path: list[str], value: Any) -> T:
    switch, *rest = path
    if switch not in fields_dict(cast(Any, type(variant))):
        raise SpecError(f"an edit turns {switch}, which {type(variant).__name__} has not")
    part = _turned(getattr(variant, switch), rest, value) if rest else value
    changed: T = evolve(cast(Any, variant), **{switch: part})
    return changed
