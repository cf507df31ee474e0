"""quidnunc prove: what it prints, its JSON, and what it says of wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.commands import prove as prove_command
from quidnunc.properties.proofs import prove as network_prove
from quidnunc.properties.proofs.edits import EDITS
from quidnunc.properties.proofs.prove import provers
from tests.conftest import Command

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")


def test_a_refutation_is_printed_with_its_trace(quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("prove", "mesh-link-backoff-silent", "--smt2", tmp_path)
    assert ran.code == 0
    assert "mesh-link-backoff-silent: REFUTED" in ran.out
    assert "A ignores the GRAFT of B" in ran.out or "B ignores the GRAFT of A" in ran.out
    assert "none of fewer (3 questions unsatisfiable)" in ran.out
    assert len(list(tmp_path.glob("*.smt2"))) == 4
    assert ran.out.rstrip().endswith("again: quidnunc prove mesh-link-backoff-silent")


def test_results_in_json(quidnunc: Command) -> None:
    ran = quidnunc("prove", "*-silent", "--json")
    assert ran.code == 0
    (result,) = ran.data["results"]
    assert set(result) >= {"name", "verdict", "scope", "assumptions", "engine", "seconds", "vacuous"}
    assert (result["name"], result["verdict"], result["vacuous"]) == (
        "mesh-link-backoff-silent",
        "refuted",
        False,
    )
    assert result["trace"]["length"] == 3
    assert ran.data["questions"] == {"asked": 4, "rechecked": 0, "unknown": []}


def test_what_is_not_decided_is_no_success(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_prove, "DEPTH", 2)
    monkeypatch.setattr(network_prove, "_table", lambda name, capacity: None)
    ran = quidnunc("prove", "mesh-link-backoff-unsub", "--quiet")
    assert ran.code == 3
    assert "undetermined" in ran.out and "no trace of up to 2 steps" in ran.out


def test_a_verdict_that_is_not_the_recorded_one_is_told(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prove_command, "VERDICTS", {"mesh-link": "proved"})
    ran = quidnunc("prove", "mesh-link", "--quiet")
    assert ran.code == 1
    assert "CHANGED: mesh-link was proved when docs/prove.md was made, and is refuted" in ran.out
    told = quidnunc("prove", "mesh-link", "--json").data["changed"]
    assert told == [{"name": "mesh-link", "recorded": "proved", "verdict": "refuted"}]
    assert not quidnunc("prove", "idontwant-codec.r1-reads-draft", "--json").data["changed"]


def test_a_page_with_a_row_for_each_line(quidnunc: Command) -> None:
    ran = quidnunc("prove", "idontwant-codec", "mesh-degree", "--markdown")
    assert ran.code == 0
    rows = [line for line in ran.out.splitlines() if line.startswith("| `")]
    assert len(rows) == 20 and all(row.count(" | ") == 8 for row in rows)
    assert (
        "| `idontwant-codec.r1-reads-draft` | draft bytes read by an r1 decoder are what was said |"
        in ran.out
    )
    assert "\n3. if a field that is not repeated" in ran.out


def test_proofs_are_tried_under_their_edits(quidnunc: Command) -> None:
    ran = quidnunc("prove", "dog-controller-adr", "--edits", "--quiet")
    assert ran.code == 0
    assert "HaveTx is allowed whatever the redundancy         refuted" in ran.out
    assert "\n3 proved (each fails under its edit), 2 by definition, 2 refuted\n" in ran.out
    rows = quidnunc("prove", "dog-controller-adr.bounds", "--edits", "--json").data["results"]
    assert [row["edit"] for row in rows] == [
        {"says": "both bounds are the target", "clause": "dog/config.bounds", "verdict": "refuted"}
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"switches": {}}, "1 proved, and still so under the edit"),
        ({"provers": ()}, "1 proved, no edit named yet"),
    ],
)
def test_a_proof_that_no_edit_breaks_is_no_success(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], said: str
) -> None:
    edits = tuple(evolve(edit, **changed) for edit in EDITS)
    monkeypatch.setattr("quidnunc.properties.proofs.edits.EDITS", edits)
    monkeypatch.setattr("quidnunc.properties.proofs.prove.EDITS", edits)
    ran = quidnunc("prove", "dog-controller-adr.bounds", "--edits")
    assert ran.code == 3 and f"\n{said}\n" in ran.out


def test_cvc5_has_a_budget(quidnunc: Command) -> None:
    pytest.importorskip("cvc5", reason="cvc5 is not installed: pip install '.[prove]'")
    ran = quidnunc("prove", "idontwant-codec", "mesh-degree", "--recheck", "20s", "--json")
    asked = ran.data["questions"]
    assert asked["rechecked"] + asked["unanswered"] + asked["not_rechecked"] == asked["asked"] == 40
    assert asked["rechecked"] > 20
    none = quidnunc("prove", "idontwant-codec", "--recheck", "0s", "--json").data["questions"]
    assert (none["rechecked"], none["not_rechecked"]) == (0, 4)


def test_the_page_has_a_line_for_every_name() -> None:
    text = (Path(__file__).parents[3] / "docs" / "prove.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {row for row in rows if not any(row == n or row.startswith(f"{n}.") for n in provers())} == set()
    assert {n for n in provers() if not any(row == n or row.startswith(f"{n}.") for row in rows)} == set()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("mesh-lynk", "did you mean mesh-link"), ("cat*", "choose from mesh-link")],
)
def test_wrong_usage(quidnunc: Command, arguments: str, said: str) -> None:
    ran = quidnunc("prove", *arguments.split())
    assert ran.code == 2
    assert said in ran.err


def test_what_is_not_installed_is_named(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = quidnunc("prove")
    assert ran.code == 2
    assert "pip install '.[prove]'" in ran.err


def test_a_row_can_be_asked_for(quidnunc: Command) -> None:
    (row,) = quidnunc("prove", "mesh-star.ceiling", "--json").data["results"]
    assert row["name"] == "mesh-star.ceiling"
    rows = quidnunc("prove", "mesh-star.*", "mesh-star-inbound.ceiling", "--json").data["results"]
    names = [each["name"] for each in rows]
    assert len(names) > 2 and names[-1] == "mesh-star-inbound.ceiling"
    ran = quidnunc("prove", "mesh-star.nothing")
    assert ran.code == 2 and "no row matches 'mesh-star.nothing'" in ran.err


def test_a_place_that_cannot_be_written_is_wrong_usage(quidnunc: Command, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    ran = quidnunc("prove", "mesh-star", "--smt2", place / "questions")
    assert ran.code == 2 and "name another folder" in ran.err


def test_lines_are_exported(quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("prove", "mesh-star", "--export", tmp_path / "new")
    assert ran.code == 0 and "1 of 4 lines written" in ran.out
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mesh-star.ceiling.pml"]
    assert "not exported, because it is about fair runs without end" in ran.out
    found = quidnunc("prove", "mesh-star", "--export", tmp_path, "--json").data
    files = {line["name"]: line["file"] for line in found["lines"]}
    assert files == {
        "mesh-star.ceiling": "mesh-star.ceiling.pml",
        "mesh-star.rest": None,
        "mesh-star.quiet": None,
        "mesh-star.admits": None,
    }
    assert all(line["file"] or line["why_not"] for line in found["lines"])


def test_an_export_of_nothing_is_no_success(quidnunc: Command, tmp_path: Path) -> None:
    assert quidnunc("prove", "mesh-star.rest", "--export", tmp_path).code == 3


@pytest.mark.parametrize("other", [("--markdown",), ("--recheck",), ("--smt2", "x")])
def test_export_goes_with_no_other_output(other: tuple[str, ...], quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("prove", "mesh-star", "--export", tmp_path, *other)
    assert ran.code == 2 and "--export cannot be combined" in ran.err
