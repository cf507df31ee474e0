"""The options of `quidnunc params`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="parameters of a network: a file, or a name from --list"
    )
    parser.add_argument(
        "--replay", metavar="ROUTER", help="also play the starvation attack on this router, such as `ours`"
    )
    parser.add_argument(
        "--round-trip", metavar="TIME", help="the longest round trip between two peers, such as 300ms"
    )
    parser.add_argument("--list", action="store_true", help="list the shipped parameters and their paths")
