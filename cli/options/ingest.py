"""The options of `quidnunc ingest`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="+", type=Path, metavar="SOURCE", help="trace files, or folders of them"
    )
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="RUN", help="folder to write")
    parser.add_argument(
        "--completeness",
        choices=("full", "sampled", "filtered", "lossy"),
        help="how complete the traces are (default: judged from their content)",
    )
    parser.add_argument(
        "--clock",
        choices=("one", "own"),
        help="one clock for all peers, or one per peer (default: what the trace says)",
    )
    parser.add_argument(
        "--buckets", type=int, metavar="N", help="number of files in the silver table (default: by size)"
    )
    parser.add_argument(
        "--no-gold",
        action="store_true",
        help="leave metrics and claims to the next `trace`; for a folder to which files are added often",
    )
    parser.add_argument(
        "--follow",
        type=float,
        metavar="SECONDS",
        help="look for new files at such intervals until interrupted; then make metrics and claims",
    )
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options for the engine and for assumptions, of `ingest` and of `trace`."""
    parser.add_argument(
        "--engine",
        choices=("auto", "spark", "duckdb"),
        help="spark, duckdb (this machine, no Java), or auto: Spark where it can start (default)",
    )
    parser.add_argument("--master", metavar="URL", help="URL of a Spark cluster (default: this machine)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=N",
        help="an assumption of the claims: prune_backoff_s, skew_ms, idontwant_window_ms, ...",
    )
