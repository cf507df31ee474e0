"""quidnunc report: one HTML page of findings, or the text of an issue."""

from __future__ import annotations

import argparse
import shlex
import sys

from quidnunc.options.report import PAGE
from quidnunc.output import UsageError
from quidnunc.properties.cases.file import load
from quidnunc.reports.pages.markdown import issue_of
from quidnunc.reports.pages.page import content_of, write_page


def run(options: argparse.Namespace) -> int:
    if options.json:
        raise UsageError("a report is a page or Markdown; `check --json` and `matrix --json` give the data")
    if options.markdown:
        return _issue(options)
    again = shlex.join(["quidnunc", "report", *map(str, options.paths)])
    output = options.output or PAGE
    write_page(output, content_of(options.paths, again))
    print(f"wrote {output}")
    return 0


def _issue(options: argparse.Namespace) -> int:
    path, *others = options.paths
    if others or path.is_dir() or path.suffix == ".json":
        raise UsageError("--markdown is about one case: name one .case file")
    text = issue_of(load(path))
    if options.output is None:
        sys.stdout.write(text)
        return 0
    options.output.write_text(text, encoding="utf-8")
    print(f"wrote {options.output}")
    return 0
