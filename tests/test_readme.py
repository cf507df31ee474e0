"""The README shows what is there: its case is the committed one, and its commands exist and parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from quidnunc.__main__ import COMMANDS, main, parser_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """The words of every `quidnunc` command in the README's blocks, without comments and redirections."""
    found = []
    for block in re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            for command in line.split(" && "):
                if command.startswith("quidnunc "):
                    found.append(shlex.split(command, comments=True)[1:])
    return found


QUICK = [words for words in commands() if words[0] in ("routers", "clauses", "explain", "diff")]


def test_the_case_is_the_committed_one() -> None:
    named = re.search(r"`(counterexamples/\S+\.case)`", README)
    assert named is not None
    assert (ROOT / named[1]).read_text(encoding="utf-8").strip() in README


def test_its_commands_exist() -> None:
    used = {words[0] for words in commands()}
    assert used and used <= set(COMMANDS)


def test_its_commands_parse() -> None:
    parser = parser_of(*COMMANDS)
    for words in commands():
        assert parser.parse_args(words).command == words[0]


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_its_quick_commands_work(words: list[str]) -> None:
    assert main(words) == 0


def test_its_explorer_command_finds_its_claim(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3", reason="explore needs z3")
    (words,) = [words for words in commands() if words[0] == "explore"]
    assert main([*words, "--engine", "python"]) == 1
    assert words[-1] in capsys.readouterr().out


def test_its_files_exist() -> None:
    for words in commands():
        for word in words:
            if word.startswith(("docs/", "counterexamples/")):
                assert list(ROOT.glob(word)), word


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_it_names_the_two_commands_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


MAX_WORDS = 40


def sentences(text: str) -> list[str]:
    """The sentences of a page, without its tables and blocks."""
    prose = re.sub(r"^```.*?^```|^\|.*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    paragraphs = re.split(r"\n\s*\n|\n(?=- |\d+\. |#)", prose)
    return [s for p in paragraphs for s in re.split(r"(?<=[.:;?!])\s", " ".join(p.split()))]


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("change/*.md"))]
)
def test_the_first_pages_have_short_sentences(page: str | Path) -> None:
    """Whoever meets the kit reads these pages first, and once."""
    long = [s for s in sentences((ROOT / page).read_text(encoding="utf-8")) if len(s.split()) > MAX_WORDS]
    assert not long, "\n".join(long)


def test_a_long_sentence_is_noticed() -> None:
    assert max(len(s.split()) for s in sentences("One. " + "word " * 41 + "end.\n\nTwo.")) > MAX_WORDS
