"""What a test of a held claim has to notice: the planted error under which it must fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Break = Callable[[pytest.MonkeyPatch], object]
Test = Callable[[], None]
SHOWN: dict[str, tuple[Break, Test]] = {}
"""Test -> the planted error under which it fails, and the test."""


def shown(*, broken: Break) -> Callable[[Test], Test]:
    """Say what a test has to notice."""

    def keep(test: Test) -> Test:
        SHOWN[test.__name__] = broken, test
        return test

    return keep
