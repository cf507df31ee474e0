"""The options of `quidnunc check`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.model.profiles import PROFILES as DOCUMENTED
from quidnunc.options.shared import PROTOCOL_NAMES, OneRouter, add_profile, add_result_files

ACTS = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "protocol", help=f"auto (all that the router speaks), or one of: {', '.join(PROTOCOL_NAMES)}"
    )
    said = "the router to test (see `quidnunc routers`)"
    parser.add_argument("--against", required=True, action=OneRouter, metavar="ROUTER", help=said)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--runs", type=int, metavar="N", help="search for N runs; the same seed gives the same result"
    )
    how.add_argument(
        "--budget",
        metavar="TIME",
        help="time for each protocol, all included: 60s, 10m (default: 60s; with --suite: no limit)",
    )
    parser.add_argument("--suite", action="store_true", help="run the fixed suite instead of searching")
    parser.add_argument(
        "--no-known",
        action="store_true",
        help="with --suite: ignore the causes that the kit knows of this release, and explain each case anew",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (default: 0)")
    parser.add_argument(
        "--acts", type=int, default=ACTS, help="acts of the neighbours in each run (default: 40)"
    )
    parser.add_argument("--claims", default="*", metavar="GLOB", help="report only these claims or clauses")
    parser.add_argument("--cases", type=Path, metavar="DIR", help="write each failure as a case file")
    _add_expectations(parser)
    parser.add_argument("--strict", action="store_true", help="fail on a SHOULD that is not followed, too")
    parser.add_argument(
        "--dialect", action="store_true", help="report how the router reads what the texts leave open"
    )
    parser.add_argument(
        "--documented",
        choices=sorted(DOCUMENTED),
        help="with --dialect: compare with the readings that this router's authors have documented",
    )
    parser.add_argument(
        "--private", type=Path, metavar="DIR", help="folder for the events that crash the router"
    )
    parser.add_argument("--record", type=Path, metavar="TRACE", help="record every run in this trace file")
    parser.add_argument("--verbose", action="store_true", help="list every claim and every root cause")
    add_result_files(parser)
    add_profile(parser)
    parser.add_argument(
        "--workers", type=int, metavar="N", help="number of processes (default: one per core)"
    )


def _add_expectations(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", help="file of expected failures; any difference from it fails"
    )
    parser.add_argument(
        "--update-expect",
        action="store_true",
        help="add the result to the --expect file; an entry that this search did not meet stays, unless its "
        "case no longer fails; give --cases too",
    )
