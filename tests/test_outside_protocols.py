"""Somebody else's protocols, in a folder of their own: a fork, and one with a control message more.

The sources are those of tests/outside/own, which docs/own-protocols.md prints. Nothing of the kit's
repository is used but the installed package.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.sides import side_named
from tests.conftest import Command, Ran

SOURCES = Path(__file__).parent / "outside" / "own"
GUIDE = Path(__file__).parents[1] / "docs" / "own-protocols.md"
BASE = "gossipsub-1.2"
FORK, CHOKING, MUTANT = "python:my_fork:FORK", "python:my_choke:CHOKING", "python:my_choke:MUTANT"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The two modules in a repository of their own."""
    for path in SOURCES.glob("*.py"):
        shutil.copy(path, tmp_path)
    git(tmp_path, "init", "-q")
    commit(tmp_path, "Two protocols")
    return tmp_path


@pytest.fixture
def kit(quidnunc_apart: Command, project: Path) -> Callable[..., Ran]:
    """The kit, called from that folder."""
    return lambda *arguments: quidnunc_apart(*arguments, cwd=project)


def git(folder: Path, *arguments: str) -> None:
    given = ("-c", "user.name=A user", "-c", "user.email=user@example.org", *arguments)
    subprocess.run(["git", *given], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, subject: str) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", subject)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_fork_in_ten_lines(kit: Callable[..., Ran], project: Path) -> None:
    text = (project / "my_fork.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith('"""')]
    assert len(lines) <= 10

    expect = ("--expect", "fork.toml")
    written = kit("regress", BASE, FORK, *expect, "--update-expect", "--json")
    assert written.code == 0, written.err
    found = {(c["rule"], c["direction"]): c["events"] for c in written.data["changes"]}
    assert found["graft/unknown_topic", "newly-obligatory"] <= 2
    assert any(rule == "parameter/prune_backoff_s" for rule, _ in found)
    assert not written.data["not_separated"]

    commit(project, "What the fork changes")
    assert kit("regress", BASE, FORK, *expect).code == 0
    # Without the parameter a declared change does not happen.
    edit(project / "my_fork.py", '{"prune_backoff_s": 10}', "{}")
    gone = kit("regress", BASE, FORK, *expect)
    assert gone.code == 1 and "declared, but does not occur: parameter/prune_backoff_s" in gone.out


def test_a_control_message_more(kit: Callable[..., Ran], project: Path) -> None:
    expect = ("--expect", "choke.toml")
    written = kit("regress", BASE, CHOKING, *expect, "--update-expect", "--json")
    assert written.code == 0, written.err
    rules = {c["rule"] for c in written.data["changes"]}
    assert {"intake/read_choke", "choke/remember_choke", "relay/who_choked"} <= rules
    assert "choke.kept" in {c["id"] for c in written.data["claims"]}
    wire = [w for w in written.data["wire"] if not w["same"]]
    assert wire and {(w["writer"], w["reader"]) for w in wire} == {(CHOKING, BASE)}
    assert "0a 06 08 01 12 02 74 31 1a 03 82 04 00".replace(" ", "") in {w["bytes"] for w in wire}

    commit(project, "What the message changes")
    assert kit("regress", BASE, CHOKING, *expect).code == 0


def test_the_mutant_fails_the_claim(kit: Callable[..., Ran]) -> None:
    found = kit("regress", MUTANT, CHOKING, "--json")
    assert found.code == 1, found.err
    assert {c["id"] for c in found.data["claims"]} == {"choke.kept"}
    assert {c["rule"] for c in found.data["changes"]} == {"relay/who_choked"}


def test_an_older_revision_is_a_side(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    text = (project / "my_fork.py").read_text(encoding="utf-8")
    (project / "my_fork.py").write_text(
        text.replace("\n\n\n", "\n\n\n# Of no effect.\n\n\n", 1), encoding="utf-8"
    )
    commit(project, "A remark")
    edit(project / "my_fork.py", "Prune(g.part.topic)", "Prune(g.part.topic, 7)")
    commit(project, "The PRUNE says for how long")
    first, second, third = (side_named(f"HEAD~{n}@{FORK}") for n in (2, 1, 0))
    assert not changes_between(first, second)
    assert [c.key for c in changes_between(second, third)] == ["graft/unknown_topic"]


def test_the_guide_prints_what_is_tested() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    blocks = [b.strip() for b in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)]
    assert blocks == [
        (SOURCES / name).read_text(encoding="utf-8").strip() for name in ("my_fork.py", "my_choke.py")
    ]
