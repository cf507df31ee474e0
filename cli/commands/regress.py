"""quidnunc regress: compare the behaviour of two protocols, and check that each change is declared."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from attrs import evolve

from quidnunc.commands.diff import clauses_json, on_the_wire, sides_of
from quidnunc.impl.wire.schemas import exchanges
from quidnunc.options.regress import CASES
from quidnunc.options.shared import check_format
from quidnunc.output import (
    UsageError,
    budget_s,
    clear_progress,
    fields_of,
    given_options,
    json_text,
    progress_line,
    write_text,
)
from quidnunc.properties.notation.parameters import parameters_text
from quidnunc.properties.regress.as_built import routers_as_built
from quidnunc.properties.regress.cases import CaseFolderOutcome, committed_outcomes
from quidnunc.properties.regress.compare import WALKS, BehaviourComparison, behaviour
from quidnunc.properties.regress.diff_clauses import clause_changes, not_read_lines
from quidnunc.properties.regress.expect import (
    DeclarationComparison,
    DeclaredChange,
    compare,
    declared_of,
    known_by_change,
    load_declared,
    render,
    trace_text,
)
from quidnunc.properties.regress.mixed import MixedNetworks, run_mixed_networks
from quidnunc.properties.regress.outcomes import (
    RouterOutcome,
    SuiteOutcome,
    against_refinement,
    newly_failing,
    outcomes_of_suite,
)
from quidnunc.properties.regress.own_places import place_of_change
from quidnunc.properties.regress.search import UNDESCRIBED, BehaviourChange
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.regress.stopping import RemainingParts, SearchLimit
from quidnunc.properties.suite.time_limit import TimeLimit
from quidnunc.reports.ci.formats import write_results
from quidnunc.reports.ci.results import result_of_regress
from quidnunc.reports.regress import RegressReport, as_markdown, report_text


def run(options: argparse.Namespace) -> int:
    if options.update_expect and not options.expect:
        raise UsageError("--update-expect needs --expect FILE")
    if options.markdown and options.json:
        raise UsageError("--markdown and --json exclude each other")
    check_format(options)
    if options.cases and not options.cases.is_dir():
        raise UsageError(f"{options.cases} is not a folder; `quidnunc check ... --cases DIR` writes cases")
    if options.walks < 1:
        raise UsageError(f"--walks must be 1 or more, got {options.walks}")
    if options.expect and not options.update_expect and not options.expect.exists():
        raise UsageError(f"{options.expect} does not exist; --update-expect writes it")
    if options.budget is not None:
        budget_s(options.budget)
    # What a module prints, when it is imported or in a rule, is no part of the result.
    with redirect_stdout(sys.stderr):
        report = _report(options)
        text = _text(options, report)
        found = _as_json(report)
    print(text)
    path, code = str(options.expect or ""), report.exit_status
    write_results(options, result_of_regress(found, path=path, command=report.again, exit_status=code))
    if report.found.early is not None and report.found.early.signal:
        print("quidnunc: interrupted", file=sys.stderr)
    return code


def _report(options: argparse.Namespace) -> RegressReport:
    """Compare the two, and write the file of declared changes if it is asked for."""
    old, new = sides_of(options)
    for line in not_read_lines(old, new):
        print(f"warning: {line}", file=sys.stderr)
    path = str(options.expect or "")
    declared = load_declared(options.expect) if options.expect and options.expect.exists() else ()
    show = progress_line()
    parts = _limit(options)
    try:
        found = behaviour(
            old,
            new,
            walks=options.walks,
            seed=options.seed,
            as_one=options.as_one,
            shortest=options.shortest,
            declared=known_by_change(declared, new, path),
            limit=SearchLimit(parts.explain_s),
            progress=show,
        )
        unknown = [each.key for each in found.not_compared]
        compared = compare(found.separations, declared, old, new, path, unknown)
        if options.update_expect:
            compared = _written(options.expect, found, compared)
        return _reported(found, compared, options, show)
    finally:
        clear_progress()


def _limit(options: argparse.Namespace) -> TimeLimit:
    """The first part of a budget is for the changes, the rest of it for what follows from them."""
    return TimeLimit.of(options.started, budget_s(options.budget)) if options.budget else TimeLimit()


def _text(options: argparse.Namespace, report: RegressReport) -> str:
    """What is printed; the page is written, if it is asked for."""
    if options.report is not None:
        from quidnunc.reports.pages.regress_page import regress_page

        write_text(options.report, regress_page(report))
        print(f"wrote {options.report}", file=sys.stderr)
    if options.json:
        return json_text(_as_json(report))
    return as_markdown(report) if options.markdown else report_text(report)


def _reported(
    found: BehaviourComparison,
    compared: DeclarationComparison,
    options: argparse.Namespace,
    show: Callable[[str], None],
) -> RegressReport:
    """What follows from the changes in behaviour, beside them, as far as there is time."""
    old, new = found.old, found.new
    parts = RemainingParts(_limit(options).file_s, found.early, f"{old.name} -> {new.name}", show)
    no_outcomes, none_newly = tuple[SuiteOutcome, ...](), tuple[RouterOutcome, ...]()
    outcomes = parts.do(
        "the cases of the suite", lambda: outcomes_of_suite(old, new, found.changes), no_outcomes
    )
    committed, networks = None, None
    if found.changes:
        committed = parts.do("committed cases", lambda: _committed(old, new, options.cases, show), None)

    def failing() -> tuple[RouterOutcome, ...]:
        return newly_failing(found.separations, old, new, routers_as_built(old.protocol))

    newly = parts.do("routers as built", failing, none_newly)
    if found.changes:
        networks = parts.do("mixed networks", lambda: run_mixed_networks(old, new, show), None)
    return RegressReport(
        evolve(found, early=parts.early),
        outcomes,
        committed,
        clause_changes(old, new),
        exchanges(on_the_wire(old), on_the_wire(new)),
        newly,
        networks,
        compared,
        bool(options.expect),
        reproduce(options),
        tuple(parts.left),
    )


def _committed(
    old: Side, new: Side, folder: Path | None, show: Callable[[str], None]
) -> CaseFolderOutcome | None:
    """What comes of the committed cases; None where there are none."""
    from quidnunc.properties.search.worker import opener_of

    folder = folder or CASES
    return committed_outcomes(folder, old, new, opener_of, show) if folder.is_dir() else None


def _written(
    path: Path, found: BehaviourComparison, compared: DeclarationComparison
) -> DeclarationComparison:
    """The file for what was found; what was declared, met and not found by this search is kept."""
    known = {d.key: d for d in (*compared.met, *(each.declared for each in compared.otherwise))}
    entries: dict[tuple[str, str], DeclaredChange] = {
        s.key: declared_of(s, known.get(s.key)) for s in found.separations
    }
    shown = [each.instead for each in compared.otherwise if each.instead is not None]
    kept = [d for d in (*compared.met, *shown, *compared.unknown) if d.key not in entries]
    write_text(path, render(found.old, found.new, [*entries.values(), *kept]))
    print(f"wrote {path}", file=sys.stderr)
    return DeclarationComparison((*entries.values(), *kept), (), ())


def reproduce(options: argparse.Namespace) -> str:
    """The command that gives the same result again."""
    names = ("as_one", "shortest", "budget", "seed", "cases", "expect", "report")
    given = [name for name in names if getattr(options, name)]
    given = ["walks", *given] if options.walks != WALKS else given
    return shlex.join(["quidnunc", "regress", options.old, options.new, *given_options(options, *given)])


def _as_json(report: RegressReport) -> dict[str, Any]:
    found, compared = report.found, report.compared
    return {
        "schema": 1,
        "old": found.old.name,
        "new": found.new.name,
        "changes": [_change(s) for s in found.separations if s.verdict != UNDESCRIBED],
        "undescribed": [_change(s) for s in found.separations if s.verdict == UNDESCRIBED],
        "not_separated": [
            {"rule": u.change.key, "clause": u.change.clause, "bound": str(u), "reason": u.reason}
            for u in found.unseparated
        ],
        "claims": [{"id": name, "verdict": "fails"} for name in report.claims],
        "ended_early": found.early.why if found.early else None,
        "not_compared": [{"rule": each.key, "says": each.says} for each in found.not_compared],
        "left_out": list(report.left_out),
        "cases": [
            {"rule": o.rule, "departs": o.departs, "of": o.dice, "change": o.change} for o in report.outcomes
        ],
        "committed": _committed_json(report.committed),
        "clauses": clauses_json(report.clauses),
        "wire": [
            {**fields_of(each, "writer", "reader", "what"), "bytes": each.bytes.hex()}
            | fields_of(each, "result", "same")
            for each in report.wire
        ],
        "newly_failing": [{"router": n.router, "rule": n.change} for n in report.newly],
        "refines": _refines(found),
        "networks": _networks(report.networks),
        "declared": _keys(compared.met),
        "undeclared": [{"cause": s.change.key, "verdict": s.verdict} for s in compared.undeclared],
        "gone": _keys(compared.gone),
        "otherwise": [
            {**fields_of(each.declared, "cause", "verdict"), "says": each.says} for each in compared.otherwise
        ],
    }


def _committed_json(found: CaseFolderOutcome | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        **fields_of(found, "folder", "replayed"),
        "changed": [fields_of(each, "path", "router", "old", "new") for each in found.changed],
        "left_out": [fields_of(each, "path", "reason") for each in found.left_out],
        "of_others": found.others,
    }


def _refines(found: BehaviourComparison) -> dict[str, Any] | None:
    """Whether it is refuted that NEW allows nothing that OLD does not; None where nothing differs."""
    against = against_refinement(found.separations)
    if not found.changes:
        return None
    return {"refuted": against is not None, "by": against.separation.change.key if against else None}


def _networks(networks: MixedNetworks | None) -> dict[str, Any] | None:
    if networks is None:
        return None
    sorts = {"old": networks.old, "new": networks.new, "mixed": networks.both}
    told = {name: fields_of(each, "runs", "delivered", "lost") for name, each in sorts.items()}
    return {**told, "keep_delivering": networks.keeps_delivering}


def _keys(entries: Sequence[DeclaredChange]) -> list[dict[str, str]]:
    return [fields_of(each, "cause", "verdict") for each in entries]


def _change(found: BehaviourChange) -> dict[str, Any]:
    return {
        "rule": found.change.key,
        "change": found.change.kind,
        "says": found.change.says,
        "clause": found.clause,
        "clauses": list(found.clauses),
        "direction": found.direction,
        "verdict": found.verdict,
        "place": _place(found),
        "act": found.found.parting.act,
        "between": [side.name for side in found.between],
        "alone": found.alone,
        "events": len(found.found.trace[1]),
        "parameters": parameters_text(found.found.trace[0]),
        "trace": trace_text(found).splitlines(),
    }


def _place(found: BehaviourChange) -> dict[str, Any] | None:
    """File and line of the change, where it is in a module of the user's."""
    place = place_of_change(found.change, found.between[1].name)
    return None if place is None else {"file": place[0], "line": place[1]}
