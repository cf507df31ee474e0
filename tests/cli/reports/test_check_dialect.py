"""`quidnunc check --dialect`: a row per open place, in words and as JSON, and what a router documents."""

from __future__ import annotations

import json

import pytest

from quidnunc.__main__ import main
from quidnunc.model.edits.ambiguities import QUESTIONS, SETTLED_QUESTIONS

ALL = len(QUESTIONS) + len(SETTLED_QUESTIONS)
ASKED = ["check", "gossipsub-1.2", "--against", "ours:unsubscribed-stays-in-mesh", "--suite", "--dialect"]


def test_the_reading_is_printed_with_where_it_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ASKED, "--documented", "go-libp2p-pubsub"])
    said = capsys.readouterr().out
    assert f"1 of {ALL} read differently from the kit" in said
    (row,) = [line for line in said.splitlines() if line.startswith("A13") and "in the mesh" in line]
    assert "unsubscribed-stays-in-mesh" in row and "documented: pubsub.go" in row
    assert "A6: Which prunes leave" in said
    assert "--documented go-libp2p-pubsub --dialect" in said.splitlines()[-1]


def test_the_json_has_a_row_per_question_and_the_router(capsys: pytest.CaptureFixture[str]) -> None:
    main([*ASKED, "--documented", "nim-libp2p", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["documented"] == "nim-libp2p"
    others = [row for row in found["dialect"] if row["reading"] != "own"]
    assert [(row["place"], row["reading"], row["documented"]) for row in others] == [
        ("A13", "unsubscribed-stays-in-mesh", None)
    ]
    assert len(found["dialect"]) == ALL


def test_without_being_asked_for_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "gossipsub-1.1", "--against", "ours", "--suite", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["profile"] == "shipped"
    assert "dialect" not in found and "documented" not in found
