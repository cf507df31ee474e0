"""Texts of a case as they can stand in a program."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import groupby

from quidnunc.properties.cases.case import Case

WIDTH = 100
REPEATED = 16
"""So many equal bytes and more are not written out."""


def prose(text: str) -> str:
    """Text for a comment: in lines, without what could end one."""
    safe = "".join(c for c in text.replace("\\", "/") if c.isprintable())
    safe = re.sub(r'"([^"]*)"', "\u201c\\1\u201d", safe).replace('"', "\u201d").replace("*/", "* /")
    return "\n".join(textwrap.wrap(safe, WIDTH))


def title_of(case: Case) -> str:
    """The name of its test: the root cause, or the claim."""
    said = case.as_told.quirk or case.claim
    return re.sub(r"\W+", "_", said).strip("_")


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
