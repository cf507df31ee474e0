"""quidnunc routers: list the routers that can be tested here, and why the others cannot."""

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
    parser.add_argument(
        "--all", action="store_true", help="list the planted bugs and other readings of our own routers too"
    )


def run(options: argparse.Namespace) -> int:
    known = available()
    if options.json:
        print_json({"schema": 1, "routers": [_json(each) for each in known]})
        return 0
    drivable = sum(each.available for each in known if each.kind not in INNER)
    mutants, readings = (sum(each.kind == kind for each in known) for kind in INNER)
    print(f"routers: {drivable} can be tested here\n")
    shown = [each for each in known if options.all or each.kind not in INNER]
    rows = [
        (each.name, each.kind, each.version or "-", "yes" if each.available else "no", each.reason)
        for each in shown
    ]
    print(table(("router", "kind", "version", "here", ""), rows))
    if not options.all:
        print(f"\nand {mutants} of our own with one planted bug, ours:MUTANT (--all lists them)")
        print(f"and {readings} of our own with another reading, ours:READING")
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
