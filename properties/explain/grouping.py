"""Rows of a table from findings: those that one edit could be behind are one row.

What no edit predicts is unexplained, and one fault is seen in many ways. So findings each of which one and
the same edit of a rule could account for, if it predicts no other run, are told as one, with that rule as the
place to look. That they have a rule in common is not enough: two faults may touch one rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import edit_named, rules_changed
from quidnunc.model.edits.operators.catalogue import TOO_WIDE
from quidnunc.model.rules import Protocol

K = TypeVar("K")


def suspects_of(edits: Iterable[Edit], spec: Protocol) -> frozenset[str]:
    """Names of those `edits` that could make findings of one fault one row: they change one rule, and not one
    through which everything passes."""
    rules = {edit.name: rules_changed(edit, spec) for edit in edits}
    return frozenset(name for name, changed in rules.items() if len(changed) == 1 and not changed & TOO_WIDE)


def rule_of_suspect(edit: str, spec: Protocol) -> str:
    """The name of the rule that it changes."""
    (rule,) = rules_changed(edit_named(edit, spec), spec)
    return rule


def groups_by_edit(
    suspects: Mapping[K, frozenset[str]], likelier: Callable[[str], Any] = str
) -> list[tuple[str, tuple[K, ...]]]:
    """(edit, the findings that it could be behind), of two findings at least, each finding in one group.

    `suspects` are names of edits. The fewest edits that will do, as far as taking the one with the most
    findings first gives them; of equals the first by `likelier`.
    """
    left = dict(suspects)
    found: list[tuple[str, tuple[K, ...]]] = []
    while True:
        counts = Counter(edit for edits in left.values() for edit in edits)
        edit, most = min(counts.items(), key=lambda each: (-each[1], likelier(each[0])), default=("", 0))
        if most < 2:
            return found
        members = tuple(key for key, edits in left.items() if edit in edits)
        found.append((edit, members))
        left = {key: edits for key, edits in left.items() if key not in members}
