"""Exported lines: another tool comes to the same from the files alone, and a corrupted file is noticed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.exports import lines as exported
from quidnunc.properties.exports.heads import NOT_EXPORTED, REASONS, TIED
from quidnunc.properties.exports.lines import ExportedLine, exported_lines
from quidnunc.properties.exports.recorded import QuestionRecorder
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.solver.questions import SolverSession, has_cvc5
from tests.helpers.instances import spin_violates, wrong_in_smtlib
from tests.helpers.readers import ROOT

QUICK = ("mesh-link", "mesh-degree", "mesh-flow", "dog-controller", "idontwant-codec", "score-algebra")
needs_cvc5 = pytest.mark.skipif(not has_cvc5(), reason="cvc5 is not installed: pip install '.[prove]'")
needs_spin = pytest.mark.skipif(
    not (shutil.which("spin") and shutil.which("cc")), reason="Spin or a C compiler is not installed"
)


@pytest.fixture(scope="module")
def smtlib() -> Mapping[str, ExportedLine]:
    return {line.result.name: line for name in QUICK for line in exported_lines(name)}


@pytest.fixture(scope="module")
def stars() -> Mapping[str, ExportedLine]:
    names = [name for name in provers() if name.startswith("mesh-star")]
    return {line.result.name: line for name in names for line in exported_lines(name)}


# -- SMT-LIB ------------------------------------------------------------------------------------------------


@needs_cvc5
def test_cvc5_comes_to_the_same_from_the_text(smtlib: Mapping[str, ExportedLine]) -> None:
    verdicts = {line.result.verdict for line in smtlib.values()}
    assert len(smtlib) > 25 and verdicts == {"proved", "refuted", "by definition"}
    for name, line in smtlib.items():
        assert line.suffix == ".smt2" and not line.why_not, name
        assert wrong_in_smtlib(line.text) == [], name


def corrupted(text: str) -> Mapping[str, str]:
    """A file of two questions, corrupted in several ways."""
    first = text.index("(push 1)")
    return {
        "an assertion is missing": text[:first]
        + re.sub(r"\(assert\n(?:.+\n)+?(?=\()", "", text[first:], count=1),
        "a bound is another": text.replace("(<= ", "(>= "),
        "an answer is another": text.replace(":status unsat", ":status sat"),
        "the end is missing": text[: text.rindex("(push 1)")],
    }


@needs_cvc5
@pytest.mark.parametrize("way", corrupted("(push 1)"))
def test_a_corrupted_file_is_noticed(way: str, smtlib: Mapping[str, ExportedLine]) -> None:
    text = smtlib["score-algebra.upper-bound"].text
    changed = corrupted(text)[way]
    assert changed != text and wrong_in_smtlib(changed, limit_ms=5_000)


def test_the_questions_of_a_line_are_its_own() -> None:
    """All cells of scores are decided before the first line is told."""
    recorder = QuestionRecorder()
    session = SolverSession(told=recorder.add)
    counts = {}
    for result in provers()["scores-filecoin"](session):
        mine = recorder.taken(result.name)
        counts[result.name.removeprefix("scores-filecoin.")] = len(mine)
        form = result.name.split(".", 2)[2]
        assert mine and all(f", {form}: " in question.name for question in mine)
    assert recorder.pending == [] and sum(counts.values()) == session.asked
    assert counts["fair.v1.1"] == 2 and counts["punished.v1.1"] > 10


# -- Promela ------------------------------------------------------------------------------------------------


@needs_spin
def test_spin_comes_to_the_same_from_the_text(stars: Mapping[str, ExportedLine], tmp_path: Path) -> None:
    found = {name: line for name, line in stars.items() if line.suffix == ".pml"}
    assert len(found) == 4 and {line.result.verdict for line in found.values()} == {"proved", "refuted"}
    for name, line in found.items():
        assert spin_violates(line.text, tmp_path / name) == (line.result.verdict == "refuted"), name


@needs_spin
def test_a_corrupted_model_is_noticed(stars: Mapping[str, ExportedLine], tmp_path: Path) -> None:
    line = stars["mesh-star-inbound.ceiling"]
    # A hub that accepts whoever asks, whatever the size of its mesh.
    changed = re.sub(r"(// graft_\d: .*\n  :: d_step \{ ).* ->", r"\1true ->", line.text)
    assert changed != line.text and line.result.verdict == "proved"
    assert spin_violates(changed, tmp_path)


# -- heads, and what is not exported ----------------------------------------------------------------------


def test_a_file_says_what_it_is(smtlib: Mapping[str, ExportedLine]) -> None:
    line = smtlib["mesh-degree.1.0.ceiling"]
    head = " ".join(each.removeprefix(";").strip() for each in line.text.split("(set-logic")[0].splitlines())
    assert f"claim: {line.result.text}" in head and "verdict: proved" in head
    for text in line.result.assumptions:
        assert text in head
    assert line.result.clauses and all(f"{clause}: " in head for clause in line.result.clauses)
    assert "[gs1.0/heartbeat.order]" in head and 'gs1.0/heartbeat.order: "Each peer runs' in head


def test_what_is_not_exported_says_why(stars: Mapping[str, ExportedLine]) -> None:
    without = {name: line.why_not for name, line in stars.items() if not line.text}
    assert without and all(without.values())
    assert without["mesh-star.rest"] == NOT_EXPORTED["fair components"]


def test_what_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MAX_BYTES", 100)
    assert all("more than" in line.why_not and not line.text for line in exported_lines("mesh-flow"))


def test_every_engine_is_known() -> None:
    """A file says how its answers give the verdict, or it is said why there is no file."""
    page = (ROOT / "docs" / "prove.md").read_text(encoding="utf-8")
    engines = {line.split(" | ")[6] for line in page.splitlines() if line.startswith("| `")}
    known = (*REASONS, *NOT_EXPORTED, "the interpreter")
    assert len(engines) > 10 and not [e for e in engines if not e.startswith(known)]


def test_assumptions_are_tied_to_clauses_that_exist() -> None:
    cited = {clause for clauses in TIED.values() for clause in clauses}
    assert len(cited) > 20 and cited <= set(load())
