"""The options of `quidnunc matrix`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.options.shared import add_profile, add_result_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "protocols",
        nargs="+",
        metavar="protocol",
        help="a protocol to test for; several are tested one by one, each on the routers that speak it",
    )
    parser.add_argument(
        "--against",
        action="append",
        required=True,
        metavar="ROUTER",
        help="a router (see `quidnunc routers`); once for each",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder to write",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--runs", type=int, metavar="N", help="make N runs in each search")
    how.add_argument(
        "--budget",
        metavar="TIME",
        help="time for each router and protocol: 60s, 10m (default: 60s; with --suite: no limit)",
    )
    parser.add_argument("--suite", action="store_true", help="run the fixed suite instead of searching")
    add_result_files(parser, "report")
    parser.add_argument("--seed", type=int, default=0, help="seed of the searches (default: 0)")
    add_profile(parser)
