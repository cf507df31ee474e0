"""The commands of all pages: each parses, and what is cheap is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from quidnunc.__main__ import main, parser_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
CHEAP = frozenset({"clauses", "diff", "explain", "routers"})
NEEDS_MORE = re.compile(r"build|\.case|--text|routers new")
"""In a command that needs a network, or a file that is not here, or that writes files."""
PLACEHOLDER = re.compile(r"\.\.\.|[<>\[\]…]|\b[A-Z]{3,}\b|YOUR")
"""In a command that shows a form, and that nobody can type."""


def commands_in(text: str) -> Iterator[str]:
    """Commands of the blocks of a page, without their comments, continued lines joined."""
    for block in re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            for command in re.split(r" && | \|\| | \| |; ", line.strip().removeprefix("$ ")):
                if command.startswith("quidnunc "):
                    yield command.partition(" > ")[0]


def typed() -> list[tuple[str, str]]:
    """(page, command) of all commands that can be typed, each once."""
    found: dict[str, str] = {}
    for page in PAGES:
        for command in commands_in(page.read_text(encoding="utf-8")):
            if not PLACEHOLDER.search(command):
                found.setdefault(command, str(page.relative_to(ROOT)))
    return [(page, command) for command, page in found.items()]


TYPED = typed()
RUN = [command for _, command in TYPED if command.split()[1] in CHEAP and not NEEDS_MORE.search(command)]


def words_of(command: str) -> list[str]:
    return shlex.split(command, comments=True)[1:]


@pytest.mark.parametrize(("page", "command"), TYPED, ids=[command for _, command in TYPED])
def test_a_command_of_a_page_parses(page: str, command: str) -> None:
    words = words_of(command)
    assert parser_of(words[0]).parse_args(words).command == words[0], page


def test_the_pages_have_commands() -> None:
    assert len({page for page, _ in TYPED}) > 10 and len(TYPED) > 50 and len(RUN) > 5
    assert [*commands_in("```\nquidnunc check dog \\\n  --suite > x && quidnunc nosuch\n```")] == [
        "quidnunc check dog --suite",
        "quidnunc nosuch",
    ]


@pytest.mark.parametrize("command", RUN)
def test_a_cheap_command_works(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words_of(command)) == 0
    assert capsys.readouterr().out
