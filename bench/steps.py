"""How fast the machine plays: steps per second beside an empty Hypothesis machine, and runs per second.

`python bench/steps.py [--runs N] [--against ROUTER]`. Every figure is of CPU time of one process on one core,
all of one run on one machine. A burst of k counts k steps, in both machines.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from typing import Any

import hypothesis
from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from quidnunc.impl.seam import AdapterError
from quidnunc.properties import neighbours
from quidnunc.properties.machine import ACTS_PER_RUN, Hunt, search
from quidnunc.properties.worker import hello_of, opener_of


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


def whole_machine(protocol: str, against: str, runs: int, **fixed: Any) -> dict[str, float]:
    """The full machine against a router, with some parameters held: steps and runs per second."""
    kept = neighbours.draw_parameters

    def drawn(*arguments: Any) -> Any:
        return evolve(kept(*arguments), **fixed)

    hunt = Hunt(protocol, opener_of(against), hello_of(against, protocol))
    neighbours.draw_parameters = drawn if fixed else kept
    try:
        started = time.process_time()
        search(hunt, runs=runs, seed=1)
        seconds = time.process_time() - started
    finally:
        neighbours.draw_parameters = kept
    return {
        "runs": hunt.runs,
        "steps": hunt.steps,
        "seconds": round(seconds, 2),
        "steps_per_s": round(hunt.steps / seconds, 1),
        "runs_per_s": round(hunt.runs / seconds, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--against", default="ours")
    options = parser.parse_args()
    acts, seconds = empty_machine(options.runs)
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "hypothesis": hypothesis.__version__,
        "empty": {"acts_per_s": round(acts / seconds, 1), "seconds": round(seconds, 2)},
    }
    unsigned = {"signature_policy": "StrictNoSign", "message_id": "content"}
    try:
        result["ours, unsigned"] = whole_machine("gossipsub-1.2", "ours", options.runs, **unsigned)
        result["ours, unsigned, without score parameters"] = whole_machine(
            "gossipsub-1.2", "ours", options.runs, scores=None, **unsigned
        )
        result["ours, signed"] = whole_machine(
            "gossipsub-1.2", "ours", options.runs, signature_policy="StrictSign", message_id="origin"
        )
        if options.against != "ours":
            result[options.against] = whole_machine("gossipsub-1.2", options.against, options.runs)
    except (AdapterError, ValueError) as error:
        print(error, file=sys.stderr)
    empty = acts / seconds
    for figures in result.values():
        if isinstance(figures, dict) and "steps_per_s" in figures:
            figures["ratio_to_empty"] = round(figures["steps_per_s"] / empty, 2)
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
