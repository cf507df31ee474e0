"""The options of `quidnunc diff`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "old", metavar="OLD", help="a protocol, python:MODULE:NAME or ROUTER:as-built, and +EDIT+EDIT"
    )
    parser.add_argument("new", metavar="NEW", help="written as OLD")
