"""Edits of all rules at once: a parameter, a view of the peers or a field that every rule reads wrongly.

A fault in what several rules share shows in each of them. One edit then tells what as many edits of one rule
would tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quidnunc.model.edit import Edit
from quidnunc.model.edits.operators.reads import names_read
from quidnunc.model.rules import Protocol, Rule

EVERYWHERE = "everywhere-"
"""How their names begin."""

Reading = tuple[str, str, Callable[[Rule], Rule]]
"""What stands in the name of the edit, words, and what it makes of a rule."""


def edits_everywhere(
    rules: Sequence[Rule], readings: Mapping[str, Sequence[Reading]]
) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits, each with the rules that it changes: for each name that two rules read, each other reading."""
    for name, others in readings.items():
        readers = tuple(rule for rule in rules if name in names_read(rule))
        if len(readers) < 2:
            continue
        names = tuple(rule.name for rule in readers)
        for word, said, change in others:
            changing = partial(_changed, names=names, change=change)
            says = f"{said}, wherever it matters."
            yield Edit(f"{EVERYWHERE}{word}", "replaced", readers[0].clause, says, changing), names


def _changed(protocol: Protocol, *, names: tuple[str, ...], change: Callable[[Rule], Rule]) -> Protocol:
    present: dict[str, Any] = {each.name: each for _, each in protocol.rules()}
    for name in names:
        # Another edit may have dropped one.
        if name in present:
            protocol = protocol.with_rule(name, change(present[name]))
    return protocol
