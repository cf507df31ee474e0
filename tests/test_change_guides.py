"""The guides of docs/change: short, and every file that they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "change").glob("*.md"))
MAX_LINES = 60
"""A page."""
_PATH = re.compile(
    r"`((?:cli|model|impl|properties|pipeline|tests|docs)/[\w./-]+|pyproject\.toml)`( \(new\))?"
)
_LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def wrong_paths(text: str) -> list[str]:
    """Named files that are not there, and new ones that are, or whose folder is not."""
    found = []
    for name, new in _PATH.findall(text):
        path = ROOT / name
        if path.exists() if new else not path.exists():
            found.append(name)
        if new and not path.parent.is_dir():
            found.append(name)
    return found


def test_there_is_a_guide_for_each_common_change() -> None:
    assert [guide.stem for guide in GUIDES] == [
        "add-a-claim",
        "add-a-control-message",
        "add-a-router",
        "add-a-version",
        "change-a-sentence",
    ]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_is_a_page_and_names_what_is_there(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert len(_PATH.findall(text)) >= 4
    assert wrong_paths(text) == []
    assert all((guide.parent / link).exists() for link in _LINK.findall(text))


def test_a_file_that_is_gone_is_noticed() -> None:
    assert wrong_paths("`model/rpcs.py` and `model/rpc.py`") == ["model/rpcs.py"]
    assert wrong_paths("`model/rpc.py` (new), `model/chokes/choke.py` (new)") == [
        "model/rpc.py",
        "model/chokes/choke.py",
    ]
