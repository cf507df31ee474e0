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
    parser.add_argument("--markdown", action="store_true", help="write the text of an issue about one case")
