"""Texts of a case as they can stand in a program."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import groupby

from quidnunc.properties.cases.case import Case
from quidnunc.properties.documents.clauses import load
from quidnunc.reports.pages.links import place_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedRun

WIDTH = 100
TITLE = 90
"""Characters of a rule in the name of a test, where it can be cut at a comma."""
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
    known = load().get(case.clause)
    if known is None:
        return case.clause
    return re.split(r"[:;.](?= |$)", " ".join(known.text.split()))[0]


def title_words(case: Case) -> list[str]:
    """The rule in the words of a name."""
    rule = rule_of(case)
    while len(rule) > TITLE and ", " in rule:
        rule = rule.rpartition(", ")[0]
    words = re.findall(r"[A-Za-z0-9]+", rule.replace("'s", ""))
    return [word for word in words if word.lower() not in ("a", "an", "the")]


def cited(case: Case) -> str:
    """The sentence of the document that is broken, and the document; our words where it has none."""
    known = load().get(case.clause)
    if known is None:
        return ""
    place, words = place_of(case.clause), f'"{known.quote}"' if known.quote else known.text
    title = place.title.partition(": ")[0] if place else known.document
    return " ".join(f"{title}: {words}".split())


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
    return f"{run.version} does this: {'; '.join(did)}" if did else f"{run.version} does nothing of this:"


def _concerns(assertion: Assertion, line: str) -> bool:
    peer, colon, words = line.partition(": ")
    if assertion.kind == "nobody":
        return words == assertion.line
    about, is_sent, _ = assertion.line.partition(": ")
    return about == peer if is_sent else not colon
