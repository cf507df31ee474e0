"""quidnunc check: test a router against the model, and report claim by claim."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import signal
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attrs import evolve

from quidnunc.arguments import (
    checked_protocol,
    demand_no_runs_of_suite,
    hello_from,
    protocols_spoken,
)
from quidnunc.model.errors import CaseError
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.options.check import ACTS
from quidnunc.options.shared import RESULT_FILES, check_format
from quidnunc.output import (
    UsageError,
    budget_s,
    clear_progress,
    count,
    given_options,
    print_json,
    progress_line,
    suggestion,
    write_text,
    write_whole,
)
from quidnunc.pipeline.trace.record import join_parts
from quidnunc.properties.cases.case import Case, command_of, events_of
from quidnunc.properties.cases.file import body_of, load, render
from quidnunc.properties.cases.named_files import NamedEntry, check_entries, is_within
from quidnunc.properties.cases.outcome import CaseReplay
from quidnunc.properties.cases.router import REPEATS, repeated, replay_router
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.explain.root_cause import UNEXPLAINED_CAUSE
from quidnunc.properties.search.batch import Workers
from quidnunc.properties.search.campaign import Campaign, Recording, SoFar, each_second, run_campaign
from quidnunc.properties.search.crashes import ANY_CRASH, crash_mark, crashes_numbered
from quidnunc.properties.search.rows import RootCause, is_crash
from quidnunc.properties.search.verdicts import (
    ExitStatus,
    Expectation,
    ExpectationComparison,
    compare,
    exit_of,
    explained_too_late,
    header_read,
    load_expectations,
    render_expectations,
    verdicts_of,
    without_case,
)
from quidnunc.properties.suite.dialect import DialectAnswer, dialect_of
from quidnunc.properties.suite.time_limit import TimeLimit
from quidnunc.reports.check import (
    as_json,
    caseless,
    control_of,
    dialect_json,
    print_compared,
    print_dialect,
    print_report,
)
from quidnunc.reports.ci.formats import write_results
from quidnunc.reports.ci.results import result_of_check
from quidnunc.reports.pages.page import content_of_json, write_page
from quidnunc.reports.suite import suite_exit, suite_json, unfinished_lines
from quidnunc.reports.summary import ProtocolRows, RootKey, summary_lines

SAID_AFTER_S = 2.0
"""A suite that takes longer says how far it is."""


def run(options: argparse.Namespace) -> int:
    started: float = options.started
    names, expected, early = _asked(options)
    before = _cases_before(expected, options)
    campaigns, paths, interrupted, unwritten = [], {}, 0, list[str]()
    dialects: dict[str, tuple[DialectAnswer, ...] | None] = {}
    for name in names:
        limit = _limit(options, started)
        found = (_nothing_played(name, options), early) if early else _find(name, options, limit, started)
        campaign, interrupted = found
        campaigns.append(campaign)
        folder = name if len(names) > 1 else ""
        whole = not (interrupted or campaign.broken)
        until = limit if whole else TimeLimit(file_s=0)
        paths[name] = _write_cases(campaign, options, folder, before, until, unwritten)
        started = time.monotonic()
        dialects[name] = _dialect(campaign, options) if options.dialect and whole else None
        if not options.json:
            print_report(campaign, verdicts_of(campaign, options.claims), paths[name], options)
            if dialects[name] is not None:
                print_dialect(dialects[name] or (), documented=options.documented)
            print()
        if interrupted:
            break
    compared = _compared_if_whole(campaigns, paths, expected, before, options)
    ends = [_end_of(c, compared, options) for c in campaigns]
    reports = [
        as_json(c, verdicts_of(c, options.claims), paths[c.protocol], compared)
        | dialect_json(dialects[c.protocol], documented=options.documented)
        | (suite_json(c, verdicts_of(c, options.claims), _whole(options)) if options.suite else {})
        for c in campaigns
    ]
    if options.json:
        print_json(reports[0] if len(reports) == 1 else {"schema": 2, "reports": reports})
    else:
        if compared is not None and not options.update_expect:
            print_compared(compared, campaigns, options)
            print()
        _print_summary(campaigns, paths, _shown_by_file(expected, compared), options)
        _print_end(ends, options, 128 + interrupted if interrupted else 0)
    codes = {e.code for e in ends}
    code = 128 + interrupted if interrupted else next((c for c in (1, 4, 3) if c in codes), 0)
    _write_files(reports, options, code)
    if interrupted:
        print("quidnunc: interrupted", file=sys.stderr)
    _demand_written(unwritten)
    return code


def _demand_written(unwritten: Sequence[str]) -> None:
    """Raises OSError that names the first of the cases that could not be written."""
    if unwritten:
        more = len(unwritten) - 1
        raise OSError(unwritten[0] + (f", nor can {count(more, 'more case')}" if more else ""))


def _find(name: str, options: argparse.Namespace, limit: TimeLimit, started: float) -> tuple[Campaign, int]:
    """What the suite or the search found, and the signal that interrupted it before its end, or 0."""
    return _suite(name, options, limit) if options.suite else _search(name, options, started)


def _asked(options: argparse.Namespace) -> tuple[list[str], tuple[Expectation, ...], int]:
    """The protocols to test, what is expected, and the signal that came before both were read, or 0."""
    try:
        names = _validated(options)
        return names, _expected(options, names), 0
    except KeyboardInterrupt as interrupt:
        if options.protocol not in PROTOCOLS:
            raise
        return [options.protocol], (), _signal_of(interrupt)


def _expected(options: argparse.Namespace, names: Sequence[str]) -> tuple[Expectation, ...]:
    """What --expect has, if the file is there. Raises CaseError for what is wrong in it."""
    if not options.expect or not options.expect.exists():
        return ()
    expected = load_expectations(options.expect, names)
    entries = [NamedEntry(each.clause, each.cause, each.case) for each in expected]
    check_entries(options.expect, entries, update=options.update_expect)
    return expected


def _cases_before(expected: Sequence[Expectation], options: argparse.Namespace) -> dict[str, Case]:
    """The cases of unexplained expectations, by the path in the file, as they are before any is written: the
    case of another fault may have the name of such a file."""
    found = {}
    for each in expected:
        if each.is_unexplained and each.case:
            # One that does not read is told when it is replayed.
            with suppress(CaseError):
                found[each.case] = load(options.expect.parent / each.case)
    return found


def _shown_by_file(
    expected: Sequence[Expectation], compared: ExpectationComparison | None
) -> list[Expectation]:
    """The expectations whose cases show what was found: the name of what is unexplained may be that of
    another fault."""
    if compared is None:
        return [each for each in expected if not each.is_unexplained]
    new = {(root.clause, root.quirk) for root in compared.unexpected}
    there = (*compared.met, *(each for each, _ in compared.otherwise))
    return [each for each in there if (each.clause, each.cause) not in new]


def _write_files(reports: Sequence[Mapping[str, Any]], options: argparse.Namespace, code: int) -> None:
    """The page, and what continuous integration reads."""
    command = reproduce(options)
    if options.report:
        write_page(options.report, content_of_json({"reports": reports}, "", command))
    write_results(options, result_of_check(reports, strict=options.strict, command=command, exit_status=code))


def _print_summary(
    campaigns: Sequence[Campaign],
    paths: Mapping[str, Mapping[RootKey, str]],
    expected: Sequence[Expectation],
    options: argparse.Namespace,
) -> None:
    """The most telling root causes; those outside --claims do not count without --expect."""
    known = {(e.clause, e.cause): str(options.expect.parent / e.case) for e in expected if e.case}
    results = []
    for campaign in campaigns:
        rows = campaign.rows
        if options.claims != "*" and options.expect is None:
            chosen = {(r.clause, r.quirk) for v in verdicts_of(campaign, options.claims) for r in v.roots}
            rows = {key: root for key, root in rows.items() if key in chosen}
        results.append(ProtocolRows(campaign, rows, {**known, **paths[campaign.protocol]}))
    writes = reproduce(options) if options.cases else f"{reproduce(options)} --cases found"
    for line in summary_lines(results, writes, listed=options.verbose):
        print(line)
    for line in unfinished_lines(campaigns, _whole(options)):
        print(line)
    print()


def _print_end(ends: Sequence[ExitStatus], options: argparse.Namespace, killed: int) -> None:
    """Why it ends as it does; `killed`: the exit status after an interruption, or 0."""
    for each in dict.fromkeys(ends):
        if killed:
            print(f"exit {killed}: interrupted; until then: {each.why or 'nothing fails'}")
        elif each.code:
            print(f"exit {each.code}: {each.why}")
    print(f"again: {reproduce(options)}")


def _end_of(
    campaign: Campaign, compared: ExpectationComparison | None, options: argparse.Namespace
) -> ExitStatus:
    verdicts = verdicts_of(campaign, options.claims)
    end = exit_of(verdicts, campaign, compared, options.strict)
    return suite_exit(end, campaign, verdicts) if options.suite else end


def _validated(options: argparse.Namespace) -> list[str]:
    """The protocols to test. Raises UsageError where the options do not fit together."""
    if options.update_expect and not options.expect:
        raise UsageError("--update-expect needs --expect FILE")
    if options.update_expect and options.cases and not is_within(options.cases, options.expect):
        raise UsageError(
            f"--cases {options.cases} is not in the folder of --expect {options.expect}, which names no case "
            "elsewhere: choose a folder there"
        )
    for name in ("runs", "acts", "workers"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name} must be 1 or more, got {value}")
    if options.expect and not options.update_expect and not options.expect.exists():
        raise UsageError(f"{options.expect} does not exist; --update-expect writes it")
    if options.no_known and not options.suite:
        raise UsageError("--no-known needs --suite: a search starts without known causes")
    if options.documented and not options.dialect:
        raise UsageError("--documented needs --dialect, whose result it is compared with")
    check_format(options)
    demand_no_runs_of_suite(options)
    if options.record is not None and (options.suite or options.protocol == "auto"):
        raise UsageError("--record needs a search of one protocol: name the protocol, and leave out --suite")
    if options.budget is not None:
        budget_s(options.budget)
    if options.protocol == "auto":
        names = protocols_spoken(options.against)
    else:
        names = [checked_protocol(options.protocol)]
        hello_from(options.against, names[0])
    claims = [c for name in names for c in claims_of(protocol_named(name))]
    ids = [known for c in claims for known in (c.id, *c.clauses)]
    if options.claims != "*" and not any(fnmatch(known, options.claims) for known in ids):
        near = suggestion(options.claims, ids)
        raise UsageError(f"--claims {options.claims} selects nothing{near}; `quidnunc clauses` lists them")
    return names


@contextmanager
def _signals_to(processes: Workers) -> Iterator[list[int]]:
    """Meanwhile, Ctrl-C and SIGTERM interrupt the processes; the list is of the signals that came."""
    seen: list[int] = []

    def handle(number: int, frame: object) -> None:
        seen.append(number)
        processes.interrupt()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _search(name: str, options: argparse.Namespace, started: float) -> tuple[Campaign, int]:
    """What the search found, and the signal that interrupted it before its end, or 0."""
    show = progress_line()
    processes = Workers()

    def progress(far: SoFar, what: str) -> None:
        show(
            f"{what} {name} against {options.against}: {count(far.runs, 'run')}, "
            f"{count(far.steps, 'step')}, {count(far.roots, 'root cause')}, {far.seconds:.0f} s"
        )

    budget = None if options.runs is not None else _budget_s(options)
    recording = _recording(options)
    try:
        with _signals_to(processes) as signals:
            campaign = run_campaign(
                name,
                options.against,
                seed=options.seed,
                runs=options.runs,
                budget_s=budget,
                started=started,
                acts=options.acts,
                profile=options.profile,
                workers=options.workers,
                processes=processes,
                progress=progress,
                recording=recording,
            )
        # Of a router that nothing was played to, no worker told it.
        campaign.version = campaign.version or _version(name, options)
        return campaign, signals[0] if signals else 0
    finally:
        clear_progress()
        if recording is not None:
            join_parts([Path(part) for part in recording.parts], options.record)


def _version(name: str, options: argparse.Namespace) -> str:
    """What the router says of its version; nothing where it does not open."""
    from quidnunc.impl.seam import AdapterError
    from quidnunc.properties.search.worker import hello_of

    with suppress(AdapterError):
        return hello_of(options.against, name, profile=options.profile).version
    return ""


def _recording(options: argparse.Namespace) -> Recording | None:
    if options.record is None:
        return None
    options.record.parent.mkdir(parents=True, exist_ok=True)
    return Recording("quidnunc.pipeline.trace.record:open_recorder", str(options.record))


def _limit(options: argparse.Namespace, started: float) -> TimeLimit:
    """The time limit of a suite; none without --budget. A search ends itself; its limit is of case files."""
    if not options.suite:
        return TimeLimit() if options.runs is not None else TimeLimit.of_search(started, _budget_s(options))
    return TimeLimit() if options.budget is None else TimeLimit.of(started, _budget_s(options))


def _budget_s(options: argparse.Namespace) -> float:
    return budget_s(options.budget or "60s")


def _suite(name: str, options: argparse.Namespace, limit: TimeLimit) -> tuple[Campaign, int]:
    """What the suite found, and the signal that interrupted it before its end, or 0."""
    so_far = list[Campaign]()
    try:
        return _played(name, options, limit, so_far), 0
    except KeyboardInterrupt as interrupt:
        campaign = so_far[0] if so_far else _nothing_played(name, options)
        campaign.interrupted = True
        return campaign, _signal_of(interrupt)
    finally:
        clear_progress()


def _played(name: str, options: argparse.Namespace, limit: TimeLimit, so_far: list[Campaign]) -> Campaign:
    """What the suite found; `so_far` has it from the first case on."""
    from quidnunc.model.errors import SpecError
    from quidnunc.properties.search.worker import collect_less_often
    from quidnunc.properties.suite.files import suite_of
    from quidnunc.properties.suite.run import run_suite

    collect_less_often()
    try:
        suite_of(name)
    except SpecError as error:
        raise UsageError(str(error)) from None
    started, show, total = time.monotonic(), progress_line(), len(suite_of(name))

    def progress(campaign: Campaign) -> None:
        so_far[:] = [campaign]
        show_again()

    def show_again() -> None:
        if so_far and time.monotonic() - started > SAID_AFTER_S:
            show(f"suite of {name} against {options.against}: {how_far(so_far[0], total)}")

    with each_second(show_again):
        return run_suite(
            name,
            options.against,
            profile=options.profile,
            shortest=options.cases is not None,
            known=() if options.no_known else None,
            limit=limit,
            progress=progress,
        )


def _nothing_played(name: str, options: argparse.Namespace) -> Campaign:
    """What was found by a check that was interrupted before its first run."""
    from quidnunc.properties.suite.files import suite_of

    campaign = Campaign(name, options.against, options.seed, profile=options.profile, interrupted=True)
    if options.suite:
        campaign.not_played = [case for case, _ in suite_of(name)]
    return campaign


def _signal_of(interrupt: KeyboardInterrupt) -> int:
    return int(interrupt.args[0] if interrupt.args else signal.SIGINT)


def how_far(campaign: Campaign, total: int) -> str:
    """How far a suite of `total` cases is, in words. It counts those that fit the router, as reports do."""
    out, roots = len(campaign.left_out), count(len(campaign.roots), "root cause")
    fitting, left = total - out, f" ({out} left out)" if out else ""
    if campaign.runs < fitting or not campaign.open_cases:
        return f"{campaign.runs} of {fitting} cases{left}, {roots}"
    return f"{campaign.runs} cases played{left}, {campaign.open_cases} to explain, {roots}"


def _dialect(campaign: Campaign, options: argparse.Namespace) -> tuple[DialectAnswer, ...]:
    """The router's reading of each open place, with the quirks that the search found in force."""
    from quidnunc.properties.search.worker import hello_of, opener_of

    show = progress_line()
    show(f"separating traces of {campaign.protocol} against {options.against}")
    try:
        profile, without = campaign.profile, campaign.without
        inner = opener_of(options.against)
        hello = hello_of(options.against, campaign.protocol, profile=profile, without=without)
        return dialect_of(
            campaign.protocol,
            lambda config: inner(evolve(config, profile=profile, without=without)),
            hello,
            campaign.quirks,
        )
    finally:
        clear_progress()


def _write_cases(
    campaign: Campaign,
    options: argparse.Namespace,
    folder: str,
    before: Mapping[str, Case],
    until: TimeLimit,
    unwritten: list[str],
) -> dict[RootKey, str]:
    """Case files of what was found, by root, each with how often it departs in `REPEATS` replays.

    Once `until` is over, cases are not replayed any more. The events of a crash go to --private alone, and
    are not replayed. A case that is there stays where the new one is worse (`_better_there`), and with
    --update-expect nothing is written that gets no entry. `before`: see `_free_path`. `unwritten` is told
    which cannot be written: they do not cost the report.
    """
    written, stayed, skipped = {}, [], 0
    is_cut = until.explaining_is_over() or _is_cut(campaign)
    # What --update-expect writes names the new case, so that it may take the place of the old one.
    named = {} if options.update_expect else before
    kept = {(options.expect.parent / path).resolve(): case for path, case in named.items()}
    found_by = command_of(campaign.protocol, options.against, *_how(options), profile=campaign.profile)
    for key, root in campaign.rows.items():
        into: Path | None = options.private if is_crash(root) else options.cases
        if into is None:
            continue
        if options.update_expect and (key in campaign.pending or explained_too_late(root)):
            skipped += 1
            continue
        # A name says nothing of a crash: an expectations file that is committed may hold it.
        cause = f"crash.{crash_mark(root)}" if is_crash(root) else root.quirk.replace(":", ".")
        path = _free_path(into / folder / f"{root.clause.replace('/', '.')}.{cause}.case", root.case, kept)
        replays = key in campaign.roots and not is_crash(root) and not until.filing_is_over()
        case = evolve(root.case, found_by=found_by, control=control_of(root))
        if (is_cut or not root.minimised) and (better := _better_there(path, case, replays=replays)):
            case = better
            stayed.append(str(path))
        elif (
            now := _written(path, case, options.against, unwritten, until if replays else None)
        ) is not None:
            case = now
        else:
            continue
        written[key] = str(path)
        of = campaign.roots if key in campaign.roots else campaign.pending
        of[key] = evolve(root, case=case)
    if options.cases is not None and not options.expect:
        _warn_of_old(options.cases / folder, {*written.values()})
    _say_not_updated(stayed, skipped)
    return written


def _warn_of_old(folder: Path, written: Collection[str]) -> None:
    """Name the cases of a folder that this run did not write."""
    others = {*map(str, folder.glob("*.case"))} - {*written}
    if others:
        left = f"{count(len(others), 'case')} that this run did not write: {', '.join(sorted(others))}"
        print(f"warning: {folder} holds {left}; delete what is old", file=sys.stderr)


def _is_written(path: Path, case: Case, unwritten: list[str]) -> bool:
    """Whether the case is in its file now. Where it cannot be, what was there stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, render(case))
    except OSError as error:
        unwritten.append(f"{path} cannot be written: {error.strerror or error}")
        return False
    return True


def _written(
    path: Path, case: Case, against: str, unwritten: list[str], until: TimeLimit | None
) -> Case | None:
    """Write a case, and once more with how often it departs, as far as there is time `until` then.

    None where it cannot be written.
    """
    from quidnunc.properties.search.worker import opener_of

    if not _is_written(path, case, unwritten):
        return None
    if until is not None:
        times = repeated(case, opener_of(against), REPEATS, until.filing_is_over)
        case = evolve(case, reproduced=times)
        _is_written(path, case, unwritten)
    return case


def _is_cut(campaign: Campaign) -> bool:
    """Whether it ended before its cases were as short as they get."""
    return bool(campaign.interrupted or campaign.broken or campaign.not_played or campaign.not_explained)


def _better_there(path: Path, case: Case, *, replays: bool) -> Case | None:
    """The case at `path`, if it shows the same, was reproduced, and the new one is longer or `replays` no
    more."""
    with suppress(CaseError, OSError):
        there = load(path)
        same = (there.clause, there.quirk, there.protocol) == (case.clause, case.quirk, case.protocol)
        was, of = there.reproduced or (0, 1)
        longer = len(events_of(case)) > len(events_of(there))
        return there if same and was == of and (longer or not replays) else None
    return None


def _say_not_updated(stayed: Sequence[str], skipped: int) -> None:
    """Say which cases stayed as they were, and how many departures got no case."""
    if stayed:
        why = "the new ones are not minimised"
        print(f"kept {count(len(stayed), 'case')} as before, {why}: {', '.join(stayed)}", file=sys.stderr)
    if skipped:
        what = f"{count(skipped, 'departure')} not explained yet"
        print(f"no case was written for {what}: --update-expect makes no entry for it", file=sys.stderr)


def _free_path(path: Path, case: Case, kept: Mapping[Path, Case]) -> Path:
    """`path`, or with a number where an expectation names the file there and it shows something else."""
    numbered = (path.with_suffix(f".{number}.case") for number in itertools.count(2))
    for each in itertools.chain([path], numbered):
        known = kept.get(each.resolve())
        if known is None or (known.parameters, body_of(known)) == (case.parameters, body_of(case)):
            return each
    raise AssertionError


def _all_roots(campaigns: Sequence[Campaign]) -> list[RootCause]:
    """Those of all protocols; one of several has the cases of each."""
    found: dict[RootKey, RootCause] = {}
    for key, root in (item for campaign in campaigns for item in campaign.roots.items()):
        seen_in = found[key].seen_in if key in found else frozenset[str]()
        found[key] = evolve(root, seen_in=root.seen_in | seen_in)
    return list(found.values())


def _compared_if_whole(
    campaigns: Sequence[Campaign],
    paths: dict[str, dict[RootKey, str]],
    expected: Sequence[Expectation],
    before: Mapping[str, Case],
    options: argparse.Namespace,
) -> ExpectationComparison | None:
    """The result compared with --expect; None without it, and where the run ended early."""
    interrupted = any(each.interrupted for each in campaigns)
    if not interrupted and not (options.suite and any(each.broken for each in campaigns)):
        return _compared(campaigns, paths, expected, before, options)
    if options.update_expect:
        why = "the run was interrupted" if interrupted else "the driver broke"
        print(f"{options.expect} was not updated: {why}", file=sys.stderr)
    return None


def _compared(
    campaigns: Sequence[Campaign],
    paths: dict[str, dict[RootKey, str]],
    expected: Sequence[Expectation],
    before: Mapping[str, Case],
    options: argparse.Namespace,
) -> ExpectationComparison | None:
    """The result compared with --expect; after --update-expect nothing differs."""
    if options.update_expect:
        expected = [each for each in expected if each.cause != ANY_CRASH]
        named = crashes_numbered(_all_roots(campaigns), expected)
        roots = [
            (named[k], paths[c.protocol].get(k, ""))
            for c in campaigns
            for k, r in c.roots.items()
            if not explained_too_late(r)
        ]
        written = [(root, _seen_from(options.expect, path)) for root, path in roots]
        found = {(root.clause, root.quirk) for root in named.values()}
        replayed = _outcomes(_replay_known(found, expected, before, options))
        old = options.expect.read_text(encoding="utf-8") if options.expect.exists() else ""
        text = render_expectations(campaigns[0], written, expected, replayed, header_read(old))
        write_text(options.expect, text)
        print(f"wrote {options.expect}", file=sys.stderr)
        entries = load_expectations(options.expect, [c.protocol for c in campaigns])
        if number := without_case(entries):
            print(f"warning: {caseless(number)}; --cases DIR writes cases", file=sys.stderr)
        return ExpectationComparison(entries, (), (), ())
    if options.expect is None:
        return None
    from quidnunc.properties.search.renamed import told_otherwise
    from quidnunc.properties.search.worker import opener_of

    known = list(crashes_numbered(_all_roots(campaigns), expected).values())
    replays = _replay_known({(root.clause, root.quirk) for root in known}, expected, before, options)
    renamed = told_otherwise(known, expected, replays, opener_of(options.against))
    return compare(known, expected, _outcomes(replays), renamed)


def _seen_from(file: Path, path: str) -> str:
    """The path of a case as the expectations file names it."""
    return os.path.relpath(Path(path).resolve(), file.parent.resolve()) if path else ""


def _outcomes(replays: Mapping[str, CaseReplay]) -> dict[str, str]:
    return {case: replay.outcome for case, replay in replays.items()}


def _replay_known(
    found: set[RootKey],
    expected: Sequence[Expectation],
    before: Mapping[str, Case],
    options: argparse.Namespace,
) -> dict[str, CaseReplay]:
    """Replay the cases of expectations that the search did not meet, by the path that the file names.

    Those of unexplained findings are always replayed: two faults against one sentence have the same name.
    An inconclusive replay is left out: its expectation counts as not met, not as gone.
    """
    from quidnunc.properties.search.worker import opener_of

    replays: dict[str, CaseReplay] = {}
    for each in expected:
        by_name = (each.clause, each.cause) in found and not each.cause.startswith(UNEXPLAINED_CAUSE)
        if by_name or not each.case:
            continue
        path = options.expect.parent / each.case
        try:
            replay = replay_router(before.get(each.case) or load(path), opener_of(options.against))
        except CaseError as error:
            raise UsageError(f"{options.expect}: {each.clause} {each.cause}: {error}") from None
        if replay.outcome != "inconclusive":
            replays[each.case] = replay
    return replays


def _how(options: argparse.Namespace) -> list[str]:
    """The options that say how to search."""
    if options.suite:
        words = ["--suite", *given_options(options, "budget")]
    elif options.runs is not None:
        words = ["--runs", str(options.runs), "--seed", str(options.seed)]
    else:
        words = ["--budget", options.budget or "60s", "--seed", str(options.seed)]
    return words + (["--acts", str(options.acts)] if options.acts != ACTS else [])


def _whole(options: argparse.Namespace) -> str:
    """The command without a time limit of the suite."""
    return reproduce(argparse.Namespace(**{**vars(options), "budget": None}))


def reproduce(options: argparse.Namespace) -> str:
    """The command that gives the same result again."""
    words = ["quidnunc", "check", options.protocol, "--against", options.against, *_how(options)]
    if options.no_known:
        words += ["--no-known"]
    if options.claims != "*":
        words += ["--claims", options.claims]
    if options.expect:
        words += ["--expect", str(options.expect), *["--update-expect"] * options.update_expect]
    if options.documented:
        words += ["--documented", options.documented]
    words += [f"--{flag}" for flag in ("strict", "dialect") if getattr(options, flag)]
    words += ["--profile", "spec"] if options.profile == "spec" else []
    return shlex.join([*words, *given_options(options, "cases", "private", "record", *RESULT_FILES)])
