"""A file of expectations names cases of its own folder, each entry once."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.named_files import NamedEntry, check_entries
from tests.conftest import Command

CLAUSE, CAUSE = "gs1.0/relay.mesh", "accepted-not-relayed"


def entry(case: str, cause: str = CAUSE) -> NamedEntry:
    return NamedEntry(CLAUSE, cause, case)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "ci" / "known").mkdir(parents=True)
    (tmp_path / "elsewhere.case").write_text("x")
    (tmp_path / "ci" / "known" / "a.case").write_text("x")
    (tmp_path / "ci" / "linked.case").symlink_to(tmp_path / "elsewhere.case")
    path = tmp_path / "ci" / "expect.toml"
    path.write_text("[[expect]]\ncase = 1\n\n[[expect]]\nclause = 2\n")
    return path


def test_cases_of_the_folder_are_fine(file: Path) -> None:
    entries = [entry("known/a.case"), entry("", "another"), entry("known/../known/a.case", "third")]
    check_entries(file, entries)
    with pytest.raises(CaseError):
        check_entries(file, [*entries, entry("b.case", "fourth")])


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(
    "case", ["/etc/passwd", "../elsewhere.case", "linked.case", "{}/known/a.case", "a\0b"]
)
def test_no_case_elsewhere_is_read(file: Path, case: str, update: bool) -> None:
    with pytest.raises(CaseError, match="expected a case in the folder of this file") as refused:
        check_entries(file, [entry(case.format(file.parent)), entry("", "another")], update=update)
    assert str(refused.value).startswith(f"{file}:2: expect 1: ")


def test_a_case_that_is_not_there_is_said_at_once(file: Path) -> None:
    for case in ("known/b.case", "known"):
        with pytest.raises(CaseError, match=f"no case file '{case}'"):
            check_entries(file, [entry(case)])
        check_entries(file, [entry(case)], update=True)


def test_an_entry_that_is_there_twice_names_both(file: Path) -> None:
    with pytest.raises(CaseError, match=":4: expect 2: .* is expected twice, here and in expect 1"):
        check_entries(file, [entry(""), entry("known/a.case")])
    check_entries(file, [entry(""), entry("known/a.case")], update=True)


def test_check_looks_before_it_searches(quidnunc: Command, file: Path) -> None:
    file.write_text(
        f'[[expect]]\nclause = "{CLAUSE}"\ncause = "{CAUSE}"\nverdict = "fails"\nreason = "x"\n'
        'case = "../elsewhere.case"\n'
    )
    asked = ("check", "gossipsub-1.0", "--against", "ours", "--runs", "1", "--expect", file)
    refused = quidnunc(*asked)
    assert refused.code == 2 and f"{file}:6: expect 1: expected a case in the folder" in refused.err
    file.unlink()
    refused = quidnunc(*asked, "--update-expect", "--cases", file.parents[1] / "cases")
    assert refused.code == 2 and "which names no case elsewhere: choose a folder there" in refused.err
