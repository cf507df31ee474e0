"""The front matter of a case: its fields as `name: value`, and its parameters as far as not the defaults."""

from __future__ import annotations

import difflib
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from attrs import fields, frozen

from quidnunc.model.machine import machine_of, protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.case_scores import is_of_scores, scores_read, scores_text
from quidnunc.properties.case_words import integer, one_of, peers_named, peers_text

ParameterSet: TypeAlias = Parameters | DogParameters

FIELDS = (
    "format",
    "claim",
    "clause",
    "protocol",
    "against",
    "status",
    "quirk",
    "as built",
    "found by",
    "argument",
    "parameters",
    "extras",
    "seed",
    "reproduced",
)
"""In the order in which they are written."""
REQUIRED = ("format", "claim", "clause", "protocol", "against", "status")
WIDTH = 100

NAMES: Mapping[str, str] = {
    "d": "D",
    "d_low": "D_low",
    "d_high": "D_high",
    "d_score": "D_score",
    "d_out": "D_out",
    "d_lazy": "D_lazy",
    "explicit_peers": "explicit",
}
"""Names of parameters in text, where they are not those of the attributes."""

_ATTRIBUTES = {text: attribute for attribute, text in NAMES.items()}
_FIELD = re.compile(r"([a-z][a-z ]*):(?:\s+(.*))?")
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?")


@frozen
class Entry:
    """The value of one field, and the line where it starts."""

    text: str
    line: int


class Misread(ValueError):
    """What was expected, at a line other than the first of what is read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def one_line(text: str) -> str:
    """`text` with all white space made one space."""
    return " ".join(text.split())


def read_fields(lines: Iterable[tuple[int, str]]) -> dict[str, Entry]:
    """The fields of numbered lines; an indented line continues the one before. Raises Misread."""
    found: dict[str, Entry] = {}
    last = ""
    for number, line in lines:
        if line[:1].isspace() and last:
            before = found[last]
            found[last] = Entry(one_line(f"{before.text} {line}"), before.line)
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            raise Misread(number, f"expected a field (`name: value`), got {line!r}")
        last = match[1]
        if last not in FIELDS:
            close = difflib.get_close_matches(last, FIELDS, 1)
            hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(FIELDS)}"
            raise Misread(number, f"expected a field of a case, got {last!r}; {hint}")
        if last in found:
            raise Misread(number, f"expected {last!r} once, got it again (line {found[last].line})")
        found[last] = Entry(one_line(match[2] or ""), number)
    return found


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


# -- parameters ---------------------------------------------------------------------------------------------


def parameters_text(parameters: ParameterSet) -> str:
    """`D=4 D_low=3 explicit=b,e`: what differs from the defaults, in the order of the attributes."""
    defaults = type(parameters)()
    hints = get_type_hints(type(parameters))
    said: list[str] = []
    for each in fields(type(parameters)):
        value = getattr(parameters, each.name)
        if isinstance(value, ScoreParameters):
            said += scores_text(value)
        elif value != getattr(defaults, each.name):
            said.append(f"{NAMES.get(each.name, each.name)}={_value_text(value, hints[each.name])}")
    return " ".join(said)


def parameters_read(text: str, protocol: str) -> ParameterSet:
    """The parameters of a router of `protocol`. Raises ValueError, and SpecError for an unknown protocol."""
    kind: type[ParameterSet] = machine_of(protocol_named(protocol)).parameters().__class__
    hints = get_type_hints(kind)
    given: dict[str, Any] = {}
    words = text.split()
    of_scores = [each for each in words if is_of_scores(each)] if "scores" in hints else []
    if of_scores:
        given["scores"] = scores_read(of_scores, _value_read)
    for each in (word for word in words if word not in of_scores):
        name, equals, value = each.partition("=")
        attribute = _ATTRIBUTES.get(name, name)
        if attribute not in hints or name in NAMES or not equals:
            names = [NAMES.get(a, a) for a in hints]
            close = [NAMES[name]] if name in NAMES else difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(names)}"
            raise ValueError(f"expected a parameter of {protocol} (`name=value`), got {each!r}; {hint}")
        if attribute in given:
            raise ValueError(f"expected {name} once, got it again")
        given[attribute] = _value_read(value, hints[attribute], name)
    return kind(**given)


def _value_text(value: object, hint: object) -> str:
    # By the kind of parameter and not of value: a driver that fixes a switch says so by the number 0 or 1.
    if hint is bool:
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return peers_text(sorted(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a parameter is a finite number, got {value}")
        return str(int(value) if hint is int and value.is_integer() else value)
    return str(value)


def _value_read(text: str, hint: object, name: str) -> object:
    if hint is bool:
        return one_of(text, ("yes", "no"), name) == "yes"
    if hint is int:
        return integer(text, name)
    if hint is float:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"expected {name}: a number, got {text!r}")
        return float(text)
    if get_origin(hint) is Literal:
        return one_of(text, get_args(hint), name)
    return frozenset(peers_named(text))


def counted(text: str) -> tuple[int, int]:
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
