"""`check --expect` of a failure that is expected under another name of its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.__main__ import main

CLAUSE, CAUSE = "gs1.0/relay.mesh", "accepted-not-relayed"
UNEXPLAINED = "unexplained:missing"


def test_a_check_says_under_which_name_it_was_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "expect.toml"
    asked = [
        "check",
        "gossipsub-1.0",
        "--against",
        "ours:verdict-not-relayed",
        "--suite",
        "--expect",
        str(file),
    ]
    assert main([*asked, "--update-expect", "--cases", str(tmp_path / "cases")]) == 0
    text = file.read_text()
    file.write_text(text.replace(f'"{CAUSE}"', f'"{UNEXPLAINED}"'))
    capsys.readouterr()
    assert main(asked) == 0
    said = f"RENAMED: {CLAUSE} {UNEXPLAINED} is expected; same clause and claim, now under the name {CAUSE}"
    assert said in capsys.readouterr().out
    file.write_text(text.replace(f'"{CAUSE}"', '"unexplained:crash"').replace(CLAUSE, "gs1.0/relay.seen"))
    assert main(asked) == 1
    assert f"UNEXPECTED: {CLAUSE} {CAUSE}" in capsys.readouterr().out
