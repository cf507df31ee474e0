"""quidnunc replay: replay case files on a router, and say whether each failure still occurs."""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from quidnunc.arguments import checked_protocol
from quidnunc.impl.seam import AdapterError, NotBuiltError
from quidnunc.model.edits.aliases import current_name
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.options.shared import check_format
from quidnunc.output import (
    UsageError,
    clear_progress,
    count,
    fields_of,
    near_file,
    print_json,
    progress_line,
    say_refusal,
    write_text,
)
from quidnunc.properties.bounded import printable, shortened
from quidnunc.properties.cases.case import Case, RefusedRouterError, own_kind, router_of
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.cases.front_matter import WIDTH
from quidnunc.properties.cases.outcome import MUST_HOLD, CaseReplay
from quidnunc.properties.cases.router import control_by, protocol_of, repeated
from quidnunc.properties.cases.telling import DepartingRun, departing_run, notes_of, sentence_of
from quidnunc.properties.replays.replay import replay
from quidnunc.reports.beside import side_by_side
from quidnunc.reports.ci.formats import write_results
from quidnunc.reports.ci.results import result_of_replay
from quidnunc.reports.pages.page import ReportContent, results_of_cases, write_page

IN_ORDER = "in order"
BESIDE: Mapping[str, str] = {
    "same": "departs as recorded",
    "different": "departs otherwise",
    "departs": "departs",
    "fixed": IN_ORDER,
    "holds": IN_ORDER,
}
"""Outcome -> what it means of one of several routers: a case that was never of it cannot be fixed in it."""


@frozen
class ReplayAttempt:
    """One case under one protocol, and what came of it: a replay, or why there was none."""

    case: Case
    protocol: str
    router: str
    replayed: CaseReplay | None = None
    skipped: str = ""
    broken: str = ""
    rewritten: bool = False

    @property
    def outcome(self) -> str:
        if self.replayed is not None:
            return IN_ORDER if self._never_failed else self.replayed.outcome
        return "skipped" if self.skipped else "broken"

    @property
    def reason(self) -> str:
        if self._never_failed:
            return f"does not depart; the case is of {self.case.against}"
        return self.replayed.reason if self.replayed is not None else self.skipped or self.broken

    @property
    def _never_failed(self) -> bool:
        """Whether the case does not show, and is of another router: nothing was fixed in this one."""
        kind, of_case = (
            name.partition(":")[0] for name in (self.router, self.case.against.partition(" ")[0])
        )
        fixed = self.replayed is not None and self.replayed.outcome == "fixed"
        return fixed and kind != of_case and not self.case.is_network


def run(options: argparse.Namespace) -> int:
    check_format(options)
    cases, errors = _cases(options)
    progress_line()(f"replaying {count(len(cases), 'case')}")
    tried: list[ReplayAttempt] = []
    for case in cases:
        try:
            tried += _attempts(case, options)
        except CaseError as error:
            errors.append(str(error))
    clear_progress()
    if options.report and tried:
        write_page(options.report, _page(tried, options))
    if options.json or options.emit:
        replays = [as_json(each, data=bool(options.emit)) for each in tried]
        print_json({"schema": 1, "replays": replays} | ({"errors": errors} if errors else {}))
    elif tried:
        _print(tried, options)
    for each in errors:
        say_refusal("replay", each)
    code = 2 if errors else _exit_status(tried)
    told = {"replays": [as_json(each, data=False) for each in tried], "errors": errors}
    write_results(options, result_of_replay(told, command=_again(options), exit_status=code))
    return code


def _page(tried: Sequence[ReplayAttempt], options: argparse.Namespace) -> ReportContent:
    """Each case as it was replayed, with what came of it; one that was not replayed as it is recorded."""
    cases = [each.replayed.rewritten if each.replayed is not None else each.case for each in tried]
    remarks = [f"Replayed on {each.router}: {each.outcome}. {each.reason}" for each in tried]
    return ReportContent(results=results_of_cases(cases, remarks), again=_again(options))


def _exit_status(tried: Sequence[ReplayAttempt]) -> int:
    if any(each.replayed is not None and each.replayed.departs and not _observed(each) for each in tried):
        return 1
    outcomes = {each.outcome for each in tried}
    if "broken" in outcomes:
        return 4
    return 3 if outcomes & {"inconclusive", "skipped"} else 0


def _observed(tried: ReplayAttempt) -> bool:
    """Whether it shows again what was observed of the router, which is no failure."""
    return tried.case.status == "observed" and tried.outcome == "same"


def _cases(options: argparse.Namespace) -> tuple[list[Case], list[str]]:
    """Every case that is asked for, and what is wrong with each path that is none. Raises UsageError where an
    option does not go with a case."""
    paths: list[tuple[Path, Path | None]] = []
    errors: list[str] = []
    for path in options.paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.case"))
            errors += [] if inside else [f"{path} contains no .case file"]
            paths += ((each, path) for each in inside)
        elif path.exists():
            paths.append((path, None))
        else:
            errors.append(
                f"{path} does not exist{near_file(path)}; `quidnunc check ... --cases DIR` writes cases"
            )
    if options.protocol:
        checked_protocol(options.protocol)
    cases: list[Case] = []
    for path, folder in paths:
        try:
            case = load(path, folder)
            # What was off in one profile says nothing about another.
            cases.append(evolve(case, profile=options.profile, without=()) if options.profile else case)
        except CaseError as error:
            errors.append(str(error))
    for case in cases:
        _check(case, options)
    return cases, errors


def _check(case: Case, options: argparse.Namespace) -> None:
    """Raises UsageError where what was asked does not go with the case."""
    if options.protocol:
        asked, own = protocol_named(options.protocol).family, protocol_named(case.protocol).family
        if asked != own:
            raise UsageError(
                f"{case.path} is of a {own} protocol ({case.protocol}), {options.protocol} is not"
            )
    given = {own_kind(router) or router for router in options.against}
    elsewhere = given and (case.is_network or given != {_named(case, options).split()[0]})
    if options.rewrite and (options.protocol or elsewhere):
        raise UsageError(
            f"{case.path} is about {case.against} under {' '.join(case.protocols)}: --rewrite would write "
            "what another router or protocol does; leave out --against and --protocol, or change the front "
            "matter"
        )


def _named(case: Case, options: argparse.Namespace) -> str:
    """The router that the case names; of one that names none, its words."""
    try:
        return router_of(case, allow_exec=options.allow_exec)
    except RefusedRouterError:
        return case.against


def _attempts(case: Case, options: argparse.Namespace) -> Sequence[ReplayAttempt]:
    """The case under each protocol that is asked for. The first one's outputs are what a rewrite writes."""
    protocols = [options.protocol] if options.protocol else case.protocols
    tried = [
        _try(case, name, router, options)
        for name in protocols
        for router in dict.fromkeys(options.against or [""])
    ]
    first = tried[0].replayed
    if options.rewrite and first is not None:
        text = render(_retold(evolve(first.rewritten, protocols=case.protocols), tried[0]))
        if _rewrite(case.path, text):
            tried = [evolve(each, rewritten=True) for each in tried]
    return tried


def _try(case: Case, protocol: str, against: str, options: argparse.Namespace) -> ReplayAttempt:
    from quidnunc.properties.search.worker import opener_of

    router = against or _named(case, options)
    try:
        replayed = replay(case, opener_of, against=against, protocol=protocol, allow_exec=options.allow_exec)
    except RefusedRouterError as error:
        return ReplayAttempt(case, protocol, router, skipped=str(error))
    except NotBuiltError as error:
        if len(options.against) == 1:
            raise
        return ReplayAttempt(case, protocol, router, skipped=str(error))
    except AdapterError as error:
        return ReplayAttempt(case, protocol, router, broken=str(error))
    except CaseError:
        raise
    except SpecError as error:
        return ReplayAttempt(case, protocol, router, broken=str(error))
    except ValueError as error:
        # No such router; what cannot be put into bytes is a CaseError. One that only a file names costs the
        # other files nothing.
        raise (UsageError if against else CaseError)(f"{case.path}: {error}") from None
    return ReplayAttempt(case, protocol, router, replayed)


def _rewrite(name: str, text: str) -> bool:
    """Whether the file had to change."""
    path = Path(name)
    if path.read_text(encoding="utf-8") == text:
        return False
    write_text(path, text)
    print(f"rewrote {path}", file=sys.stderr)
    return True


def _print(tried: Sequence[ReplayAttempt], options: argparse.Namespace) -> None:
    cases = len({each.case.path for each in tried})
    print(f"replay of {count(cases, 'case')}{f': {len(tried)} replays' if len(tried) != cases else ''}")
    for _, group in groupby(tried, lambda each: (each.case.path, each.protocol)):
        of_case = [*group]
        if len(of_case) > 1 and not of_case[0].case.is_network:
            _print_beside(of_case)
        else:
            for each in of_case:
                _print_one(each)
    beside = len(options.against) > 1
    counts = Counter(BESIDE.get(each.outcome, each.outcome) if beside else each.outcome for each in tried)
    print(f"\n{', '.join(f'{number} {outcome}' for outcome, number in sorted(counts.items()))}")
    print(f"again: {_again(options)}")


def _print_one(tried: ReplayAttempt) -> None:
    print(f"\n{_of_case(tried)} against {tried.router}{_releases(tried)}: {tried.outcome}")
    if tried.replayed is not None:
        print(f"  {printable(shortened(tried.case.reason))}")
    print(f"  {printable(shortened(tried.reason))}")
    for line in _telling(tried):
        print(line)


def _print_beside(tried: Sequence[ReplayAttempt]) -> None:
    """One case on several routers: what came of each, then who did what upon each event."""
    print(f"\n{_of_case(tried[0])}, on {count(len(tried), 'router')}")
    print(f"  {printable(shortened(tried[0].case.reason))}")
    width = max(len(each.router) for each in tried)
    for each in tried:
        print(f"  {each.router:<{width}}  {_outcome_beside(each)}")
    replays = {each.router: each.replayed for each in tried if each.replayed is not None}
    for line in side_by_side(replays):
        print(f"  {line}" if line else "")


def _outcome_beside(tried: ReplayAttempt) -> str:
    told = BESIDE.get(tried.outcome, tried.outcome)
    if told == IN_ORDER:
        return told
    reason = tried.reason.removeprefix("departs ").partition("; recorded")[0]
    return (
        f"{told}{' ' if tried.replayed and tried.replayed.departures else ': '}{printable(shortened(reason))}"
    )


def _of_case(tried: ReplayAttempt) -> str:
    return tried.case.path + (f" under {tried.protocol}" if len(tried.case.protocols) > 1 else "")


def _telling(tried: ReplayAttempt) -> Iterator[str]:
    """The step that departs, the sentence that it breaks, and what else a reader wants to know."""
    replayed = tried.replayed
    if replayed is None:
        return
    case = replayed.case
    yield from (f"    {line}" for line in replayed.divergence.splitlines())
    told = _told(tried)
    if told is not None:
        judged = case if tried.protocol in case.protocols else evolve(case, as_built=())
        if tried.outcome == "different":
            # What it was found by is not what departs here.
            judged = evolve(judged, quirk="", clause=told.clause)
        for note in (f"It breaks {sentence_of(told.clause)}", *notes_of(judged, told)):
            yield from textwrap.wrap(note, WIDTH, initial_indent="  ", subsequent_indent="    ")
    known = [f"control on our own router: {case.control}"] if case.control else []
    known += [f"departed in {case.reproduced[0]} of {case.reproduced[1]} replays"] if case.reproduced else []
    if known:
        yield f"  recorded: {'; '.join(known)}"


def _retold(rewritten: Case, tried: ReplayAttempt) -> Case:
    """The case that is written: of a router that departs, with what tells it in words anew."""
    from quidnunc.properties.search.worker import opener_of

    told = _told(tried)
    if told is None or rewritten.status in MUST_HOLD:
        return rewritten
    return evolve(
        rewritten,
        argument=sentence_of(told.clause),
        control=control_by(rewritten, opener_of("ours")),
        reproduced=repeated(rewritten, opener_of(tried.router)),
        notes=notes_of(rewritten, told),
    )


def _told(tried: ReplayAttempt) -> DepartingRun | None:
    """The replay of a router as it can be told; None where it does not depart, or is of a network."""
    replayed = tried.replayed
    if replayed is None or replayed.case.is_network:
        return None
    case = replayed.case
    own = tried.protocol in case.protocols
    rules = protocol_of(case.under(tried.protocol)) if own else protocol_named(tried.protocol)
    filed = case.clause if case.quirk and tried.outcome != "different" else ""
    return departing_run(replayed.moments, rules, case.parameters, filed=filed)


def _releases(tried: ReplayAttempt) -> str:
    """Where the case was recorded on another release of its router, both."""
    name, _, recorded = tried.case.against.partition(" ")
    version = tried.replayed.version if tried.replayed is not None else ""
    if not recorded or not version or (own_kind(tried.router) or tried.router) != name:
        return ""
    return f" (recorded on {recorded}, replayed on {version})" if recorded != version else ""


def _again(options: argparse.Namespace) -> str:
    words = ["quidnunc", "replay", *map(str, options.paths)]
    words += [word for router in options.against for word in ("--against", router)]
    words += ["--protocol", options.protocol] if options.protocol else []
    words += ["--profile", options.profile] if options.profile else []
    words += ["--allow-exec"] if options.allow_exec else []
    return shlex.join(words)


def as_json(tried: ReplayAttempt, *, data: bool) -> dict[str, Any]:
    """The outcome of one replay and, where `data` is asked for, the case as data."""
    case, replayed = tried.case, tried.replayed
    # By another protocol a case is still the case of its own.
    protocol = tried.protocol if tried.protocol in case.protocols else case.protocol
    found: dict[str, Any] = {
        "path": case.path,
        "against": tried.router,
        "protocol": protocol,
        **fields_of(case, "claim", "clause"),
        "quirk": current_name(case.quirk, protocol_named(case.protocol)),
        "status": case.status,
        "outcome": tried.outcome,
        "as_expected": replayed is not None and replayed.as_expected,
        "departs": replayed is not None and replayed.departs,
        "reason": tried.reason,
        "at": replayed.at if replayed else None,
        "divergence": replayed.divergence if replayed else "",
        "rewritten": tried.rewritten,
    }
    if data and replayed is not None:
        from quidnunc.properties.cases.export import case_data

        found["case"] = case_data(replayed.rewritten)
    return found
