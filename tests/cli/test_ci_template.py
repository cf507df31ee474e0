"""The workflow that docs/ci.md hands out, and the page itself: their commands exist, and parse."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from quidnunc.__main__ import parser_of
from quidnunc.options.shared import RESULT_FILES

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "github-workflow.yml"
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def test_each_step_of_the_workflow_parses() -> None:
    flow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    steps = flow["jobs"]["conformance"]["steps"]
    told = {"GITHUB_RUN_NUMBER": "1", **{name: str(value) for name, value in flow["env"].items()}}
    commands = [step["run"] for step in steps if step.get("run", "").startswith("quidnunc ")]
    assert len(commands) == 2
    parser = parser_of("check")
    for command in commands:
        words = [told.get(word.lstrip("$"), word) for word in shlex.split(command)]
        options = parser.parse_args(words[1:])
        assert options.command == "check" and options.protocol == flow["env"]["PROTOCOL"]
        assert options.format == "github" and all(getattr(options, name) for name in RESULT_FILES)


def test_what_is_written_is_kept() -> None:
    flow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    kept = str([step.get("with") for step in flow["jobs"]["conformance"]["steps"]])
    run = WORKFLOW.read_text(encoding="utf-8")
    for name in re.findall(r"--(?:report|junit|sarif|cases) (\S+)", run):
        assert name in kept, name


def test_the_page_names_every_option() -> None:
    for name in (*(f"--{name} FILE" for name in RESULT_FILES), "--format github"):
        assert f"`{name}`" in PAGE
