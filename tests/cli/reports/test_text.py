"""`quidnunc clauses --text`: a specification held against its clauses, and two revisions of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.properties.documents import named_sentences as clause_names
from quidnunc.properties.documents.named_sentences import parse, write_prints
from quidnunc.properties.documents.sentences import read
from tests.conftest import Command
from tests.properties.documents.test_named_sentences import OWN, TABLE

GOOD = OWN.replace("It is never loud.", "")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A specification of our own, and the kit with the tables of it alone."""
    text = parse("gossipsub-1.2", TABLE, write_prints(read(GOOD), parse("gossipsub-1.2", TABLE, "")))
    monkeypatch.setattr(clause_names, "texts", lambda: {"gossipsub-1.2": text})
    path = tmp_path / "whispers.md"
    path.write_text(GOOD, encoding="utf-8")
    return path


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text
    other = path.with_name("edited.md")
    other.write_text(text.replace(old, new), encoding="utf-8")
    return other


def test_a_text_that_is_as_the_clauses_have_it(quidnunc: Command, spec: Path) -> None:
    ran = quidnunc("clauses", "--text", spec)
    assert ran.code == 0
    assert "Whispers, compared with its clauses of r1" in ran.out
    assert "quotes: 1 found, 0 moved, 0 changed, 0 gone" in ran.out
    assert "4 sentences may demand something by their words, 0 of them belong to no clause" in ran.out
    assert ran.out.splitlines()[-1] == f"again: quidnunc clauses --text {spec}"


def test_a_changed_quote_and_a_new_demand_fail(quidnunc: Command, spec: Path) -> None:
    other = edited(spec, "MUST be\nskipped.", "could be\nskipped.\n\nEverybody MUST wave.")
    ran = quidnunc("clauses", "--text", other)
    assert ran.code == 1
    assert "changed gs1.2/idontwant.skip: line 10, under Skipping" in ran.out
    assert "[-MUST-] {+could+}" in ran.out
    assert "line 13, under Skipping\n    Everybody MUST wave." in ran.out
    data = quidnunc("clauses", "--text", other, "--json").data
    assert [(q["clause"], q["fate"]) for q in data["quotes"]] == [("gs1.2/idontwant.skip", "changed")]
    assert [s["text"] for s in data["unnamed"]] == ["Everybody MUST wave."]
    assert data["sentences"][0]["clauses"] == ["gs1.2/idontwant.cap"]


def test_a_new_rule_without_a_demanding_word_fails(quidnunc: Command, spec: Path) -> None:
    other = edited(spec, "## Skipping\n", "## Skipping\n\nPeers ignore whispers from outside the mesh.\n")
    ran = quidnunc("clauses", "--text", other)
    assert ran.code == 1 and "0 of them belong to no clause" in ran.out
    assert "new, and belongs to no clause: 1 sentence\n  line 10, under Skipping\n    Peers ignore" in ran.out
    data = quidnunc("clauses", "--text", other, "--json").data
    assert [s["text"] for s in data["new"]] == ["Peers ignore whispers from outside the mesh."]
    prose = edited(spec, "## Skipping\n", "## Skipping\n\nPeers say, for example ten, words.\n")
    assert quidnunc("clauses", "--text", prose).code == 0, "it is known to be no rule"
    many = edited(spec, "## Skipping\n", "## Skipping\n\n" + "".join(f"Peer {n} waves. " for n in range(23)))
    assert "23 sentences\n" in (out := quidnunc("clauses", "--text", many).out) and "3 more: --json" in out


def test_a_demand_that_is_reversed_beside_its_quote_fails(quidnunc: Command, spec: Path) -> None:
    other = edited(spec, "A peer may send at most ten", "A peer should never send at most ten")
    ran = quidnunc("clauses", "--text", other)
    assert ran.code == 1 and "quotes: 1 found, 0 moved, 0 changed, 0 gone" in ran.out
    assert "1 changed, 0 removed" in ran.out, "it is there in other words"
    assert "changed: gs1.2/idontwant.cap: line 5, under Limits" in ran.out
    data = quidnunc("clauses", "--text", other, "--json").data
    assert [s["clauses"] for s in data["altered"]] == [["gs1.2/idontwant.cap"]]
    assert data["lost"] == [{"heading": "Limits", "clauses": ["gs1.2/idontwant.cap"]}]
    gone = edited(spec, "A peer may send at most ten whispers. ", "")
    ran = quidnunc("clauses", "--text", gone)
    assert ran.code == 1 and "0 changed, 1 removed" in ran.out
    assert "removed: gs1.2/idontwant.cap: was under Limits" in ran.out


def test_a_moved_quote_is_told_and_does_not_fail(quidnunc: Command, spec: Path) -> None:
    ran = quidnunc("clauses", "--text", edited(spec, "## Skipping", "## Relaying"))
    assert ran.code == 0
    assert "moved   gs1.2/idontwant.skip: line 10, under Relaying; was under Skipping" in ran.out


def test_two_revisions(quidnunc: Command, spec: Path) -> None:
    other = edited(spec, "MUST be", "could be")
    ran = quidnunc("clauses", "--text", spec, "--text", other)
    assert ran.code == 0
    assert "sentences: 1 changed, 0 added, 0 removed, 0 moved" in ran.out
    assert "changed, line 10: gs1.2/idontwant.skip" in ran.out
    (change,) = quidnunc("clauses", "--text", spec, "--text", other, "--json").data["changes"]
    assert change["kind"] == "changed" and change["clauses"] == ["gs1.2/idontwant.skip"]
    assert change["old"]["line"] == change["new"]["line"] == 10
    assert "{+could+}" in change["change"]


def test_revisions_of_an_unknown_text_are_compared_without_clauses(quidnunc: Command, tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("A cat sat on the mat. It purred. It slept. It woke.", encoding="utf-8")
    new.write_text("A cat lay on the mat. It purred. It slept. It woke.", encoding="utf-8")
    ran = quidnunc("clauses", "--text", old, "--text", new)
    assert ran.code == 0
    assert "in no clause" in ran.out and "A cat [-sat-] {+lay+} on the mat." in ran.out


def test_a_text_is_named_where_it_cannot_be_told(quidnunc: Command, spec: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange.md"
    strange.write_text("A cat sat. It purred. It slept. It woke.", encoding="utf-8")
    refused = quidnunc("clauses", "--text", strange)
    assert refused.code == 2 and "no text that the kit knows" in refused.err
    ran = quidnunc("clauses", "--text", strange, "--as", "gossipsub-1.2")
    assert ran.code == 1 and "gone    gs1.2/idontwant.skip: not there" in ran.out
    assert ran.out.splitlines()[-1].endswith("--as gossipsub-1.2")


def test_prints_are_written_anew(quidnunc: Command, spec: Path) -> None:
    ran = quidnunc("clauses", "--text", spec, "--prints")
    assert ran.code == 0
    assert ran.out == write_prints(read(GOOD), clause_names.texts()["gossipsub-1.2"])
    assert '! gs1.2/idontwant.skip"' in ran.out and "whispers" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--text", "nosuch.md"], "nosuch.md: No such file"),
        (
            ["--text", "{spec}", "--as", "gossipsub-1.3"],
            "unknown text 'gossipsub-1.3' (did you mean gossipsub-1.2?)",
        ),
        (["gossipsub-1.2", "--text", "{spec}"], "cannot be combined with a protocol"),
        (["--uncovered", "--text", "{spec}"], "cannot be combined with a protocol"),
        (["--text", "a", "--text", "b", "--text", "c"], "--text was given 3 times"),
        (["--as", "gossipsub-1.2"], "need --text FILE"),
        (["--prints"], "need --text FILE"),
        (["--text", "a", "--text", "b", "--prints"], "--prints needs one --text"),
    ],
)
def test_wrong_usage(quidnunc: Command, spec: Path, arguments: list[str], complaint: str) -> None:
    ran = quidnunc("clauses", *(a.format(spec=spec) for a in arguments))
    assert ran.code == 2
    assert complaint in ran.err


def test_explain_says_where_a_clause_stands(quidnunc: Command) -> None:
    shown = quidnunc("explain", "gs1.0/graft.accept", "--json").data["stands_in"]
    assert shown == [
        "gossipsub v1.0, r2, 2020-03-12: gossipsub: The gossiping mesh router, GRAFT, Message Processing"
    ]


def test_coverage_is_counted(quidnunc: Command) -> None:
    data = quidnunc("clauses", "--json").data
    held = [c for c in data["clauses"] if c["held"]]
    coverage = data["coverage"]
    assert (coverage["clauses"], coverage["held"]) == (len(data["clauses"]), len(held))
    assert sum(d["held"] for d in coverage["documents"].values()) == len(held)
    assert all(c["rules"] or c["claims"] for c in held)
    assert all(c["source"] and c["revision"] for c in data["clauses"])
    shown = quidnunc("clauses").out
    assert f"and checked by a claim): {len(held)} of {len(data['clauses'])}, " in shown
