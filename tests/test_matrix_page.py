"""The rows of the committed matrix that a person has judged: each once, and counted right."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs/results/matrix.md").read_text(encoding="utf-8")
JUDGEMENTS = 5
"""Rightly told, wrongly told, duplicates, false alarms, not judged."""


def tables() -> list[list[list[str]]]:
    """The tables under "Read by hand", without their heads."""
    section = PAGE.partition("## Read by hand\n")[2].partition("\n## ")[0]
    found = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [[[c.strip() for c in row.split("|")[1:-1]] for row in it.splitlines()[2:]] for it in found]


def rows_of(router: str) -> set[str]:
    """The rows that the page has of it; those under flood are F1, F2."""
    found = set()
    for protocol, section in re.findall(
        rf"^### {router} \S+ under (\S+)\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL
    ):
        letter = "F" if protocol == "flood" else ""
        found |= {letter + number for number in re.findall(r"^(\d+)\. ", section, re.MULTILINE)}
    return found


def test_each_row_is_judged_once() -> None:
    for router, *lists in tables()[1]:
        judged = [row for each in lists for row in each.replace(",", " ").split()]
        assert len(judged) == len(set(judged)), router
        assert set(judged) == rows_of(router), router


def test_the_counts_and_the_precision_are_those_of_the_lists() -> None:
    counted, listed = tables()[:2]
    for (title, rows, *counts), (router, *lists) in zip(counted, listed, strict=True):
        assert title.startswith(f"{router} ")
        sizes = [len(each.replace(",", " ").split()) for each in lists]
        assert [int(each) for each in counts[:JUDGEMENTS]] == sizes, router
        assert int(rows) == sum(sizes), router
        assert counts[JUDGEMENTS] == f"{round(100 * (sizes[0] + sizes[1]) / sum(sizes))} %", router
