"""Names of edits that were changed: old -> new.

A user's files hold names of edits: the cause of an expectation, the `quirk:` and `as-built:` of a case, what
follows the `+` of a side. Each old name goes on working where a name is read.
"""

from __future__ import annotations

from collections.abc import Mapping

RENAMED: Mapping[str, str] = {}
"""Old name -> the name of today."""


def current_name(name: str) -> str:
    """The name of today; a name that was never changed is its own."""
    return RENAMED.get(name, name)
