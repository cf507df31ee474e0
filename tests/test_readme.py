"""The README shows what is there: its case is the committed one, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from quidnunc.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_case_is_the_committed_one() -> None:
    named = re.search(r"`(counterexamples/\S+\.case)`", README)
    assert named is not None
    assert (ROOT / named[1]).read_text(encoding="utf-8").strip() in README


def test_its_commands_exist() -> None:
    used = set(re.findall(r"^quidnunc (\w+)", README, re.MULTILINE))
    assert used and used <= set(COMMANDS)


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_it_names_the_two_commands_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
