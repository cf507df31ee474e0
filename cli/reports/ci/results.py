"""What a command found, as tests that pass or fail and as alerts, whatever the format they are written in.

A test fails exactly where the command ends with 1 because of it. Nothing that was not tested passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import frozen

from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.reports.matrix import headline

Outcome: TypeAlias = Literal["passed", "failed", "skipped", "error"]
Level: TypeAlias = Literal["error", "warning", "note"]
Found: TypeAlias = Mapping[str, Any]

LEVELS: Mapping[str, Level] = {"fails": "error", "broken": "error", "deviates": "warning"}
"""Verdict on a root cause -> the level of its alert; of the others `note`."""
CRASHES = "crashes; --private DIR writes the events"


@frozen(kw_only=True)
class CiTest:
    """One thing that was tested."""

    suite: str
    name: str
    outcome: Outcome
    message: str = ""
    details: str = ""


@frozen(kw_only=True)
class CiAlert:
    """One thing that somebody should look at."""

    rule: str
    """The clause, or the rule that changed."""
    level: Level
    message: str
    path: str = ""
    """Of its case, or of the rule that changed; empty where there is none."""
    line: int = 1
    subject: str
    """What it is about: a router, or two protocols."""
    stands_for: str = ""
    """What a format names that must have a file, where there is none; empty: the subject."""
    cause: str = ""
    suppressed: bool = False
    """It is expected, and the file of expectations says why."""


@frozen(kw_only=True)
class CiResult:
    """All that one command found."""

    tests: tuple[CiTest, ...]
    alerts: tuple[CiAlert, ...]
    command: str
    exit_status: int


# -- check --------------------------------------------------------------------------------------------------


def result_of_check(reports: Sequence[Found], *, strict: bool, command: str, exit_status: int) -> CiResult:
    """Of what `check --json` says of each protocol."""
    tests = [test for report in reports for test in _claims(report, strict)]
    # A file of expectations is about all protocols of a check, and each report repeats it.
    tests += [test for report in reports[:1] for test in _expectations(report)]
    if exit_status == 4 and not any(test.outcome in ("failed", "error") for test in tests):
        tests.append(CiTest(suite="quidnunc", name="driver", outcome="error", message="the driver broke"))
    alerts = (
        *(_root(root, report, strict) for report in reports for root in report["root_causes"]),
        *(alert for report in reports[:1] for alert in _gone(report)),
    )
    return CiResult(tests=tuple(tests), alerts=alerts, command=command, exit_status=exit_status)


def _claims(report: Found, strict: bool) -> Iterator[CiTest]:
    suite = f"{report['protocols'][0]} against {report['against']}"
    clauses = {each.id: {*each.clauses} for each in claims_of(PROTOCOLS[report["protocols"][0]])}
    bad = {"fails", "deviates"} if strict else {"fails"}
    if not report["steps"]:
        yield CiTest(suite=suite, name="search", outcome="error", message="nothing was played")
    for claim in report["claims"]:
        verdict, reason = claim["verdict"], claim["reason"]
        roots = [r for r in report["root_causes"] if clauses.get(claim["id"], set()) & {*r["clauses"]}]
        outcome: Outcome = "passed" if verdict in ("not-refuted", "observed", "deviates") else "skipped"
        message = f"{verdict}: {reason}"
        if verdict == "broken":
            outcome = "error"
        elif verdict in bad and "expected" not in report:
            outcome = "failed"
        elif verdict in ("fails", "deviates") and "expected" in report:
            news = [root for root in roots if not _is_met(root, report)]
            outcome, message = ("failed", message) if news else ("skipped", f"expected: {reason}")
        details = "\n\n".join(_details(root) for root in roots) if outcome == "failed" else ""
        if outcome == "failed" and roots:
            message = f"{verdict}: " + " ".join(_headline(root) for root in roots)
        yield CiTest(suite=suite, name=claim["id"], outcome=outcome, message=message, details=details)


def _headline(root: Found) -> str:
    return headline(root) if root["text"] else f"The router {CRASHES}."


def _details(root: Found) -> str:
    return root["text"] or f"{', '.join(root['clauses'])}: {CRASHES}"


def _expectations(report: Found) -> Iterator[CiTest]:
    """What the file of expectations says, entry by entry."""
    found = report.get("expected")
    if found is None:
        return
    said: Mapping[str, tuple[Outcome, str]] = {
        "met": ("passed", "expected, and found"),
        "not_met": ("skipped", "expected, and not met in this search"),
        "gone": ("failed", "is expected, and no longer occurs"),
        "otherwise": ("failed", "is expected with another verdict"),
        "unexpected": ("failed", "is not expected"),
    }
    new = {(each["clause"], each["cause"]) for each in found["unexpected"]}
    for key, (outcome, message) in said.items():
        for each in found[key]:
            if key == "met" and (each["clause"], each["cause"]) in new:
                # It is one test, which fails.
                continue
            name = f"{each['clause']} {each['cause']}"
            also = each.get("also_departs_in")
            told = f"also departs in: {', '.join(also)}" if also else message
            yield CiTest(suite="expectations", name=name, outcome=outcome, message=f"{name} {told}")


def _gone(report: Found) -> Iterator[CiAlert]:
    """What is expected and no longer occurs; what is new has an alert as a root cause."""
    for each in report.get("expected", {}).get("gone", ()):
        name = f"{each['clause']} {each['cause']}"
        yield CiAlert(
            rule=each["clause"],
            level="error",
            message=f"{name} is expected, and no longer occurs: take it out of the expectations",
            subject=f"{report['against']} {report['router_version']}".strip(),
            cause=each["cause"],
        )


def _is_met(root: Found, report: Found) -> bool:
    expected = report.get("expected", {})
    met = {(each["clause"], each["cause"]) for each in expected.get("met", ())}
    met |= {(each["clause"], each["found"]) for each in expected.get("renamed", ())}
    met -= {(each["clause"], each["cause"]) for each in expected.get("unexpected", ())}
    return (root["clauses"][0], root["quirk"]) in met


def _root(root: Found, report: Found, strict: bool) -> CiAlert:
    verdict = root["verdict"]
    return CiAlert(
        rule=root["clauses"][0],
        level="error" if strict and verdict == "deviates" else LEVELS.get(verdict, "note"),
        message=f"{verdict}: {_headline(root)}",
        path=root["case"] or "" if root["text"] else "",
        subject=f"{report['against']} {report['router_version']}".strip(),
        cause=root["quirk"] if root["text"] else "crash",
        suppressed=_is_met(root, report),
    )


# -- replay -------------------------------------------------------------------------------------------------


def result_of_replay(found: Found, *, command: str, exit_status: int) -> CiResult:
    """Of what `replay --json` says."""
    tests = [*map(_replayed, found["replays"])]
    tests += [
        CiTest(suite="cases", name=f"case {at}", outcome="error", message=each)
        for at, each in enumerate(found.get("errors", ()), 1)
    ]
    alerts = tuple(
        CiAlert(
            rule=each["clause"],
            level="error",
            message=_replay_message(each),
            path=each["path"],
            subject=each["against"],
            cause=each["quirk"],
        )
        for each in found["replays"]
        if _replayed(each).outcome == "failed"
    )
    return CiResult(tests=tuple(tests), alerts=alerts, command=command, exit_status=exit_status)


def _replayed(each: Found) -> CiTest:
    outcome: Outcome = "passed"
    if each["outcome"] in ("skipped", "inconclusive"):
        outcome = "skipped"
    elif each["outcome"] == "broken":
        outcome = "error"
    elif each["departs"] and not (each["status"] == "observed" and each["outcome"] == "same"):
        outcome = "failed"
    return CiTest(
        suite=f"{each['protocol']} against {each['against']}",
        name=each["path"],
        outcome=outcome,
        message=_replay_message(each),
        details=each["divergence"] if outcome == "failed" and not _crashes(each) else "",
    )


def _replay_message(each: Found) -> str:
    """What came of a replay. What ends a router is not said: such files are passed on."""
    reason = "the router crashes" if _crashes(each) else each["reason"]
    return f"{each['outcome']}: {reason}"


def _crashes(each: Found) -> bool:
    ours = each["against"].partition(":")[0] == "ours"
    return not ours and any(line.startswith("+ crash") for line in each["divergence"].splitlines())


# -- regress ------------------------------------------------------------------------------------------------


def result_of_regress(found: Found, *, path: str, command: str, exit_status: int) -> CiResult:
    """Of what `regress --json` says. `path`: the file of declared changes, where there is one."""
    suite = f"{found['old']} to {found['new']}"
    tests = [
        CiTest(suite=suite, name=f"{each['cause']} {each['verdict']}", outcome="passed", message="declared")
        for each in found["declared"]
    ]
    alerts = []
    told = {(each["rule"], each["verdict"]): each for each in (*found["changes"], *found["undescribed"])}
    for key, says in (
        ("undeclared", "differs, and is not declared"),
        ("gone", "is declared, and no longer differs"),
        ("otherwise", "differs in another way than declared"),
    ):
        for each in found[key]:
            change = told.get((each["cause"], each["verdict"]), {})
            message = f"{each['cause']} ({each['verdict']}) {says}: {change.get('says', '')}".rstrip(": ")
            name = f"{each['cause']} {each['verdict']}"
            details = _trace_of_change(change)
            tests.append(CiTest(suite=suite, name=name, outcome="failed", message=message, details=details))
            # What is declared and gone is to be looked at where it is declared.
            place = change.get("place") or {"file": path, "line": 1}
            alerts.append(
                CiAlert(
                    rule=next(iter(change.get("clauses", ())), each["cause"]),
                    level="error",
                    message=message,
                    path=place["file"],
                    line=place["line"],
                    subject=suite,
                    stands_for=found["new"],
                    cause=f"{name} {found['new']}",
                )
            )
    if not tests:
        tests.append(CiTest(suite=suite, name="behaviour", outcome="passed", message="no difference found"))
    return CiResult(tests=tuple(tests), alerts=tuple(alerts), command=command, exit_status=exit_status)


def _trace_of_change(change: Found) -> str:
    """The trace of a change as the report prints it, with the parameters that it needs."""
    parameters = change.get("parameters", "")
    return "\n".join([*([f"parameters: {parameters}", ""] if parameters else []), *change.get("trace", ())])
