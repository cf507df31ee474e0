"""Where a change stands in a module of the user's: the file, and the line of the rule or of what is set."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from quidnunc.model.rules import Rule
from quidnunc.properties.regress.diff import ProtocolChange
from quidnunc.properties.regress.own_protocols import OWN


def place_of_change(change: ProtocolChange, new: str) -> tuple[str, int] | None:
    """(file, line) of a change in the module of `new`, which is the name of a side; the file as it is called
    from the working directory. None where the side is no `python:MODULE:NAME` of the working tree."""
    if not new.startswith(OWN):
        return None
    module_name, _, variable = new.removeprefix(OWN).partition("+")[0].partition(":")
    module = sys.modules.get(module_name)
    if module is None or not getattr(module, "__file__", None):
        return None
    for each in change.members or (change,):
        place = _place_of_rule(each.new)
        if place is not None:
            return place
    # A rule that is gone, a parameter, an order: where the module speaks of it.
    words = [rf"[\"']{re.escape(each.name)}[\"']" for each in change.members or (change,) if each.name]
    path = Path(str(module.__file__))
    return _called(path), _line_with(path, [*words, rf"^{re.escape(variable)}\b"])


def _place_of_rule(rule: Rule | None) -> tuple[str, int] | None:
    """Of the function of a rule that is not of the kit; None for any other."""
    code = getattr(rule.apply, "__code__", None) if rule is not None else None
    if rule is None or rule.of_the_kit or code is None:
        return None
    path, first = Path(code.co_filename), code.co_firstlineno
    # A function begins with its decorators.
    return _called(path), _line_with(path, [r"^\s*(async )?def "], first)


def _line_with(path: Path, patterns: list[str], first: int = 1) -> int:
    """The number of the first line, from `first` on, with the first of `patterns` that one has."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[first - 1 :]
    except OSError:
        return first
    for pattern in patterns:
        for number, line in enumerate(lines, first):
            if re.search(pattern, line):
                return number
    return first


def _called(path: Path) -> str:
    here = Path.cwd().resolve()
    path = path.resolve()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
