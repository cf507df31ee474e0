"""The options of `quidnunc suite`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", nargs="?", help="only the suite of this protocol")
    parser.add_argument(
        "--emit",
        choices=["json"],
        help="export requests (bytes as base64) and the allowed answers, for use without Python",
    )
