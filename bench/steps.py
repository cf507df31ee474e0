"""How fast the machine plays: steps per second beside acts of an empty Hypothesis machine.

`python bench/steps.py [--rounds N] [--runs N] [--against ROUTER]`. Every figure is of CPU time of one process
on one core. The machines take turns, because the speed of a shared core changes within seconds: a ratio is
that of one round, and what is told is the median of the rounds. A burst of k counts k steps.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import time
from typing import Any

import hypothesis
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from quidnunc.impl.seam import AdapterError
from quidnunc.properties.neighbours import pubsub as neighbours
from quidnunc.properties.search.machine import ACTS_PER_RUN, FindingSearch, search
from quidnunc.properties.search.worker import hello_of, opener_of


def empty_machine(runs: int) -> tuple[int, float]:
    """Rules of the same shapes that do nothing: what Hypothesis itself costs. (acts, seconds)"""
    acts = 0

    class Empty(RuleBasedStateMachine):
        @initialize(number=st.integers(0, 2**63 - 1))
        def start(self, number: int) -> None:
            pass

        @rule(number=st.integers(0, 2**63 - 1))
        def act(self, number: int) -> None:
            nonlocal acts
            acts += 1

    settings = hypothesis.settings(
        max_examples=runs,
        stateful_step_count=ACTS_PER_RUN,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    started = time.process_time()
    run_state_machine_as_test(hypothesis.seed(1)(Empty), settings=settings)
    return acts, time.process_time() - started


def whole_machine(protocol: str, against: str, runs: int, seed: int, **fixed: Any) -> float:
    """Steps per second of the full machine against a router, with some parameters held."""
    kept = neighbours.draw_parameters

    def drawn(*arguments: Any) -> Any:
        return evolve(kept(*arguments), **fixed)

    hunt = FindingSearch(protocol, opener_of(against), hello_of(against, protocol))
    neighbours.draw_parameters = drawn if fixed else kept
    try:
        started = time.process_time()
        search(hunt, runs=runs, seed=seed)
        seconds = time.process_time() - started
    finally:
        neighbours.draw_parameters = kept
    return hunt.steps / seconds


def in_turn(rounds: int, runs: int, against: str) -> list[dict[str, float]]:
    """What each machine does a second, round by round: acts of the empty one, steps of the others."""
    unsigned = {"signature_policy": "StrictNoSign", "message_id": "content"}
    found = []
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        acts, seconds = empty_machine(runs)
        plays: dict[str, dict[str, Any]] = {
            "ours, unsigned": {**unsigned},
            "ours, unsigned, without score parameters": {**unsigned, "scores": None},
            "ours, signed": {"signature_policy": "StrictSign", "message_id": "origin"},
        }
        rates = {"empty": acts / seconds}
        for name, fixed in plays.items():
            rates[name] = whole_machine("gossipsub-1.2", "ours", runs, number, **fixed)
        if against != "ours":
            rates[against] = whole_machine("gossipsub-1.2", against, runs, number)
        found.append(rates)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=60, help="of each machine in each round")
    parser.add_argument("--against", default="ours")
    options = parser.parse_args()
    # As in the worker processes of a campaign, and for the empty machine too.
    gc.set_threshold(20_000, 20, 20)
    try:
        found = in_turn(options.rounds, options.runs, options.against)
    except (AdapterError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    result: dict[str, Any] = {"python": platform.python_version(), "hypothesis": hypothesis.__version__}
    for name in found[0]:
        ratios = [rates[name] / rates["empty"] for rates in found]
        result[name] = {
            "per_s": round(statistics.median(rates[name] for rates in found), 1),
            "ratio_to_empty": round(statistics.median(ratios), 2),
            "least": round(min(ratios), 2),
            "most": round(max(ratios), 2),
        }
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
