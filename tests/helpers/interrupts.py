"""Ctrl-C for a command that a test starts."""

from __future__ import annotations

import signal


def hear_interrupts() -> None:
    """As `preexec_fn`: a shell lets what it starts in the background ignore SIGINT, and so would all that a
    test starts from there."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
