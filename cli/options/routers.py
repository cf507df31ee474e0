"""The options of `quidnunc routers`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="list the planted bugs and other readings of our own routers too"
    )

    parser.add_argument(
        "--language",
        nargs=2,
        metavar=("LANGUAGE", "DIR"),
        help="new: the language of the driver (go, js, python or rust) and the new folder to write",
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=("build", "new"),
        help="build releases of routers; write the skeleton of a driver for a router of your own",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME[@VERSION]",
        help="what to build (without a version: the default)",
    )
