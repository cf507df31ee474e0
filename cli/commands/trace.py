"""quidnunc trace: check a recorded trace, or measure it."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from quidnunc import trace_run
from quidnunc.output import (
    UsageError,
    clear_progress,
    count,
    print_json,
    progress_line,
    say_refusal,
    show,
    table,
    write_text,
)
from quidnunc.properties.bounded import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from quidnunc.pipeline.trace.check import TraceCheckResult
    from quidnunc.pipeline.trace.files import TraceReader
    from quidnunc.pipeline.trace.metrics import RunMetrics
    from quidnunc.properties.search.campaign import Campaign
    from quidnunc.properties.search.verdicts import ClaimVerdict

SHOWN = 10
"""Bad records and violations that are printed."""


def run(options: argparse.Namespace) -> int:
    from quidnunc.pipeline.lake.run_folder import is_run
    from quidnunc.pipeline.trace.files import read_trace
    from quidnunc.pipeline.trace.shapes import TraceError

    if options.report is not None and options.what != "check":
        raise UsageError("--report goes with `trace check`; `trace report` writes the page that -o names")
    runs = [is_run(path) for path in options.traces]
    if any(runs):
        if not all(runs):
            raise UsageError("give either traces or folders of `quidnunc ingest`, not both")
        if options.what == "metrics":
            return trace_run.metrics(options)
        if options.what == "report":
            return _report(options, options.output)
        if options.replay:
            if options.report is not None:
                raise UsageError("--report and --replay exclude each other: check the run itself")
            return trace_run.replay(options)
        if options.report is not None:
            _report(options, options.report)
        return trace_run.check(options)
    if options.what == "report" and all(path.exists() for path in options.traces):
        raise UsageError("`trace report` needs a folder of `quidnunc ingest`")
    if options.set or options.master or options.replay or options.engine:
        raise UsageError("--set, --replay, --engine and --master need a folder of `quidnunc ingest`")
    reading = None
    try:
        reading = read_trace(*options.traces)
        if options.what == "metrics":
            return _metrics(options, reading)
        return _check_network(options, reading) if _of_network(options) else _check(options, reading)
    except TraceError as error:
        if not error.is_cut:
            raise UsageError(str(error)) from None
        # A trace that ends too early is no mistake of whoever asks.
        why = f"{error}; the trace is not whole, so that nothing can be said of it"
        say_refusal("trace", f"{why} (exit 3)")
        if options.json:
            print_json({"schema": 1, "error": why, **(_of_reading(reading) if reading else {})})
        return 3


def _report(options: argparse.Namespace, page: Path) -> int:
    """Write the page of one run."""
    from quidnunc.pipeline.lake.run_folder import RunFolder
    from quidnunc.pipeline.trace.shapes import TraceError
    from quidnunc.reports.pages.trace_page import trace_page

    if len(options.traces) > 1:
        raise UsageError("a page is about one folder of `quidnunc ingest`")
    (run,) = options.traces
    gold = trace_run.gold_folder(run, options)
    again = trace_run.asked_again(options).removeprefix("again: ")
    try:
        write_text(page, trace_page(gold, RunFolder(run).read_manifest(), again))
    except TraceError as error:
        raise UsageError(str(error)) from None
    if options.what == "report" and options.json:
        print_json({"schema": 1, "page": str(page)})
    else:
        show(f"wrote {page}", file=sys.stdout if options.what == "report" else sys.stderr)
    return 0


# -- check --------------------------------------------------------------------------------------------------


def _check(options: argparse.Namespace, reading: TraceReader) -> int:
    from quidnunc.pipeline.trace.check import check_recorded
    from quidnunc.pipeline.trace.record import runs_of
    from quidnunc.properties.search.verdicts import exit_of, verdicts_of

    checked = check_recorded(runs_of(reading))
    verdicts = verdicts_of(checked.campaign, options.claims)
    if not verdicts:
        raise UsageError(f"--claims {options.claims} selects nothing; `quidnunc clauses` lists them")
    end = exit_of(verdicts, checked.campaign, None, options.strict)
    if options.report is not None:
        _report_checked(options, checked.campaign, verdicts)
    if options.json:
        claims = [
            {"id": v.claim.id, "verdict": v.verdict, "applied": v.applied, "reason": v.reason}
            for v in verdicts
        ]
        print_json(
            {
                "schema": 1,
                "protocol": checked.campaign.protocol,
                "against": checked.campaign.against,
                "runs": checked.campaign.runs,
                "steps": checked.campaign.steps,
                "claims": claims,
                "violations": _violations(checked, options.claims),
                "root_causes": [{"quirk": r.quirk, "clauses": [r.clause]} for r in _roots(checked)],
                **_of_reading(reading),
            }
        )
        return end.code
    campaign = checked.campaign
    what = printable(f"{campaign.protocol} against {campaign.against}, from a trace")
    show(f"{what}: {count(campaign.runs, 'run')}, {count(campaign.steps, 'step')}")
    show()
    show(table(("claim", "verdict", "applied"), [(v.claim.id, v.verdict, v.applied) for v in verdicts]))
    for root in _roots(checked):
        show(f"\n{root.clause} {root.quirk}: {root.says}")
    found = _violations(checked, options.claims)
    for each in found[:SHOWN]:
        show(f"  run {each['run']}, event {each['sequence']}: {printable(each['witness'])}")
    if len(found) > SHOWN:
        show(f"  and {len(found) - SHOWN} more departures; --json lists all")
    _print_reading(reading)
    if end.code:
        show(f"exit {end.code}: {end.why}")
    show(trace_run.asked_again(options))
    return end.code


def _report_checked(
    options: argparse.Namespace, campaign: Campaign, verdicts: Sequence[ClaimVerdict]
) -> None:
    """Write the page of a trace of `check --record`."""
    from quidnunc.reports.check import not_checked
    from quidnunc.reports.pages.finding import finding_of, worst_first
    from quidnunc.reports.pages.page import ReportContent, ReportedResult, write_page

    roots = [each for each in campaign.roots.values() if fnmatch(each.clause, options.claims)]
    result = ReportedResult(
        router=campaign.against,
        protocol=campaign.protocol,
        findings=tuple(worst_first(finding_of(each.case) for each in roots)),
        searched=f"a trace: {count(campaign.runs, 'run')}, {count(campaign.steps, 'step')}",
        claims=tuple((each.claim.id, each.verdict) for each in verdicts),
        not_checked=tuple(not_checked(campaign, verdicts)),
    )
    again = trace_run.asked_again(options).removeprefix("again: ")
    write_page(options.report, ReportContent(results=(result,), again=again))
    show(f"wrote {options.report}", file=sys.stderr)


def _of_network(options: argparse.Namespace) -> bool:
    from quidnunc.pipeline.trace.files import read_trace
    from quidnunc.pipeline.trace.network import is_of_network

    first = next(iter(read_trace(*options.traces)), None)
    return first is not None and is_of_network(first.event)


def _check_network(options: argparse.Namespace, reading: TraceReader) -> int:
    """Check every node of a simulated network against the model."""
    from quidnunc.pipeline.simulation.layout import demand_layout
    from quidnunc.pipeline.simulation.scenario.values import ScenarioError
    from quidnunc.pipeline.trace.network_check import check_network, demand_whole
    from quidnunc.reports.network import chosen_verdicts, exit_of_network, plain_report, print_report

    if options.report is not None:
        try:
            demand_layout()
        except ScenarioError as error:
            raise UsageError(str(error)) from None
    reports = check_network(reading, progress_line())
    clear_progress()
    demand_whole(reading)
    if not any(chosen_verdicts(report, options.claims) for report in reports.values()):
        raise UsageError(f"--claims {options.claims} selects nothing; `quidnunc clauses` lists them")
    if options.report is not None:
        from quidnunc.reports.pages.network_page import checked_network_page

        again = trace_run.asked_again(options).removeprefix("again: ")
        write_text(options.report, checked_network_page(options.traces, reports, options.claims, again))
        show(f"wrote {options.report}", file=sys.stderr)
    code, why = exit_of_network(reports, options.claims, strict=options.strict)
    if options.json:
        print_json({"schema": 1, **plain_report(reports, options.claims), **_of_reading(reading)})
    else:
        nodes = sum(r.nodes for r in reports.values())
        show(f"a simulated network: {nodes} nodes, each checked against the model")
        print_report(reports, options.claims)
        _print_reading(reading)
        if code:
            show(f"exit {code}: {why}")
        show(trace_run.asked_again(options))
    return code


def _roots(checked: TraceCheckResult) -> list[Any]:
    return [checked.campaign.roots[key] for key in sorted(checked.campaign.roots)]


def _violations(checked: TraceCheckResult, pattern: str) -> list[dict[str, Any]]:
    return [
        {
            "claim": v.claim,
            "clause": v.clause,
            "peer": checked.campaign.against,
            "run": v.run,
            "sequence": v.sequence,
            "witness": v.witness,
        }
        for v in checked.violations
        if any(fnmatch(name, pattern) for name in (v.claim, v.clause))
    ]


# -- metrics ------------------------------------------------------------------------------------------------


def _metrics(options: argparse.Namespace, reading: TraceReader) -> int:
    from quidnunc.pipeline.trace.metrics import metrics_of

    runs = list(metrics_of(reading.events()))
    reading.demand_some()
    lacking = reading.not_whole()
    code = 3 if lacking else 0
    if options.json:
        print_json({"schema": 1, "runs": [r.plain() for r in runs], **_of_reading(reading)})
        return code
    show(f"metrics of {count(len(runs), 'run')}, {count(sum(r.events for r in runs), 'event')}")
    for each in runs:
        _print_run(each)
    _print_reading(reading)
    if lacking:
        show(f"exit 3: {lacking}; the figures are of what is there")
    show(trace_run.asked_again(options))
    return code


def _print_run(found: RunMetrics) -> None:
    show(f"\nrun {printable(found.run) or '(the whole trace)'}: {found.events} events")
    ratio = "unknown" if found.delivery_ratio is None else f"{found.delivery_ratio:.4f}"
    copies = "unknown" if found.copies is None else f"{found.copies:.3f}"
    show(f"  messages {found.messages}, deliveries {found.deliveries}, delivery ratio {ratio}")
    show(f"  copies per delivery {copies} ({found.duplicates} duplicates), rejected {found.rejected}")
    if found.latency_ms is not None:
        shown = ", ".join(f"{name} {value:.3f} ms" for name, value in found.latency_ms.items())
        show(f"  latency from the {found.latency_from}: {shown}")
    for name, counts in (
        ("deliveries by hop", found.hops),
        ("items sent", found.sent),
        ("bytes", found.bytes_sent),
    ):
        if counts:
            show(f"  {name}: " + ", ".join(f"{k}: {n}" for k, n in sorted(counts.items())))
    for line in found.lacking:
        show(f"  note: {line}")


def _of_reading(reading: TraceReader) -> dict[str, Any]:
    return {
        "records": reading.good_count,
        "bad_records": reading.bad_count,
        "lost_bytes": reading.lost,
        "bad": [str(b) for b in reading.bad[:SHOWN]],
        "left_out": [str(each) for each in reading.left_out],
        "duplicate_files": [str(file) for file, _ in reading.duplicates],
        "unknown_fields": dict(reading.unknown),
        "warnings": reading.warnings(),
        "clock_steps_back": sum(reading.steps_back.values()),
    }


def _print_reading(reading: TraceReader) -> None:
    for bad in reading.bad[:SHOWN]:
        show(f"  bad record: {bad}", file=sys.stderr)
    if reading.bad_count > SHOWN:
        show(f"  and {count(reading.bad_count - SHOWN, 'more bad record')}", file=sys.stderr)
    for file, earlier in reading.duplicates:
        show(f"  {file}: left out, same content as {earlier}", file=sys.stderr)
    for each in reading.left_out:
        if each.state != "ignored":
            show(f"  {each}", file=sys.stderr)
    if reading.unknown:
        names = printable(", ".join(sorted(reading.unknown)))
        show(f"  unknown fields: {names}", file=sys.stderr)
    for line in reading.warnings():
        show(f"  warning: {line}", file=sys.stderr)
    if reading.steps_back:
        show(f"  clocks step back {count(sum(reading.steps_back.values()), 'time')}", file=sys.stderr)
