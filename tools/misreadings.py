"""Misreadings that the model and our router share: does a router that somebody else wrote show them?

    python -m tools.misreadings            every rule, the table on stdout
    python -m tools.misreadings --write    ... and into docs/common-mode.md
    python -m tools.misreadings --named    the rules of `misreadings.toml`, named before they were played

The rules are not chosen: they are all those of gossipsub 1.2 with a case of their own in the fixed suite. Of
each, the rule is taken out of the model; the misreading is planted in our router as well, by the first of its
mutants that breaks the same clause and that a case cannot tell from the misread model. Then each released
router plays the cases of the suite in which it matters, up to so many: those in which our router as it is
departs from the misread model. A router shows the misreading if it does what the specification says and
departs from the misread model. What else can come of it is in `OUTCOMES`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attrs import frozen

from quidnunc.impl.routers import mutants_by_name, open_router
from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.model.edit import dropping
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import Play, WireSubject, play, rejudge
from quidnunc.properties.search.worker import hello_of
from quidnunc.properties.suite.files import rule_cases, suite_of

PROTOCOL = "gossipsub-1.2"
ROUTERS = ("py-libp2p", "go-libp2p-pubsub", "js-libp2p")
MOST_CASES = 6
PAGE = Path(__file__).parents[1] / "docs" / "common-mode.md"
NAMED = Path(__file__).with_suffix(".toml")
BEGIN, END = "<!-- rules: begin -->", "<!-- rules: end -->"
NAMED_MARKS = "<!-- named: begin -->", "<!-- named: end -->"

Outcome: TypeAlias = Literal["shown", "not shown", "departs", "cannot"]
OUTCOMES: Mapping[Outcome, str] = {
    "shown": "does what the specification says, and departs from the misread model",
    "not shown": "does what both allow",
    "departs": "departs from the specification itself in this case",
    "cannot": "cannot play this case: the driver lacks something",
}


@frozen
class Misreading:
    """What came of one rule."""

    rule: str
    clause: str
    mutant: str
    """The mutant of our router that makes the same mistake here; empty where there is none."""
    outcomes: Mapping[str, Outcome]
    """Router -> what it shows; empty where the rule matters in no case."""

    @property
    def shown_by(self) -> tuple[str, ...]:
        return tuple(router for router, outcome in self.outcomes.items() if outcome == "shown")


@frozen
class NamedRules:
    """Rules that were named in a file before they were played."""

    protocol: str
    routers: tuple[str, ...]
    rules: tuple[str, ...]


def named_in_advance() -> tuple[NamedRules, ...]:
    """What `NAMED` has."""
    rows = tomllib.loads(NAMED.read_text(encoding="utf-8"))["named"]
    return tuple(NamedRules(r["protocol"], tuple(r["routers"]), tuple(r["rules"])) for r in rows)


def rules_named(name: str = PROTOCOL) -> tuple[str, ...]:
    return tuple(rule for rule, _ in rule_cases(name))


def departs(router: str, hello: Hello, case: Case, protocol: Protocol, name: str = PROTOCOL) -> bool | None:
    """Whether the router departs from the protocol on the events of the case; None where it cannot."""
    parameters, lacking = fitted_parameters(case, hello)
    if lacking:
        return None
    config = Config(seed=case.seed, protocol=name, parameters=parameters)
    try:
        run = play(events_of(case), WireSubject(open_router(router, config), config), protocol, parameters)
    except (AdapterError, ValueError):
        return None
    return None if run.blurred else bool(last_departures(run))


def outcome(
    router: str, hello: Hello, cases: Sequence[Case], misread: Protocol, name: str = PROTOCOL
) -> Outcome:
    """What the router shows of the misreading: the most that it shows in one of the cases."""
    found: set[Outcome] = set()
    for case in cases:
        beside = departs(router, hello, case, protocol_named(name), name)
        if beside is None:
            found.add("cannot")
        elif beside:
            found.add("departs")
        elif departs(router, hello, case, misread, name):
            return "shown"
        else:
            found.add("not shown")
    return next(each for each in ("not shown", "departs", "cannot") if each in found)


@frozen
class Conforming:
    """Our router as it is, in one case of the suite."""

    case: Case
    parameters: Any
    run: Play

    def departs_from(self, misread: Protocol) -> bool:
        agreed, departures = rejudge(self.run.moments, misread, self.parameters)
        return bool(departures) or agreed < len(self.run.moments)


def conforming_runs(name: str = PROTOCOL) -> Iterator[Conforming]:
    plain, hello = protocol_named(name), hello_of("ours", name)
    for _, case in suite_of(name):
        parameters, lacking = fitted_parameters(case, hello)
        if not lacking:
            config = Config(seed=case.seed, protocol=name, parameters=parameters)
            ours = WireSubject(open_router("ours", config), config)
            yield Conforming(case, parameters, play(events_of(case), ours, plain, parameters))


def planted(clause: str, cases: Sequence[Case], misread: Protocol, of: str = PROTOCOL) -> str:
    """The mutant of our router that misreads the clause as the model without the rule does; or none."""
    plain = protocol_named(of)
    for name, mutant in mutants_by_name().items():
        if mutant.clause != clause:
            continue
        try:
            hello = hello_of(f"ours:{name}", of)
        except (AdapterError, ValueError):
            continue
        for case in cases:
            told = (departs(f"ours:{name}", hello, case, judge, of) for judge in (misread, plain))
            if tuple(told) == (False, True):
                return name
    return ""


def planted_anywhere(cases: Sequence[Case], misread: Protocol, of: str) -> str:
    """A mutant of whatever clause that does what the misread model does in every case; or none."""
    plain = protocol_named(of)
    for name in mutants_by_name():
        try:
            hello = hello_of(f"ours:{name}", of)
        except (AdapterError, ValueError):
            continue
        if any(departs(f"ours:{name}", hello, case, misread, of) is not False for case in cases):
            continue
        if any(departs(f"ours:{name}", hello, case, plain, of) for case in cases):
            return name
    return ""


def named_misreadings() -> Iterator[tuple[NamedRules, tuple[Misreading, ...]]]:
    """What came of the rules that were named in advance. Raises AdapterError where a router is not there."""
    for each in named_in_advance():
        runs, found = tuple(conforming_runs(each.protocol)), []
        for one in misreadings(each.routers, each.protocol, each.rules):
            misread = dropping(one.rule)(protocol_named(each.protocol))
            cases = [run.case for run in runs if run.departs_from(misread)][:MOST_CASES]
            mutant = one.mutant or planted_anywhere(cases, misread, each.protocol)
            found.append(Misreading(one.rule, one.clause, mutant, one.outcomes))
        yield each, tuple(found)


def named_rows(named: NamedRules, found: Sequence[Misreading]) -> str:
    """The numbers and the table of rules that were named in advance."""
    both = [each for each in found if each.mutant]
    seen, alone = [each for each in both if each.shown_by], [each for each in found if not each.mutant]
    by, seen_alone = " or ".join(named.routers), sum(bool(each.shown_by) for each in alone)
    lines = [
        f"{len(found)} rules of `{named.protocol}` were named in advance; of {len(both)} the misreading was "
        f"planted in the model and in our router. **{len(seen)} of these {len(both)} are seen by {by}.** "
        f"Of the {len(alone)} others, planted in the model alone, {seen_alone} are seen.",
        "",
        f"| rule | sentence | in our router | {' | '.join(named.routers)} |",
        f"|---|---|---|{'---|' * len(named.routers)}",
    ]
    for each in found:
        told = " | ".join(each.outcomes.get(router, "no case") for router in named.routers)
        lines.append(f"| `{each.rule}` | `{each.clause}` | {each.mutant or 'no mutant'} | {told} |")
    return "\n".join(lines)


def misreadings(
    routers: Sequence[str] = ROUTERS, name: str = PROTOCOL, rules: Sequence[str] = ()
) -> tuple[Misreading, ...]:
    """Every rule, with what each router shows of it. Raises AdapterError where a router is not there."""
    plain, runs, rules = protocol_named(name), tuple(conforming_runs(name)), rules or rules_named(name)
    hellos = {router: hello_of(router, name, profile="spec") for router in routers}
    clauses = {each.name: each.clause for _, each in plain.rules()}
    found = []
    for at, rule in enumerate(rules, 1):
        misread = dropping(rule)(plain)
        cases = [each.case for each in runs if each.departs_from(misread)]
        told = {
            r: outcome(r, hello, cases[:MOST_CASES], misread, name) for r, hello in hellos.items() if cases
        }
        found.append(Misreading(rule, clauses[rule], planted(clauses[rule], cases, misread, name), told))
        print(f"{at} of {len(rules)}: {rule}, {len(cases)} cases {told}", file=sys.stderr, flush=True)
    return tuple(found)


def page_rows(found: Sequence[Misreading], routers: Sequence[str] = ROUTERS) -> str:
    """The numbers and the table, as the page has them."""
    both = [each for each in found if each.mutant]
    seen = [each for each in both if each.shown_by]
    lines = [
        f"{len(found)} rules; of {len(both)} the misreading was planted in the model and in our router. "
        f"**{len(seen)} of these {len(both)} are seen by at least one released router.**",
        "",
        f"| misreading | rule | sentence | {' | '.join(routers)} |",
        f"|---|---|---|{'---|' * len(routers)}",
    ]
    for each in sorted(both, key=lambda m: (not m.shown_by, m.rule)):
        told = " | ".join(each.outcomes[router] for router in routers)
        lines.append(f"| `{each.mutant}` | `{each.rule}` | `{each.clause}` | {told} |")
    alone = [each for each in found if not each.mutant and each.outcomes]
    seen_alone = sum(bool(each.shown_by) for each in alone)
    idle = [each for each in found if not each.outcomes]
    lines += [
        "",
        f"No mutant of our router makes the same mistake in {len(alone)} more: {_names(alone)}. Planted in "
        f"the model alone, {seen_alone} of these are seen by a released router.",
        "",
        f"Of {len(idle)} more, a model without the rule still allows all that a conforming router does in "
        f"the suite, so that no router can show the misreading: {_names(idle)}.",
    ]
    return "\n".join(lines)


def _names(found: Iterable[Misreading]) -> str:
    return ", ".join(f"`{rule}`" for rule in sorted(each.rule for each in found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.misreadings", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table into docs/common-mode.md")
    parser.add_argument(
        "--named", action="store_true", help="the rules that were named in advance, and no others"
    )
    asked = parser.parse_args()
    if asked.named:
        rows, marks = "\n\n".join(named_rows(*each) for each in named_misreadings()), NAMED_MARKS
    else:
        rows, marks = page_rows(misreadings()), (BEGIN, END)
    print(rows)
    if asked.write:
        begin, end = marks
        between = re.compile(f"{begin}.*{end}", re.DOTALL)
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(between.sub(lambda _: f"{begin}\n\n{rows}\n\n{end}", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
