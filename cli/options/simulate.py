"""The options of `quidnunc simulate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from quidnunc.options.shared import add_allow_exec, add_result_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        type=Path,
        metavar="SCENARIO",
        help="a scenario in YAML, or a params.json of gossipsub-interop",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="RUN", help="folder to write")
    parser.add_argument("--replace", action="store_true", help="replace a run of another scenario in RUN")
    parser.add_argument("--seed", type=int, help="use this seed instead of the scenario's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change a value of the scenario: links.loss=0.1",
    )
    parser.add_argument("--check", action="store_true", help="check every node against the model")
    parser.add_argument(
        "--cases",
        type=Path,
        metavar="DIR",
        help="with --check: write each failure as a case or a smaller scenario",
    )
    add_result_files(parser, "report")
    add_allow_exec(parser)
