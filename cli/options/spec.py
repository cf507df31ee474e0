"""The options of `quidnunc spec`."""

from __future__ import annotations

import argparse
from pathlib import Path

CASES = Path("counterexamples") / "routers"
"""Read if it is there, and no other folder is named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", help="a protocol, such as gossipsub-1.2")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the page")
    parser.add_argument(
        "--cases",
        type=Path,
        action="append",
        metavar="PATH",
        help=f"cases of routers, or folders of them; can be repeated (default: {CASES}, if it is here)",
    )
