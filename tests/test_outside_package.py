"""A package of somebody else's puts its router under test: found, shrunk, replayed, fixed.

The toy of tests/outside is a floodsub router that knows nothing of the kit, with one planted bug. It is
copied into a folder of its own and driven from there, in process and as a child process.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Command, Ran

SOURCES = Path(__file__).parent / "outside"
CLAUSE, CAUSE = "floodsub/relay.not-back", "sends-message-back-to-peer-it-came-from"
BUG = "targets = self.members(topic)"
REPAIR = "targets = self.members(topic) - {sender}"
RUNS = ("--runs", "8", "--seed", "0")

IN_PROCESS = "python:toy_python:open_toy"
AS_A_CHILD = f"exec:{sys.executable} toy_exec.py"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The toy in a folder of its own."""
    for path in SOURCES.glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture
def kit(quidnunc_apart: Command, package: Path) -> Callable[..., Ran]:
    """The kit, called from that folder."""
    return lambda *arguments: quidnunc_apart(*arguments, cwd=package)


def repair(package: Path) -> None:
    path = package / "toy_core.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(BUG) == 1
    path.write_text(text.replace(BUG, REPAIR), encoding="utf-8")


@pytest.mark.parametrize("router", [IN_PROCESS, AS_A_CHILD], ids=["python", "exec"])
def test_found_shrunk_replayed_and_fixed(kit: Callable[..., Ran], package: Path, router: str) -> None:
    found = kit("check", "floodsub", "--against", router, *RUNS, "--cases", "found", "--json")
    assert found.code == 1, found.err
    (failing,) = (c for c in found.data["claims"] if c["verdict"] == "fails")
    assert failing["clause"] == CLAUSE
    assert failing["events"] <= 12
    assert [root["quirk"] for root in found.data["root_causes"]] == [CAUSE]
    case = failing["case"]
    assert failing["replay"] == shlex.join(("quidnunc", "replay", case, "--against", router))
    # The file names no command, and so starts none.
    assert kit("replay", case).code == 3

    again = kit("replay", case, "--against", router, "--json")
    assert again.code == 1, again.err
    (replayed,) = again.data["replays"]
    assert (replayed["outcome"], replayed["against"]) == ("same", router)

    repair(package)
    fixed = kit("replay", case, "--against", router, "--json")
    assert fixed.code == 0, fixed.err
    assert fixed.data["replays"][0]["outcome"] == "fixed"
    # 3 says that some claim never applies in the suite to what this driver can.
    assert kit("check", "floodsub", "--against", router, "--suite").code in (0, 3)


def test_expectations(kit: Callable[..., Ran], package: Path) -> None:
    check = ("check", "floodsub", "--against", IN_PROCESS, "--suite")
    file = package / "known" / "expect.toml"
    missing = kit(*check, "--expect", file)
    assert missing.code == 2
    assert "--update-expect writes it" in missing.err

    caseless = "1 entry has no case: it is never reported gone"
    assert caseless in kit(*check, "--expect", file, "--update-expect").err
    assert caseless in kit(*check, "--expect", file).out
    written = kit(*check, "--expect", file, "--update-expect", "--cases", "known/cases")
    assert written.code in (0, 3) and "no case" not in written.err, written.err
    text = file.read_text(encoding="utf-8")
    assert f'clause = "{CLAUSE}"' in text and 'case = "cases/' in text

    expected = kit(*check, "--expect", file)
    assert expected.code == 0, expected.out
    assert "expected and found: 1" in expected.out

    file.write_text(text.replace(CLAUSE, "floodsub/relay.once"), encoding="utf-8")
    unexpected = kit(*check, "--expect", file)
    assert unexpected.code == 1
    assert f"UNEXPECTED: {CLAUSE} {CAUSE}" in unexpected.out

    file.write_text(text, encoding="utf-8")
    repair(package)
    gone = kit(*check, "--expect", file)
    assert gone.code == 1
    assert f"GONE: {CLAUSE} {CAUSE}" in gone.out

    # Without a case to replay, nobody can say that it is gone: it was not met.
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("case ="))
    file.write_text(without, encoding="utf-8")
    not_met = kit(*check, "--expect", file)
    assert not_met.code == 0
    assert f"not met in this search: {CLAUSE} {CAUSE}" in not_met.out


def test_the_driver_that_breaks_is_named(kit: Callable[..., Ran], package: Path) -> None:
    (package / "toy_exec.py").write_text("print('hello')\n", encoding="utf-8")
    broken = kit("check", "floodsub", "--against", AS_A_CHILD, *RUNS)
    assert broken.code == 4
    assert "toy_exec.py" in broken.err and "next:" in broken.err


def test_doctor_says_what_the_driver_lacks(kit: Callable[..., Ran], package: Path) -> None:
    repair(package)
    said = kit("doctor", IN_PROCESS, "--json")
    (floodsub,) = said.data["protocols"]
    assert floodsub["protocol"] == "floodsub"
    assert "verdict" in floodsub["lacks"]
    controls = {c["id"]: c["control"] for c in floodsub["claims"]}
    assert controls["relay.not-back"] == "holds"
    assert controls["validation.verdicts"] == "unsupported"
    assert "fails" not in controls.values()
