"""What was known of a release is said, and can be left out."""

from __future__ import annotations

import json

import pytest

from quidnunc.__main__ import main
from quidnunc.properties.suite import run as suite_run

CHECK = ["check", "flood", "--against", "ours:echo-to-sender", "--suite"]


def test_the_report_says_how_many_root_causes_were_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite_run, "known_causes", lambda against, hello: ("own-uncounted", "own-filtered"))
    main(CHECK)
    assert "2 root causes of ours:echo-to-sender" in capsys.readouterr().out
    main([*CHECK, "--json"])
    assert json.loads(capsys.readouterr().out)["suite"]["known"] == ["own-uncounted", "own-filtered"]
    main([*CHECK, "--no-known"])
    out = capsys.readouterr().out
    assert "known before" not in out and "--suite --no-known" in out


def test_a_search_knows_nothing_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHECK[:-1], "--no-known"]) == 2
    assert "--no-known needs --suite" in capsys.readouterr().err
