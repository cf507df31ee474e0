"""The options of `quidnunc replay`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.impl.seam import PROFILES
from quidnunc.options.shared import add_result_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="case files, or folders of them")
    parser.add_argument(
        "--against",
        metavar="ROUTER",
        action="append",
        default=[],
        help="use this router instead of the one that each case names; several are shown side by side",
    )
    parser.add_argument("--protocol", metavar="P", help="judge by this protocol instead of the case's own")
    parser.add_argument(
        "--profile", choices=PROFILES, help="configure the router so, instead of as the case says"
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="write the outputs of this replay into the files"
    )
    add_result_files(parser)
    parser.add_argument("--emit", choices=["json"], help="print each case, as replayed, in this format")
    parser.add_argument(
        "--allow-exec",
        action="store_true",
        help="start the command that a case of format 1 names as its router; read the case first",
    )
