"""Find the suite: per rule the shortest trace that tells the protocol from itself without the rule.

Search over the product of the two models: the one without the rule plays the router and the full one judges,
or the other way round. What departs is minimised for as long as it departs. Run by `make suite`.

A trace separates *surely* where the one that plays the router departs with every die of `DICE`, and *perhaps*
where it does with some: then the rule makes a difference to the set of what is allowed, and not to each
member of it. A sure trace is kept before any that is not, then one on which a router without the rule departs
before one on which only the model without it would be too strict, and of the same sort the shortest.

"Shortest" is what a bounded search shows, and no proof: of at most `WALKS` random walks of at most 16 acts
beyond a prepared situation, the first `ENOUGH` that separate surely are minimised by deletion. What was found
for the same rule of an earlier protocol is tried first, and walks are made only where it does not separate
surely. A case of a sibling (`SIBLINGS`) that separates surely is taken as it is, which costs neither a walk
nor a replay. All of it is drawn from the rule's name, so that the search gives the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen, mutable

from quidnunc.model.errors import CaseError
from quidnunc.model.events import Advance
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.cases.case import Case, events_of, parameters_of
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.root_cause import Finding
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.suite.run import departs
from quidnunc.properties.suite.shrink import smallest_trace
from quidnunc.properties.suite.simpler_traces import on_streams_of
from quidnunc.properties.suite.traces import DICE, Trace, size_of
from quidnunc.properties.suite.unnoticed import unnoticed_of
from tools.rule_search.comparison import notices, walk
from tools.rule_search.files import read_rule, rules_in, write_rule

WALKS = 1000
KNOWN_SHARE = 4
"""One walk of so many is made where a known trace separates already, but not surely."""
ENOUGH = 3
"""Sure traces to minimise per rule; the shortest one is kept."""
LONG = 30
"""A trace of so many events that does not separate surely is left where a better one is known."""
MAX_REPLAYS = 1500
"""How many candidates the minimiser may try on one trace."""
_PARTIAL = ("partial-messages", "partial-messages-jvm", "partial-messages-go")
SIBLINGS: Mapping[str, Sequence[str]] = {
    **{name: (*(other for other in _PARTIAL if other != name), "gossipsub-1.3") for name in _PARTIAL},
    "dog-adr": ("dog", "dog-adr-prose"),
}
"""Protocol -> those whose cases are tried first as they are: they differ from it in few rules."""


@frozen
class RuleSeparation:
    """A trace on which `subject` departs from `oracle` with at least `least` dice."""

    trace: Trace
    subject: Protocol
    oracle: Protocol
    least: int

    @property
    def surely(self) -> bool:
        return self.least == len(DICE)

    def shown_by(self, trace: Trace) -> bool:
        """Whether `trace` separates the same two as well as this one does."""
        may_fail = len(DICE) - self.least
        shown = 0
        for at, die in enumerate(DICE):
            shown += departs(trace[1], trace[0], self.subject, self.oracle, die)
            if at + 1 - shown > may_fail:
                return False
            if shown >= self.least:
                return True
        return False


def separation(trace: Trace, subject: Protocol, oracle: Protocol) -> RuleSeparation | None:
    """How well the trace separates the two; None where it does not."""
    parameters, events = trace
    shown = sum(departs(events, parameters, subject, oracle, die) for die in DICE)
    if not shown:
        return None
    return RuleSeparation(trace, subject, oracle, len(DICE) if shown == len(DICE) else min(shown, 2))


@mutable
class RuleSearch:
    """The search for one rule of one protocol."""

    protocol: Protocol
    rule: str
    dropped: Protocol = field(init=False)
    best: RuleSeparation | None = None
    sure: int = 0
    tried: int = 0

    def __attrs_post_init__(self) -> None:
        self.dropped = self.protocol.without_rule(self.rule)

    def run(self, known: Sequence[Trace], walks: int) -> RuleSeparation | None:
        """The best separation of `known` traces and of at most `walks` random ones."""
        for trace in known:
            for pair in self._pairs():
                self._take(separation(trace, *pair))
        if self.sure:
            return self.best
        if self.best is not None:
            walks //= KNOWN_SHARE
        seed = sum(byte * 257**at for at, byte in enumerate(self.rule.encode()[:6]))
        for number in range(walks):
            if self.sure >= ENOUGH:
                break
            self.tried += 1
            subject, oracle = self._pairs()[number % 2]
            drawn = walk(subject, oracle, self.rule, seed + number)
            self._take(None if drawn is None else separation(drawn, subject, oracle))
        return self.best

    def _pairs(self) -> tuple[tuple[Protocol, Protocol], tuple[Protocol, Protocol]]:
        return (self.dropped, self.protocol), (self.protocol, self.dropped)

    def _take(self, found: RuleSeparation | None) -> None:
        """Minimise what was found, and keep it if it is the best so far."""
        if found is None:
            return
        best = self.best
        if best is not None and not found.surely and (best.surely or len(found.trace[1]) >= LONG):
            return
        found = minimised(found, self.protocol.name)
        self.sure += found.surely
        for each in (found, self._seen_later(found)):
            if each is not None and (self.best is None or self._rank(each) < self._rank(self.best)):
                self.best = each

    def _seen_later(self, found: RuleSeparation) -> RuleSeparation | None:
        """Where the model without the rule accuses what conforms: the same, as a router without the rule
        shows it, when what it owes falls due."""
        if found.subject is self.dropped:
            return None
        parameters, events = found.trace
        later = parameters, (*events, Advance(1000))
        turned = separation(later, self.dropped, self.protocol)
        return minimised(turned, self.protocol.name) if turned is not None else None

    def _rank(self, found: RuleSeparation) -> tuple[Any, ...]:
        """A router that lacks the rule is to be caught; then whatever tells the two apart."""
        catches = found.subject is self.dropped
        return (not found.surely, not catches, *size_of(found.trace))


def minimised(found: RuleSeparation, protocol: str) -> RuleSeparation:
    """Fewer and smaller events, plain values and default parameters, names in order."""
    trace = smallest_trace(found.trace, found.shown_by, protocol, MAX_REPLAYS)
    small = RuleSeparation(trace, found.subject, found.oracle, found.least)
    # What is left of a trace may separate better than the whole of it.
    return small if found.surely else separation(trace, found.subject, found.oracle) or small


def case_of(name: str, rule: Rule, found: RuleSeparation) -> Case:
    """The suite case of one rule, with the outputs of one conforming router as an example."""
    protocol = protocol_named(name)
    parameters, events = found.trace
    run = play(events, ModelSubject(protocol, parameters, 0), protocol, parameters)
    claim = claim_on(rule.clause, protocol)
    finding = Finding(events, tuple(run.moments), Departure("choice", rule.clause), ())
    return from_finding(
        finding,
        reason=_reason(rule, found, protocol),
        claim=claim.id if claim else rule.clause,
        protocol=name,
        against="any",
        parameters=parameters,
        seed=0,
        found_by="make suite",
        status="suite",
    )


def _reason(rule: Rule, found: RuleSeparation, protocol: Protocol) -> str:
    words = f"{rule.name.replace('_', ' ')} ({rule.clause})"
    how = "departs" if found.surely else "may depart"
    if found.oracle is protocol:
        return f"A router without {words} {how} here."
    return f"Without {words} the model would be too strict here: a router that conforms {how} from it."


def _kept(case: Case | None, protocol: Protocol, rule: str) -> Trace | None:
    """The trace of the case that is there, where it still separates."""
    if case is None or not notices(case, protocol, protocol.without_rule(rule)):
        return None
    return parameters_of(case), events_of(case)


def carried_trace(protocol: Protocol, rule: str, traces: Sequence[Trace]) -> RuleSeparation | None:
    """The first trace on which a router without the rule surely departs, as it is; else the first on which
    the model without it is surely too strict. None where there is neither."""
    dropped = protocol.without_rule(rule)
    for pair in ((dropped, protocol), (protocol, dropped)):
        for trace in traces:
            found = separation(on_streams_of(trace, protocol.name), *pair)
            if found is not None and found.surely:
                return found
    return None


def _of_siblings(known: Mapping[str, Case], name: str, others: Sequence[str]) -> list[Trace]:
    """The traces of the siblings' cases of a rule, of those among `others`."""
    cases = [known[other] for other in SIBLINGS.get(name, ()) if other in others and other in known]
    return [(parameters_of(case), events_of(case)) for case in cases]


def find_rule(folder: Path, rule_name: str, names: Sequence[str], *, walks: int, anew: bool) -> None:
    """The cases of one rule, in each of the protocols `names` that has it; what is there and good is kept."""
    cases = read_rule(folder, rule_name)
    traces: list[Trace] = []
    for at, name in enumerate(names):
        protocol = protocol_named(name)
        rule = next((r for _, r in protocol.rules() if r.name == rule_name), None)
        if rule is None or rule_name in unnoticed_of(name):
            continue
        kept = _kept(cases.get(name), protocol, rule_name)
        if kept is not None and not anew:
            traces.append(kept)
            continue
        search = RuleSearch(protocol, rule_name)
        started = time.process_time()
        # Anew, only what this search has found goes on to the siblings.
        near = _of_siblings(cases, name, names[:at] if anew else tuple(PROTOCOLS))
        found = carried_trace(protocol, rule_name, near)
        if found is None:
            found = search.run([on_streams_of(trace, name) for trace in (*near, *traces)], walks)
        said = f"{name} {rule_name}: {search.tried} walks, {time.process_time() - started:.1f} s"
        if found is None:
            print(f"{said}: NONE", file=sys.stderr, flush=True)
            # What a longer search has found is not given up for a shorter one.
            if kept is None:
                cases.pop(name, None)
            continue
        traces.append(found.trace)
        cases[name] = case_of(name, rule, found)
        how = "surely" if found.surely else "perhaps"
        print(f"{said}: {len(found.trace[1])} events, {how}", file=sys.stderr, flush=True)
    write_rule(folder, rule_name, cases)


def _without_stale(folder: Path, names: Sequence[str]) -> None:
    """Cases of rules that are no more, or that nothing tells apart, go."""
    has = {n: {r.name for _, r in protocol_named(n).rules()} - unnoticed_of(n).keys() for n in names}
    for rule in rules_in(folder):
        cases = read_rule(folder, rule)
        stale = [name for name in names if name in cases and rule not in has[name]]
        for name in stale:
            print(f"{name} {rule}: no such rule any more, removed", file=sys.stderr)
            del cases[name]
        if stale:
            write_rule(folder, rule, cases)


def main() -> int:
    parser = argparse.ArgumentParser(description="write the suite; cases that are good are kept")
    parser.add_argument("folder", type=Path, help="where: properties/suite/cases")
    parser.add_argument("protocols", nargs="*", help="which protocols (default: all)")
    parser.add_argument("--anew", action="store_true", help="find every case anew")
    parser.add_argument("--rule", action="append", help="only this rule")
    parser.add_argument("--walks", type=int, default=WALKS, help=f"at most so many (default: {WALKS})")
    options = parser.parse_args()
    names = [protocol_named(name).name for name in options.protocols or PROTOCOLS]
    rules = {r.name: 0 for name in names for _, r in protocol_named(name).rules()}
    try:
        _without_stale(options.folder, names)
        for rule_name in options.rule or rules:
            find_rule(options.folder, rule_name, names, walks=options.walks, anew=options.anew)
    except CaseError as error:
        print(f"mend the file, or take it out: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
