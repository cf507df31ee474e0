"""Protocols and routers by name. An unknown name is wrong usage."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from quidnunc.impl.routers import (
    WITHOUT_ADAPTER,
    available,
    built_routers,
    mutants_by_name,
    readings_by_name,
)
from quidnunc.impl.seam import AdapterError, Hello, Profile
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError, choices, suggestion


def demand_no_runs_of_suite(options: argparse.Namespace) -> None:
    """Raises UsageError where a number of runs is asked of the suite, whose cases are fixed."""
    if options.suite and options.runs is not None:
        raise UsageError("--suite plays fixed cases, and --runs is for a search: leave out one of them")


def checked_protocol(name: str) -> str:
    """`name`, where it is a protocol. Raises UsageError."""
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}{choices(name, PROTOCOLS)}")
    return name


def hello_from(against: str, protocol: str, profile: Profile = "shipped") -> Hello:
    """What a router says when it is opened for `protocol`.

    Raises UsageError where there is no such router or it does not speak the protocol, AdapterError where it
    cannot be opened.
    """
    from quidnunc.properties.search.worker import hello_of

    if against in WITHOUT_ADAPTER:
        raise UsageError(
            f"{against} has no adapter yet; `quidnunc routers` lists the routers that can be tested"
        )
    if first := _first_protocol(against):
        _check_spoken(against, protocol, hello_of(against, first))
    try:
        hello = hello_of(against, protocol, profile=profile)
    except ValueError as error:
        raise UsageError(_no_router(against, error)) from None
    except AdapterError:
        # A driver of a mempool does not open for pubsub. Of a router that nobody knows it is not asked: one
        # that hangs would do so each time.
        if against.partition("@")[0] in built_routers() and protocol not in (spoken := spoken_by(against)):
            raise UsageError(_does_not_speak(against, protocol, spoken)) from None
        raise
    _check_spoken(against, protocol, hello)
    return hello


def _no_router(against: str, error: ValueError) -> str:
    """Why a router cannot be opened; of a name that is nearly that of one, which."""
    near = suggestion(against, [each.name for each in available() if each.kind not in ("mutant", "reading")])
    if near and str(error).startswith("no router "):
        return f"no router {against!r}{near}; `quidnunc routers` lists the routers that can be tested"
    listed = "; `quidnunc routers` lists the routers that can be tested"
    return str(error) if "`quidnunc routers" in str(error) else f"{error}{listed}"


def _check_spoken(against: str, protocol: str, hello: Hello) -> None:
    if protocol not in hello.protocols:
        raise UsageError(_does_not_speak(against, protocol, hello.protocols))


def _does_not_speak(against: str, protocol: str, spoken: Iterable[str]) -> str:
    return f"{against} does not speak {protocol}; it speaks {', '.join(spoken) or 'nothing'}"


def spoken_by(against: str) -> list[str]:
    """All that a router says it speaks, the protocols of the kit first and in their order.

    Raises UsageError where there is no such router, AdapterError where it opens under no protocol.
    """
    from quidnunc.properties.search.worker import hello_of

    spoken: set[str] = set()
    errors = []
    # A router may be one of pubsub and one of a mempool; each says its own.
    first = _first_protocol(against)
    # An older release does not open under a newer protocol.
    for asked in (first,) if first else ("gossipsub-1.2", "gossipsub-1.1", "floodsub", "dog", "flood"):
        if asked in spoken:
            continue
        try:
            spoken |= set(hello_of(against, asked).protocols)
        except ValueError as error:
            raise UsageError(_no_router(against, error)) from None
        except AdapterError as error:
            errors.append(str(error))
    if not spoken and errors:
        raise AdapterError(errors[0])
    return [name for name in PROTOCOLS if name in spoken] + sorted(spoken - set(PROTOCOLS))


def protocols_spoken(against: str) -> list[str]:
    """The protocols of the kit that a router says it speaks. Raises UsageError where there are none."""
    spoken = spoken_by(against)
    # A draft is asked for by name: its revision speaks the same streams.
    found = [name for name in PROTOCOLS if name in spoken and "draft" not in name]
    if not found:
        drafts = [name for name in PROTOCOLS if name in spoken]
        if drafts:
            raise UsageError(
                f"{against} speaks only drafts, which auto leaves out; name one: {', '.join(drafts)}"
            )
        raise UsageError(
            f"{against} speaks {', '.join(sorted(spoken)) or 'nothing'}; quidnunc knows none of these"
        )
    return found


def _first_protocol(against: str) -> str:
    """The first protocol in which the departure of `ours:NAME` can be seen: it opens under no older one.
    Empty for another router."""
    kind, _, name = against.partition(":")
    planted = {**mutants_by_name(), **readings_by_name()}.get(name) if kind == "ours" else None
    return planted.protocol if planted is not None else ""
