"""quidnunc simulate: one simulated network of real routers, as a trace."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quidnunc.output import UsageError, again, clear_progress, given, print_json, progress_line

if TYPE_CHECKING:
    from quidnunc.pipeline.network_check import KindReport
    from quidnunc.pipeline.scenario import Scenario
    from quidnunc.pipeline.sim_run import Simulated

EXAMPLE = """\
example:
  quidnunc simulate network.yaml -o run
  quidnunc simulate network.yaml -o run --set nodes.0.count=50 --set links.loss=0.01 --seed 3 --check
  quidnunc simulate params.json -o run

params.json is a script of gossipsub-interop, and network.yaml is, for instance:
  nodes: [{count: 90, protocol: gossipsub-1.2}, {count: 10, router: "ours:echo"}]
  topology: {kind: random-regular, degree: 8}
  links: {latency: {kind: uniform, low_ms: 5, high_ms: 100}, jitter_ms: 3}
  traffic: [{count: 20, every_s: 1, size_bytes: 1024}]

docs/simulate.md has every field. The run goes to `quidnunc trace check run` and `quidnunc trace metrics run`.

exit status: 0; with --check 1 where a claim fails; 2 for a scenario that can not be run; 4 where a router or
a driver broke.
"""
SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", type=Path, metavar="SCENARIO", help="YAML, or params.json")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="RUN", help="directory of the run"
    )
    parser.add_argument("--seed", type=int, help="instead of the scenario's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a value of the scenario: links.loss=0.1",
    )
    parser.add_argument("--check", action="store_true", help="replay every node beside the model")
    parser.add_argument(
        "--cases", type=Path, metavar="DIR", help="with --check: write each failure as a case, or a scenario"
    )


def run(options: argparse.Namespace) -> int:
    from quidnunc.pipeline.scenario import ScenarioError
    from quidnunc.pipeline.sim_run import write_run

    if options.cases is not None and not options.check:
        raise UsageError("--cases needs --check: what fails is found by checking")
    try:
        scenario = _scenario(options)
        show = progress_line()
        result = write_run(
            scenario,
            options.output,
            lambda now_s, end_s, events: show(f"simulated {now_s:.0f} of {end_s:.0f} s, {events} events"),
        )
        clear_progress()
        reports = _check(options) if options.check else {}
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    cases = _cases(options, result, reports) if options.cases is not None else []
    fails = [v for report in reports.values() for v in report.verdicts() if v.verdict == "fails"]
    if options.json:
        print_json(_plain(options, result, reports, cases))
    else:
        _print(options, result, reports, cases)
    return 1 if fails else 4 if result.outcome.failed else 0


def _scenario(options: argparse.Namespace) -> Scenario:
    from attrs import evolve

    from quidnunc.pipeline.scenario_file import load_scenario

    scenario = load_scenario(options.scenario, dict(map(_set, options.set)))
    if not scenario.name:
        scenario = evolve(scenario, name=options.scenario.stem)
    return scenario if options.seed is None else evolve(scenario, seed=options.seed)


def _set(text: str) -> tuple[str, Any]:
    """`links.loss=0.1`; the value is JSON where it is any, and a text where it is not."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--set {text!r}: expected FIELD=VALUE, for instance links.loss=0.1")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _check(options: argparse.Namespace) -> dict[tuple[str, str], KindReport]:
    from quidnunc.pipeline.network_check import check_network
    from quidnunc.pipeline.trace_files import read_trace

    reports = check_network(read_trace(options.output), progress_line())
    clear_progress()
    return reports


def _cases(
    options: argparse.Namespace, result: Simulated, reports: dict[tuple[str, str], KindReport]
) -> list[str]:
    from quidnunc.pipeline.sim_shrink import write_smaller

    found = [
        str(path)
        for report in reports.values()
        for path in write_smaller(result.scenario, report, options.cases, progress_line())
    ]
    clear_progress()
    return found


# -- output -------------------------------------------------------------------------------------------------


def _plain(
    options: argparse.Namespace,
    result: Simulated,
    reports: dict[tuple[str, str], KindReport],
    cases: list[str],
) -> dict[str, Any]:
    from quidnunc.network_report import plain_report

    plain = {**result.plain(), "run": str(options.output)}
    if options.check:
        plain |= {**plain_report(reports), "cases": cases}
    return plain


def _print(
    options: argparse.Namespace,
    result: Simulated,
    reports: dict[tuple[str, str], KindReport],
    cases: list[str],
) -> None:
    from quidnunc.network_report import print_metrics, print_report

    scenario, outcome = result.scenario, result.outcome
    kinds = ", ".join(f"{g.count} {g.protocol} ({g.router})" for g in scenario.nodes[:SHOWN])
    more = f" and {len(scenario.nodes) - SHOWN} more kinds" if len(scenario.nodes) > SHOWN else ""
    print(f"network {scenario.name}, seed {scenario.seed}: {kinds}{more}")
    print(
        f"  {outcome.connections} connections, {outcome.simulated_s:g} s simulated, "
        f"{outcome.messages} messages, {outcome.events} events in {options.output}"
    )
    if outcome.unsent:
        print(f"  {outcome.unsent} messages were planned and not sent: nobody could, or the run was over")
    if outcome.lost_rpcs:
        print(f"  {outcome.lost_rpcs} RPCs were lost on the way")
    for node, words in list(outcome.failed.items())[:SHOWN]:
        print(f"  node {node} failed: {words}")
    if outcome.complete_groups:
        groups = sorted(outcome.complete_groups.values())
        print(f"  groups of parts that nodes have whole: {groups[0]} to {groups[-1]}")
    print_metrics(result.metrics)
    if reports:
        print_report(reports)
    for case in cases:
        print(f"  smaller: {case}")
    if not options.check:
        print(
            "not checked: what the nodes did, against the model; --check or `quidnunc trace check` does that"
        )
    named = given(options, "set", "seed", "check", "cases")
    print(again("simulate", options.scenario, "-o", options.output, *named))
