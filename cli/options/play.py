"""The options of `quidnunc play`."""

from __future__ import annotations

import argparse

from quidnunc.impl.seam import PROFILES
from quidnunc.options.shared import OneRouter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", metavar="PROTOCOL", help="the protocol by which every step is judged")
    parser.add_argument(
        "--against",
        metavar="ROUTER",
        action=OneRouter,
        help="play this router instead of the model: what it does is judged",
    )
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a parameter, as a case has it: D=4, flood_publish=no, scores.t1.topic_weight=2",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of what is left to chance (default: 0)")
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="spec",
        help="how a router is configured (default: spec, without what it adds to the protocol)",
    )
