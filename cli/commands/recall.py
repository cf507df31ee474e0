"""quidnunc recall: which known bugs of released routers the kit finds."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attrs import asdict

from quidnunc import __version__
from quidnunc.output import (
    UsageError,
    clear_progress,
    print_json,
    progress_line,
    repeat_command,
    suggestion,
    write_whole,
)
from quidnunc.properties.recall.bugs import KnownBug, case_of, case_text, known_bugs
from quidnunc.properties.recall.play import RecallResult, ReleaseReplay, recall
from quidnunc.properties.sources import SEARCHED, digest_of_sources
from quidnunc.reports.recall import as_markdown, as_text, summary_of

ASKED, DOCUMENT = "asked.json", "recall.md"
KEPT = ("found", "missed", "still departs", "inconclusive")
"""Results that another call would repeat."""


def run(options: argparse.Namespace) -> int:
    bugs = _asked(options.ids)
    if options.output is not None:
        _claim_folder(options.output)
    results = []
    tell = progress_line()
    for at, bug in enumerate(bugs, 1):
        tell(f"{bug.id} ({at} of {len(bugs)})")
        results.append(_result(bug, options.output))
    clear_progress()
    again = repeat_command("recall", *options.ids, *(["-o", options.output] if options.output else []))
    if options.output is not None:
        text = as_markdown(results, date=datetime.now(UTC).date().isoformat(), kit=__version__)
        write_whole(options.output / DOCUMENT, text)
    if options.json:
        print_json(_json(results))
    else:
        print(as_text(results))
        print(f"\n{again}")
    return exit_status(results)


def exit_status(results: Sequence[RecallResult]) -> int:
    """4 where a driver failed, 1 where a bug that was played is not found and gone, 3 where a row was skipped
    or inconclusive, or none was played; else 0."""
    states = {each.state for each in results}
    if "broken" in states:
        return 4
    if states & {"missed", "still departs"}:
        return 1
    return 3 if states & {"skipped", "inconclusive"} or "found" not in states else 0


def _asked(ids: Sequence[str]) -> list[KnownBug]:
    known = known_bugs()
    for id in ids:
        if id not in known:
            raise UsageError(f"no bug {id!r}{suggestion(id, known)}; `quidnunc recall` lists all")
    return [known[id] for id in dict.fromkeys(ids)] if ids else list(known.values())


def _claim_folder(folder: Path) -> None:
    """Raises UsageError for a folder of something else."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / ASKED).is_file():
        raise UsageError(f"{folder} is not empty and has no results of recall: name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ASKED).write_text('{"command": "recall"}\n', encoding="utf-8")


def _result(bug: KnownBug, folder: Path | None) -> RecallResult:
    """The result that is in the folder, if row, case and kit are the same; else what playing it comes to."""
    from quidnunc.properties.search.worker import opener_of

    if not bug.case:
        return recall(bug, None, opener_of)
    digest = _digest(bug)
    kept = folder / f"{bug.id}.json" if folder is not None else None
    if kept is not None and (known := _known(kept, bug, digest)) is not None:
        return known
    result = recall(bug, case_of(bug), opener_of)
    if kept is not None and result.state in KEPT:
        kept.write_text(json.dumps({"digest": digest, **_row(result)}) + "\n", encoding="utf-8")
    return result


def _digest(bug: KnownBug) -> str:
    parts = (digest_of_sources(SEARCHED), json.dumps(asdict(bug)), case_text(bug))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _known(path: Path, bug: KnownBug, digest: str) -> RecallResult | None:
    """What was written of this bug; None where nothing was, or of something else."""
    try:
        row = json.loads(path.read_bytes())
        if row["digest"] != digest or row["state"] not in KEPT:
            return None
        before, after = (ReleaseReplay(**row[side]) for side in ("before", "after"))
        return RecallResult(bug=bug, state=row["state"], reason=row["reason"], before=before, after=after)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _row(result: RecallResult) -> Mapping[str, Any]:
    return {
        **asdict(result.bug),
        "state": result.state,
        "reason": result.reason,
        "found_before": result.found_before,
        "gone_after": result.gone_after,
        "right_clause": result.right_clause,
        "before": asdict(result.before) if result.before else None,
        "after": asdict(result.after) if result.after else None,
    }


def _json(results: Sequence[RecallResult]) -> dict[str, Any]:
    return {"schema": 1, "summary": summary_of(results), "bugs": [_row(each) for each in results]}
