"""quidnunc check: run a router beside the model, and say what was found, claim by claim."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from quidnunc import __version__
from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import UsageError, clear_progress, duration_s, print_json, progress_line, table
from quidnunc.properties.campaign import Campaign, Root, run_campaign
from quidnunc.properties.cases import events_of, load, render
from quidnunc.properties.claims import claims_of
from quidnunc.properties.verdicts import (
    Compared,
    Exit,
    Verdict,
    compare,
    exit_of,
    load_expectations,
    render_expectations,
    verdict_of_root,
    verdicts_of,
)

EXAMPLE = """\
example:
  quidnunc check gossipsub-1.2 --against py-libp2p --budget 60s --cases found/
  quidnunc check auto --against exec:./my-router --suite

exit status:
  0 nothing fails; 1 something fails, or is not as --expect has it; 2 wrong usage;
  3 nothing fails and some MUST claim never applied; 4 the driver or this tool broke
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("protocol", help=f"auto, or one of: {', '.join(PROTOCOLS)}")
    parser.add_argument("--against", required=True, metavar="ROUTER", help="see `quidnunc routers`")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--runs", type=int, metavar="N", help="so many runs; the same table for the same seed")
    how.add_argument("--budget", metavar="TIME", help="search for so long: 60s, 10m (default: 60s)")
    how.add_argument("--suite", action="store_true", help="the fixed suite, without searching")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--acts", type=int, default=40, help="acts of the neighbours per run (default 40)")
    parser.add_argument("--claims", default="*", metavar="GLOB", help="claims or clauses to report")
    parser.add_argument("--cases", type=Path, metavar="DIR", help="write what is found as case files")
    parser.add_argument("--expect", type=Path, metavar="FILE", help="what is known of this router")
    parser.add_argument("--update-expect", action="store_true", help="rewrite FILE from what is found")
    parser.add_argument("--strict", action="store_true", help="a SHOULD that is not met fails too")
    parser.add_argument("--dialect", action="store_true", help="print the readings that the router shows")
    parser.add_argument("--private", type=Path, metavar="DIR", help="write the events of a crash here")
    parser.add_argument("--extras", action="store_true", help="leave the router's own additions on")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")


def run(options: argparse.Namespace) -> int:
    _validate(options)
    names = _protocols(options)
    expected = load_expectations(options.expect) if options.expect and options.expect.exists() else ()
    reports = []
    exits = []
    for name in names:
        campaign = _suite(name, options) if options.suite else _search(name, options)
        verdicts = verdicts_of(campaign, options.claims)
        paths = _write_cases(campaign, options)
        compared = None
        if options.update_expect:
            _update_expectations(campaign, paths, expected, options.expect)
        elif options.expect:
            compared = compare(
                list(campaign.roots.values()), expected, _replay_known(campaign, expected, options)
            )
        ended = exit_of(verdicts, campaign, compared, options.strict)
        exits.append(ended)
        if options.json:
            reports.append(as_json(campaign, verdicts, paths, options))
        else:
            print_report(campaign, verdicts, compared, paths, options, ended)
    if options.json:
        print_json(reports[0] if len(reports) == 1 else {"schema": 1, "reports": reports})
    codes = {e.code for e in exits}
    return next((c for c in (2, 1, 4, 3) if c in codes), 0)


def _validate(options: argparse.Namespace) -> None:
    if options.update_expect and not options.expect:
        raise UsageError("--update-expect needs --expect FILE")
    if options.runs is not None and options.runs < 1:
        raise UsageError("--runs needs a number from 1")
    if options.expect and not options.update_expect and not options.expect.exists():
        raise UsageError(f"{options.expect} does not exist; --update-expect writes it")
    known = {c for p in PROTOCOLS.values() for c in claims_of(p)}
    if not any(
        fnmatch(c.id, options.claims) or any(fnmatch(x, options.claims) for x in c.clauses) for c in known
    ):
        raise UsageError(f"--claims {options.claims} selects nothing; `quidnunc clauses` lists them")


def _protocols(options: argparse.Namespace) -> list[str]:
    if options.protocol != "auto":
        if options.protocol not in PROTOCOLS:
            raise UsageError(f"no protocol {options.protocol!r}; there are auto, {', '.join(PROTOCOLS)}")
        return [options.protocol]
    from quidnunc.model.protocols import STREAM_PROTOCOLS
    from quidnunc.properties.worker import hello_of

    try:
        spoken = set(hello_of(options.against, "gossipsub-1.2").protocols)
    except (AdapterError, ValueError) as error:
        raise UsageError(str(error)) from None
    found = [
        name for name, streams in STREAM_PROTOCOLS.items() if streams[0] in spoken and "draft" not in name
    ]
    if not found:
        raise UsageError(f"{options.against} speaks {sorted(spoken)}, none of which is known here")
    return found


def _search(name: str, options: argparse.Namespace) -> Campaign:
    show = progress_line()

    def progress(campaign: Campaign, what: str) -> None:
        show(
            f"{what} {name} against {options.against}: {campaign.runs} runs, {campaign.steps} steps, "
            f"{len(campaign.roots)} root causes, {campaign.seconds:.0f} s"
        )

    budget = None if options.runs is not None else duration_s(options.budget or "60s")
    try:
        return run_campaign(
            name,
            options.against,
            seed=options.seed,
            runs=options.runs,
            budget_s=budget,
            acts=options.acts,
            extras=options.extras,
            workers=options.workers,
            progress=progress,
        )
    finally:
        clear_progress()


def _suite(name: str, options: argparse.Namespace) -> Campaign:
    from quidnunc.properties.suite import run_suite

    try:
        return run_suite(name, options.against)
    except (AdapterError, SpecError, ValueError) as error:
        raise UsageError(str(error)) from None


def is_crash(root: Root) -> bool:
    """A crash of a router: reported without what reproduces it."""
    return root.quirk == "unexplained:crash"


def _write_cases(campaign: Campaign, options: argparse.Namespace) -> dict[tuple[str, str], str]:
    """Case files of what was found, by root. The events of a crash go to --private alone."""
    written = {}
    for key, root in campaign.roots.items():
        folder = options.private if is_crash(root) else options.cases
        if folder is None:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{root.clause.replace('/', '.')}.{root.quirk.replace(':', '.')}.case"
        path.write_text(render(root.case), encoding="utf-8")
        written[key] = str(path)
    return written


def _update_expectations(
    campaign: Campaign, paths: dict[tuple[str, str], str], old: Sequence[Any], file: Path
) -> None:
    roots = []
    for key, root in campaign.roots.items():
        path = paths.get(key, "")
        if path:
            try:
                path = str(Path(path).resolve().relative_to(file.resolve().parent))
            except ValueError:
                path = str(Path(path).resolve())
        roots.append((root, path))
    file.write_text(render_expectations(campaign, roots, old), encoding="utf-8")
    print(f"wrote {file}", file=sys.stderr)


def _replay_known(campaign: Campaign, expected: Sequence[Any], options: argparse.Namespace) -> dict[str, str]:
    """Outcomes of the cases of expectations that the search did not meet: are they still so?"""
    from quidnunc.properties.cases import replay
    from quidnunc.properties.worker import opener_of

    found = {}
    for each in expected:
        if (each.clause, each.cause) in campaign.roots or not each.case:
            continue
        path = options.expect.parent / each.case
        try:
            found[each.case] = replay(load(path), opener_of(options.against, extras=options.extras)).outcome
        except (OSError, CaseError) as error:
            raise UsageError(f"expectation {each.clause} {each.cause}: {error}") from None
    return found


def reproduce(options: argparse.Namespace, campaign: Campaign) -> str:
    """The command that gives the same result again."""
    words = ["quidnunc", "check", campaign.protocol, "--against", campaign.against]
    if options.suite:
        words.append("--suite")
    else:
        words += (
            ["--runs", str(options.runs)]
            if options.runs is not None
            else ["--budget", options.budget or "60s"]
        )
        words += ["--seed", str(options.seed)]
    if options.expect:
        words += ["--expect", str(options.expect)]
    return shlex.join(words)


def print_report(
    campaign: Campaign,
    verdicts: Sequence[Verdict],
    compared: Compared | None,
    paths: dict[tuple[str, str], str],
    options: argparse.Namespace,
    ended: Exit,
) -> None:
    what = "the suite" if options.suite else f"{campaign.runs} runs, {campaign.steps} steps"
    print(
        f"{campaign.protocol} against {campaign.against} {campaign.version}: {what} in {campaign.seconds:.0f} s"
    )
    print()
    print(
        table(
            ("claim", "verdict", "level", "applied", "root causes"),
            [
                (v.claim.id, v.verdict, v.level, v.applied, ", ".join(r.quirk for r in v.roots) or "-")
                for v in verdicts
            ],
        )
    )
    if campaign.roots:
        print("\nroot causes:")
        rows = [
            (
                r.clause,
                r.quirk,
                verdict_of_root(r),
                len(events_of(r.case)),
                f"quidnunc replay {paths[k]}" if k in paths else "-",
            )
            for k, r in sorted(campaign.roots.items())
        ]
        print(table(("clause", "root cause", "verdict", "events", "replay"), rows))
    if options.dialect:
        readings = [r for r in campaign.roots.values() if r.kind == "reading"]
        print("\nreadings observed:" if readings else "\nreadings observed: none other than the kit's own")
        for root in readings:
            print(f"  {root.quirk} ({root.clause}): {root.says}")
    if compared is not None:
        _print_compared(compared)
    print("\nnot checked:")
    for line in not_checked(campaign, verdicts):
        print(f"  {line}")
    if ended.code:
        print(f"\nexit {ended.code}: {ended.why}")
    print(f"\nagain: {reproduce(options, campaign)}")


def _print_compared(compared: Compared) -> None:
    print(f"\nexpected and found: {len(compared.met)}")
    for each in compared.not_met:
        print(f"  not met: {each.clause} {each.cause}")
    for each in compared.gone:
        print(f"  GONE, though expected: {each.clause} {each.cause}")
    for root in compared.unexpected:
        print(f"  UNEXPECTED: {root.clause} {root.quirk}: {root.says}")


def not_checked(campaign: Campaign, verdicts: Sequence[Verdict]) -> list[str]:
    """What this result says nothing about."""
    lines = [f"{v.claim.id}: {v.reason}" for v in verdicts if v.verdict in ("unsupported", "inconclusive")]
    for name, value in sorted(dict(campaign.fixed).items()):
        lines.append(f"other values of {name}: the router sets {value} itself")
    if campaign.blurred:
        lines.append(f"the rest of {campaign.blurred} runs in which a choice could not be seen")
    if campaign.unrepeated:
        lines.append(f"{campaign.unrepeated} departures that did not repeat when replayed")
    if any(r.kind == "reading" for r in campaign.roots.values()):
        lines.append("readings other than the observed ones, from where they were observed")
    lines.append(
        "scores other than the application's own, peer exchange, wall-clock time, networks of routers"
    )
    return lines


def as_json(
    campaign: Campaign,
    verdicts: Sequence[Verdict],
    paths: dict[tuple[str, str], str],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """The object of design section 11."""

    def claim(v: Verdict) -> dict[str, Any]:
        root = v.roots[0] if v.roots else None
        path = paths.get((root.clause, root.quirk)) if root else None
        return {
            "id": v.claim.id,
            "protocol": campaign.protocol,
            "clause": root.clause if root else v.claim.clauses[0],
            "level": v.level,
            "verdict": v.verdict,
            "reason": v.reason,
            "applied": v.applied,
            "case": path,
            "events": len(events_of(root.case)) if root else None,
            "replay": f"quidnunc replay {path}" if path else None,
        }

    return {
        "schema": 1,
        "protocols": [campaign.protocol],
        "against": campaign.against,
        "router_version": campaign.version,
        "tool_version": __version__,
        "suite_version": 1,
        "spec_revisions": {},
        "profile": "spec",
        "parameters": dict(campaign.fixed),
        "seed": campaign.seed,
        "runs": campaign.runs,
        "steps": campaign.steps,
        "claims": [claim(v) for v in verdicts],
        "root_causes": [
            {
                "quirk": r.quirk,
                "kind": r.kind,
                "clauses": [r.clause],
                "verdict": verdict_of_root(r),
                "case": paths.get(k),
                "also": list(r.also),
                "text": None if is_crash(r) else render(r.case),
            }
            for k, r in sorted(campaign.roots.items())
        ],
        "not_checked": not_checked(campaign, verdicts),
    }
