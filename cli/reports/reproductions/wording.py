"""Texts of a case as they can stand in a program."""

from __future__ import annotations

import re
import textwrap

from quidnunc.properties.cases.case import Case

WIDTH = 100


def prose(text: str) -> str:
    """Text for a comment: in lines, without what could end one."""
    safe = "".join(c for c in text.replace("\\", "/") if c.isprintable())
    for mark in ('"', "*/"):
        safe = safe.replace(mark, "\u201d" if mark == '"' else "* /")
    return "\n".join(textwrap.wrap(safe, WIDTH))


def title_of(case: Case) -> str:
    """The name of its test: the root cause, or the claim."""
    said = case.quirk or case.claim
    return re.sub(r"\W+", "_", said).strip("_")
