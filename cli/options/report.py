"""The options of `quidnunc report`."""

from __future__ import annotations

import argparse
from pathlib import Path

PAGE = Path("report.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="case files, folders of them, or files with what `check --json` or `matrix --json` printed",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"file to write (default: {PAGE}; Markdown goes to stdout)",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--markdown",
        action="store_true",
        help="write the text of an issue about one case, with a test that shows it where one can be made",
    )
    kinds.add_argument(
        "--reproduction",
        action="store_true",
        help="write that test alone: in the language of the router, and without quidnunc",
    )
