"""The options of `quidnunc clauses`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", nargs="?", help="only the clauses of this protocol")
    parser.add_argument(
        "--uncovered",
        action="store_true",
        help="only clauses that are not modelled, or that lack a rule, a claim, a mutant or a case",
    )
    parser.add_argument(
        "--text",
        action="append",
        metavar="FILE",
        help="compare a specification (Markdown or an HTML page, any revision) with its clauses; "
        "given twice, list what changed from the first to the second",
    )
    parser.add_argument(
        "--as",
        dest="name",
        metavar="TEXT",
        help="which specification FILE is, if that cannot be seen from its text",
    )
    parser.add_argument(
        "--prints",
        action="store_true",
        help="with one --text: print the hashes of its sentences, for clauses/texts/TEXT.prints",
    )
