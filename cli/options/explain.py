"""The options of `quidnunc explain`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        metavar="NAME",
        help="a clause (its name, or words of its sentence), a claim, a case file, a case of the suite, a "
        "rule, an edit (the root cause of a finding), a statement about networks, a line of `quidnunc prove` "
        "or a mutant (ours:NAME)",
    )
    parser.add_argument(
        "--renamed", action="store_true", help="list the renamed names; the old ones keep working"
    )
