"""The options of `quidnunc sweep`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.options.shared import add_allow_exec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sweep", type=Path, metavar="SWEEP", help="a sweep in YAML or JSON")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--engine",
        "--executor",
        choices=("auto", "spark", "duckdb", "local"),
        default="local",
        help="spark, local (processes of this machine; duckdb means the same), or auto: Spark where it can "
        "start (default: local)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="without Spark: number of processes (default: one per core)"
    )
    parser.add_argument(
        "--master", metavar="URL", help="with spark: URL of a cluster (default: this machine)"
    )
    parser.add_argument(
        "--with",
        dest="earlier",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="add the coverage of an earlier sweep",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a page with plots of what was varied"
    )
    add_allow_exec(parser)
