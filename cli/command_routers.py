"""quidnunc routers: what can be driven here, and why the others can not."""

from __future__ import annotations

import argparse

from quidnunc.impl.routers import RouterInfo, available
from quidnunc.output import print_json, table

EXAMPLE = """\
example:
  quidnunc routers
  quidnunc routers --all
"""

INNER = ("mutant", "reading")
"""Kinds that are listed on request."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="the planted departures of our own routers too")


def run(options: argparse.Namespace) -> int:
    known = available()
    if options.json:
        print_json({"schema": 1, "routers": [_json(each) for each in known]})
        return 0
    drivable = sum(each.available for each in known if each.kind not in INNER)
    mutants, readings = (sum(each.kind == kind for each in known) for kind in INNER)
    print(f"routers: {drivable} can be driven here\n")
    shown = [each for each in known if options.all or each.kind not in INNER]
    rows = [
        (each.name, each.kind, each.version or "-", "yes" if each.available else "no", each.reason)
        for each in shown
    ]
    print(table(("router", "kind", "version", "here", ""), rows))
    if not options.all:
        print(f"\nand {mutants} planted departures of our own, ours:MUTANT (--all lists them)")
        print(f"and {readings} other readings of our own, ours:READING")
    print(f"\nagain: quidnunc routers{' --all' if options.all else ''}")
    return 0


def _json(each: RouterInfo) -> dict[str, object]:
    return {
        "name": each.name,
        "kind": each.kind,
        "version": each.version,
        "available": each.available,
        "reason": each.reason,
    }
