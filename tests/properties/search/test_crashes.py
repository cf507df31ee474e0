"""Crashes are told apart by what failed and where, and have numbers where others may read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from quidnunc.__main__ import main
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Reply
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.search.verdicts import load_expectations
from quidnunc.properties.search.worker import hello_of

JOINS = "KeyError in my_router.mesh.join: 't1'"
LEAVES = "KeyError in my_router.mesh.leave: 't1'"


class Failing:
    """Our router, which fails when it joins, and when it leaves, a topic."""

    def __init__(self, config: Config) -> None:
        self._driver = open_router("ours", config)
        self.hello = self._driver.hello
        self._joined = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def join(self, topic: str) -> Reply:
        self._joined += 1
        reply = self._driver.join(topic)
        return evolve(reply, crashed=JOINS) if self._joined > 1 else reply

    def leave(self, topic: str) -> Reply:
        return evolve(self._driver.leave(topic), crashed=LEAVES)


def test_two_crashes_are_two_root_causes() -> None:
    def opener(config: Config) -> WireSubject:
        return WireSubject(Failing(config), config)  # type: ignore[arg-type]

    hunt = FindingSearch("floodsub", opener, hello_of("ours", "floodsub"))
    search(hunt, runs=40, seed=1)
    assert {cause for _, cause in hunt.found} == {
        "crash:KeyError in my_router.mesh.join",
        "crash:KeyError in my_router.mesh.leave",
    }


FACTORY = """
from tests.properties.search.test_crashes import Failing as open_it
"""


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    (tmp_path / "failing_router.py").write_text(FACTORY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))

    def check(*how: str) -> int:
        router = ("--against", "python:failing_router:open_it")
        return main(["check", "floodsub", *router, "--runs", "40", "--workers", "1", *how])

    return check


def test_a_file_numbers_crashes_and_does_not_tell_them(
    checked: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, private = tmp_path / "expect.toml", tmp_path / "private"
    checked("--expect", str(file), "--update-expect", "--private", str(private))
    shown = capsys.readouterr().out
    # Who runs the check reads what failed, and where.
    assert "Crashes: KeyError in my_router.mesh.join." in shown
    entries = load_expectations(file)
    assert [each.cause for each in entries] == ["crash 1", "crash 2"]
    assert len({each.mark for each in entries}) == 2
    text = file.read_text(encoding="utf-8")
    assert "KeyError" not in text and "my_router.mesh" not in text
    # They are recognised, whichever of them the file had first.
    assert checked("--expect", str(file)) in (0, 3)
    swapped = text.replace("crash 1", "crash 0").replace("crash 2", "crash 1").replace("crash 0", "crash 2")
    file.write_text(swapped, encoding="utf-8")
    assert checked("--expect", str(file)) in (0, 3)
    # One that the file does not have is unexpected, and has the next number.
    first = swapped.partition("[[expect]]")[2].partition("[[expect]]")[0]
    file.write_text(f"[[expect]]{first}", encoding="utf-8")
    capsys.readouterr()
    assert checked("--expect", str(file)) == 1
    assert "UNEXPECTED: pubsub/rpc.any-combination crash 1" in capsys.readouterr().out


def test_a_file_from_before_crashes_had_numbers_expects_them_all(
    checked: Callable[..., int], tmp_path: Path
) -> None:
    file = tmp_path / "expect.toml"
    entry = '[[expect]]\nclause = "pubsub/rpc.any-combination"\ncause = "unexplained:crash"\n'
    file.write_text(f'{entry}verdict = "fails"\nreason = "It fails."\n', encoding="utf-8")
    assert checked("--expect", str(file)) in (0, 3)
