"""`quidnunc.conforms`: a test for each claim, in a module of somebody's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import quidnunc
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.claims.catalogue import claims_of

pytest_plugins = ["pytester"]

OUTSIDE = Path(__file__).parents[1] / "outside"
CLAIMS = len(claims_of(protocol_named("floodsub"))) + 1

MODULE = """\
import quidnunc
from toy_python import open_toy

test_floodsub = quidnunc.conforms(open_toy, protocol="floodsub", runs=8)
"""

Pytest = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Pytest:
    """Run pytest in a process of its own, on one module beside the toy router, with a database."""
    for path in OUTSIDE.glob("toy_*.py"):
        (pytester.path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    pytester.makeconftest(
        "from hypothesis import settings\n"
        "from hypothesis.database import DirectoryBasedExampleDatabase\n"
        "settings.register_profile('kept', database=DirectoryBasedExampleDatabase('examples'))\n"
        "settings.load_profile('kept')\n"
    )

    def run_module(*options: str, text: str = MODULE) -> pytest.RunResult:
        (pytester.path / "test_toy.py").write_text(text, encoding="utf-8")
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rsxf", *options)

    return run_module


def failures_of(result: pytest.RunResult) -> list[str]:
    return re.findall(r"^FAILED \S+::(\S+)", result.stdout.str(), re.MULTILINE)


def repair(folder: Path) -> None:
    path = folder / "toy_core.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("targets = self.members(topic)") == 1
    path.write_text(text.replace("= self.members(topic)  #", "= self.members(topic) - {sender}  #"), "utf-8")


def test_our_router_passes(run: Pytest) -> None:
    text = "import quidnunc\n\ntest_ours = quidnunc.conforms('ours', protocol='floodsub', runs=8)\n"
    counts = run(text=text).parseoutcomes()
    assert counts["passed"] > CLAIMS / 2
    assert counts["passed"] + counts.get("skipped", 0) == CLAIMS and {*counts} <= {"passed", "skipped"}


def test_a_toy_fails_at_its_claim_in_ten_lines(run: Pytest, pytester: pytest.Pytester) -> None:
    result = run()
    (failed,) = failures_of(result)
    told = result.stdout.str().partition(f"{failed} ___")[2].partition("\n====")[0].splitlines()[1:]
    lines = [line for line in told if line.strip()]
    assert 4 <= len(lines) <= 10 and "Traceback" not in result.stdout.str()
    assert "fails:" in lines[0] and lines[1].startswith("floodsub/relay.not-back (")
    assert any("happened, and nothing allows it" in line for line in lines)
    again = re.fullmatch(r"quidnunc replay (\S+\.case) --against python:toy_python:open_toy", lines[-1])
    assert again is not None and "relay.not-back" in Path(again[1]).read_text(encoding="utf-8")


def test_what_was_found_comes_first_and_goes_with_its_repair(run: Pytest, pytester: pytest.Pytester) -> None:
    (failed,) = failures_of(run())
    assert [*(pytester.path / "examples").rglob("*")]
    # So few runs find nothing by themselves.
    short = MODULE.replace("runs=8", "runs=1, seed=3")
    assert failures_of(run(text=short)) == [failed]
    repair(pytester.path)
    assert not failures_of(run(text=short))
    assert not [path for path in (pytester.path / "examples").rglob("*") if path.is_file()]


def test_processes_share_one_search(run: Pytest) -> None:
    counted = (
        "import os, quidnunc, toy_python\n\n"
        "def open_counted(config):\n"
        "    open(f'opened.{os.getpid()}', 'a').close()\n"
        "    return toy_python.open_toy(config)\n\n"
        "test_floodsub = quidnunc.conforms(open_counted, protocol='floodsub', runs=8)\n"
    )
    result = run("-n", "2", text=counted)
    assert len(failures_of(result)) == 1 and len([*Path.cwd().glob("opened.*")]) == 1
    assert sum(result.parseoutcomes().values()) == CLAIMS


def test_a_known_failure_is_expected_until_it_is_gone(run: Pytest, pytester: pytest.Pytester) -> None:
    (failed,) = failures_of(run())
    claim = failed.partition("[")[2].removesuffix("]")
    known = MODULE.replace("runs=8", f"runs=8, known={{'{claim}': 'to be mended'}}")
    counts = run(text=known).parseoutcomes()
    assert counts["xfailed"] == 1 and "failed" not in counts
    repair(pytester.path)
    assert failures_of(run(text=known)) == [failed]


def test_a_router_that_breaks_fails_every_claim(run: Pytest) -> None:
    text = (
        "import quidnunc\n\n"
        "def open_broken(config):\n    raise RuntimeError('no port')\n\n"
        "test_it = quidnunc.conforms(open_broken, protocol='floodsub', runs=2)\n"
    )
    result = run(text=text)
    assert result.parseoutcomes() == {"failed": CLAIMS}
    result.stdout.fnmatch_lines(["the driver broke: python:test_toy:open_broken*RuntimeError: no port*"])


def test_wrong_use_is_told_where_it_is_written() -> None:
    with pytest.raises(SpecError, match="floodsubb"):
        quidnunc.conforms("ours", protocol="floodsubb")
    with pytest.raises(ValueError, match="no claim 'flood.relai'"):
        quidnunc.conforms("ours", protocol="floodsub", known={"flood.relai": "why"})
    with pytest.raises(ValueError, match="runs: expected 1 or more, got 0"):
        quidnunc.conforms("ours", protocol="floodsub", runs=0)


def test_the_page_says_what_happens(run: Pytest, pytester: pytest.Pytester) -> None:
    """The module of the guide, on the router of the page about drivers."""
    docs = Path(__file__).parents[2] / "docs"
    module, router = (
        re.search(rf"```python\n# {name}\n(.*?)```", (docs / page).read_text(encoding="utf-8"), re.DOTALL)
        for page, name in (("pytest.md", "test_router.py"), ("adapters.md", "toy_router.py"))
    )
    assert module is not None and router is not None
    (pytester.path / "toy_router.py").write_text(router[1], encoding="utf-8")
    failed = failures_of(run(text=module[1].replace('"floodsub"', '"floodsub", runs=8')))
    assert failed and all(name.startswith("test_toy[") for name in failed)
