"""The front matter of a case: its fields as `name: value`."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from quidnunc.properties.notation.words import integer, one_line

FIELDS = (
    *("format", "claim", "clause", "protocol", "protocols", "against", "status", "quirk", "explanation"),
    *("as built", "control", "reproduced", "found by", "argument", "parameters", "profile", "without"),
    *("extras", "seed"),
)
"""In the order in which they are written."""
REQUIRED = ("format", "claim", "clause", "protocols", "against", "status")
WIDTH = 100

_FIELD = re.compile(r"([a-z][a-z ]*):(?:\s+(.*))?")


@frozen
class FrontField:
    """The value of one field, and the line where it starts."""

    text: str
    line: int


class CaseSyntaxError(ValueError):
    """What was expected, at a line other than the first of what is read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.others: Sequence[CaseSyntaxError] = ()
        """What else is wrong, below it."""


def raise_all(errors: Sequence[CaseSyntaxError]) -> None:
    """Raise the first one with the others, if there is any."""
    if errors:
        first, *others = sorted(errors, key=lambda error: error.line)
        first.others = others
        raise first from None


def read_fields(lines: Iterable[tuple[int, str]]) -> dict[str, FrontField]:
    """The fields of numbered lines; an indented line continues the one before. Raises CaseSyntaxError."""
    found: dict[str, FrontField] = {}
    errors: list[CaseSyntaxError] = []
    last = ""
    for number, line in lines:
        if line[:1].isspace() and last:
            before = found[last]
            found[last] = FrontField(one_line(f"{before.text} {line}"), before.line)
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            errors.append(CaseSyntaxError(number, f"expected a field (`name: value`), got {line!r}"))
            continue
        last = match[1]
        if last not in FIELDS:
            close = difflib.get_close_matches(last, FIELDS, 1)
            hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(FIELDS)}"
            errors.append(CaseSyntaxError(number, f"expected a field of a case, got {last!r}; {hint}"))
        elif last in found:
            again = f"expected {last!r} once, got it again (line {found[last].line})"
            errors.append(CaseSyntaxError(number, again))
        found[last] = FrontField(one_line(match[2] or ""), number)
    raise_all(errors)
    return found


def upgraded(found: Mapping[str, FrontField]) -> tuple[dict[str, FrontField], str]:
    """The fields of either format as those of format 2, and the command that one of format 1 names as its
    router, which format 2 does not have.

    Raises CaseSyntaxError for another format, and for a field that its format does not have.
    """
    form = found.get("format", FrontField("", min(each.line for each in found.values())))
    if not form.text:
        raise CaseSyntaxError(form.line, "expected a value for 'format'")
    if form.text not in ("1", "2"):
        raise CaseSyntaxError(
            form.line, f"expected `format: 2`, got {form.text!r}; another version of quidnunc reads that"
        )
    old, new = ("protocol", "protocols") if form.text == "2" else ("protocols", "protocol")
    if old in found:
        raise CaseSyntaxError(found[old].line, f"expected {new!r} in format {form.text}, got {old!r}")
    if form.text == "2":
        return dict(found), ""
    later = {"protocols" if name == "protocol" else name: entry for name, entry in found.items()}
    against = later.get("against", form)
    kind, colon, _ = against.text.partition(":")
    kind = kind.strip().lower()
    if not colon or kind not in ("exec", "python"):
        return later, ""
    return {**later, "against": FrontField(kind, against.line)}, against.text


def field_lines(values: Mapping[str, str]) -> list[str]:
    """The fields that have a value, in order, long ones continued on indented lines."""
    return [
        line
        for name in FIELDS
        if values.get(name)
        for line in wrapped(f"{name}: {values[name]}", indent="  ")
    ]


def wrapped(text: str, *, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def parsed_count(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3): how often a departure was seen again, of how many tries."""
    seen, slash, tries = text.partition("/")
    found = integer(seen, "how often it was seen", least=0), integer(tries, "how many tries", least=1)
    if not slash or found[0] > found[1]:
        raise ValueError(f"expected K/N with K at most N, got {text!r}")
    return found


def names_read(text: str) -> tuple[str, ...]:
    """Names between commas."""
    return tuple(each.strip() for each in text.split(",")) if text else ()


def names_text(names: Sequence[str]) -> str:
    return ", ".join(names)
