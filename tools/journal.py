"""Journals of long jobs: one line of JSON per result, added as it comes, read when the job goes on."""

from __future__ import annotations

from pathlib import Path


def end_last_line(path: Path) -> None:
    """A line that was cut off by a stop is ended, so that it does not take the next one with it."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as out:
            out.write(b"\n")
