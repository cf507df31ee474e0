"""Failures of a simulated network made small: a case of one router, or a smaller network.

A node's events, played to a router of its kind alone, mostly depart again, and then the search's own
minimiser makes a case of them. What needs its neighbours does not; its network is cut down instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs
from attrs import evolve

from quidnunc.impl.seam import AdapterError
from quidnunc.model.events import Event
from quidnunc.model.machine import protocol_named
from quidnunc.model.rpc import says_more
from quidnunc.pipeline.simulation.run import record_simulation
from quidnunc.pipeline.simulation.scenario.file import scenario_text
from quidnunc.pipeline.simulation.scenario.values import NodeGroup, Scenario, ScenarioError, Topology
from quidnunc.pipeline.simulation.topology import Edge, edges_of
from quidnunc.pipeline.trace.events import TraceEvent
from quidnunc.pipeline.trace.files import TraceRecord
from quidnunc.pipeline.trace.network import NodeReplay, judge_node, network_runs
from quidnunc.pipeline.trace.network_check import NodeKindReport
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import messages_in, play, same_act
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.worker import answer_of, opener_of

MAX_TRIES = 40
"""Smaller networks that are run for one failure."""
Progress = Callable[[str], None]


def write_smaller(
    scenario: Scenario, report: NodeKindReport, folder: Path, progress: Progress
) -> Iterator[Path]:
    """A file for each distinct cause among the nodes of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, judged in enumerate(report.departed):
        progress(f"making failure {number + 1} of {len(report.departed)} smaller")
        router = report.router.replace(":", "-").replace("/", "-")
        name = f"{report.protocol}-{router}-{number + 1}"
        text = case_of(judged)
        if text is not None:
            path = folder / f"{name}.case"
        else:
            smaller = smaller_network(scenario, judged, progress)
            text, path = scenario_text(smaller), folder / f"{name}.{'json' if smaller.script else 'yaml'}"
        path.write_text(text, encoding="utf-8")
        yield path


# -- one router ---------------------------------------------------------------------------------------------


def case_of(judged: NodeReplay) -> str | None:
    """The text of a minimised case; None where the router does not do it again alone."""
    node = judged.node
    protocol = protocol_named(node.config.protocol)
    parameters = node.config.parameters
    events = renamed_events([moment.event for moment in judged.moments])
    hunt = FindingSearch(protocol.name, opener_of(node.kind.router), node.kind.hello)
    try:
        subject = hunt.opener(hunt.config(parameters, node.config.seed))
        subject.declare(messages_in(events))
        run = play(events, subject, protocol, parameters)
    except (AdapterError, ValueError):
        return None
    departures = last_departures(run)
    if not any(same_act(d, judged.departures[0]) for d in departures):
        return None
    hunt.file(events, departures, parameters, node.config.seed)
    asked = {"protocol": protocol.name, "against": node.kind.router, "profile": "spec"}
    roots = answer_of(asked, hunt, node.kind.hello)["roots"]
    if not roots:
        return None
    return render(evolve(parse(roots[0]["case"]), found_by="quidnunc simulate --check --cases"))


_IDS = frozenset({"id", "ids"})


def renamed_events(events: Sequence[Event]) -> list[Event]:
    """The events with peers counted from 1 and messages named m1, m2, ... as they come. A transaction whose
    name says something keeps it."""
    peers: dict[int, int] = {0: 0}
    ids: dict[str, str] = {}

    def peer(number: int) -> int:
        return peers.setdefault(number, len(peers))

    def name(text: str) -> str:
        return text if says_more(text) else ids.setdefault(text, f"m{len(ids) + 1}")

    def of(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(of(each) for each in value)
        if not attrs.has(type(value)):
            return value
        changes: dict[str, Any] = {}
        for field in attrs.fields(type(value)):
            held = getattr(value, field.name)
            if field.name in ("peer", "author"):
                changes[field.name] = None if held is None else peer(held)
            elif field.name == "peers":
                changes[field.name] = tuple(map(peer, held))
            elif field.name in _IDS:
                changes[field.name] = tuple(map(name, held)) if isinstance(held, tuple) else name(held)
            elif isinstance(held, tuple) or attrs.has(type(held)):
                changes[field.name] = of(held)
        return evolve(value, **changes)

    return [of(event) for event in events]


# -- a network ----------------------------------------------------------------------------------------------


def smaller_network(scenario: Scenario, judged: NodeReplay, progress: Progress) -> Scenario:
    """A network with fewer nodes and less to say, in which a node of that kind departs in the same way.

    The network itself where nothing smaller does.
    """
    tries = 0

    def fails(candidate: Scenario) -> bool:
        nonlocal tries
        tries += 1
        progress(f"making the network smaller: try {tries}, {candidate.node_count} nodes")
        try:
            return still_departs(candidate, judged)
        except (ScenarioError, AdapterError):
            return False

    best = explicit_scenario(scenario)
    at_s = judged.node.told[judged.sequence].at_ms / 1000
    for end_s in (at_s + 0.5, at_s + 2):
        shorter = evolve(best, duration_s=end_s)
        if end_s < best.end_s and fails(shorter):
            best = shorter
            break
    chunk = best.node_count // 2
    while chunk >= 1 and tries < MAX_TRIES:
        start = 0
        while start < best.node_count and best.node_count > 1 and tries < MAX_TRIES:
            gone = set(range(start, min(start + chunk, best.node_count)))
            candidate = without_nodes(best, gone)
            if candidate is not None and fails(candidate):
                best = candidate
            else:
                start += chunk
        chunk //= 2
    for at in range(len(best.traffic)):
        while best.traffic[at].count > 1 and tries < MAX_TRIES:
            traffic = list(best.traffic)
            traffic[at] = evolve(traffic[at], count=traffic[at].count // 2)
            candidate = evolve(best, traffic=tuple(traffic))
            if not fails(candidate):
                break
            best = candidate
    return best


def still_departs(scenario: Scenario, judged: NodeReplay) -> bool:
    """Whether some node of the same kind departs in that network by the same act."""
    events: list[TraceEvent] = []
    record_simulation(scenario, events.append)
    records = (TraceRecord(event, Path("run"), at) for at, event in enumerate(events))
    router, protocol = judged.node.kind.router, judged.node.config.protocol
    for run in network_runs(records):
        alike = [n for n in run.nodes if (n.kind.router, n.config.protocol) == (router, protocol)]
        if any(_same(judge_node(node).departures, judged.departures[0]) for node in alike):
            return True
    return False


def _same(found: Iterable[Departure], wanted: Departure) -> bool:
    return any(same_act(d, wanted) for d in found)


def explicit_scenario(scenario: Scenario) -> Scenario:
    """The same network with every node in a group of its own, and its edges written out."""
    groups: list[NodeGroup] = [evolve(g, count=1) for g in scenario.nodes for _ in range(g.count)]
    if scenario.mixed:
        Random(f"{scenario.seed}/groups").shuffle(groups)
    edges = edges_of(scenario.topology, len(groups), scenario.seed)
    return evolve(scenario, nodes=tuple(groups), mixed=False, topology=_written_out(edges))


def _written_out(edges: Sequence[Edge]) -> Topology:
    own = any(edge.latency_ms is not None for edge in edges)
    return Topology(
        kind="edges",
        edges=tuple((edge.dialler, edge.other) for edge in edges),
        latencies_ms=tuple(edge.latency_ms for edge in edges) if own else (),
    )


def without_nodes(scenario: Scenario, gone: set[int]) -> Scenario | None:
    """An explicit network less some nodes; None where it names them elsewhere."""
    kept = [n for n in range(scenario.node_count) if n not in gone]
    if not kept or scenario.script or any(isinstance(t.publishers, tuple) for t in scenario.traffic):
        return None
    if any(isinstance(t.subscribers, tuple) for t in scenario.topics):
        return None
    number = {old: new for new, old in enumerate(kept)}
    edges = [
        Edge(number[e.dialler], number[e.other], e.latency_ms)
        for e in edges_of(scenario.topology, scenario.node_count, scenario.seed)
        if e.dialler in number and e.other in number
    ]
    nodes = tuple(scenario.nodes[n] for n in kept)
    return evolve(scenario, nodes=nodes, topology=_written_out(edges))
