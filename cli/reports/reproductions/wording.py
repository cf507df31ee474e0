"""Texts of a case as they can stand in a program."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import groupby

from quidnunc.properties.cases.case import Case
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedRun

WIDTH = 100
TITLE = 100
"""Characters of a rule in the name of a test; a longer one is cut at a comma, not before half of that."""
PRELUDE = "(?://|#) -- prelude"
FINDING = "(?://|#) -- this finding"
"""Lines of a test that begin so: above what it needs, and above what is of its finding."""
REPEATED = 16
"""So many equal bytes and more are not written out."""


def prose(text: str) -> str:
    """Text for a comment: in lines, without what could end one."""
    safe = "".join(c for c in text.replace("\\", "/") if c.isprintable())
    safe = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", safe).replace('"', "\u201d").replace("*/", "* /")
    return "\n".join(textwrap.wrap(safe, WIDTH))


def rule_of(case: Case) -> str:
    """The rule that is broken, in a sentence: what its clause says first."""
    it = finding_of(case)
    text = " ".join(it.sentences[0].clause.text.split()) if it.sentences else it.act
    return re.split(r"[:;.](?= |$)", text)[0]


def title_words(case: Case) -> list[str]:
    """The rule in the words of a name."""
    rule = rule_of(case)
    if len(rule) > TITLE and (cut := rule.find(", ", TITLE // 2)) >= 0:
        rule = rule[:cut]
    words = re.findall(r"[A-Za-z0-9]+", rule.replace("'s", ""))
    return [word for word in words if word.lower() not in ("a", "an", "the")]


def cited(case: Case) -> str:
    """The sentence of the document that is broken, and the document; our words where it has none."""
    for each in finding_of(case).sentences[:1]:
        words = f'"{each.words}"' if each.is_quote else each.words
        return f"{each.place.title.partition(': ')[0]}: {words}"
    return ""


def comment(text: str) -> str:
    """What an event says, behind a line of a program."""
    safe = "".join(c for c in text if c.isprintable())
    return safe if len(safe) <= WIDTH else f"{safe[: WIDTH - 3]}..."


def in_hex(data: bytes) -> Iterator[tuple[str, int]]:
    """(hexadecimal digits, times): what is written out, and runs of one byte."""
    plain = ""
    for byte, group in groupby(data):
        size = len([*group])
        if size < REPEATED:
            plain += f"{byte:02x}" * size
            continue
        if plain:
            yield plain, 1
        yield f"{byte:02x}", size
        plain = ""
    if plain:
        yield plain, 1


def seeded(run: RecordedRun) -> str:
    """Why a seed is given."""
    return f"Seed {run.case.seed}: what the router draws decides here, and this draw shows it."


def did_by(run: RecordedRun) -> str:
    """What the release does at the end to those whom the assertions are about, for a comment."""
    did = [line for line in run.did if any(_concerns(each, line) for each in run.assertions)]
    return f"{run.version} does this: {'; '.join(did)}" if did else f"{run.version} does not do this:"


def _concerns(assertion: Assertion, line: str) -> bool:
    peer, colon, words = line.partition(": ")
    if assertion.kind == "nobody":
        return words == assertion.line
    about, is_sent, _ = assertion.line.partition(": ")
    return about == peer if is_sent else not colon
