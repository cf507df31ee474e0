"""The formats: JUnit XML, SARIF 2.1.0, and the annotations of GitHub's runners."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from quidnunc import __version__
from quidnunc.output import write_text
from quidnunc.properties.documents.clauses import load
from quidnunc.reports.ci.results import CiAlert, CiResult, CiTest
from quidnunc.reports.pages.links import place_of

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
COUNTED = {"failed": "failures", "skipped": "skipped", "error": "errors"}
"""Outcome -> the attribute of JUnit that counts it."""
ELEMENTS = {"failed": "failure", "skipped": "skipped", "error": "error"}
ANNOTATIONS = {"error": "error", "warning": "warning", "note": "notice"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_results(options: argparse.Namespace, result: CiResult) -> None:
    """Write the files that were asked for, and print annotations where they are the format."""
    for path, text in ((options.junit, junit_text), (options.sarif, sarif_text)):
        if path is not None:
            write_text(path, text(result))
    if options.format == "github":
        for line in annotation_lines(result):
            print(line)


# -- JUnit --------------------------------------------------------------------------------------------------


def junit_text(result: CiResult) -> str:
    """One `testsuite` for each router and protocol, one `testcase` for each claim, case or change."""
    # Of all suites together, the schema counts no skipped ones.
    counts = {name: number for name, number in _counts(result.tests).items() if name != "skipped"}
    root = Element("testsuites", {"name": "quidnunc", **counts})
    for suite in dict.fromkeys(test.suite for test in result.tests):
        held = tuple(test for test in result.tests if test.suite == suite)
        of = SubElement(root, "testsuite", {"name": _xml(suite), **_counts(held)})
        properties = SubElement(of, "properties")
        for name, value in (("command", result.command), ("exit status", str(result.exit_status))):
            SubElement(properties, "property", name=name, value=_xml(value))
        for test in held:
            case = SubElement(of, "testcase", classname=_xml(suite), name=_xml(test.name), time="0")
            if test.outcome in ELEMENTS:
                what = SubElement(case, ELEMENTS[test.outcome], message=_xml(test.message))
                if test.details:
                    what.text = _xml(test.details)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(tests: tuple[CiTest, ...]) -> dict[str, str]:
    counts = Counter[str](test.outcome for test in tests)
    return {"tests": str(len(tests)), **{word: str(counts[of]) for of, word in COUNTED.items()}}


def _xml(text: str) -> str:
    """`text` without the characters that no XML can hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


# -- SARIF --------------------------------------------------------------------------------------------------


def sarif_text(result: CiResult) -> str:
    """One run with a rule for each clause and a result for each alert."""
    rules = list(dict.fromkeys(alert.rule for alert in result.alerts))
    run = {
        "tool": {"driver": {"name": "quidnunc", "version": __version__, "rules": [*map(_rule, rules)]}},
        "invocations": [
            {
                "executionSuccessful": result.exit_status in (0, 1, 3),
                "exitCode": result.exit_status,
                "commandLine": result.command,
            }
        ],
        "results": [_sarif_result(alert, rules) for alert in result.alerts],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(name: str) -> dict[str, Any]:
    clause, place = load().get(name), place_of(name)
    text = f"{name} is no clause of a published text."
    help_text = text
    if clause is not None:
        text = " ".join(clause.text.split())
        help_text = f"`quidnunc explain {name}` shows the sentence, its rules, claims and cases."
    rule: dict[str, Any] = {
        "id": name,
        "shortDescription": {"text": text},
        # GitHub refuses a rule without these two.
        "fullDescription": {"text": text},
        "help": {"text": help_text},
    }
    if place is not None and place.url:
        rule["helpUri"] = quote(place.url, safe=":/#?=&%~")
    return rule


def _sarif_result(alert: CiAlert, rules: list[str]) -> dict[str, Any]:
    path = Path(alert.path)
    # GitHub refuses the whole file where a result has no file: the name of what it is about stands for it.
    uri = quote(alert.stands_for or alert.subject, safe="")
    if alert.path:
        uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": alert.line}},
        "logicalLocations": [{"fullyQualifiedName": alert.subject}],
    }
    same = sha256("\n".join((alert.rule, alert.cause, alert.subject.partition(" ")[0])).encode()).hexdigest()
    found: dict[str, Any] = {
        "ruleId": alert.rule,
        "ruleIndex": rules.index(alert.rule),
        "level": alert.level,
        "message": {"text": f"{alert.subject}: {alert.message}"},
        "locations": [location],
        "partialFingerprints": {"rootCause/v1": same},
    }
    if alert.suppressed:
        found["suppressions"] = [{"kind": "external", "status": "accepted"}]
    return found


# -- GitHub -------------------------------------------------------------------------------------------------


def annotation_lines(result: CiResult) -> Iterator[str]:
    """A workflow command for each alert that is not expected."""
    for alert in result.alerts:
        if alert.suppressed:
            continue
        line = str(alert.line) if alert.line > 1 else ""
        fields = {"file": alert.path, "line": line, "title": f"{alert.subject}: {alert.rule}"}
        given = ",".join(f"{name}={_field(value)}" for name, value in fields.items() if value)
        yield f"::{ANNOTATIONS[alert.level]} {given}::{_data(alert.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
