"""How many planted bugs the suite notices."""

from __future__ import annotations

import pytest

from quidnunc.impl.routers import mutants_by_name
from tools.suite_power import first_failure, main, planted_by_protocol, power_of


def test_every_planted_bug_is_counted_once() -> None:
    names = [name for mutants in planted_by_protocol().values() for name in mutants]
    assert sorted(names) == sorted(mutants_by_name())


def test_what_a_case_notices_is_told_from_what_none_does() -> None:
    assert first_failure("echo-to-sender", "flood")
    assert not first_failure(None, "flood")


def test_the_command_names_what_is_not_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    power = power_of("flood", planted_by_protocol()["flood"])
    assert main(["flood"]) == 0
    said = capsys.readouterr().out
    assert f"flood: {len(power.noticed)} of {power.planted} planted bugs noticed" in said
    assert all(name in said for name in power.unnoticed)
