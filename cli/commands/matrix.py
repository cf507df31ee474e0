"""quidnunc matrix: several routers under one protocol, side by side."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quidnunc.arguments import checked_protocol, profile_of
from quidnunc.output import UsageError, duration_s, given_options, print_json, repeat_command
from quidnunc.reports.matrix import MatrixColumn, as_markdown, as_text, cells_of, columns_of
from quidnunc.reports.pages.page import content_of_json, write_page

ASKED, DOCUMENT = "asked.json", "matrix.md"
REPORTED = (0, 1, 3)
"""Exit statuses of a check that has a report."""
LAST_LINES = 3
"""Of what a check said, what is kept where it broke."""


def run(options: argparse.Namespace) -> int:
    checked_protocol(options.protocol)
    if options.budget is not None:
        duration_s(options.budget)
    if repeated := {name for name in options.against if options.against.count(name) > 1}:
        raise UsageError(f"{', '.join(sorted(repeated))}: named twice")
    profile = profile_of(options)
    _claim_folder(options.output, options, profile)
    reports: dict[str, Mapping[str, Any] | str] = {}
    codes = []
    for at, router in enumerate(options.against, 1):
        print(f"{router} ({at} of {len(options.against)})", file=sys.stderr, flush=True)
        reports[router], code = _checked(router, options, profile)
        codes.append(code)
    columns = columns_of(options.protocol, reports)
    asked = given_options(options, "against", "runs", "budget", "suite", "seed")
    again = repeat_command("matrix", options.protocol, *asked, "--profile", profile, "-o", options.output)
    document = options.output / DOCUMENT
    document.write_text(as_markdown(options.protocol, columns, again, options.output), encoding="utf-8")
    if options.report:
        page = content_of_json(_json(options.protocol, columns), "", again.partition(": ")[2])
        write_page(options.report, page)
    if options.json:
        print_json(_json(options.protocol, columns))
    else:
        print(as_text(options.protocol, columns))
        print(f"\nthe whole matrix, with every root cause: {document}\n{again}")
    return next((code for code in (4, 1, 3) if code in codes), 0)


def _claim_folder(folder: Path, options: argparse.Namespace, profile: str) -> None:
    """Reports of other searches are not mixed with these. Raises UsageError."""
    asked = {name: getattr(options, name) for name in ("protocol", "runs", "budget", "suite", "seed")}
    asked["profile"] = profile
    known = folder / ASKED
    if known.is_file():
        if json.loads(known.read_bytes()) != asked:
            raise UsageError(f"{folder} has the matrix of another search: name another folder")
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty and has no matrix: name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(asked) + "\n", encoding="utf-8")


def _checked(router: str, options: argparse.Namespace, profile: str) -> tuple[Mapping[str, Any] | str, int]:
    """What `check` reports of a router, or why it does not, and its exit status. A report that is in the
    folder is taken as it is."""
    name = re.sub(r"[^\w.@-]", "_", router)
    kept = options.output / f"{name}.json"
    if kept.is_file():
        found = json.loads(kept.read_bytes())
        return found["report"], found["exit"]
    words = given_options(options, "runs", "budget", "suite", "seed")
    cases = options.output / "cases" / name
    command = ["check", options.protocol, "--against", router, *words, "--profile", profile, "--json"]
    said: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        [sys.executable, "-m", "quidnunc", *command, "--cases", str(cases)],
        stdin=subprocess.DEVNULL,
        stdout=(options.output / f"{name}.part").open("wb"),
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as checking:
        assert checking.stderr is not None
        for line in checking.stderr:
            print(f"  {line.rstrip()}", file=sys.stderr, flush=True)
            said.append(line.strip())
    part = options.output / f"{name}.part"
    try:
        report = json.loads(part.read_bytes()) if checking.returncode in REPORTED else None
    except ValueError:
        report = None
    finally:
        part.unlink()
    if report is None:
        # Not kept: the next call tries again.
        return " ".join(said) or f"exit status {checking.returncode}", 4
    kept.write_text(json.dumps({"exit": checking.returncode, "report": report}) + "\n", encoding="utf-8")
    return report, checking.returncode


def _json(protocol: str, columns: tuple[MatrixColumn, ...]) -> dict[str, Any]:
    return {
        "schema": 1,
        "protocol": protocol,
        "routers": [
            {"name": each.router, "title": each.title, "broken": each.broken, "report": each.report}
            for each in columns
        ],
        "claims": cells_of(columns),
    }
