"""A named departure of one of our own routers: what a claim must notice to be worth its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeVar

from attrs import frozen

Router = TypeVar("Router")
Usual = Callable[..., Any]
"""A method as it is without the edit."""


@frozen
class Mutant:
    """One small edit of a router of ours, at one of its named seams.

    `apply` is called once with the fresh router (the reactor itself, not its driver) before any event.
    """

    name: str
    summary: str
    """What it does instead, in one sentence."""
    clause: str
    """Id of the clause it breaks, as in `model/clauses`."""
    protocol: str
    """The first protocol in which the difference can be seen."""
    apply: Callable[[object], None]


def patch(owner: object, seam: str, by: Callable[..., object]) -> None:
    """Put `by` in the place of the method `seam` of one instance. Raises AttributeError where it has none."""
    if not callable(getattr(owner, seam, None)):
        raise AttributeError(f"{type(owner).__name__} has no method {seam!r} to replace")
    setattr(owner, seam, by)


def put(seam: str, by: Callable[..., object]) -> Callable[[object], None]:
    """An edit that patches one method: `relay.accept` of the part `relay`, or `close` of the router."""
    return around(seam, lambda router, usual, *given, **named: by(*given, **named))


def around(seam: str, by: Callable[..., object]) -> Callable[[object], None]:
    """An edit that patches one method, as `put` does: `by` gets the router and the usual method first."""
    *parts, method = seam.split(".")

    def edit(router: object) -> None:
        owner = reduce(getattr, parts, router)
        patch(owner, method, partial(by, router, getattr(owner, method, None)))

    return edit


def nothing(*_: object) -> None:
    """In the place of a method: does nothing."""
