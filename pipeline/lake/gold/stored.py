"""What a folder of gold holds as JSON, read back: it may come from anybody, or may have lost a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quidnunc.pipeline.lake.gold.build import CLAIMS_FILE, METRICS_FILE
from quidnunc.pipeline.lake.gold.witness import VIOLATIONS_JSON
from quidnunc.pipeline.trace.shapes import TraceError

CLAIM = ("id", "clause", "asked", "binding", "verdict", "applied", "violations", "reason")
VIOLATION = ("claim", "peer", "sequence", "file", "position", "witness")


def stored_metrics(gold: Path) -> list[dict[str, Any]]:
    """The metrics of each run. Raises TraceError."""
    return _rows(gold / METRICS_FILE, "runs", ("run", "events", "lacking"))


def stored_claims(gold: Path) -> list[dict[str, Any]]:
    """Each claim with its verdict. Raises TraceError."""
    return _rows(gold / CLAIMS_FILE, "claims", CLAIM)


def stored_violations(gold: Path) -> list[dict[str, Any]]:
    """Each violation in words. Raises TraceError."""
    return _rows(gold / VIOLATIONS_JSON, "", VIOLATION)


def _rows(path: Path, member: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """The objects of a list in a file, or in its `member`; each has `names`."""
    try:
        found = json.loads(path.read_bytes())
        rows = found[member] if member else found
        if not isinstance(rows, list) or not all(row.keys() >= set(names) for row in rows):
            raise ValueError
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise TraceError(
            f"{path}: not what `quidnunc ingest` writes there; remove {path.parent}, and `quidnunc trace` "
            "makes it anew"
        ) from None
    return rows
