"""Peers that a step cannot tell apart: what comes of a choice is the same, whichever of them it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import chain
from operator import eq
from typing import Any, TypeAlias, cast

import attrs

from quidnunc.model.rpc import Peer

Swap: TypeAlias = Mapping[Peer, Peer]


def classes_of(peers: Iterable[Peer], *told: object) -> dict[Peer, int]:
    """The class of each peer: two are of one where all of `told` stays what it is if they change places."""
    values = [*chain.from_iterable(map(_values, told))]
    as_is = [_form(value, {}, named) for value, named in values]
    first: list[Peer] = []
    found: dict[Peer, int] = {}

    def are_alike(peer: Peer, other: Peer) -> bool:
        swap = {peer: other, other: peer}
        # Most differ in one of the first values.
        swapped = (_form(value, swap, named) for value, named in values)
        return all(map(eq, swapped, as_is))

    for peer in sorted(peers):
        same = (n for n, other in enumerate(first) if are_alike(peer, other))
        found[peer] = next(same, len(first))
        if found[peer] == len(first):
            first.append(peer)
    return found


def _values(value: object) -> list[tuple[object, bool]]:
    """What is compared of it one by one, each with whether whole numbers in it are peers."""
    fields = _fields(cast("Hashable", type(value)))
    return [(value, False)] if fields is None else [(getattr(value, name), peers) for name, peers in fields]


def unordered(values: Sequence[Any]) -> frozenset[tuple[Any, int]]:
    """What is compared without its order; how often each value is there counts."""
    return frozenset(Counter(values).items())


def _form(value: object, swap: Swap, named: bool) -> Any:
    """`value` with peers swapped, in a form that compares and has a hash.

    Whole numbers are peers where `named` says so; one that is none and has the number of a peer only makes
    the two differ.
    """
    if isinstance(value, int):
        return swap.get(value, value) if named and not isinstance(value, bool) else value
    if isinstance(value, Mapping):
        return frozenset((_form(k, swap, named), _form(v, swap, named)) for k, v in value.items())
    if isinstance(value, Set):
        return frozenset(_form(each, swap, named) for each in value)
    if isinstance(value, list | tuple):
        return tuple(_form(each, swap, named) for each in value)
    # A class has a hash, which mypy looks for in what it makes.
    fields = _fields(cast("Hashable", type(value)))
    if fields is None:
        return value
    return type(value), tuple(_form(getattr(value, name), swap, peers) for name, peers in fields)


@cache
def _fields(cls: type) -> tuple[tuple[str, bool], ...] | None:
    """The fields that are compared, and whether each may hold peers, by what its type says or leaves open."""
    if not attrs.has(cls):
        return None
    # As it is written: once somebody has attrs resolve the types of a class, `Peer` is `int` in them.
    written = {each.name: str(cls.__annotations__.get(each.name, each.type)) for each in attrs.fields(cls)}
    return tuple(
        (each.name, any(word in written[each.name] for word in ("Peer", "object", "Any")))
        for each in attrs.fields(cls)
        if each.eq
    )
