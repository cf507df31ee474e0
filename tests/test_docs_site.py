"""The site of the documentation: every page is in its navigation, and every link leads somewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install '.[docs]'")


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of this folder, with every link checked."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "site")],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    return tmp_path


def test_every_page_is_listed_and_every_link_leads_somewhere(sources: Path) -> None:
    built = build(sources)
    assert built.returncode == 0, built.stderr
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 40
    assert all((sources / "site" / page.with_suffix(".html")).is_file() for page in pages)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("index.md", "\n[nowhere](nowhere.md)\n"),
        ("index.md", "\n[no heading](glossary.md#nowhere)\n"),
        ("unlisted.md", "# In no list\n"),
    ],
)
def test_what_is_wrong_fails(sources: Path, name: str, text: str) -> None:
    with (sources / "docs" / name).open("a", encoding="utf-8") as page:
        page.write(text)
    built = build(sources)
    assert built.returncode == 1 and name in built.stderr
