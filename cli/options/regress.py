"""The options of `quidnunc regress`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.options.shared import add_result_files

WALKS = 12
"""The same number as of the comparison."""
CASES = Path("counterexamples")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "old", metavar="OLD", help="a protocol, python:MODULE:NAME or ROUTER:as-built, and +EDIT+EDIT"
    )
    parser.add_argument("new", metavar="NEW", help="written as OLD")
    parser.add_argument(
        "--walks", type=int, default=WALKS, metavar="N", help=f"random walks per change (default: {WALKS})"
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        help="time, all included: 60s, 10m (default: no limit); what was not compared by then is named",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the walks (default: 0)")
    parser.add_argument(
        "--as-one",
        action="store_true",
        help="treat all differences as one change: any trace that separates the two will do",
    )
    parser.add_argument(
        "--shortest",
        action="store_true",
        help="also try every short trace, to find a shorter one for each change",
    )
    parser.add_argument(
        "--cases",
        type=Path,
        metavar="DIR",
        help=f"folder of cases to replay under both (default: {CASES}, if it exists)",
    )
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", help="file of declared changes; any difference from it fails"
    )
    parser.add_argument(
        "--update-expect", action="store_true", help="rewrite the --expect file from the result"
    )
    add_result_files(parser)
    parser.add_argument("--markdown", action="store_true", help="print a summary for a pull request")
