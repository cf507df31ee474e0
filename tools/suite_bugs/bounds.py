"""Writes the cases at bounds anew: `python -m tools.suite_bugs.bounds properties/suite/cases/bounds`.

Their events are written by hand: edit those of a file, or its list of protocols, and run this. It fills in
the outputs of the model and the planted bugs that show. A protocol in which a case reads otherwise gets a
file of its own; one in which none of its planted bugs shows is left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from quidnunc.impl.mutant import Mutant
from quidnunc.model.errors import CaseError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.cases.file import body_of
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from quidnunc.properties.suite.traces import Trace
from tools.rule_search.files import read_rule, rules_in, write_rule
from tools.suite_bugs.files import bug_case
from tools.suite_bugs.kills import PlayedTrace, holds, shown_in
from tools.suite_power import planted_by_protocol

FOUND_BY = "hand"


@frozen(eq=False)
class BoundCase:
    """One case under the protocols in which it reads the same."""

    bound: str
    reason: str
    trace: Trace
    protocols: tuple[str, ...]
    bugs: tuple[str, ...]
    """The planted bugs of these protocols that show in it."""


def cases_at(bound: str, cases: Mapping[str, Case]) -> Iterator[BoundCase]:
    """Those of one bound. Raises ValueError where a router that keeps to the protocol fails one."""
    planted = planted_by_protocol()
    alike: dict[str, list[str]] = {}
    for name, case in cases.items():
        trace = _trace_of(case)
        if not (PlayedTrace(name, trace).in_order and holds(trace, protocol_named(name))):
            raise ValueError(f"{bound}: a conforming router departs under {name}, or a choice cannot be seen")
        alike.setdefault(repr(body_of(bug_case(name, trace, case.reason, (), FOUND_BY))), []).append(name)
    for names in alike.values():
        case = cases[names[0]]
        trace = _trace_of(case)
        bugs = [b for name in names for b in shown_in(PlayedTrace(name, trace), planted.get(name, ()))]
        if bugs:
            yield BoundCase(bound, case.reason, trace, tuple(names), tuple(bugs))


def _trace_of(case: Case) -> Trace:
    return parameters_of(case), events_of(case)


def written(each: BoundCase, shown: Mapping[str, int]) -> dict[str, Case]:
    """Protocol -> the case. It is about the bug that shows in fewest cases, of those whose clause belongs to
    the same claim in most of the protocols."""
    rare = sorted(each.bugs, key=lambda bug: (shown[bug], bug))
    alike = {bug: _of_one_claim(mutant_named(bug), each.protocols) for bug in rare}
    first = max(rare, key=lambda bug: len(alike[bug]))
    bugs = [first, *(bug for bug in rare if bug != first)]
    case = bug_case(alike[first][0], each.trace, each.reason, bugs, FOUND_BY)
    return {name: evolve(case, protocols=name) for name in alike[first]}


def _of_one_claim(bug: Mutant, names: Sequence[str]) -> list[str]:
    """The protocols in which the clause of a bug belongs to the same claim as in its own."""
    claims = {name: claim_on(bug.clause, protocol_named(name)) for name in names}
    own = claim_on(bug.clause, protocol_named(protocol_of_mutant(bug)))
    return [name for name, claim in claims.items() if (claim and claim.id) == (own and own.id)]


def write_bounds(folder: Path) -> Counter[str]:
    """Write all of a folder anew; how many cases show each bug."""
    found = [each for bound in rules_in(folder) for each in cases_at(bound, read_rule(folder, bound))]
    shown = Counter(bug for each in found for bug in each.bugs)
    by_bound: dict[str, dict[str, Case]] = {bound: {} for bound in rules_in(folder)}
    for each in found:
        by_bound[each.bound] |= written(each, shown)
    for bound, cases in by_bound.items():
        write_rule(folder, bound, cases)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description="write the suite's cases at bounds anew")
    parser.add_argument("folder", type=Path, help="where: properties/suite/cases/bounds")
    try:
        shown = write_bounds(parser.parse_args().folder)
    except CaseError as error:
        print(f"nothing was written: {error}", file=sys.stderr)
        return 2
    print(f"{len(shown)} planted bugs show", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
