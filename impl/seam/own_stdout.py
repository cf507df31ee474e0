"""The stdout of a process in which a router may run that is not of this kit.

Python's `sys.stdout` is not all: what is written in C goes to descriptor 1, whoever the kit speaks to there.
"""

from __future__ import annotations

import os


def stdout_aside() -> int:
    """A descriptor of what stdout is, for the kit alone: from now on 1 is stderr."""
    aside = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:
        # Without stderr there is nowhere to put it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return aside
