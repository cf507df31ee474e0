"""Processes of a pool end at once, and what has to be done before is done."""

from __future__ import annotations

import atexit
from pathlib import Path

from quidnunc.properties.processes import process_pool, submitted


def leave_at_the_end(mark: str) -> None:
    atexit.register(Path(mark).touch)


def test_what_a_process_does_at_its_end_is_done(tmp_path: Path) -> None:
    marks = [tmp_path / name for name in ("first", "second")]
    with process_pool(1) as pool:
        for future in submitted(pool, leave_at_the_end, list(map(str, marks))):
            future.result()
        assert not any(mark.exists() for mark in marks)
    assert all(mark.exists() for mark in marks)
