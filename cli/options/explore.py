"""The options of `quidnunc explore`."""

from __future__ import annotations

import argparse

from quidnunc.properties.proofs.networks import NETWORKS

NEEDS = {"compiled": ("z3", "numba"), "python": ("z3",)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (parser.epilog or "").format(networks=", ".join(NETWORKS))
    parser.add_argument("network", help="name of the network (listed below)")
    parser.add_argument("--peers", type=int, help="number of peers (default: the fewest, 2 for most)")
    parser.add_argument("--d-high", type=int, default=1, help="largest number of mesh members (default: 1)")
    parser.add_argument(
        "--engine",
        choices=list(NEEDS),
        default="compiled",
        help="python is slow, and serves to cross-check compiled",
    )
    parser.add_argument(
        "--symmetry",
        action="store_true",
        help="expand only one of the states that differ by exchanging peers",
    )
    parser.add_argument(
        "--trace",
        metavar="CLAIM",
        help="print the shortest trace that refutes this claim (or meets it, if it is a 'sometimes')",
    )
    parser.add_argument("--memory", metavar="SIZE", help="memory for states: 500M, 2G (default: 2G)")
