"""The options of `quidnunc trace`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.options.ingest import add_settings
from quidnunc.options.shared import add_result_files

PAGE = Path("trace.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("check", "metrics", "report"))
    parser.add_argument(
        "traces",
        nargs="+",
        type=Path,
        metavar="TRACE",
        help="trace files, folders of them, or folders that `quidnunc ingest` wrote",
    )
    parser.add_argument("--claims", default="*", metavar="GLOB", help="report only these claims or clauses")
    parser.add_argument("--strict", action="store_true", help="fail on a SHOULD that is not followed, too")
    parser.add_argument(
        "--replay", action="store_true", help="check every peer of an ingested simulation against the model"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=PAGE, metavar="FILE", help=f"page of `report` (default: {PAGE})"
    )
    add_result_files(parser, "report")
    add_settings(parser)
