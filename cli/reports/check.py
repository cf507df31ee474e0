"""The report of `quidnunc check`: as text, and as one JSON object."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from quidnunc import __version__
from quidnunc.model.profiles import PROFILES
from quidnunc.output import count, fields_of, show, table
from quidnunc.properties.cases.case import Control, events_of, replay_command
from quidnunc.properties.cases.file import render
from quidnunc.properties.documents.clauses import Clause, documents, load
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.leaning import untested
from quidnunc.properties.search.rows import RootCause, is_crash
from quidnunc.properties.search.unsent import never_sent
from quidnunc.properties.search.verdicts import (
    ClaimVerdict,
    ExpectationComparison,
    explained_too_late,
    verdict_of_root,
    without_case,
)
from quidnunc.properties.suite.dialect import DialectAnswer, unasked_places
from quidnunc.properties.suite.files import file_of
from quidnunc.properties.suite.run import SUITE_VERSION
from quidnunc.reports.suite import SUITE_LEGEND, not_run, not_seen, unfinished, word_of
from quidnunc.reports.summary import RootKey, verdict_counts

NOT_CHECKED = ("unsupported", "inconclusive", "undecided")
"""Verdicts of claims that the result says nothing of."""


def print_report(
    campaign: Campaign,
    verdicts: Sequence[ClaimVerdict],
    paths: Mapping[RootKey, str],
    options: argparse.Namespace,
) -> None:
    """How many claims have which verdict, and what was not checked; --verbose lists claims and root causes.

    `paths`: root -> its case file.
    """
    what = "the suite, " if options.suite else ""
    version = f" {campaign.version}" if campaign.version else ""
    show(
        f"{campaign.protocol} against {campaign.against}{version}{_as(campaign)}: {what}"
        f"{count(campaign.runs, 'run')}, {count(campaign.steps, 'step')} in {campaign.seconds:.0f} s"
    )
    if campaign.interrupted:
        print("interrupted: this is what was found so far")
    words = [word_of(v) if options.suite else v.verdict for v in verdicts]
    print(f"{count(len(verdicts), 'claim')}: {verdict_counts(words)}")
    if options.suite:
        print(SUITE_LEGEND)
        if campaign.known:
            known = f"{count(len(campaign.known), 'root cause')} of {campaign.against} {campaign.version}"
            print(f"{known} known before: tried first, in fewer fresh runs")
    if options.verbose:
        _print_all(campaign, verdicts, paths, words)
    # An expectations file counts every root cause, whatever --claims says.
    if options.expect is None and (outside := roots_outside(campaign, verdicts)):
        print(f"{count(outside, 'root cause')} outside --claims: not counted")
    if options.dialect:
        _print_dialect(campaign)
    if options.suite:
        print("\nnot run, or not decided:\n" + "\n".join(f"  {line}" for line in not_run(campaign, verdicts)))
        print("\nnot seen by the suite:\n" + "\n".join(f"  {line}" for line in not_seen(campaign)))
        return
    print("\nnot checked:")
    for line in not_checked(campaign, verdicts) if options.verbose else _not_checked(campaign, verdicts):
        print(f"  {line}")


def _print_all(
    campaign: Campaign,
    verdicts: Sequence[ClaimVerdict],
    paths: Mapping[RootKey, str],
    words: Sequence[str],
) -> None:
    """Every claim, what the verdicts lean on, and every root cause. `words`: a verdict for each claim."""
    rows = [
        # It is counted up to the first departure of a run, and a claim that fails may apply at that alone.
        (v.claim.id, word, v.ground, v.applied or "-", ", ".join(r.quirk for r in v.roots) or "-")
        for v, word in zip(verdicts, words, strict=True)
    ]
    print("\n" + table(("claim", "verdict", "why", "applied", "root causes"), rows))
    if lean := _leaning(verdicts, words):
        print("\nverdicts that lean on the driver:\n" + lean)
    if campaign.rows:
        print("\nroot causes:\n" + _roots(campaign, paths))


def _as(campaign: Campaign) -> str:
    """How the router was configured, where that makes a difference."""
    if not campaign.has_additions:
        return ""
    return " as shipped" if campaign.profile == "shipped" else " without its additions"


def _leaning(verdicts: Sequence[ClaimVerdict], words: Sequence[str]) -> str:
    """What the driver switches, fixes or lifts, each with the claims whose verdicts lean on it."""
    by_text: dict[str, list[str]] = {}
    for each, word in zip(verdicts, words, strict=True):
        for what in each.leans_on:
            by_text.setdefault(what, []).append(f"{each.claim.id} ({word})")
    lines = []
    for what, claims in by_text.items():
        lines.append(f"  {what}:")
        lines.append(textwrap.fill(", ".join(claims), 110, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


def roots_outside(campaign: Campaign, verdicts: Sequence[ClaimVerdict]) -> int:
    """How many root causes are of no claim in the table, because --claims leaves theirs out."""
    shown = {(root.clause, root.quirk) for v in verdicts for root in v.roots}
    return len(campaign.roots.keys() - shown)


def _roots(campaign: Campaign, paths: Mapping[RootKey, str]) -> str:
    rows = []
    for key, root in sorted(campaign.rows.items()):
        events = _length(root)
        again = replay_command(paths[key], campaign.against) if key in paths else "-"
        off = ", ".join(root.case.without) or "-"
        rows.append((verdict_of_root(root), root.clause, events, root.case.reason, root.quirk, off, again))
    # Where none has an addition off, the column would say nothing.
    heads = ("verdict", "clause", "events", "what the router does", "root cause", "switched off", "replay")
    said = any(root.case.without for root in campaign.rows.values())
    shown = range(len(heads)) if said else [at for at, head in enumerate(heads) if head != "switched off"]
    return table([heads[at] for at in shown], [[row[at] for at in shown] for row in rows])


def _length(root: RootCause) -> str:
    if is_crash(root):
        return "-"
    return f"{len(events_of(root.case))}{'' if root.minimised else ', not minimised'}"


def _print_dialect(campaign: Campaign) -> None:
    readings = [r for r in campaign.roots.values() if r.kind == "reading"]
    print("\nreadings observed:" if readings else "\nreadings observed: only the kit's own")
    for root in readings:
        print(f"  {root.quirk} ({root.clause}): {root.says}")


NOT_TOLD_APART = "a new fault of the same clause and kind would pass for this one"


def print_compared(
    compared: ExpectationComparison, campaigns: Sequence[Campaign], options: argparse.Namespace
) -> None:
    """The differences between the result and the expectations."""
    print(f"\nexpected and found: {len(compared.met)}{_nothing_else(compared, campaigns)}")
    for each in compared.not_met:
        print(f"  not met in this search: {each.clause} {each.cause}")
    for each in compared.met:
        if each.is_unexplained and not (options.suite and each.seen_in):
            print(f"  unexplained: {each.clause} {each.cause}: {NOT_TOLD_APART}")
    if number := without_case((*compared.met, *compared.not_met)):
        print(f"  {caseless(number)}")
    for each in compared.gone:
        print(f"  GONE: {each.clause} {each.cause} is expected, and no longer occurs")
    for each, root in compared.otherwise:
        print(
            f"  DIFFERENT: {each.clause} {each.cause}: expected {each.verdict}, found {verdict_of_root(root)}"
        )
    for each, root in compared.renamed:
        print(
            f"  RENAMED: {each.clause} {each.cause} is expected; same clause and claim, now under the name "
            f"{root.quirk}"
        )
    also_in = {(root.clause, root.quirk): names for root, names in compared.also_in}
    for root in compared.unexpected:
        new = also_in.get((root.clause, root.quirk))
        told = f"also departs in: {', '.join(new)}" if new else root.case.reason
        print(f"  UNEXPECTED: {root.clause} {root.quirk}: {told}")
        if new:
            path, protocol = file_of(root.case.protocol, new[0]), root.case.protocol
            print(f"    {replay_command(str(path), options.against)} --protocol {protocol}")


def _nothing_else(compared: ExpectationComparison, campaigns: Sequence[Campaign]) -> str:
    """That the router is as expected, where it is; so that failures which are expected do not alarm."""
    other = (*compared.gone, *compared.otherwise, *compared.renamed, *compared.unexpected)
    unknown = any(c.broken or c.unrepeated or _too_late(c) for c in campaigns)
    return "" if other or unknown or not compared.met else ", and nothing new"


def _too_late(campaign: Campaign) -> int:
    """How many departures nobody had the time to explain: one of them may be new."""
    return len(campaign.pending) + sum(map(explained_too_late, campaign.roots.values()))


def caseless(number: int) -> str:
    """Entries without a case, in a sentence."""
    if number == 1:
        return "1 entry has no case: it is never reported gone"
    return f"{number} entries have no case: they are never reported gone"


def _not_checked(campaign: Campaign, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """The same in fewer lines: claims that were not checked for the same reason share one."""
    by_reason: dict[str, list[str]] = {}
    for each in verdicts:
        if each.verdict in NOT_CHECKED:
            by_reason.setdefault(each.reason, []).append(each.claim.id)
    lines = [
        f"{claims[0]}: {reason}"
        if len(claims) == 1
        else f"{len(claims)} claims, such as {claims[0]}: {reason}"
        for reason, claims in by_reason.items()
    ]
    return lines + not_checked(campaign, [each for each in verdicts if each.verdict not in NOT_CHECKED])


def not_checked(campaign: Campaign, verdicts: Sequence[ClaimVerdict]) -> list[str]:
    """What this result does not cover, one line each."""
    lines = [f"{v.claim.id}: {v.reason}" for v in verdicts if v.verdict in NOT_CHECKED]
    for name, value in sorted(dict(campaign.fixed).items()):
        lines.append(untested(name, value))
    for name in campaign.without:
        lines.append(f"what {name} does to later runs: it was switched off once it was found to depart")
    lines += campaign.left_out
    lines += unfinished(campaign)
    lines += never_sent(campaign.sent)
    if campaign.blurred:
        runs = count(campaign.blurred, "run")
        lines.append(f"the rest of {runs}, after a choice that the router's outputs do not show")
    if late := _too_late(campaign):
        lines.append(f"{count(late, 'departure')} that came too late to be explained")
    if campaign.unrepeated:
        lines.append(f"{count(campaign.unrepeated, 'departure')} that did not occur again when replayed")
    if any(r.kind == "reading" for r in campaign.roots.values()):
        lines.append("readings other than the observed ones, in what was played after these were observed")
    lines += [f"a batch that broke: {each}" for each in campaign.broken]
    lines.append("wall-clock time, networks of routers")
    return lines


def control_of(root: RootCause) -> Control:
    """What our own router does with the events of a root cause."""
    if root.holds_on_ours is None:
        return "not asked"
    return "passes" if root.holds_on_ours else "departs"


def as_json(
    campaign: Campaign,
    verdicts: Sequence[ClaimVerdict],
    paths: Mapping[RootKey, str],
    compared: ExpectationComparison | None,
) -> dict[str, Any]:
    """The object of one protocol. Scripts read its keys: never rename one."""
    found: dict[str, Any] = {
        "schema": 2,
        "protocols": [campaign.protocol],
        "against": campaign.against,
        "router_version": campaign.version,
        "tool_version": __version__,
        "suite_version": SUITE_VERSION,
        "spec_revisions": _revisions(verdicts),
        **fields_of(campaign, "profile", "without"),
        "parameters": dict(campaign.fixed),
        **fields_of(campaign, "seed", "runs", "steps", "interrupted"),
        "broken": list(campaign.broken),
        "claims": [_claim(campaign, v, paths) for v in verdicts],
        "root_causes": [_root(r, paths.get(k)) for k, r in sorted(campaign.rows.items())],
        "not_checked": not_checked(campaign, verdicts),
    }
    if compared is not None:
        found["expected"] = {
            **{name: [*map(_expectation, getattr(compared, name))] for name in ("met", "not_met", "gone")},
            "otherwise": [{**_expectation(e), "found": verdict_of_root(r)} for e, r in compared.otherwise],
            "renamed": [{**_expectation(e), "found": r.quirk} for e, r in compared.renamed],
            "unexpected": [_unexpected(root, compared) for root in compared.unexpected],
        }
    return found


def _unexpected(root: RootCause, compared: ExpectationComparison) -> dict[str, Any]:
    named = {"clause": root.clause, "cause": root.quirk}
    new = next((names for other, names in compared.also_in if other == root), ())
    return {**named, "also_departs_in": list(new)} if new else named


def _expectation(expected: Any) -> dict[str, str]:
    return fields_of(expected, "clause", "cause")


def _revisions(verdicts: Sequence[ClaimVerdict]) -> dict[str, str]:
    """Of the documents that the claims rest on."""
    clauses = load()
    names = {clauses[c].document for v in verdicts for c in v.claim.clauses if c in clauses}
    return {name: documents()[name].revision for name in sorted(names)}


def _claim(campaign: Campaign, v: ClaimVerdict, paths: Mapping[RootKey, str]) -> dict[str, Any]:
    worst = max(v.roots, key=lambda r: verdict_of_root(r) == v.verdict) if v.roots else None
    path = paths.get((worst.clause, worst.quirk)) if worst else None
    return {
        "id": v.claim.id,
        "protocol": campaign.protocol,
        "clause": worst.clause if worst else v.claim.clauses[0],
        "level": v.level,
        "why": v.ground,
        "keywords": sorted({c.keyword for c in _clauses_of(v)}),
        "bases": sorted({c.basis for c in _clauses_of(v)}),
        "verdict": v.verdict,
        "reason": v.reason,
        "leans_on": list(v.leans_on),
        "applied": v.applied,
        "case": path,
        "events": len(events_of(worst.case)) if worst else None,
        "replay": replay_command(path, campaign.against) if path else None,
    }


def _clauses_of(v: ClaimVerdict) -> list[Clause]:
    return [clause for c in v.clauses if (clause := load().get(c)) is not None]


def _root(root: RootCause, path: str | None) -> dict[str, Any]:
    return {
        "quirk": root.quirk,
        "kind": root.kind,
        "clauses": [root.clause],
        "verdict": verdict_of_root(root),
        "says": root.says,
        "case": path,
        "also": list(root.also),
        "minimised": root.minimised,
        "seen_in": sorted(root.seen_in) if root.kind == "unexplained" else [],
        "text": None if is_crash(root) else render(root.case),
    }


# -- the dialect ------------------------------------------------------------------------------------------


def print_dialect(told: Sequence[DialectAnswer], *, documented: str | None) -> None:
    """One row per question, and the places that nothing is asked about."""
    if not told:
        print("\nseparating traces: none for this protocol")
        return
    others = sum(each.is_other for each in told)
    print(f"\nopen places, by separating traces: {others} of {len(told)} read differently from the kit")
    rows = [(t.question.place, t.question.asks, t.reading, _remark(t, documented)) for t in told]
    print(table(("place", "about", "reading", ""), rows))
    print("\nopen places that no trace decides, or only in part:")
    for what, why in unasked_places():
        print(f"  {what} {why[0].upper()}{why[1:]}.")


def dialect_json(told: Sequence[DialectAnswer] | None, *, documented: str | None) -> dict[str, Any]:
    """Where it was asked for, the key `dialect` of the object of one protocol, and `documented`: the router
    with whose documented readings it is compared."""
    if told is None:
        return {}
    return {"documented": documented, "dialect": [_row(each, documented) for each in told]}


def _row(each: DialectAnswer, router: str | None) -> dict[str, Any]:
    return {
        "place": each.question.place,
        "about": each.question.asks,
        "reading": each.reading,
        "reason": each.reason,
        "clause": each.clause,
        "documented": _documented(each, router),
    }


def _documented(each: DialectAnswer, router: str | None) -> str | None:
    """Where `router` has the reading documented; None without a router, and where it has not."""
    return PROFILES[router].readings.get(each.reading) if router else None


def _remark(each: DialectAnswer, router: str | None) -> str:
    where = _documented(each, router)
    if where:
        return f"documented: {where}"
    undocumented = router and each.is_other
    return f"{each.reason} (not documented for {router})" if undocumented else each.reason
