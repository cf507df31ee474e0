"""What `quidnunc check` says of a campaign: for people, and as one JSON object."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from quidnunc import __version__
from quidnunc.output import table
from quidnunc.properties.campaign import Campaign, Root, is_crash
from quidnunc.properties.cases import events_of, render
from quidnunc.properties.clauses import documents, load
from quidnunc.properties.suite import SUITE_VERSION
from quidnunc.properties.verdicts import Compared, Verdict, verdict_of_root

RootKey = tuple[str, str]


def print_report(
    campaign: Campaign,
    verdicts: Sequence[Verdict],
    paths: Mapping[RootKey, str],
    *,
    suite: bool,
    dialect: bool,
) -> None:
    """The table of claims, the root causes, and what was not checked. `paths`: root -> its case file."""
    what = "the suite, " if suite else ""
    print(
        f"{campaign.protocol} against {campaign.against} {campaign.version}: {what}{campaign.runs} runs, "
        f"{campaign.steps} steps in {campaign.seconds:.0f} s"
    )
    rows = [
        (v.claim.id, v.verdict, v.level, v.applied, ", ".join(r.quirk for r in v.roots) or "-")
        for v in verdicts
    ]
    print("\n" + table(("claim", "verdict", "level", "applied", "root causes"), rows))
    if campaign.roots:
        print("\nroot causes:\n" + _roots(campaign, paths))
    if dialect:
        _print_dialect(campaign)
    print("\nnot checked:")
    for line in not_checked(campaign, verdicts):
        print(f"  {line}")


def _roots(campaign: Campaign, paths: Mapping[RootKey, str]) -> str:
    rows = []
    for key, root in sorted(campaign.roots.items()):
        events = "-" if is_crash(root) else len(events_of(root.case))
        again = shlex.join(("quidnunc", "replay", paths[key])) if key in paths else "-"
        rows.append((root.clause, root.quirk, verdict_of_root(root), events, again))
    lines = [table(("clause", "root cause", "verdict", "events", "replay"), rows)]
    without = [root for key, root in campaign.roots.items() if key not in paths]
    if any(not is_crash(root) for root in without):
        lines.append("--cases DIR writes each as a case, to be replayed")
    if any(is_crash(root) for root in without):
        lines.append("--private DIR writes the events of the crash")
    return "\n".join(lines)


def _print_dialect(campaign: Campaign) -> None:
    readings = [r for r in campaign.roots.values() if r.kind == "reading"]
    print("\nreadings observed:" if readings else "\nreadings observed: none other than the kit's own")
    for root in readings:
        print(f"  {root.quirk} ({root.clause}): {root.says}")


def print_compared(compared: Compared) -> None:
    """How what was found stands to what was expected."""
    print(f"\nexpected and found: {len(compared.met)}")
    for each in compared.not_met:
        print(f"  not met: {each.clause} {each.cause}")
    for each in compared.gone:
        print(f"  GONE, though expected: {each.clause} {each.cause}")
    for each, root in compared.otherwise:
        print(
            f"  OTHERWISE: {each.clause} {each.cause}: {each.verdict} expected, {verdict_of_root(root)} found"
        )
    for root in compared.unexpected:
        print(f"  UNEXPECTED: {root.clause} {root.quirk}: {root.says}")


def not_checked(campaign: Campaign, verdicts: Sequence[Verdict]) -> list[str]:
    """What this result says nothing about."""
    lines = [f"{v.claim.id}: {v.reason}" for v in verdicts if v.verdict in ("unsupported", "inconclusive")]
    for name, value in sorted(dict(campaign.fixed).items()):
        lines.append(f"other values of {name}: the router sets {value} itself")
    lines += campaign.left_out
    if campaign.blurred:
        lines.append(f"the rest of {campaign.blurred} runs in which a choice could not be seen")
    if campaign.unrepeated:
        lines.append(f"{campaign.unrepeated} departures that did not repeat when replayed")
    if any(r.kind == "reading" for r in campaign.roots.values()):
        lines.append("readings other than the observed ones, from where they were observed")
    lines += [f"what a batch would have found that broke: {each}" for each in campaign.broken]
    lines.append("wall-clock time, networks of routers")
    return lines


def as_json(
    campaign: Campaign, verdicts: Sequence[Verdict], paths: Mapping[RootKey, str], compared: Compared | None
) -> dict[str, Any]:
    """The object of one protocol. Scripts read its keys, so that they stay as they are."""
    found = {
        "schema": 1,
        "protocols": [campaign.protocol],
        "against": campaign.against,
        "router_version": campaign.version,
        "tool_version": __version__,
        "suite_version": SUITE_VERSION,
        "spec_revisions": _revisions(verdicts),
        "profile": "spec",
        "parameters": dict(campaign.fixed),
        "seed": campaign.seed,
        "runs": campaign.runs,
        "steps": campaign.steps,
        "claims": [_claim(campaign, v, paths) for v in verdicts],
        "root_causes": [_root(r, paths.get(k)) for k, r in sorted(campaign.roots.items())],
        "not_checked": not_checked(campaign, verdicts),
    }
    if compared is not None:
        found["expected"] = {
            "met": [_expectation(e) for e in compared.met],
            "not_met": [_expectation(e) for e in compared.not_met],
            "gone": [_expectation(e) for e in compared.gone],
            "otherwise": [{**_expectation(e), "found": verdict_of_root(r)} for e, r in compared.otherwise],
            "unexpected": [{"clause": r.clause, "cause": r.quirk} for r in compared.unexpected],
        }
    return found


def _expectation(expected: Any) -> dict[str, str]:
    return {"clause": expected.clause, "cause": expected.cause}


def _revisions(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Of the documents that the claims rest on."""
    clauses = load()
    names = {clauses[c].document for v in verdicts for c in v.claim.clauses if c in clauses}
    return {name: documents()[name].revision for name in sorted(names)}


def _claim(campaign: Campaign, v: Verdict, paths: Mapping[RootKey, str]) -> dict[str, Any]:
    worst = max(v.roots, key=lambda r: verdict_of_root(r) == v.verdict) if v.roots else None
    path = paths.get((worst.clause, worst.quirk)) if worst else None
    return {
        "id": v.claim.id,
        "protocol": campaign.protocol,
        "clause": worst.clause if worst else v.claim.clauses[0],
        "level": v.level,
        "verdict": v.verdict,
        "reason": v.reason,
        "applied": v.applied,
        "case": path,
        "events": len(events_of(worst.case)) if worst else None,
        "replay": shlex.join(("quidnunc", "replay", path)) if path else None,
    }


def _root(root: Root, path: str | None) -> dict[str, Any]:
    return {
        "quirk": root.quirk,
        "kind": root.kind,
        "clauses": [root.clause],
        "verdict": verdict_of_root(root),
        "says": root.says,
        "case": path,
        "also": list(root.also),
        "text": None if is_crash(root) else render(root.case),
    }
