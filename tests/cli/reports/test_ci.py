"""JUnit XML, SARIF and annotations: what fails is there, and nothing passes that was not tested.

The shape that is asked for is that of published schemas: SARIF 2.1.0, and the JUnit that Jenkins reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import evolve

from quidnunc.properties.documents.clauses import load as clauses
from quidnunc.reports.ci.formats import annotation_lines, junit_text, sarif_text
from quidnunc.reports.ci.results import (
    CiAlert,
    CiResult,
    CiTest,
    result_of_check,
    result_of_regress,
    result_of_replay,
)
from tests.conftest import Command

ROOT = Path(__file__).parents[3]
MUTANT = ROOT / "counterexamples" / "mutants" / "announce-to-topic.case"
SEARCH = ("check", "floodsub", "--against", "ours:echo", "--runs", 4)
TESTCASE = {"name", "classname", "time"}
ALERT = CiAlert(
    rule="floodsub/relay.not-back", level="error", message="fails: it\nsends, back", subject="x 1"
)


def read(text: str) -> ElementTree.Element:
    """The root of a JUnit file, with the counts and attributes that its schema demands."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites" and "skipped" not in root.attrib
    for suite in root:
        assert suite.tag == "testsuite" and {"name", "tests", "failures", "errors"} <= {*suite.attrib}
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.attrib["tests"]) > 0
        for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert len(suite.findall(f"testcase/{tag}")) == int(suite.attrib[word])
        assert all({*case.attrib} == TESTCASE and len(case) <= 1 for case in cases)
    return root


def results_of(text: str) -> list[Mapping[str, Any]]:
    """The results of a SARIF file, each with a rule, a level and a place."""
    log = json.loads(text)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len({*rules})
    found: list[Mapping[str, Any]] = run["results"]
    for each in found:
        assert rules[each["ruleIndex"]] == each["ruleId"]
        assert each["level"] in ("error", "warning", "note") and each["message"]["text"]
        assert each["locations"] and all(len(mark) == 64 for mark in each["partialFingerprints"].values())
    return found


def result(*tests: CiTest, alerts: tuple[CiAlert, ...] = ()) -> CiResult:
    return CiResult(tests=tests, alerts=alerts, command="quidnunc check", exit_status=1)


# -- what is written ----------------------------------------------------------------------------------------


def test_a_check_fails_where_its_claims_fail(quidnunc: Command, tmp_path: Path) -> None:
    junit, sarif = tmp_path / "new" / "junit.xml", tmp_path / "sarif.json"
    files = ("--cases", tmp_path / "cases", "--junit", junit, "--sarif", sarif)
    ran = quidnunc(*SEARCH, "--json", *files)
    failing = {each["id"] for each in ran.data["claims"] if each["verdict"] == "fails"}
    passing = {each["id"] for each in ran.data["claims"] if each["verdict"] == "not-refuted"}
    cases = read(junit.read_text("utf-8")).findall("testsuite/testcase")
    assert {c.attrib["name"] for c in cases if c.find("failure") is not None} == failing != set()
    assert {c.attrib["name"] for c in cases if not len(c)} == passing != set()
    (failure,) = (c.find("failure") for c in cases if c.find("failure") is not None)
    assert failure is not None and "connect" in (failure.text or "")
    (found,) = results_of(sarif.read_text("utf-8"))
    assert found["level"] == "error" and found["ruleId"] == "floodsub/relay.not-back"
    place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.startswith("file:///") and place.endswith(".case")


def test_what_is_expected_does_not_fail(quidnunc: Command, tmp_path: Path) -> None:
    expect, junit, sarif = tmp_path / "expect.toml", tmp_path / "junit.xml", tmp_path / "sarif.json"
    quidnunc(*SEARCH, "--expect", expect, "--update-expect", "--cases", tmp_path / "cases")
    files = ("--junit", junit, "--sarif", sarif, "--format", "github")
    ran = quidnunc(*SEARCH, "--expect", expect, *files)
    assert ran.code == 0 and "::error" not in ran.out
    assert not read(junit.read_text("utf-8")).findall("testsuite/testcase/failure")
    (found,) = results_of(sarif.read_text("utf-8"))
    assert found["suppressions"] == [{"kind": "external", "status": "accepted"}]
    expect.write_text("", encoding="utf-8")
    assert quidnunc(*SEARCH, "--expect", expect, *files).code == 1
    assert read(junit.read_text("utf-8")).findall("testsuite/testcase/failure")


def test_what_is_expected_and_gone_is_told(quidnunc: Command, tmp_path: Path) -> None:
    expect, sarif = tmp_path / "expect.toml", tmp_path / "sarif.json"
    quidnunc(*SEARCH, "--expect", expect, "--update-expect", "--cases", tmp_path / "cases")
    mended = ("check", "floodsub", "--against", "ours", "--runs", 4, "--expect", expect)
    ran = quidnunc(*mended, "--sarif", sarif, "--format", "github")
    assert ran.code == 1 and "no longer occurs: take it out of the expectations" in ran.out
    assert [line for line in ran.out.splitlines() if line.startswith("::error")]
    (found,) = results_of(sarif.read_text("utf-8"))
    assert found["level"] == "error"


def test_a_driver_that_breaks_in_the_suite_leaves_its_files(quidnunc: Command, tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    broken = ("check", "gossipsub-1.2", "--against", "python:tests.helpers.failing_router:open_broken")
    ran = quidnunc(*broken, "--suite", "--junit", junit)
    assert ran.code == 4 and "exit 4: its line is not JSON: 'DEBUG publishing'" in ran.out
    assert "1 part of this search broke; 132 runs ended" in ran.out
    assert "0 root causes and 1 departure of unknown cause (1 undecided)" in ran.out
    assert read(junit.read_text("utf-8")).findall("testsuite/testcase/error")


def test_nothing_played_is_an_error() -> None:
    report = {"protocols": ["floodsub"], "against": "ours", "router_version": "1", "steps": 0, "claims": []}
    found = result_of_check([{**report, "root_causes": []}], strict=False, command="", exit_status=3)
    assert [each.outcome for each in found.tests] == ["error"]


@pytest.mark.parametrize(
    ("verdict", "strict", "outcome"),
    [
        ("not-refuted", False, "passed"),
        ("observed", True, "passed"),
        ("deviates", False, "passed"),
        ("deviates", True, "failed"),
        ("fails", False, "failed"),
        ("broken", False, "error"),
        ("inconclusive", False, "skipped"),
        ("undecided", False, "skipped"),
        ("unsupported", False, "skipped"),
    ],
)
def test_a_verdict_is_an_outcome(verdict: str, strict: bool, outcome: str) -> None:
    claim = {"id": "relay.not-back", "verdict": verdict, "reason": "so"}
    report = {"protocols": ["floodsub"], "against": "ours", "steps": 1, "claims": [claim], "root_causes": []}
    found = result_of_check([report], strict=strict, command="", exit_status=0)
    assert [each.outcome for each in found.tests] == [outcome]


def test_a_driver_that_broke_is_an_error() -> None:
    report = {"protocols": ["floodsub"], "against": "ours", "steps": 1, "claims": [], "root_causes": []}
    found = result_of_check([report], strict=False, command="", exit_status=4)
    assert [each.outcome for each in found.tests] == ["error"]


def test_a_replay_fails_where_a_case_departs(quidnunc: Command, tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    ran = quidnunc("replay", MUTANT, "--junit", junit, "--format", "github")
    assert ran.code == 1 and f"::error file={MUTANT},title=" in ran.out
    assert len(read(junit.read_text("utf-8")).findall("testsuite/testcase/failure")) == 1
    ran = quidnunc("replay", MUTANT, "--against", "ours", "--junit", junit, "--format", "github")
    assert ran.code == 0 and "::error" not in ran.out
    assert not read(junit.read_text("utf-8")).findall("testsuite/testcase/failure")


def test_a_crash_is_told_without_its_events() -> None:
    replay = {
        "path": "a.case",
        "against": "py-libp2p",
        "protocol": "floodsub",
        "clause": "floodsub/relay.not-back",
        "quirk": "",
        "status": "open",
        "outcome": "same",
        "departs": True,
        "reason": "departs at `a: subscribe t`",
        "divergence": "a: subscribe t\n----\n+ crash KeyError",
    }
    found = result_of_replay({"replays": [replay]}, command="", exit_status=1)
    for text in (junit_text(found), sarif_text(found), "\n".join(annotation_lines(found))):
        assert "the router crashes" in text and "subscribe t" not in text and "KeyError" not in text
    own = result_of_replay({"replays": [{**replay, "against": "ours:echo"}]}, command="", exit_status=1)
    assert "subscribe t" in junit_text(own)
    row = {
        "clauses": ["floodsub/relay.not-back"],
        "quirk": "crash:KeyError",
        "verdict": "fails",
        "text": None,
    }
    report = {
        "protocols": ["floodsub"],
        "against": "py-libp2p",
        "router_version": "1",
        "steps": 1,
        "claims": [],
    }
    checked = {**report, "root_causes": [{**row, "case": "private/a.case"}]}
    (alert,) = result_of_check([checked], strict=False, command="", exit_status=1).alerts
    assert "crashes" in alert.message and not alert.path and "KeyError" not in repr(alert)


def test_a_change_that_nobody_declared_fails() -> None:
    keys = ("changes", "undescribed", "declared", "undeclared", "gone", "otherwise")
    same: dict[str, Any] = {"old": "a", "new": "b", **{key: [] for key in keys}}
    found = result_of_regress(same, path="", command="", exit_status=0)
    assert [each.outcome for each in found.tests] == ["passed"] and not found.alerts
    change = {
        "rule": "graft",
        "verdict": "newly-allowed",
        "says": "It grafts.",
        "clauses": ["gs1.0/mesh.members"],
        "trace": ["join t"],
    }
    entry = {"cause": "graft", "verdict": "newly-allowed"}
    for key in ("undeclared", "gone", "otherwise"):
        data = {**same, "changes": [change], key: [entry], "declared": [{**entry, "cause": "prune"}]}
        found = result_of_regress(data, path="expect.toml", command="", exit_status=1)
        assert [each.outcome for each in found.tests] == ["passed", "failed"]
        (alert,) = results_of(sarif_text(found))
        assert alert["ruleId"] == "gs1.0/mesh.members" and "It grafts." in alert["message"]["text"]


def test_two_directions_of_a_change_are_two_alerts_with_their_own_traces() -> None:
    """Kills: a change is looked up by its rule alone; the direction is left out of the fingerprint; the place
    of the rule, or the parameters of the trace, are left out."""
    directions = ("newly-forbidden", "newly-obligatory")
    changes = [
        {
            "rule": "parameter/d",
            "verdict": each,
            "clauses": ["gs1.0/mesh.members"],
            "place": {"file": "my_fork.py", "line": 9},
            "parameters": "d=1",
            "trace": [f"- {each}"],
        }
        for each in directions
    ]
    undeclared = [{"cause": "parameter/d", "verdict": each} for each in directions]
    data: dict[str, Any] = {"old": "a", "new": "b", "changes": changes, "undeclared": undeclared}
    data |= {key: [] for key in ("undescribed", "declared", "gone", "otherwise")}
    found = result_of_regress(data, path="expect.toml", command="", exit_status=1)
    assert [t.details for t in found.tests] == [f"parameters: d=1\n\n- {each}" for each in directions]
    alerts = results_of(sarif_text(found))
    assert len({each["partialFingerprints"]["rootCause/v1"] for each in alerts}) == 2
    place = alerts[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "my_fork.py"}, "region": {"startLine": 9}}
    assert "file=my_fork.py,line=9," in next(annotation_lines(found))
    nowhere = {**data, "changes": [{**each, "place": None} for each in changes]}
    bare = result_of_regress(nowhere, path="", command="", exit_status=1)
    place = results_of(sarif_text(bare))[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "b"}


# -- the formats --------------------------------------------------------------------------------------------


def test_no_character_breaks_xml() -> None:
    text = 'a\x00b\x1b[1m <&>" ]]> \ud800 \ufffe'
    root = read(
        junit_text(result(CiTest(suite=text, name=text, outcome="failed", message=text, details=text)))
    )
    (failure,) = root.findall("testsuite/testcase/failure")
    assert failure.attrib["message"] == 'a\ufffdb\ufffd[1m <&>" ]]> \ufffd \ufffd' == failure.text


def test_suites_are_not_split() -> None:
    tests = [CiTest(suite=name, name=str(at), outcome="passed") for at, name in enumerate("aba")]
    assert [suite.attrib["tests"] for suite in read(junit_text(result(*tests)))] == ["2", "1"]


def test_an_annotation_is_one_line() -> None:
    (line,) = annotation_lines(result(alerts=(evolve(ALERT, path="a,b:c.case"),)))
    title = "title=x 1%3A floodsub/relay.not-back"
    assert line == f"::error file=a%2Cb%3Ac.case,{title}::fails: it%0Asends, back"


def test_a_rule_of_sarif_leads_to_its_sentence() -> None:
    log = json.loads(sarif_text(result(alerts=(ALERT, evolve(ALERT, rule="own/rule")))))
    known, own = log["runs"][0]["tool"]["driver"]["rules"]
    assert known["helpUri"].startswith("https://") and known["helpUri"].isascii()
    assert known["shortDescription"]["text"] == " ".join(clauses()["floodsub/relay.not-back"].text.split())
    assert own["id"] == "own/rule" and "helpUri" not in own
    assert own["fullDescription"] == own["help"] == {"text": "own/rule is no clause of a published text."}


def test_an_alert_without_a_case_has_a_place_all_the_same() -> None:
    (found,) = results_of(sarif_text(result(alerts=(ALERT,))))
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "x%201"


def test_a_path_is_an_address() -> None:
    (found,) = results_of(sarif_text(result(alerts=(evolve(ALERT, path="my cases/a#1.case"),))))
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20cases/a%231.case"


def test_a_version_does_not_make_an_alert_another() -> None:
    alerts = (ALERT, evolve(ALERT, subject="x 2"), evolve(ALERT, cause="other"))
    one, two, other = (each["partialFingerprints"] for each in results_of(sarif_text(result(alerts=alerts))))
    assert one == two != other


def test_annotations_do_not_mix_with_json(quidnunc: Command, tmp_path: Path) -> None:
    assert (
        "--json and --format github exclude" in quidnunc("replay", MUTANT, "--json", "--format", "github").err
    )
    ran = quidnunc(*SEARCH, "--junit", tmp_path)
    assert ran.code == 2 and "is a folder, not a file" in ran.err
