"""The errors of our own tables and files.

A violation of a claim is a verdict, not an error; an error here means that something of ours, or a file that
a user wrote for us, must be corrected. Each message names the thing, the place and the next step.
"""

from __future__ import annotations


class SpecError(Exception):
    """Our tables are wrong: the clauses, the rules or the protocols contradict themselves or each other."""


class CaseError(Exception):
    """A case does not read. The message is `file:line: what was expected`."""
