"""The page of a simulated network: figures, the nodes against the model, and the network over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from quidnunc import __version__
from quidnunc.output import UsageError, count
from quidnunc.pipeline.simulation.run import SimulationResult
from quidnunc.pipeline.trace.files import TraceReader, read_trace
from quidnunc.pipeline.trace.history import NetworkHistory, history_of
from quidnunc.pipeline.trace.metrics import RunMetrics
from quidnunc.pipeline.trace.network_check import NodeKindReport
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.reports.network import chosen_verdicts
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import VERDICTS
from quidnunc.reports.pages.network_drawing import drawn_network
from quidnunc.reports.pages.page import MAX_PAGE_BYTES, SIGNS

SHOWN = 10
LATENCY_FROM = {"publish": "publication", "first": "the first delivery"}
Reports = Mapping[tuple[str, str], NodeKindReport]


@frozen
class NodeCause:
    """One departure of nodes of one kind."""

    router: str
    clause: str
    cause: str
    nodes: int
    first: str


def simulation_page(
    result: SimulationResult, run: Path, reports: Reports, again: str, cases: Sequence[str] = ()
) -> str:
    """The page of a run that stands in the folder `run`. `reports` is empty where nodes were not checked.

    Raises UsageError where the run is too large for a page, ScenarioError where nodes cannot be laid out.
    """
    scenario, outcome, metrics = result.scenario, result.outcome, result.metrics
    facts = [
        ", ".join(
            f"{each.count} nodes of {each.protocol} ({each.router})" for each in scenario.nodes[:SHOWN]
        ),
        f"{count(outcome.connections, 'connection')}, {outcome.simulated_s:g} s, seed {scenario.seed}",
        f"{count(outcome.messages, 'message')}, {outcome.events:,} events",
        *_figures(metrics),
        *([f"{outcome.lost_rpcs} RPCs were lost on the way"] if outcome.lost_rpcs else []),
    ]
    failures = [f"node {node} failed: {words}" for node, words in list(outcome.failed.items())[:SHOWN]]
    if outcome.unsent:
        failures.append(f"{outcome.unsent} messages not sent: no node could send them, or the run was over")
    unchecked = [*metrics.lacking] if reports else ["the nodes against the model (--check)", *metrics.lacking]
    return _page(
        title=f"Network “{scenario.name}”",
        history=_history(read_trace(run), outcome.nodes),
        reports=reports,
        facts=[*facts, *(f"a smaller network with the failure: {each}" for each in cases)],
        failures=failures,
        unchecked=unchecked,
        tables=_tables(metrics),
        again=again,
    )


def checked_network_page(traces: Iterable[Path], reports: Reports, pattern: str, again: str) -> str:
    """The page of `trace check` of a simulated network. Raises as `simulation_page`."""
    nodes = sum(each.nodes for each in reports.values())
    return _page(
        title="A simulated network, checked",
        history=_history(read_trace(*traces), nodes),
        reports=reports,
        facts=[
            f"{count(each.nodes, 'node')} of {each.protocol} ({each.router}), {count(each.steps, 'step')}"
            for each in reports.values()
        ],
        again=again,
        pattern=pattern,
    )


def _history(trace: TraceReader, nodes: int) -> NetworkHistory:
    try:
        return history_of(trace.events(), nodes)
    except TraceError as error:
        raise UsageError(f"no page: {error}") from None


def _page(
    *,
    title: str,
    history: NetworkHistory,
    reports: Reports,
    facts: Sequence[str],
    failures: Sequence[str] = (),
    unchecked: Sequence[str] = (),
    tables: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (),
    again: str,
    pattern: str = "*",
) -> str:
    claims = [v for report in reports.values() for v in chosen_verdicts(report, pattern)]
    verdicts = Counter(each.verdict for each in claims)
    order = [*VERDICTS, *verdicts]
    text = rendered(
        "simulation.html",
        title=title,
        drawn=drawn_network(history),
        verdicts=sorted(verdicts.items(), key=lambda each: order.index(each[0])),
        causes=_causes(reports),
        facts=facts,
        failures=failures,
        unchecked=[*((line, []) for line in unchecked), *_never(reports, pattern)],
        tables=tables,
        signs=SIGNS,
        again=again,
        tool_version=__version__,
    )
    size = len(text.encode())
    if size > MAX_PAGE_BYTES:
        raise UsageError(
            f"the page would have {size / 1e6:.1f} MB, and the limit is {MAX_PAGE_BYTES / 1e6:.0f} MB: "
            "simulate fewer nodes"
        )
    return text


def _figures(metrics: RunMetrics) -> list[str]:
    ratio = "unknown" if metrics.delivery_ratio is None else f"{metrics.delivery_ratio:.4f}"
    copies = "unknown" if metrics.copies is None else f"{metrics.copies:.3f}"
    found = [f"delivery ratio {ratio}; copies per delivery {copies}"]
    if metrics.latency_ms is not None:
        shown = ", ".join(f"{name} {value:.1f} ms" for name, value in metrics.latency_ms.items())
        found.append(f"latency from {LATENCY_FROM[metrics.latency_from]}: {shown}")
    return found


def _tables(metrics: RunMetrics) -> list[tuple[str, list[tuple[str, str]]]]:
    hops = [(count(hop, "link"), f"{number:,} deliveries") for hop, number in sorted(metrics.hops.items())]
    sent = [
        (kind, f"{number:,} items, {metrics.bytes_sent.get(kind, 0):,} bytes")
        for kind, number in sorted(metrics.sent.items())
    ]
    return [each for each in (("How far from the publisher", hops), ("What was sent", sent)) if each[1]]


def _causes(reports: Reports) -> list[NodeCause]:
    found = []
    for report in reports.values():
        for (clause, cause), nodes in sorted(report.causes.items()):
            v = next((v for v in report.violations if v.key == (clause, cause)), None)
            first = f"node {v.node}, {v.at_ms / 1000:g} s: {v.witness}" if v else ""
            found.append(NodeCause(report.router, clause, cause, nodes, first))
    return found


def _never(reports: Reports, pattern: str) -> list[tuple[str, list[str]]]:
    """What was not checked, with the claims that it is about."""
    found: list[tuple[str, list[str]]] = []
    for report in reports.values():
        kind = f"{report.protocol} ({report.router})"
        never = [v.claim.id for v in chosen_verdicts(report, pattern) if v.verdict == "inconclusive"]
        if never:
            found.append((f"{kind}: {count(len(never), 'claim')} never applied", never))
        if report.blurred:
            found.append(
                (f"{kind}: {count(report.blurred, 'replay')} ended at a choice that outputs do not show", [])
            )
    return found
