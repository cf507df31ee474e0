"""quidnunc simulate: simulate one network of real routers, and write its trace."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from quidnunc.output import (
    UsageError,
    clear_progress,
    count,
    given_options,
    print_json,
    progress_line,
    repeat_command,
    show,
    write_text,
)

if TYPE_CHECKING:
    from quidnunc.pipeline.simulation.run import SimulationResult
    from quidnunc.pipeline.simulation.scenario.values import Scenario
    from quidnunc.pipeline.trace.network_check import NodeKindReport

SHOWN = 10


def run(options: argparse.Namespace) -> int:
    from quidnunc.pipeline.simulation.run import write_run
    from quidnunc.pipeline.simulation.scenario.values import ScenarioError
    from quidnunc.reports.network import exit_of_network

    if options.cases is not None and not options.check:
        raise UsageError("--cases needs --check")
    try:
        if options.report is not None:
            from quidnunc.pipeline.simulation.layout import demand_layout

            demand_layout()
        scenario = _scenario(options)
        show = progress_line()
        result = write_run(
            scenario,
            options.output,
            lambda now_s, end_s, events: show(f"simulated {now_s:.0f} of {end_s:.0f} s, {events} events"),
            replace=options.replace,
        )
        clear_progress()
        reports = _check(options) if options.check else {}
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    cases = _cases(options, result, reports) if options.cases is not None else []
    if options.report is not None:
        _report(options, result, reports, cases)
    code, why = exit_of_network(reports) if options.check else (0, "")
    if code != 1 and result.outcome.failed:
        code, why = 4, f"{count(len(result.outcome.failed), 'node')} failed"
    if options.json:
        print_json(_plain(options, result, reports, cases))
    else:
        _print(options, result, reports, cases, f"exit {code}: {why}" if code else "")
    return code


def _scenario(options: argparse.Namespace) -> Scenario:
    from attrs import evolve

    from quidnunc.pipeline.simulation.scenario.file import load_scenario

    scenario = load_scenario(options.scenario, dict(map(_set, options.set)), allow_exec=options.allow_exec)
    if not scenario.name:
        scenario = evolve(scenario, name=options.scenario.stem)
    return scenario if options.seed is None else evolve(scenario, seed=options.seed)


def _set(text: str) -> tuple[str, Any]:
    """`links.loss=0.1`; the value is JSON where it is any, and a text where it is not."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--set {text!r}: expected FIELD=VALUE, such as links.loss=0.1")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _check(options: argparse.Namespace) -> dict[tuple[str, str], NodeKindReport]:
    from quidnunc.pipeline.trace.files import read_trace
    from quidnunc.pipeline.trace.network_check import check_network

    reports = check_network(read_trace(options.output), progress_line())
    clear_progress()
    return reports


def _cases(
    options: argparse.Namespace, result: SimulationResult, reports: dict[tuple[str, str], NodeKindReport]
) -> list[str]:
    from quidnunc.pipeline.simulation.shrink import write_smaller

    found = [
        str(path)
        for report in reports.values()
        for path in write_smaller(result.scenario, report, options.cases, progress_line())
    ]
    clear_progress()
    return found


def _report(
    options: argparse.Namespace,
    result: SimulationResult,
    reports: dict[tuple[str, str], NodeKindReport],
    cases: list[str],
) -> None:
    from quidnunc.reports.pages.network_page import simulation_page

    again = _again(options).removeprefix("again: ")
    write_text(options.report, simulation_page(result, options.output, reports, again, cases))
    show(f"wrote {options.report}", file=sys.stderr)


# -- output -------------------------------------------------------------------------------------------------


def _plain(
    options: argparse.Namespace,
    result: SimulationResult,
    reports: dict[tuple[str, str], NodeKindReport],
    cases: list[str],
) -> dict[str, Any]:
    from quidnunc.reports.network import plain_report

    plain = {**result.plain(), "run": str(options.output)}
    if options.check:
        plain |= {**plain_report(reports), "cases": cases}
    return plain


def _print(
    options: argparse.Namespace,
    result: SimulationResult,
    reports: dict[tuple[str, str], NodeKindReport],
    cases: list[str],
    end: str,
) -> None:
    from quidnunc.reports.network import print_metrics, print_report

    scenario, outcome = result.scenario, result.outcome
    kinds = ", ".join(f"{g.count} {g.protocol} ({g.router})" for g in scenario.nodes[:SHOWN])
    more = f" and {len(scenario.nodes) - SHOWN} more kinds" if len(scenario.nodes) > SHOWN else ""
    show(f"network {scenario.name}, seed {scenario.seed}: {kinds}{more}")
    show(
        f"  {outcome.connections} connections, {outcome.simulated_s:g} s simulated, "
        f"{outcome.messages} messages, {outcome.events} events in {options.output}"
    )
    if outcome.unsent:
        show(f"  {outcome.unsent} messages not sent: no node could send them, or the run was over")
    if outcome.lost_rpcs:
        show(f"  {outcome.lost_rpcs} RPCs were lost on the way")
    for node, words in list(outcome.failed.items())[:SHOWN]:
        show(f"  node {node} failed: {words}")
    if outcome.complete_groups:
        groups = sorted(outcome.complete_groups.values())
        show(f"  groups of parts that nodes have whole: {groups[0]} to {groups[-1]}")
    print_metrics(result.metrics)
    if reports:
        print_report(reports)
    for case in cases:
        show(f"  smaller: {case}")
    if not options.check:
        show("not checked: the nodes against the model (--check, or `quidnunc trace check`)")
    if end:
        show(end)
    show(_again(options))


def _again(options: argparse.Namespace) -> str:
    named = given_options(options, "set", "seed", "check", "cases", "report", "allow_exec")
    return repeat_command("simulate", options.scenario, "-o", options.output, *named)
