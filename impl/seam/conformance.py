"""What a driver that is not of this kit says, held to the seam before anybody believes it.

A process and an object in Python are asked the same here: does its hello name what there is, and does its
clock show what it was advanced by?
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable

import attrs

from quidnunc.impl.seam import CAPABILITIES, AdapterError, Config, Hello, Reply
from quidnunc.model.parameters import Parameters

NAMES_SHOWN = 5
LAST_PEER = 1_000_000
"""No request names a peer with a number above it."""


def check_known(given: Iterable[object], known: Collection[str], what: str) -> None:
    """Raises AdapterError where `given` has what is not `known`: `what` 'crash', did you mean 'crashed'."""
    unknown = [str(each) for each in given if each not in known]
    if not unknown:
        return
    told, all_near = [], True
    for name in sorted(unknown)[:NAMES_SHOWN]:
        near = difflib.get_close_matches(name[:80].lower(), sorted(known), 1)
        all_near = all_near and bool(near)
        told.append(f"{name[:80]!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    there_are = "" if all_near else f"; there are {', '.join(sorted(known))}"
    raise AdapterError(f"{what} {', '.join(told)}{there_are}")


def checked_hello(hello: Hello, config: Config) -> Hello:
    """`hello`, the answer to an init of `config`, with names that can be shown on a line.

    Raises AdapterError for a capability that there is not, and for a name or value in `fixed` that no
    parameter of this protocol can have.
    """
    check_known(hello.capabilities, CAPABILITIES, "hello.capabilities: no capability")
    fields = attrs.fields(type(config.parameters or Parameters()))
    numbers = {f.name: f.default for f in fields if isinstance(f.default, int | float)}
    check_known(hello.fixed, numbers, "hello.fixed: no parameter")
    for name, value in hello.fixed.items():
        if wrong := _no_value(numbers[name], value):
            raise AdapterError(f"hello.fixed.{name}: {wrong}, got {value!r}")
    shown = attrs.evolve(
        hello,
        name=_on_a_line(hello.name),
        version=_on_a_line(hello.version),
        protocols=tuple(map(_on_a_line, hello.protocols)),
    )
    return hello if shown == hello else shown


def _on_a_line(text: str) -> str:
    """A text with what a terminal obeys escaped, and with no end of a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _no_value(default: object, value: object) -> str:
    """What is wrong with `value`, for a parameter whose default is `default`."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "need a number"
    if isinstance(default, bool):
        return "" if value in (0, 1) else "need 0 or 1"
    if isinstance(default, int) and (isinstance(value, bool) or not isinstance(value, int)):
        return "need a whole number"
    return ""


def check_peers(reply: Reply, own: int) -> None:
    """Raises AdapterError where a reply names a peer that there cannot be, or the router itself: `own`."""
    named = (("out peer", [sent[0] for sent in reply.out]), ("dials", reply.dials), ("closed", reply.closed))
    for where, peers in named:
        for peer in peers:
            # In a network peer 0 is a node as the others are.
            if not 0 <= peer <= LAST_PEER:
                raise AdapterError(f"reply.{where}: need a number from 0 to {LAST_PEER}, got {peer}"[:200])
            if peer == own:
                raise AdapterError(f"reply.{where}: {peer} is the router itself")


@attrs.define
class DriverClock:
    """The clock of one driver, as its replies show it, in ms since its init."""

    is_virtual: bool
    """It says `clock`: no time passes but by `advance`."""
    now_ms: int = 0

    def check(self, reply: Reply) -> None:
        """Raises AdapterError where the time of a reply is not what it was promised to be."""
        if reply.crashed:
            # What a router promised that has failed is not asked any more.
            self.is_virtual = False
        if self.is_virtual and reply.t_ms != self.now_ms:
            raise AdapterError(
                f"reply.t: got {reply.t_ms} ms, need {self.now_ms} ms, the sum of all `advance` since init; "
                "a driver whose time is not virtual must not list the capability `clock`"
            )
        if reply.t_ms < 0:
            raise AdapterError(f"reply.t: need milliseconds since init, got {reply.t_ms}")
