"""Committed cases that come out otherwise under another text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quidnunc.model.errors import CaseError
from quidnunc.properties.regress.cases import CaseFolderOutcome, committed_outcomes
from quidnunc.properties.regress.sides import side_named
from quidnunc.properties.search.worker import opener_of

KNOWN = Path(__file__).parents[3] / "counterexamples"
SKIP, CAPPED = "idontwant-ignored.case", "iwant-uncapped.case"
OF_JOINING, OF_PRUNES = (
    "subscriptions.known-to-all-neighbours.gossipsub-1.1.case",
    "backoff.kept-by-both-ends.gossipsub-1.1.case",
)
Planted = Callable[..., Path]


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    """A folder with these of the cases of the kit, one of them edited where it is asked for."""

    def made(*names: str, edit: Callable[[str], str] = lambda text: text) -> Path:
        inside = tmp_path / "cases" / "more"
        inside.mkdir(parents=True)
        for name in names:
            shutil.copy(next(KNOWN.rglob(name)), inside)
        first = inside / names[0]
        first.write_text(edit(first.read_text(encoding="utf-8")), encoding="utf-8")
        return inside.parent

    return made


def came_of(folder: Path, old: str, new: str, **options: Any) -> CaseFolderOutcome:
    return committed_outcomes(folder, side_named(old), side_named(new), opener_of, **options)


def test_a_case_of_a_sentence_that_is_gone_holds_without_it(planted: Planted) -> None:
    """The draft lets a router send to who said IDONTWANT, and r1 does not; the cap is in both."""
    folder = planted(SKIP, CAPPED)
    forth, back = (came_of(folder, *pair) for pair in (("gossipsub-1.2-draft", "gossipsub-1.2"),
                                                       ("gossipsub-1.2", "gossipsub-1.2-draft")))  # fmt: skip
    [now_departs], [now_holds] = forth.changed, back.changed
    assert now_departs.path.endswith(SKIP) and now_departs.router == "ours:idontwant-ignored"
    assert (now_departs.old, now_departs.new) == ("holds", "departs: unexpected Message")
    assert (now_holds.old, now_holds.new) == (now_departs.new, now_departs.old)
    assert forth.replayed == 2 and not forth.left_out and not forth.others


def test_an_edit_of_one_rule_changes_its_case_and_no_other(planted: Planted) -> None:
    found = came_of(planted(SKIP, CAPPED), "gossipsub-1.2", "gossipsub-1.2+without:who_said_idontwant")
    assert [Path(c.path).name for c in found.changed] == [SKIP]


def test_between_a_protocol_and_itself_nothing_comes_out_otherwise(planted: Planted) -> None:
    found = came_of(planted(SKIP, CAPPED), "gossipsub-1.2", "gossipsub-1.2")
    assert found.replayed == 2 and not found.changed


def test_a_parameter_of_a_side_is_that_of_the_replay(planted: Planted) -> None:
    """Where a thousand answers are allowed the router that does not count them does what it may."""
    found = came_of(planted(CAPPED), "gossipsub-1.2", "gossipsub-1.2+gossip_retransmission=1000")
    [changed] = found.changed
    assert changed.old.startswith("departs: ") and changed.new == "holds"


def test_a_network_is_played_by_the_rules_of_both(planted: Planted) -> None:
    found = came_of(planted(OF_JOINING, OF_PRUNES), "gossipsub-1.0", "gossipsub-1.1")
    [changed], [left_out] = found.changed, found.left_out
    assert changed.path.endswith(OF_JOINING) and changed.router == "model"
    assert changed.old == "holds" and changed.new.startswith("departs: ")
    assert left_out.path.endswith(OF_PRUNES) and "not about gossipsub-1.0" in left_out.reason


def test_a_network_is_not_played_by_the_rules_of_an_edit() -> None:
    edited = came_of(KNOWN / "networks", "gossipsub-1.2-draft", "gossipsub-1.2-draft+d=7")
    assert edited.left_out and {"is an edit of" in each.reason for each in edited.left_out} == {True}
    assert not edited.replayed


def test_cases_of_others_are_counted_and_what_cannot_be_replayed_is_told(planted: Planted) -> None:
    folder = planted(SKIP, CAPPED, edit=lambda text: text.replace("ours:idontwant-ignored", "ours:nobody"))
    found = came_of(folder, "gossipsub-1.2-draft", "gossipsub-1.2")
    [left_out] = found.left_out
    assert left_out.path.endswith(SKIP) and "nobody" in left_out.reason and found.replayed == 1
    assert came_of(folder, "flood", "dog") == CaseFolderOutcome(str(folder), 0, (), (), 2)


def test_a_file_that_is_no_case_is_named(planted: Planted) -> None:
    with pytest.raises(CaseError, match=SKIP):
        came_of(planted(SKIP, edit=lambda text: text[:200]), "gossipsub-1.2-draft", "gossipsub-1.2")
