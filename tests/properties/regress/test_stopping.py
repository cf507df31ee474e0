"""A comparison that ends before it is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quidnunc.properties.regress.compare import BehaviourComparison, behaviour
from quidnunc.properties.regress.expect import DeclaredChange, compare
from quidnunc.properties.regress.sides import side_named
from quidnunc.properties.regress.stopping import (
    EarlyEnd,
    OutOfTimeError,
    RemainingParts,
    SearchLimit,
    stopped_at,
)

FORK = """
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import rule

@rule("mine/slow")
def slow(r, g, choose):
    while True:
        pass

SLOW = protocol_named("gossipsub-1.2").with_rule("unknown_topic", slow)
"""
KEY = "graft/unknown_topic"


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "slow_fork.py").write_text(FORK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return "python:slow_fork:SLOW"


def compared(name: str, limit: SearchLimit | None, said: Callable[[str], None]) -> BehaviourComparison:
    return behaviour(side_named("gossipsub-1.2"), side_named(name), limit=limit, progress=said)


def test_a_rule_that_does_not_end_is_left_at_the_limit(slow: str) -> None:
    """Kills: the limit is not kept; the change that was compared is not named, nor the line it was in."""
    said: list[str] = []
    found = compared(slow, SearchLimit(time.monotonic() + 1), said.append)
    assert [each.key for each in found.not_compared] == [KEY] and not found.separations
    assert found.early is not None and "slow_fork.py:" in found.early.why and not found.early.signal
    assert "0 of 1 changes, next unknown_topic rewritten in graft" in said[0]


def test_what_was_not_compared_is_not_gone(slow: str) -> None:
    """Kills: a declared change without a trace is called gone where there was no time for it."""
    old, new = side_named("gossipsub-1.2"), side_named(slow)
    entry = DeclaredChange(cause=KEY, verdict="newly-obligatory", reason="Why.")
    assert compare((), [entry], old, new).gone == (entry,)
    left = compare((), [entry], old, new, "", [KEY])
    assert not left.gone and left.unknown == (entry,) and left.agrees


def test_an_interruption_passes_where_nobody_asked_for_what_there_is() -> None:
    """Kills: every caller gets half a result; with a limit nobody does."""

    def interrupt(text: str) -> None:
        raise KeyboardInterrupt(15)

    with pytest.raises(KeyboardInterrupt):
        compared("gossipsub-1.2+without:unknown_topic", None, interrupt)
    found = compared("gossipsub-1.2+without:unknown_topic", SearchLimit(), interrupt)
    assert found.early is not None and found.early.signal == 15 and found.not_compared


def wait(seconds: float) -> None:
    """Be busy for a time, as a rule may be."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_a_stop_comes_only_within() -> None:
    """Kills: the alarm stays set; no limit at all sets one."""
    with pytest.raises(OutOfTimeError), stopped_at(time.monotonic() + 0.05):
        wait(5)
    with stopped_at(time.monotonic() + 0.2):
        pass
    wait(0.3)
    with stopped_at(math.inf):
        pass


def test_parts_are_left_out_when_the_time_is_up() -> None:
    """Kills: a part that is left out is not named, or one is done after an interruption."""
    parts = RemainingParts(time.monotonic() + 60, None, "a -> b", lambda text: None)
    assert parts.do("first", lambda: 1, 0) == 1 and not parts.left and parts.early is None
    parts.until_s = time.monotonic() - 1
    assert parts.do("second", lambda: 1, 0) == 0 and parts.left == ["second"] and parts.early is not None
    stopped = RemainingParts(math.inf, EarlyEnd("interrupted", 2), "a -> b", lambda text: None)
    assert stopped.do("third", lambda: 1, 0) == 0 and stopped.left == ["third"]
