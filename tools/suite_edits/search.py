"""Find the cases of edits: traces on which a router with an edited rule departs, few and short ones.

Random walks of the model as a router, from the prepared situations of the suite, are asked which edits differ
in them (`EditScreen`). An edit that surely departs in a walk is shown by it. Of the walks, those that show
most edits which nothing else shows are taken one after the other, and each is minimised for as long as it
shows them. A case of an earlier protocol is taken as it is where it holds and shows an edit.

All of it is drawn from the names of rules, so that the search gives the same on every machine. Run by
`make suite`.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from attrs import evolve, field, mutable

from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.cases.file import MAX_BODY_LINES, body_of
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.suite.edits import EDITS_FILE
from quidnunc.properties.suite.files import rule_cases
from quidnunc.properties.suite.shrink import smallest_trace
from quidnunc.properties.suite.simpler_traces import on_streams_of
from quidnunc.properties.suite.traces import DICE, Trace
from tools.suite_edits.catalogue import edits_of_suite
from tools.suite_edits.files import read_edit_cases, write_edit_cases
from tools.suite_edits.operators import SuiteEdit
from tools.suite_edits.screen import EditScreen, ReferenceRun, latest_departure, runs_of
from tools.suite_edits.walks import seed_of, walked

ROUNDS = 16
"""Walks for each rule with edits that nothing shows."""
TRIES = 6
"""So often an edit may differ in a trace and not show, until it is given up."""
ENOUGH = 1
"""Walks that show an edit, of which the cover has its choice."""
SOME_DICE = DICE[:3]
"""With these an edit shows in a walk; in a case it shows with all."""
TOGETHER = 6
"""Edits that one case is made to show, at most."""
MAX_REPLAYS = 24
"""How many candidates the minimiser may try on one trace."""


@mutable
class EditSearch:
    """The search for one protocol."""

    name: str
    protocol: Protocol = field(init=False)
    edits: dict[str, SuiteEdit] = field(init=False)
    shown: set[str] = field(factory=set)
    """Names of edits that some case shows."""
    found: dict[str, list[tuple[int, int]]] = field(factory=lambda: defaultdict(list))
    """Name of an edit -> walks that show it, and by which event."""
    walks: list[Trace] = field(factory=list)
    tried: Counter[str] = field(factory=Counter)
    broken: set[str] = field(factory=set)
    edited: dict[str, Protocol] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.protocol = protocol_named(self.name)
        self.edits = {edit.name: edit for edit in edits_of_suite(self.name)}

    def subject(self, name: str) -> Protocol:
        if name not in self.edited:
            self.edited[name] = self.edits[name].applied_to(self.protocol)
        return self.edited[name]

    def left(self) -> list[SuiteEdit]:
        """Edits that nothing shows so far."""
        return [
            edit
            for name, edit in self.edits.items()
            if name not in self.shown
            and name not in self.broken
            and len(self.found[name]) < ENOUGH
            and self.tried[name] < TRIES
        ]

    def screen(self, edits: Iterable[SuiteEdit]) -> EditScreen:
        by_rule: dict[str, list[SuiteEdit]] = defaultdict(list)
        for edit in edits:
            by_rule[edit.rule].append(edit)
        return EditScreen(self.protocol, by_rule, self.broken)

    def showing(self, trace: Trace, edits: Iterable[SuiteEdit]) -> dict[str, int]:
        """Name of each edit that surely shows in the trace -> by which event."""
        shown: dict[str, int] = {}
        runs: list[ReferenceRun] = []
        for edit in self.screen(edits).differ(trace):
            subject = self.subject(edit.name)
            self.tried[edit.name] += 1
            runs = runs or runs_of(trace, self.protocol, SOME_DICE)
            at = latest_departure(runs, subject)
            if at is not None:
                self.tried[edit.name] -= 1
                shown[edit.name] = at
        return shown

    def take_cases(self, cases: Iterable[Case]) -> None:
        for case in cases:
            self.shown |= self.showing((parameters_of(case), events_of(case)), self.left()).keys()

    def walk(self, rounds: int) -> None:
        for number in range(rounds):
            rules = dict.fromkeys(edit.rule for edit in self.left())
            for rule in rules:
                trace = walked(self.protocol, rule, seed_of(rule) + number)
                if trace is None:
                    continue
                shown = self.showing(trace, self.left())
                if shown:
                    self.walks.append(trace)
                    for name, at in shown.items():
                        self.found[name].append((len(self.walks) - 1, at))
            print(
                f"{self.name} round {number}: {len(rules)} rules, {len(self.left())} edits left, "
                f"{sum(map(bool, self.found.values()))} found in {len(self.walks)} walks",
                file=sys.stderr,
                flush=True,
            )

    def cover(self) -> Iterator[tuple[Trace, tuple[SuiteEdit, ...]]]:
        """Traces, each with the edits that it was made to show."""
        while True:
            by_walk: dict[int, list[tuple[int, str]]] = defaultdict(list)
            for name, places in self.found.items():
                if name not in self.shown:
                    for number, at in places:
                        by_walk[number].append((at, name))
            if not by_walk:
                return
            number = max(by_walk, key=lambda n: (min(TOGETHER, len(by_walk[n])), -n))
            chosen = sorted(by_walk[number])[:TOGETHER]
            parameters, events = self.walks[number]
            trace, names = self._fitting((parameters, events[: chosen[-1][0]]), [n for _, n in chosen])
            if not names:
                for _, name in chosen:
                    self.found[name] = [place for place in self.found[name] if place[0] != number]
                continue
            self.shown |= set(names)
            yield trace, tuple(self.edits[n] for n in names)
            others = [self.edits[n] for n in self.found if n not in self.shown]
            self.shown |= self.showing(trace, others).keys()

    def _fitting(self, trace: Trace, names: Sequence[str]) -> tuple[Trace, Sequence[str]]:
        """The trace minimised, for as many of the edits as one file has room for."""
        while names:
            small = smallest_trace(trace, self._showing_all(names), self.name, MAX_REPLAYS)
            runs = runs_of(small, self.protocol, DICE)
            sure = [n for n in names if latest_departure(runs, self.subject(n)) is not None]
            if sure and self.holds(small) and self._fits(small, sure[0]):
                return small, sure
            names = names[: len(names) // 2]
        return trace, ()

    def _showing_all(self, names: Sequence[str]) -> Callable[[Trace], bool]:
        """Whether all of these edits show in a trace; the one that did not the last time is asked first."""
        order = list(names)
        dice = DICE if len(names) == 1 else DICE[:1]

        def shows(candidate: Trace) -> bool:
            runs = [ReferenceRun(self.protocol, candidate, die) for die in dice]
            for at, name in enumerate(order):
                if latest_departure(runs, self.subject(name)) is None:
                    order.insert(0, order.pop(at))
                    return False
            return True

        return shows

    def holds(self, trace: Trace) -> bool:
        """Whether the model as a router is in order in it with each die."""
        for die in DICE:
            subject = ModelSubject(self.protocol, trace[0], die)
            run = play(trace[1], subject, self.protocol, trace[0])
            if run.blurred or last_departures(run):
                return False
        return True

    def _fits(self, trace: Trace, name: str) -> bool:
        case = case_of(self.name, trace, (self.edits[name],))
        return sum(map(len, body_of(case))) <= MAX_BODY_LINES


def case_of(name: str, trace: Trace, edits: Sequence[SuiteEdit]) -> Case:
    """The case of some edits, with the outputs of one conforming router as an example."""
    protocol = protocol_named(name)
    parameters, events = trace
    run = play(events, ModelSubject(protocol, parameters, 0), protocol, parameters)
    clause = next(r.clause for _, r in protocol.rules() if r.name == edits[0].rule)
    claim = claim_on(clause, protocol)
    finding = Finding(events, tuple(run.moments), Departure("choice", clause), ())
    return from_finding(
        finding,
        reason=reason_of(edits),
        claim=claim.id if claim else clause,
        protocol=name,
        against="any",
        parameters=parameters,
        seed=0,
        found_by="make suite",
        status="suite",
    )


def reason_of(edits: Sequence[SuiteEdit]) -> str:
    """What a router departs by, rule by rule."""
    by_rule: dict[str, list[str]] = defaultdict(list)
    for edit in edits:
        by_rule[edit.rule].append(edit.says)
    said = "; ".join(f"{rule} {', '.join(dict.fromkeys(words))}" for rule, words in by_rule.items())
    return f"A router departs here that has one rule wrong: {said}."


def find_edits(folder: Path, name: str, *, rounds: int) -> None:
    """The cases of the edits of one protocol; those of earlier protocols come first."""
    started = time.process_time()
    search = EditSearch(name)
    search.take_cases(case for _, case in rule_cases(name))
    print(f"{name}: {len(search.edits)} edits, {len(search.shown)} shown by rules", file=sys.stderr)
    cases = read_edit_cases(folder)
    for path, case in cases.items():
        if name not in case.protocols and shared_with(search, path.rpartition("-")[0], case):
            order = tuple(n for n in PROTOCOLS if n in (*case.protocols, name))
            cases[path] = evolve(case, protocols=order)
    write_edit_cases(folder, cases)
    search.take_cases(case.under(name) for case in cases.values() if name in case.protocols)
    print(f"{name}: {len(search.shown)} shown with those of others", file=sys.stderr, flush=True)
    search.walk(rounds)
    found = 0
    for trace, edits in search.cover():
        number = next(n for n in count(1) if f"{edits[0].rule}-{n}" not in cases)
        cases[f"{edits[0].rule}-{number}"] = case_of(name, trace, edits)
        write_edit_cases(folder, cases)
        found += 1
    write_shown(folder, name, search)
    print(
        f"{name}: {len(search.shown)} of {len(search.edits)} shown, {found} new cases, "
        f"{time.process_time() - started:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def write_shown(folder: Path, name: str, search: EditSearch) -> None:
    """What was found out of one protocol's edits, into `EDITS.toml`; what that says of others stays.

    An edit that changed what a rule says in no run at all is not counted.
    """
    path = folder / EDITS_FILE
    tables = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    missed = [e for n, e in search.edits.items() if search.tried[n] and n not in search.shown | search.broken]
    unshown: dict[str, list[str]] = defaultdict(list)
    for edit in missed:
        unshown[edit.rule].append(edit.operator)
    tables[name] = {"edits": len(search.shown) + len(missed), "unshown": unshown}
    lines = ["# Written by `make suite`: the edits of rules that no case of a protocol shows.\n"]
    for protocol in (each for each in PROTOCOLS if each in tables):
        lines.append(f"\n[{protocol!r}]\nedits = {tables[protocol]['edits']}\n\n[{protocol!r}.unshown]\n")
        for rule, operators in tables[protocol]["unshown"].items():
            lines.append(f"{rule} = [\n" + "".join(f'    "{each}",\n' for each in operators) + "]\n")
    path.write_text("".join(lines), encoding="utf-8")


def shared_with(search: EditSearch, rule: str, case: Case) -> bool:
    """Whether a case of another protocol reads the same here, holds, and shows an edit of its first rule."""
    if protocol_named(case.protocols[0]).family != search.protocol.family:
        return False
    trace = parameters_of(case), events_of(case)
    edits = [edit for edit in search.edits.values() if edit.rule == rule]
    known = on_streams_of(trace, search.name)[1] == trace[1]
    return (
        bool(edits)
        and known
        and search.holds(trace)
        and same_body(case, search.name)
        and bool(search.showing(trace, edits))
    )


def same_body(case: Case, name: str) -> bool:
    """Whether the case reads the same under another protocol."""
    trace = parameters_of(case), events_of(case)
    protocol = protocol_named(name)
    run = play(trace[1], ModelSubject(protocol, trace[0], 0), protocol, trace[0])
    finding = Finding(trace[1], tuple(run.moments), Departure("choice", case.clause), ())
    other = from_finding(
        finding, reason=case.reason, claim=case.claim, protocol=name, against="any", parameters=trace[0]
    )
    return body_of(other) == body_of(case)


def main() -> int:
    parser = argparse.ArgumentParser(description="write the suite's cases of edited rules")
    parser.add_argument("folder", type=Path, help="where: properties/suite/cases/edits")
    parser.add_argument("protocols", nargs="*", help="which protocols (default: all)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"walks per rule (default: {ROUNDS})")
    options = parser.parse_args()
    for name in options.protocols or PROTOCOLS:
        find_edits(options.folder, protocol_named(name).name, rounds=options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
