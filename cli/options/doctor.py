"""The options of `quidnunc doctor`."""

from __future__ import annotations

import argparse

from quidnunc.options.shared import add_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("router", metavar="ROUTER", help="the router (see `quidnunc routers`)")
    parser.add_argument(
        "--protocol", metavar="P", help="only this protocol (default: all that the router speaks)"
    )
    add_profile(parser)
