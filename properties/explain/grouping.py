"""Rows of a table from findings: those that one rule could be behind are one row.

What no edit predicts is unexplained, and one fault is seen in many ways. So findings that could each be
accounted for by some edit of the same rule, if not by the same edit, are told as one, with that rule as the
place to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from quidnunc.model.edits.operators.catalogue import TOO_WIDE

K = TypeVar("K")


def groups_by_rule(suspects: Mapping[K, frozenset[str]]) -> list[tuple[str, tuple[K, ...]]]:
    """(rule, the findings that it could be behind), of two findings at least, each finding in one group.

    The fewest rules that will do, as far as taking the one with the most findings first gives them.
    """
    left = {key: rules - TOO_WIDE for key, rules in suspects.items()}
    found: list[tuple[str, tuple[K, ...]]] = []
    while True:
        counts = Counter(rule for rules in left.values() for rule in rules)
        # Of equals the first by name, so that the same findings make the same rows.
        rule, most = max(sorted(counts.items()), key=lambda each: each[1], default=("", 0))
        if most < 2:
            return found
        members = tuple(key for key, rules in left.items() if rule in rules)
        found.append((rule, members))
        left = {key: rules for key, rules in left.items() if key not in members}
