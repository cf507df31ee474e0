"""The workflow of docs/ci.md, step by step in an empty folder, as a maintainer's runner does it.

Two things differ: `pip install quidnunc` finds a wheel of this tree in place of the index's, beside the
dependencies that are installed here, and a budget is seconds where the page has minutes. The router is a
program that is started as the workflow says.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from attrs import frozen

from tests.helpers.wheels import built_wheel

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "github-workflow.yml"
FLOW: Mapping[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
CONDITIONS: Mapping[str, Callable[[Repository, str], bool]] = {
    "always()": lambda at, event: True,
    "github.event_name != 'schedule'": lambda at, event: event != "schedule",
    "github.event_name == 'schedule'": lambda at, event: event == "schedule",
    "github.event_name != 'pull_request'": lambda at, event: event != "pull_request",
    "hashFiles('quidnunc.sarif') != ''": lambda at, event: (at.folder / "quidnunc.sarif").exists(),
}
"""Part of a step's condition -> whether it is met."""
SHORT_BUDGET = "20s"
"""The kit was just installed: its first start compiles it, and that counts."""
SEEN = ("report.html", "junit.xml", "quidnunc.sarif")


@frozen
class Repository:
    """A maintainer's checkout, and the machine that runs its workflow."""

    folder: Path
    environment: Mapping[str, str]

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        """As a runner does it; a long search is made short."""
        short = re.sub(r"--budget \d+m\b", f"--budget {SHORT_BUDGET}", command)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", short],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=240,
        )

    def play(self, event: str) -> list[str]:
        """Take all steps of the workflow; the names of those that fail."""
        failed: list[str] = []
        for step in FLOW["jobs"]["conformance"]["steps"]:
            conditions = step["if"].split(" && ") if "if" in step else []
            if failed and "always()" not in conditions:
                continue
            if not all(CONDITIONS[each](self, event) for each in conditions):
                continue
            if "run" in step:
                done = self.shell(step["run"])
                if done.returncode:
                    failed.append(f"{step.get('name', step['run'])}: {done.returncode}: {done.stderr}")
            elif "path" in step.get("with", {}):
                kept = step["with"]["path"].split()
                # A folder of cases is there where something was found.
                missing = [n for n in kept if not n.endswith("/") and not (self.folder / n).is_file()]
                assert failed or not missing, missing
            elif "sarif_file" in step.get("with", {}):
                log = json.loads((self.folder / step["with"]["sarif_file"]).read_bytes())
                assert log["version"] == "2.1.0"
        return failed


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a machine on which nothing but Python and the dependencies is installed."""
    work = tmp_path_factory.mktemp("machine")
    wheel = built_wheel(work)
    subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
    here = sysconfig.get_path("purelib", vars={"base": str(work / "venv")})
    installed = [each for each in sys.path if each.endswith("-packages")]
    (Path(here) / "dependencies.pth").write_text("\n".join(installed) + "\n", encoding="utf-8")
    told = {name: str(value) for name, value in FLOW["env"].items()}
    return {
        **{name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ},
        **told,
        "PATH": f"{work / 'venv' / 'bin'}:/usr/bin:/bin",
        "GITHUB_RUN_NUMBER": "7",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheel.parent),
        # The kit of this environment is not the one to be tried.
        "PIP_IGNORE_INSTALLED": "1",
        "PIP_NO_DEPS": "1",
    }


@pytest.fixture
def repository(machine: Mapping[str, str], tmp_path: Path) -> Repository:
    folder = tmp_path / "router"
    folder.mkdir()
    write_router(folder, "ours")
    return Repository(folder, machine)


def write_router(folder: Path, name: str) -> None:
    """The program that the workflow starts."""
    program = folder / "my-router"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --quidnunc ] && exec python -m quidnunc.impl.sidecar_host {name}\nexit 9\n'
    )
    program.chmod(0o755)


def first_time() -> list[str]:
    """The commands of the page's first section."""
    section = PAGE.partition("## The first time")[2].partition("\n## ")[0]
    return re.findall(r"^ +(quidnunc .*)$", section, re.MULTILINE)


def test_the_steps_of_a_commit_and_of_a_night(repository: Repository) -> None:
    assert repository.play("push")[0].startswith("Suite, on every commit: 2"), "no file of expectations yet"
    doctor, *searches = first_time()
    assert len(searches) == 2
    # Even our own router shows some claims of some protocol in no case of the suite.
    examined = repository.shell(doctor)
    assert examined.returncode == 3 and "of gossipsub-1.0" in examined.stdout
    for search in searches:
        done = repository.shell(search)
        assert done.returncode == 0, done.stderr + done.stdout
    assert (repository.folder / "quidnunc" / "expect.toml").is_file()
    for event in ("push", "pull_request", "schedule"):
        for name in SEEN:
            (repository.folder / name).unlink(missing_ok=True)
        assert repository.play(event) == []
        assert all((repository.folder / name).stat().st_size for name in SEEN)


def test_a_router_that_breaks_makes_the_build_fail(repository: Repository) -> None:
    (repository.folder / "quidnunc").mkdir()
    (repository.folder / "quidnunc" / "expect.toml").write_text("")
    assert repository.shell("pip install quidnunc").returncode == 0
    write_router(repository.folder, "ours:echo")
    (failed,) = repository.play("push")
    assert failed.startswith("Suite, on every commit: 1:")
    suites = ElementTree.parse(repository.folder / "junit.xml")
    names = {case.attrib["name"] for case in suites.iter("testcase") if case.find("failure") is not None}
    assert "relay.not-back" in names
    assert [*(repository.folder / "found").glob("*.case")]


def test_a_step_that_is_broken_is_noticed(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [{"run": "quidnunc chek"}, {"run": "touch reached"}, {"if": "always()", "run": "touch always"}]
    monkeypatch.setitem(FLOW["jobs"], "conformance", {"steps": steps})
    assert len(repository.play("push")) == 1
    assert not (repository.folder / "reached").exists() and (repository.folder / "always").exists()


def test_the_workflow_has_the_shape_that_github_demands() -> None:
    """By the schema that check-jsonschema ships."""
    pytest.importorskip("check_jsonschema", reason="pip install '.[test]'")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, WORKFLOW], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
