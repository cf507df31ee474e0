"""quidnunc diff and regress: text, JSON, Markdown, statuses and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

PAIR = ("gossipsub-1.2-draft", "gossipsub-1.2")


def test_diff_says_what_is_written_otherwise(quidnunc: Command) -> None:
    shown = quidnunc("diff", *PAIR)
    assert shown.code == 0
    assert "who_may_be_skipped -> who_said_idontwant" in shown.out
    assert "required bytes messageID" in shown.out
    assert shown.out.splitlines()[-1] == "again: quidnunc diff gossipsub-1.2-draft gossipsub-1.2"
    found = json.loads(quidnunc("diff", *PAIR, "--json").out)
    assert sorted(r["change"] for r in found["rules"]) == ["removed", "removed", "replaced"]
    assert len(found["clauses"]["removed"]) == 2 and found["wire"][0]["number"] == 1


def test_regress_shows_the_trace_and_fails_where_nothing_is_declared(quidnunc: Command) -> None:
    shown = quidnunc("regress", *PAIR)
    assert shown.code == 1
    assert "- a: message m1 t1" in shown.out and "newly undescribed" in shown.out
    assert "1 of 2 lost" in shown.out and "undecodable" in shown.out
    found = json.loads(quidnunc("regress", *PAIR, "--json").out)
    [change] = found["changes"]
    assert change["direction"] == "newly-forbidden" and change["events"] <= 6 and not change["alone"]
    assert {c["clause"] for c in found["undescribed"]} == {
        "gs1.2-draft/ihave.instead-of-message",
        "gs1.2-draft/idontwant.on-ihave",
    }
    assert sorted((u["cause"], u["verdict"]) for u in found["undeclared"]) == [
        ("accepted/offer_instead", "newly-undescribed"),
        ("relay/who_said_idontwant", "newly-forbidden"),
        ("requested/tell_before", "newly-undescribed"),
    ]
    assert "idontwant.honoured" in {c["id"] for c in found["claims"]}


def test_a_declared_change_passes_and_one_that_is_gone_fails(quidnunc: Command, tmp_path: Path) -> None:
    path = str(tmp_path / "changes.toml")
    assert quidnunc("regress", *PAIR, "--expect", path, "--update-expect").code == 0
    assert quidnunc("regress", *PAIR, "--expect", path).code == 0
    gone = quidnunc("regress", PAIR[1], PAIR[1], "--expect", path)
    assert gone.code == 1 and "declared and did not happen: relay/who_said_idontwant" in gone.out
    # A person's words stay.
    text = Path(path).read_text(encoding="utf-8")
    reason = next(line for line in text.splitlines() if line.startswith("reason"))
    Path(path).write_text(text.replace(reason, 'reason = "Ours."', 1), encoding="utf-8")
    assert quidnunc("regress", *PAIR, "--expect", path, "--update-expect").code == 0
    assert 'reason = "Ours."' in Path(path).read_text(encoding="utf-8")


def test_markdown_is_for_a_pull_request(quidnunc: Command) -> None:
    shown = quidnunc("regress", *PAIR, "--markdown")
    assert shown.code == 1 and shown.out.startswith("### What changes in behaviour")
    assert "| newly-forbidden |" in shown.out and "<details>" in shown.out


def test_the_same_twice_says_that_nothing_was_searched(quidnunc: Command) -> None:
    shown = quidnunc("regress", PAIR[1], PAIR[1])
    assert shown.code == 0 and "nothing was searched" in shown.out and "equal" not in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diff", "gossipsub-9", "dog"), "no protocol"),
        (("diff", "gossipsub-1.2", "dog"), "family"),
        (("regress", *PAIR, "--walks", "0"), "--walks"),
        (("regress", *PAIR, "--update-expect"), "--expect FILE"),
        (("regress", *PAIR, "--markdown", "--json"), "two forms"),
        (("regress", *PAIR, "--expect", "no-such-file.toml"), "does not exist"),
    ],
)
def test_wrong_usage_is_told(quidnunc: Command, arguments: tuple[str, ...], said: str) -> None:
    shown = quidnunc(*arguments)
    assert shown.code == 2 and said in shown.err
