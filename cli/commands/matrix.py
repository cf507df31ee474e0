"""quidnunc matrix: several routers side by side, under one protocol or several."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.arguments import checked_protocol, demand_no_runs_of_suite, spoken_by
from quidnunc.impl.seam import AdapterError
from quidnunc.output import UsageError, budget_s, given_options, print_json, repeat_command, write_whole
from quidnunc.reports.matrix import RouterMatrix, as_markdown, as_text, matrix_of
from quidnunc.reports.pages.page import content_of_json, write_page

ASKED, DOCUMENT = "asked.json", "matrix.md"
REPORTED = (0, 1, 3)
"""Exit statuses of a check that has a report."""
LAST_LINES = 3
"""Of what a check said, what is kept where it broke."""


@frozen
class RouterCheck:
    """What is known of a router under one protocol."""

    report: Mapping[str, Any] | str
    """Of `check --json`, or why there is none."""
    code: int
    """The exit status of `check`."""
    speaks: tuple[str, ...] = ()
    """The protocols that the router speaks, where the one asked for is not among them."""


def run(options: argparse.Namespace) -> int:
    for name in options.protocols:
        checked_protocol(name)
    if options.budget is not None:
        budget_s(options.budget)
    demand_no_runs_of_suite(options)
    for named in (options.protocols, options.against):
        if repeated := {name for name in named if named.count(name) > 1}:
            raise UsageError(f"{', '.join(sorted(repeated))}: named twice")
    _demand_known(options)
    _claim_folder(options.output, options)
    searches = [(protocol, router) for protocol in options.protocols for router in options.against]
    found: dict[str, dict[str, RouterCheck]] = {protocol: {} for protocol in options.protocols}
    for at, (protocol, router) in enumerate(searches, 1):
        print(f"{protocol} against {router} ({at} of {len(searches)})", file=sys.stderr, flush=True)
        found[protocol][router] = _checked(protocol, router, options)
    codes = {each.code for row in found.values() for each in row.values() if not each.speaks}
    if not codes:
        raise UsageError("; ".join(dict.fromkeys(_said(name, row) for name, row in _rows(found))))
    matrices = [_matrix(protocol, row) for protocol, row in found.items()]
    asked = given_options(options, "against", "runs", "budget", "suite", "seed", "profile")
    again = repeat_command("matrix", *options.protocols, *asked, "-o", options.output)
    document = options.output / DOCUMENT
    write_whole(document, as_markdown(matrices, again, options.output))
    if options.report:
        page = content_of_json(_json(matrices), "", again.partition(": ")[2])
        write_page(options.report, page)
    if options.json:
        print_json(_json(matrices))
    else:
        print(as_text(matrices))
        print(f"\nthe whole matrix, with every root cause: {document}\n{again}")
    return next((code for code in (4, 1, 3) if code in codes), 0)


def _demand_known(options: argparse.Namespace) -> None:
    """Before any router has its time. Raises UsageError for a router that there is not."""
    for router in options.against:
        if not any(_report_of(options.output, name, router).is_file() for name in options.protocols):
            # One that breaks has its column, and leaves the others alone.
            with suppress(AdapterError):
                spoken_by(router)


def _rows(found: Mapping[str, Mapping[str, RouterCheck]]) -> Iterator[tuple[str, RouterCheck]]:
    for row in found.values():
        yield from row.items()


def _said(router: str, checked: RouterCheck) -> str:
    return f"{router} speaks {', '.join(checked.speaks)}"


def _matrix(protocol: str, row: Mapping[str, RouterCheck]) -> RouterMatrix:
    reports = {router: each.report for router, each in row.items() if not each.speaks}
    return matrix_of(protocol, reports, {name: each.speaks for name, each in row.items() if each.speaks})


def _claim_folder(folder: Path, options: argparse.Namespace) -> None:
    """Reports of other searches are not mixed with these. Raises UsageError."""
    asked = {name: getattr(options, name) for name in ("runs", "budget", "suite", "seed", "profile")}
    known = folder / ASKED
    if known.is_file():
        if json.loads(known.read_bytes()) != asked:
            raise UsageError(f"{folder} has the matrix of another search: name another folder")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty and has no matrix: name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(asked) + "\n", encoding="utf-8")


def _report_of(output: Path, protocol: str, router: str) -> Path:
    return output / protocol / (re.sub(r"[^\w.@-]", "_", router) + ".json")


def _checked(protocol: str, router: str, options: argparse.Namespace) -> RouterCheck:
    """What `check` reports of a router. A report that is in the folder is taken as it is."""
    kept = _report_of(options.output, protocol, router)
    folder, name = kept.parent, kept.stem
    if kept.is_file():
        found = json.loads(kept.read_bytes())
        return RouterCheck(found["report"], found["exit"])
    try:
        spoken = spoken_by(router)
    except AdapterError:
        # The check says what is wrong with it.
        spoken = [protocol]
    if protocol not in spoken:
        return RouterCheck("", 0, tuple(spoken) or ("nothing",))
    folder.mkdir(exist_ok=True)
    words = given_options(options, "runs", "budget", "suite", "seed", "profile")
    cases = folder / "cases" / name
    command = ["check", protocol, "--against", router, *words, "--json"]
    said: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        # -P: a folder in the place where this is run may be named as the package.
        [sys.executable, "-P", "-m", "quidnunc", *command, "--cases", str(cases)],
        stdin=subprocess.DEVNULL,
        stdout=(folder / f"{name}.part").open("wb"),
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as checking:
        assert checking.stderr is not None
        for line in checking.stderr:
            print(f"  {line.rstrip()}", file=sys.stderr, flush=True)
            said.append(line.strip())
    part = folder / f"{name}.part"
    try:
        report = json.loads(part.read_bytes()) if checking.returncode in REPORTED else None
    except ValueError:
        report = None
    finally:
        part.unlink()
    if report is None:
        # Not kept: the next call tries again.
        return RouterCheck(" ".join(said) or f"exit status {checking.returncode}", 4)
    kept.write_text(json.dumps({"exit": checking.returncode, "report": report}) + "\n", encoding="utf-8")
    return RouterCheck(report, checking.returncode)


def _json(matrices: Sequence[RouterMatrix]) -> dict[str, Any]:
    return {
        "schema": 2,
        "matrices": [
            {
                "protocol": matrix.protocol,
                "routers": [
                    {"name": each.router, "title": each.title, "broken": each.broken, "report": each.report}
                    for each in matrix.columns
                ],
                "unspoken": {router: list(speaks) for router, speaks in matrix.unspoken.items()},
                "claims": matrix.cells(),
            }
            for matrix in matrices
        ],
    }
