"""Protocols and routers by name. An unknown name is wrong usage."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from quidnunc.impl.routers import WITHOUT_ADAPTER, mutants_by_name, readings_by_name
from quidnunc.impl.seam import PROFILES, AdapterError, Hello, Profile
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError


def fix_hash_seed() -> None:
    """Start this process anew with the hash seed of every search, unless it has it.

    A router in Python that keeps its peers in sets acts in the order of their hashes, so that a case could
    not be replayed in a second process.
    """
    if sys.flags.hash_randomization and os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that says how the router is configured."""
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        help="shipped: the router's default configuration (the default); spec: switch off what it adds to "
        "the protocol",
    )
    parser.add_argument("--extras", action="store_true", help=argparse.SUPPRESS)


RESULT_FILES = ("report", "junit", "sarif")
"""Options that name a file for the result, beside what is printed."""
_RESULT_HELP = {
    "report": "write the result as one HTML page, too",
    "junit": "write the result as JUnit XML, too",
    "sarif": "write what fails as SARIF 2.1.0, too",
}


def add_result_files(parser: argparse.ArgumentParser, *names: str) -> None:
    """The options that name a file for the result: all of them, or `names`."""
    for name in names or RESULT_FILES:
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=_RESULT_HELP[name])
    if not names or "sarif" in names:
        parser.add_argument(
            "--format",
            choices=("text", "github"),
            help="github: print annotations, too",
        )


def check_format(options: argparse.Namespace) -> None:
    """Raises UsageError for annotations beside the one JSON object."""
    if options.json and options.format == "github":
        raise UsageError("--json and --format github exclude each other")


def add_allow_exec(parser: argparse.ArgumentParser) -> None:
    """The option that trusts a file with the routers that it names."""
    parser.add_argument(
        "--allow-exec",
        action="store_true",
        help="start the commands, and import the modules, that the file names as routers; read it first",
    )


def profile_of(options: argparse.Namespace) -> Profile:
    """The profile that was asked for; `shipped` where none was. Raises UsageError for a contradiction."""
    if not options.extras:
        return options.profile or "shipped"
    if options.profile == "spec":
        raise UsageError("--extras means --profile shipped, and --profile spec was given as well")
    print("--extras is the default now, and goes with the next release: leave it out", file=sys.stderr)
    options.extras, options.profile = False, "shipped"
    return "shipped"


def checked_protocol(name: str) -> str:
    """`name`, where it is a protocol. Raises UsageError."""
    if name not in PROTOCOLS:
        raise UsageError(
            f"unknown protocol {name!r}{suggestion(name, PROTOCOLS)}; choose from {', '.join(PROTOCOLS)}"
        )
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
        listed = (
            ""
            if "`quidnunc routers" in str(error)
            else "; `quidnunc routers` lists the routers that can be tested"
        )
        raise UsageError(f"{error}{listed}") from None
    _check_spoken(against, protocol, hello)
    return hello


def _check_spoken(against: str, protocol: str, hello: Hello) -> None:
    if protocol not in hello.protocols:
        raise UsageError(f"{against} does not speak {protocol}; it speaks {_list(hello)}")


def protocols_spoken(against: str) -> list[str]:
    """The protocols of the kit that a router says it speaks. Raises UsageError where there are none."""
    from quidnunc.properties.search.worker import hello_of

    spoken: set[str] = set()
    errors = []
    # A router may be one of pubsub and one of a mempool; each says its own.
    first = _first_protocol(against)
    for asked in (first,) if first else ("gossipsub-1.2", "floodsub", "dog", "flood"):
        try:
            spoken |= set(hello_of(against, asked).protocols)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except AdapterError as error:
            errors.append(str(error))
    if not spoken and errors:
        raise AdapterError(errors[0])
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


def suggestion(name: str, names: Iterable[str]) -> str:
    """` (did you mean X?)`, or nothing."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _list(hello: Hello) -> str:
    return ", ".join(hello.protocols) or "nothing"
