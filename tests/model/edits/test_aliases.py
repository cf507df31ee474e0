"""A name that a user's files may hold goes on being found: it is there, or it has an alias."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.model.edit import Edit
from quidnunc.model.edits import aliases
from quidnunc.model.edits.aliases import current_name, old_names
from quidnunc.model.edits.catalogue import edit_named, edits_of
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Protocol

PUBLISHED = Path(__file__).with_name("published_names.txt")
ROWS = [line.split() for line in PUBLISHED.read_text().splitlines() if not line.startswith("#")]
R1 = PROTOCOLS["gossipsub-1.2"]


def found(name: str, protocol: Protocol) -> Edit | None:
    try:
        return edit_named(name, protocol)
    except SpecError:
        return None


def vanished(rows: list[list[str]]) -> list[list[str]]:
    """Those of which no protocol has an edit, or not the same one by the new and the old name."""
    return [
        row
        for row in rows
        if not any(
            (edit := found(row[0], protocol)) is not None and found(row[-1], protocol) == edit
            for protocol in PROTOCOLS.values()
        )
    ]


def test_every_published_name_is_found() -> None:
    assert len(ROWS) > 500
    assert vanished(ROWS) == []


def test_a_name_that_vanished_is_noticed() -> None:
    gone = [["accepts-graft-in-backoff", "without:while_backing_off"], ["cut-at-d-high", "later:accept"]]
    assert vanished(gone) == gone


def test_every_cause_is_published() -> None:
    known = {row[0] for row in ROWS}
    edits = [edit for protocol in PROTOCOLS.values() for edit in edits_of(protocol)]
    missing = {edit.name for edit in edits if edit.kind != "softened"} - known
    assert missing == set(), f"add to {PUBLISHED.name}"


def test_an_edited_sentence_needs_an_alias_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    today = "accepts-graft-inside-backoff"
    monkeypatch.setitem(aliases.RENAMED, "accepts-graft-in-backoff", today)
    assert vanished([["accepts-graft-in-backoff", "without:while_backing_off"]]) == []
    assert current_name("accepts-graft-in-backoff", R1) == today


def test_a_name_by_the_rule_is_that_of_today() -> None:
    assert current_name("without:while_backing_off", R1) == "accepts-graft-inside-backoff"
    assert current_name("may:while_backing_off", R1) == "sometimes-accepts-graft-inside-backoff"
    assert current_name("later:while_backing_off", R1) == "late-while-backing-off"
    assert current_name("cut-at-d-high", R1) == "cut-at-d-high"
    assert current_name("without:while_backing_off", PROTOCOLS["floodsub"]) == "without:while_backing_off"


@pytest.mark.parametrize(
    ("clause", "name"),
    [
        ("flood/send.once", "sends-transactions-to-nobody"),
        ("cat-classic/receive.announce", "treats-every-peer-as-having-every-transaction"),
    ],
)
def test_of_two_rules_of_a_name_the_clause_tells_which(clause: str, name: str) -> None:
    assert current_name("without:every_peer", *PROTOCOLS.values(), clause=clause) == name
    assert name in old_names(PROTOCOLS.values())["without:every_peer"]
