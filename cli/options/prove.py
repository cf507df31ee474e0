"""The options of `quidnunc prove`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="names or patterns of statements, or of rows (default: all)"
    )
    parser.add_argument(
        "--smt2", type=Path, metavar="DIR", help="write every question to the solver here, as SMT-LIB"
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="write each line here as a file that z3, cvc5 or Spin can check, and say which have none",
    )
    parser.add_argument(
        "--recheck",
        nargs="?",
        const="2m",
        metavar="BUDGET",
        help="ask cvc5 too, for this much CPU time in total (2m if no BUDGET is given)",
    )
    parser.add_argument(
        "--edits",
        action="store_true",
        help="try each proof again with a rule edited so that it should fail, and show what becomes of it",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print a page in Markdown, one row per statement"
    )
    parser.add_argument(
        "--quiet", action="store_true", help="print only the table, without evidence and traces"
    )
