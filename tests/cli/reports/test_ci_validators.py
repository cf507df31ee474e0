"""JUnit XML and SARIF before validators that others wrote: what they refuse, a CI service may refuse too.

`.ci/validators FOLDER` installs them, and QUIDNUNC_VALIDATORS names the folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from quidnunc.reports.ci.formats import junit_text, sarif_text
from quidnunc.reports.ci.results import CiAlert, CiResult, CiTest
from tests.conftest import Command

NAMED = os.environ.get("QUIDNUNC_VALIDATORS")
if not NAMED:
    pytest.skip("QUIDNUNC_VALIDATORS is not set: `.ci/validators FOLDER`", allow_module_level=True)
FOLDER = Path(NAMED)
jsonschema = pytest.importorskip("jsonschema", reason="pip install '.[test]'")
xmlschema = pytest.importorskip("xmlschema", reason="pip install '.[test]'")

MULTITOOL = FOLDER / "node_modules" / "@microsoft" / "sarif-multitool-linux"
MUTANTS = Path(__file__).parents[3] / "counterexamples" / "mutants"
NO_HOME_PAGE = "SARIF2005"
"""A warning: the kit has no home page yet that `informationUri` could name."""


@frozen
class ResultFiles:
    """The files of one command."""

    junit: Path
    sarif: Path

    @property
    def words(self) -> tuple[object, ...]:
        return ("--junit", self.junit, "--sarif", self.sarif)


@pytest.fixture
def written(tmp_path: Path) -> ResultFiles:
    return ResultFiles(tmp_path / "junit.xml", tmp_path / "quidnunc.sarif")


def refused(written: ResultFiles) -> list[str]:
    """What the validators say against the files."""
    said = [f"{each.path}: {each.reason}" for each in _schema().iter_errors(str(written.junit))]
    schema = json.loads((MULTITOOL / "sarif-2.1.0.json").read_bytes())
    checked = jsonschema.Draft7Validator(schema)
    log = json.loads(written.sarif.read_bytes())
    said += [f"{each.json_path}: {each.message}" for each in checked.iter_errors(log)]
    # Gh: what GitHub asks for on top of the standard.
    command = [MULTITOOL / "Sarif.Multitool", "validate", written.sarif, "--rule-kind", "Sarif;Gh"]
    ran = subprocess.run(
        [*command, "--level", "Error;Warning"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )
    assert "Analysis completed successfully" in ran.stdout, ran.stdout + ran.stderr
    found = re.findall(r": ((?:error|warning) .*)", ran.stdout)
    return said + [each for each in found if NO_HOME_PAGE not in each]


def _schema() -> Any:
    return xmlschema.XMLSchema(str(FOLDER / "junit-10.xsd"))


def test_the_validators_refuse_what_is_wrong(written: ResultFiles) -> None:
    """Each of the three, so that it is known to look."""
    alert = CiAlert(rule="floodsub/relay.not-back", level="error", message="fails", subject="x 1")
    test = CiTest(suite="s", name="n", outcome="failed", message="m")
    good = CiResult(tests=(test,), alerts=(alert,), command="quidnunc check", exit_status=1)
    written.junit.write_text(junit_text(good).replace("<testcase ", "<testcase colour='red' "))
    sarif = json.loads(sarif_text(good))
    sarif["runs"][0]["results"][0]["ruleIndex"] = 7
    del sarif["runs"][0]["tool"]["driver"]["rules"][0]["help"]
    written.sarif.write_text(json.dumps(sarif))
    said = "\n".join(refused(written))
    assert "colour" in said and "error SARIF1009" in said and "error GH2012" in said
    sarif["runs"][0]["results"][0]["level"] = "bad"
    written.sarif.write_text(json.dumps(sarif))
    assert "'bad' is not one of" in "\n".join(refused(written))
    written.junit.write_text(junit_text(good))
    written.sarif.write_text(sarif_text(good))
    assert refused(written) == []


def test_a_search_and_what_is_expected_of_it(quidnunc: Command, written: ResultFiles, tmp_path: Path) -> None:
    search = ("check", "floodsub", "--against", "ours:echo", "--runs", 20)
    # Without cases an alert has no file of its own.
    assert quidnunc(*search, *written.words).code == 1
    assert refused(written) == []
    expect = ("--expect", tmp_path / "expect.toml", "--cases", tmp_path / "cases")
    assert quidnunc(*search, *expect, "--update-expect", *written.words).code == 0
    assert refused(written) == []
    assert '"suppressions"' in written.sarif.read_text(encoding="utf-8")


def test_a_suite(quidnunc: Command, written: ResultFiles) -> None:
    assert quidnunc("check", "floodsub", "--against", "ours", "--suite", *written.words).code in (0, 3)
    assert refused(written) == []


def test_a_replay_of_many_cases(quidnunc: Command, written: ResultFiles) -> None:
    cases = sorted(MUTANTS.glob("idontwant-*.case"))
    assert len(cases) > 5
    assert quidnunc("replay", *cases, *written.words).code == 1
    assert refused(written) == []


def test_a_comparison_of_protocols(quidnunc: Command, written: ResultFiles) -> None:
    assert quidnunc("regress", "gossipsub-1.2-draft", "gossipsub-1.2", *written.words).code == 1
    assert refused(written) == []
    assert quidnunc("regress", "gossipsub-1.2", "gossipsub-1.2", *written.words).code == 0
    assert refused(written) == []
