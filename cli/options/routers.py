"""The options of `quidnunc routers`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="list the planted bugs and other readings of our own routers too"
    )

    parser.add_argument("action", nargs="?", choices=("build",), help="build releases of routers")
    parser.add_argument(
        "releases", nargs="*", metavar="NAME[@VERSION]", help="what to build (without a version: the default)"
    )
