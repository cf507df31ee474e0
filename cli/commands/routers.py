"""quidnunc routers: list the routers that can be tested here, and why the others cannot; build releases;
write the skeleton of a driver."""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from pathlib import Path

from quidnunc.impl.routers import RouterInfo, available, build_release
from quidnunc.impl.seam import AdapterError
from quidnunc.impl.skeletons import SKELETONS, commands_of, write_skeleton
from quidnunc.output import UsageError, print_json, table

INNER = ("mutant", "reading")
"""Kinds that are listed on request."""


UNLOCKED = """\
Other releases of js-libp2p (from 0.11.0) and go-libp2p-pubsub (from 0.3.0) can be built, too. No lock
ships for them: they get the packages that the registry gives that day, which build.json lists."""


def run(options: argparse.Namespace) -> int:
    if options.action == "new":
        return _new(options)
    if options.language:
        raise UsageError("--language goes with `new`: quidnunc routers new --language go my-driver")
    if options.action:
        return _build(options)
    known = available()
    if options.json:
        print_json({"schema": 1, "routers": [_json(each) for each in known]})
        return 0
    drivable = sum(each.available for each in known if each.kind not in (*INNER, "external"))
    mutants, readings = (sum(each.kind == kind for each in known) for kind in INNER)
    print(f"routers: {drivable} can be tested here, besides your own\n")
    shown = [each for each in known if options.all or _is_listed(each)]
    rows = [
        (each.name, each.kind, each.version or "-", "yes" if each.available else "no", each.reason)
        for each in shown
    ]
    print(table(("router", "kind", "version", "here", ""), rows))
    if not options.all:
        unbuilt = [each for each in known if each.kind == "release" and not each.available]
        if unbuilt:
            print("\nreleases that can be built, by `quidnunc routers build NAME`:")
            print(textwrap.fill(", ".join(each.name for each in unbuilt), 100, break_on_hyphens=False))
            print(f"\n{UNLOCKED}")
        print(f"\nand {mutants} of our own with one planted bug, ours:MUTANT (--all lists them)")
        print(f"and {readings} of our own with another reading, ours:READING")
    print(f"\nagain: quidnunc routers{' --all' if options.all else ''}")
    return 0


def _is_listed(each: RouterInfo) -> bool:
    return each.kind not in INNER and (each.kind != "release" or each.available)


def _build(options: argparse.Namespace) -> int:
    if not options.names:
        raise UsageError("name a release: quidnunc routers build py-libp2p@0.2.8")
    built, failed = [], []
    for name in options.names:
        started = time.monotonic()

        def progress(what: str, name: str = name) -> None:
            print(f"{name}: {what}", file=sys.stderr, flush=True)

        try:
            folder = build_release(name, progress)
        except ValueError as error:
            raise UsageError(str(error)) from None
        except AdapterError as error:
            # The other names have nothing to do with it.
            print(f"quidnunc routers: {error}", file=sys.stderr)
            failed.append(name)
            continue
        built.append({"name": name, "folder": folder})
        if not options.json:
            print(f"{name} is built ({time.monotonic() - started:.0f} s): {folder}")
    if options.json:
        print_json({"schema": 1, "built": built, "failed": failed})
    return 4 if failed else 0


def _new(options: argparse.Namespace) -> int:
    if not options.language or options.names:
        raise UsageError("name a language and a new folder: quidnunc routers new --language go my-driver")
    language, folder = options.language[0], Path(options.language[1])
    try:
        written = write_skeleton(language, folder)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from None
    if options.json:
        print_json({"schema": 1, "written": [str(path) for path in written]})
        return 0
    skeleton = SKELETONS[language]
    for path in written:
        print(path)
    print(f"\nnext, in {folder} (it needs {skeleton.needs}):")
    for command in (*filter(None, [skeleton.build]), f"quidnunc {commands_of(skeleton)[0]}"):
        print(f"  {command}")
    return 0


def _json(each: RouterInfo) -> dict[str, object]:
    return {
        "name": each.name,
        "kind": each.kind,
        "version": each.version,
        "available": each.available,
        "reason": each.reason,
    }
