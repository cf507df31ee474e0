"""The guide: each chapter is followed in a folder of its own, and says what it prints.

A block with a title is a file that the reader saves. In a block of `console`, a line after `$` is typed, and
what follows is what the reader sees, with `...` for anything.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "docs" / "guide").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)(?: title=\"([\w.-]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
NEEDS = re.compile(r"\A---\nneeds: \[(.*)\]\n---\n")
TOO_LONG_S = 300
"""On a machine that does much else; alone, no command of the guide takes a tenth of it."""
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def files_of(chapter: Path) -> dict[str, str]:
    """What a reader of this chapter has saved, in this chapter and those before."""
    before = CHAPTERS[: CHAPTERS.index(chapter) + 1]
    blocks = [block for each in before for block in BLOCK.findall(each.read_text(encoding="utf-8"))]
    return {title: text for _, title, text in blocks if title}


def typed_in(text: str) -> list[tuple[str, str]]:
    """(command, what it prints) of a page, in order."""
    return [
        pair
        for language, _, block in BLOCK.findall(text)
        if language == "console"
        for pair in TYPED.findall(block)
    ]


def seen(command: str, folder: Path) -> str:
    """What a command of the kit prints to a terminal of a hundred columns."""
    program, *words = shlex.split(command)
    assert program == "quidnunc", command
    *words, sign, name = words if "<" in words else [*words, "<", os.devnull]
    assert sign == "<", command
    ran = subprocess.run(
        [sys.executable, "-m", "quidnunc", *words],
        cwd=folder,
        input=(folder / name).read_text(encoding="utf-8"),
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=TOO_LONG_S,
    )
    assert ran.returncode in (0, 1, 3), f"{command}: {ran.returncode}\n{ran.stderr}"
    return ran.stdout


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_says_what_happens(chapter: Path, tmp_path: Path) -> None:
    text = chapter.read_text(encoding="utf-8")
    needs = NEEDS.match(text)
    for module in needs[1].split(", ") if needs else ():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the chapter needs {module}")
    for name, content in files_of(chapter).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    for command, wanted in typed_in(text):
        got = seen(command, tmp_path)
        assert doctest.OutputChecker().check_output(wanted, got, OPTIONS), f"$ {command}\n{got}"


def test_another_output_is_noticed() -> None:
    page = '```console\n$ quidnunc a\none\n...\nthree\n$ quidnunc b\n```\n```text title="x.y"\nq\n```\n'
    assert typed_in(page) == [("quidnunc a", "one\n...\nthree\n"), ("quidnunc b", "")]
    same = doctest.OutputChecker().check_output
    assert same("one\n...\nthree\n", "one\ntwo\nthree\n", OPTIONS)
    assert not same("one\n...\nthree\n", "one\ntwo\nfour\n", OPTIONS)


def test_the_guide_has_its_chapters() -> None:
    assert [int(chapter.name[:2]) for chapter in CHAPTERS] == [*range(1, len(CHAPTERS) + 1)]
    assert len(CHAPTERS) >= 6 and all(typed_in(c.read_text(encoding="utf-8")) for c in CHAPTERS)


def test_its_toy_is_that_of_the_reference() -> None:
    toy = files_of(CHAPTERS[2])["toy_router.py"]
    assert toy in (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
