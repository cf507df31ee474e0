"""quidnunc report: one HTML page of findings, the text of an issue, or a test."""

from __future__ import annotations

import argparse
import shlex
import sys

from quidnunc.options.report import PAGE
from quidnunc.output import UsageError, write_text
from quidnunc.properties.cases.file import load
from quidnunc.reports.pages.markdown import Reproduction, issue_of
from quidnunc.reports.pages.page import content_of, write_page
from quidnunc.reports.reproductions.catalogue import language_of, reproduction_of
from quidnunc.reports.reproductions.recorded import NoReproductionError


def run(options: argparse.Namespace) -> int:
    if options.json:
        raise UsageError("a report is a page or Markdown; `check --json` and `matrix --json` give the data")
    if options.markdown or options.reproduction:
        return _one_case(options)
    again = shlex.join(["quidnunc", "report", *map(str, options.paths)])
    output = options.output or PAGE
    write_page(output, content_of(options.paths, again))
    print(f"wrote {output}")
    return 0


def _one_case(options: argparse.Namespace) -> int:
    """The text of an issue, or the test alone."""
    path, *others = options.paths
    if others or path.is_dir() or path.suffix == ".json":
        kind = "--markdown" if options.markdown else "--reproduction"
        raise UsageError(f"{kind} is about one case: name one .case file")
    case = load(path)
    try:
        language = language_of(case)
        text, command = reproduction_of(case), language.command_of(case)
        place = language.place_for(case)
        found = Reproduction(text, language.name, language.file, place, command)
    except NoReproductionError as error:
        if options.reproduction:
            raise UsageError(f"{path}: no test: {error}") from None
        print(f"quidnunc report: without a test: {error}", file=sys.stderr)
        found = None
    text = found.text if options.reproduction and found else issue_of(case, found)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    write_text(options.output, text)
    print(f"wrote {options.output}")
    return 0
