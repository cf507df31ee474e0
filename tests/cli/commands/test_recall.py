"""`quidnunc recall`: what it prints, keeps and exits with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quidnunc.commands import recall as command
from quidnunc.properties.recall.bugs import known_bugs
from quidnunc.properties.recall.play import RecallResult, RecallState, ReleaseReplay
from tests.conftest import Command

BUG = known_bugs()["GO-17"]


def played(state: RecallState = "found", clause: str = BUG.right[0]) -> RecallResult:
    before, after = (
        ReleaseReplay(
            release=release,
            version=release.partition("@")[2],
            departs=departs,
            inconclusive=False,
            clause=clause if departs else "",
            reason="departs" if departs else "conforms",
        )
        for release, departs in zip(
            BUG.releases, (state in ("found", "still departs"), state == "still departs"), strict=True
        )
    )
    return RecallResult(bug=BUG, state=state, reason="why", before=before, after=after)


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that were played: each is found."""
    ids: list[str] = []

    def recall(bug: Any, case: Any, openers: Any) -> RecallResult:
        ids.append(bug.id)
        return played() if case is not None else RecallResult(bug=bug, state="not driven", reason="no driver")

    monkeypatch.setattr(command, "recall", recall)
    return ids


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("found", "not driven"), 0),
        (("found", "skipped"), 3),
        (("found", "inconclusive"), 3),
        (("not driven",), 3),
        (("found", "missed", "skipped"), 1),
        (("still departs",), 1),
        (("found", "missed", "broken"), 4),
    ],
)
def test_exit_status(states: tuple[RecallState, ...], code: int) -> None:
    assert command.exit_status([RecallResult(bug=BUG, state=state) for state in states]) == code


def test_all_rows_have_a_reason_or_a_result(quidnunc: Command) -> None:
    ran = quidnunc("recall", "RS-03", "NM-02", "--json")
    assert ran.code == 3
    assert ran.data["summary"]["listed"] == 2 and ran.data["summary"]["driven"] == 0
    assert all(row["state"] == "not driven" and row["reason"] for row in ran.data["bugs"])


def test_an_unknown_bug_is_refused_with_the_nearest(quidnunc: Command) -> None:
    ran = quidnunc("recall", "GO-17x")
    assert ran.code == 2 and "GO-17" in ran.err


def test_it_continues_where_it_stopped(quidnunc: Command, plays: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "made"
    first = quidnunc("recall", "GO-17", "RS-03", "-o", folder)
    assert first.code == 0 and plays.count("GO-17") == 1
    assert "1 played, 1 found, 1 gone in the fixed release, 1 under the right" in first.out
    again = quidnunc("recall", "GO-17", "-o", folder)
    assert again.code == 0 and plays.count("GO-17") == 1
    kept = folder / "GO-17.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"digest": "of another kit"}))
    quidnunc("recall", "GO-17", "-o", folder)
    assert plays.count("GO-17") == 2
    assert "| GO-17 |" in (folder / "recall.md").read_text("utf-8")


def test_what_was_skipped_is_tried_again(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    skipped = RecallResult(bug=BUG, state="skipped", reason="to build it: quidnunc routers build x")
    monkeypatch.setattr(command, "recall", lambda bug, case, openers: skipped)
    ran = quidnunc("recall", "GO-17", "-o", tmp_path / "made")
    assert ran.code == 3 and "quidnunc routers build x" in ran.out
    assert not (tmp_path / "made" / "GO-17.json").exists()


def test_a_wrong_clause_is_said(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "recall", lambda bug, case, openers: played(clause="gs1.0/relay.mesh"))
    ran = quidnunc("recall", "GO-17")
    assert "0 under the right clause first" in ran.out and "filed under gs1.0/relay.mesh" in ran.out


def test_a_folder_of_something_else_is_left_alone(quidnunc: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert quidnunc("recall", "GO-17", "-o", tmp_path).code == 2
