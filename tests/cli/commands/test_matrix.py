"""`quidnunc matrix` tests each router by itself, and puts what was found side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from quidnunc.reports.matrix import MatrixColumn, headline
from tests.conftest import Command

ROUTERS = ("--against", "ours", "--against", "ours:echo", "--against", "exec:false")
ASKED = ("matrix", "gossipsub-1.1", "--runs", "8", "-o")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix") / "made"


@pytest.fixture
def made(quidnunc: Command, folder: Path) -> Path:
    """A matrix of two routers, made once."""
    assert quidnunc(*ASKED, str(folder), *ROUTERS[:4]).code == 1
    return folder


def test_a_broken_router_leaves_the_others_alone(quidnunc: Command, made: Path) -> None:
    ran = quidnunc(*ASKED, str(made), *ROUTERS)
    assert ran.code == 4
    (row,) = (line for line in ran.out.splitlines() if line.startswith("relay.not-back"))
    assert re.search(r"not-refuted \d+ +fails 1 +broken", row)
    assert "ours 1: 0 root causes" in ran.out and "exec:false: broken: " in ran.out
    assert "(2 of 3)" in ran.err


def test_the_document_has_every_claim_root_cause_and_case(made: Path) -> None:
    text = (made / "matrix.md").read_text("utf-8")
    report = json.loads((made / "gossipsub-1.1" / "ours_echo.json").read_bytes())["report"]
    assert all(f"| `{each['id']}` |" in text for each in report["claims"])
    links = re.findall(r"\[case\]\(([^)]+)\)", text)
    assert len(links) == len(report["root_causes"]) > 0
    assert all((made / link).is_file() for link in links)


def test_what_is_there_is_not_made_again(
    quidnunc: Command, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*command: object, **options: object) -> None:
        raise AssertionError(f"{command} was started")

    monkeypatch.setattr("quidnunc.commands.matrix.subprocess.Popen", started)
    ran = quidnunc(*ASKED, str(made), *ROUTERS[:4], "--json")
    assert ran.code == 1
    (matrix,) = ran.data["matrices"]
    assert matrix["claims"]["relay.not-back"][1] == "fails 1"
    assert [each["broken"] for each in matrix["routers"]] == ["", ""]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--against", "ours", "--against", "ours"), "ours: named twice"),
        (("--against", "ours", "--seed", "5"), "has the matrix of another search"),
    ],
)
def test_what_cannot_be_mixed_is_refused(
    quidnunc: Command, made: Path, words: tuple[str, ...], said: str
) -> None:
    ran = quidnunc(*ASKED, str(made), *words)
    assert ran.code == 2 and said in ran.err


def test_each_protocol_has_the_routers_that_speak_it(quidnunc: Command, made: Path) -> None:
    """The reports of the first protocol are there; a mutant of gossipsub speaks no DOG."""
    both = ("matrix", "gossipsub-1.1", "dog", *ASKED[2:], str(made), *ROUTERS[:4], "--json")
    ran = quidnunc(*both)
    assert ran.code == 1
    first, second = ran.data["matrices"]
    assert [each["name"] for each in first["routers"]] == ["ours", "ours:echo"] and not first["unspoken"]
    assert [each["name"] for each in second["routers"]] == ["ours"] and "gossipsub-1.1" in second["unspoken"][
        "ours:echo"
    ]
    assert second["claims"]["dog.mixed"][0].startswith("not-refuted")
    text = (made / "matrix.md").read_text("utf-8")
    assert text.count("\n## ") == 2 and "dog: ours:echo does not speak it; it speaks floodsub, " in text


def test_routers_that_speak_none_of_it_are_wrong_usage(quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("matrix", "dog", "--runs", "2", "-o", str(tmp_path / "m"), "--against", "ours:echo")
    assert ran.code == 2 and "ours:echo speaks floodsub, " in ran.err


def test_a_router_that_there_is_not_is_refused_before_another_one_plays(
    quidnunc: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    routers = ("--against", "ours", "--against", "ours:nosuch")
    ran = quidnunc("matrix", "flood", "--runs", "2", "-o", str(folder), *routers)
    assert ran.code == 2 and "no mutant 'nosuch' of ours" in ran.err and not folder.exists()


def test_a_cell_names_rows_of_its_own_verdict() -> None:
    rows = [
        {"clauses": ["a"], "verdict": each, "quirk": each, "text": each} for each in ("observed", "fails")
    ]
    report = {"root_causes": rows, "claims": [{"id": "c", "verdict": "fails"}], "router_version": "1"}
    column = MatrixColumn(router="r", report=report, clauses_of={"c": frozenset(["a"])})
    assert column.cell("c") == "fails 2"


def test_a_folder_of_somebody_else_is_left_alone(quidnunc: Command, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    ran = quidnunc(*ASKED, str(tmp_path), "--against", "ours")
    assert ran.code == 2 and "is not empty and has no matrix" in ran.err


def test_a_crash_has_no_text() -> None:
    assert headline({"text": None, "quirk": "crash:KeyError in a.router"}) == "The router crashes."
    assert headline({"text": "Does\nthis.\n\nformat: 2", "quirk": "q"}) == "Does this."


def test_a_budget_of_the_suite_is_passed_on_and_what_it_was_too_short_for_is_said(
    quidnunc: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "made"
    ran = quidnunc("matrix", "flood", "--suite", "--budget", "0.5s", "-o", folder, "--against", "ours")
    assert ran.code == 3
    assert re.search(r"; \d+ cases not played: the time was up", ran.out)
    assert "--budget 0.5s --suite" in ran.out.splitlines()[-1]
    assert "not played: the time was up" in (folder / "matrix.md").read_text("utf-8")
