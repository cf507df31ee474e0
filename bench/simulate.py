"""How fast networks are simulated: events a second, with and without what is done with them.

python bench/simulate.py [--nodes 100] [--messages 40] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quidnunc.pipeline.simulation.run import record_simulation
from quidnunc.pipeline.simulation.scenario.file import scenario_of
from quidnunc.pipeline.simulation.scenario.values import Scenario
from quidnunc.pipeline.simulation.simulator import NetworkSimulation
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import TraceRecord
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.network_check import check_network

PROTOCOLS = ("gossipsub-1.2", "floodsub", "flood", "dog", "cat")
SHOWN = 14


def network(protocol: str, nodes: int, messages: int) -> Scenario:
    """One of that many nodes; each message is of 1 KiB."""
    fields: dict[str, Any] = {
        "nodes": [{"count": nodes, "protocol": protocol}],
        "topology": {"degree": 12},
        "links": {"latency": {"kind": "uniform", "low_ms": 1, "high_ms": 147}, "jitter_ms": 4},
        "traffic": [{"count": messages, "every_s": 0.5, "size_bytes": 1024}],
    }
    return scenario_of(fields, Path("bench"))


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what came of it."""
    started = time.process_time()
    found = call()
    return time.process_time() - started, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--messages", type=int, default=40)
    parser.add_argument("--profile", action="store_true", help="where the time of the first goes")
    options = parser.parse_args()
    print(f"{options.nodes} nodes of degree 12, {options.messages} messages of 1 KiB; thousands a CPU-second")
    print(f"{'protocol':14} {'events':>9} {'events':>8} {'requests':>9}")
    for protocol in PROTOCOLS:
        scenario = network(protocol, options.nodes, options.messages)
        made = NetworkSimulation(scenario, lambda event: None)
        seconds, outcome = timed(made.run)
        rates = f"{outcome.events / seconds / 1e3:8.1f} {outcome.requests / seconds / 1e3:9.1f}"
        print(f"{protocol:14} {outcome.events:9} {rates}", flush=True)
    scenario = network(PROTOCOLS[0], options.nodes, options.messages)
    events: list[TraceEvent] = []
    seconds, _ = timed(lambda: record_simulation(scenario, events.append))
    print(f"{PROTOCOLS[0]} with its metrics: {len(events) / seconds / 1e3:.1f} thousand events a CPU-second")
    seconds, size = timed(lambda: sum(len(line_of(event)) for event in events))
    rate, each = len(events) / seconds / 1e3, size / len(events)
    print(f"as lines: {rate:.1f} thousand a CPU-second, {each:.0f} bytes each")
    records = (TraceRecord(event, Path("bench"), at) for at, event in enumerate(events))
    seconds, reports = timed(lambda: check_network(records))
    steps = sum(report.steps for report in reports.values())
    found = sum(len(report.violations) for report in reports.values())
    print(f"beside the model: {steps / seconds / 1e3:.1f} thousand steps a CPU-second, {found} departures")
    if options.profile:
        _profile(network(PROTOCOLS[0], options.nodes, options.messages))
    return 0


def _profile(scenario: Scenario) -> None:
    made = NetworkSimulation(scenario, lambda event: None)
    profile = cProfile.Profile()
    profile.runcall(made.run)
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(SHOWN)
    print(text.getvalue())


if __name__ == "__main__":
    raise SystemExit(main())
