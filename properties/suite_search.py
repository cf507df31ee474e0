"""Find the suite: per rule the shortest trace that tells the protocol from itself without the rule.

Search over the product of the two models: the one without the rule plays the router (or the other way round),
the full one judges, and what departs is minimised while it departs with every die. Run by `make suite`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from quidnunc.model.events import Event
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.cases import from_finding, render
from quidnunc.properties.claims import claim_on
from quidnunc.properties.digits import Digits
from quidnunc.properties.explain import Finding, last_departures, plainer, simplifications
from quidnunc.properties.mempool_neighbours import draw_mempool_neighbours
from quidnunc.properties.neighbours import draw_neighbours
from quidnunc.properties.oracle import Departure, Oracle
from quidnunc.properties.play import Play, Simulated, play
from quidnunc.properties.suite import SEEDS

EVERYTHING = frozenset({"score", "verdict", "stall", "explicit", "flood-publish"})
SECONDS_PER_RULE = 5.0
ENOUGH = 5
"""Traces to minimise per rule; the shortest one is kept."""


def separates(events: Sequence[Event], parameters: Any, subject: Protocol, oracle: Protocol) -> bool:
    """Whether `subject` departs from `oracle` with every die."""
    return all(
        last_departures(play(events, Simulated(subject, parameters, seed), oracle, parameters))
        for seed in SEEDS
    )


def shortest(protocol: Protocol, dropped: Protocol, seed: int) -> tuple[Any, tuple[Event, ...]] | None:
    """The shortest separating trace that the time allows, with its parameters."""
    deadline = time.monotonic() + SECONDS_PER_RULE
    best: tuple[Any, tuple[Event, ...]] | None = None
    found = 0
    number = seed
    while time.monotonic() < deadline and found < ENOUGH:
        number += 1
        subject, oracle = (dropped, protocol) if number % 3 else (protocol, dropped)
        drawn = _trace(subject, oracle, number)
        if drawn is None:
            continue
        parameters, events = drawn
        if not separates(events, parameters, subject, oracle):
            continue
        short = _minimise(events, parameters, subject, oracle, deadline)
        parameters = plainer(parameters, partial(_separates_with, short, subject, oracle))
        found += 1
        if best is None or _size(short) < _size(best[1]):
            best = parameters, short
    return best


def _separates_with(events: Sequence[Event], subject: Protocol, oracle: Protocol, parameters: Any) -> bool:
    return separates(events, parameters, subject, oracle)


def _size(events: Sequence[Event]) -> tuple[int, int]:
    return len(events), sum(len(getattr(e, "peers", ())) for e in events)


def _trace(subject: Protocol, oracle: Protocol, number: int) -> tuple[Any, list[Event]] | None:
    """One random run of `subject` under `oracle`, up to its first departure."""
    digits = Digits(number)
    draw = draw_neighbours if oracle.family == "pubsub" else draw_mempool_neighbours
    neighbours: Any = draw(digits, oracle.name, EVERYTHING)
    run = Play(Simulated(subject, neighbours.parameters, 0), Oracle(oracle, neighbours.parameters))
    events: list[Event] = []
    for _ in range(30):
        for event in neighbours.act(run.oracle.state, digits):
            events.append(event)
            if run.do(event):
                return neighbours.parameters, events
            if run.blurred:
                return None
    return None


def _minimise(
    events: Sequence[Event], parameters: Any, subject: Protocol, oracle: Protocol, deadline: float
) -> tuple[Event, ...]:
    best = list(events)
    changed = True
    while changed and time.monotonic() < deadline + SECONDS_PER_RULE:
        changed = False
        size = max(1, len(best) // 2)
        while size:
            at = 0
            while at < len(best):
                candidate = best[:at] + best[at + size :]
                if candidate and separates(candidate, parameters, subject, oracle):
                    best, changed = candidate, True
                else:
                    at += size
            size //= 2
        for at in range(len(best)):
            for simpler in simplifications(best[at]):
                candidate = [*best[:at], simpler, *best[at + 1 :]]
                if separates(candidate, parameters, subject, oracle):
                    best, changed = candidate, True
                    break
    return tuple(best)


def case_text(name: str, rule: Rule, parameters: Any, events: tuple[Event, ...]) -> str:
    """The suite case of one rule, with the outputs of one conforming router as an example."""
    protocol = protocol_named(name)
    run = play(events, Simulated(protocol, parameters, 0), protocol, parameters)
    claim = claim_on(rule.clause, protocol)
    finding = Finding(events, tuple(run.moments), Departure("choice", rule.clause), ())
    return render(
        from_finding(
            finding,
            reason=f"Without {rule.name.replace('_', ' ')} ({rule.clause}) this would go otherwise.",
            claim=claim.id if claim else rule.clause,
            protocol=name,
            against="any",
            parameters=parameters,
            seed=0,
            found_by="make suite",
            status="suite",
        )
    )


def _one(asked: tuple[str, str, str]) -> tuple[str, str, bool]:
    name, rule_name, folder = asked
    protocol = protocol_named(name)
    rule = next(r for _, r in protocol.rules() if r.name == rule_name)
    found = shortest(protocol, protocol.without_rule(rule_name), seed=sum(rule_name.encode()) * 100_003)
    if found is None:
        return name, rule_name, False
    path = Path(folder, name, f"{rule_name}.case")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(case_text(name, rule, *found), encoding="utf-8")
    return name, rule_name, True


def main() -> int:
    parser = argparse.ArgumentParser(description="write the suite")
    parser.add_argument("folder", help="where: properties/suite")
    parser.add_argument("protocols", nargs="*", help="which protocols (default: all)")
    parser.add_argument("--missing", action="store_true", help="only rules that have no case yet")
    options = parser.parse_args()
    asked = []
    for name in options.protocols or PROTOCOLS:
        for rule_name in {r.name: 0 for _, r in protocol_named(name).rules()}:
            if options.missing and Path(options.folder, name, f"{rule_name}.case").exists():
                continue
            asked.append((name, rule_name, options.folder))
    with Pool() as pool:
        for name, rule_name, ok in pool.imap_unordered(_one, asked):
            print(f"{name} {rule_name}: {'found' if ok else 'NONE'}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
