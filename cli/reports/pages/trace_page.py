"""The page of a run that `quidnunc ingest` made: what was measured, which claims fail, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc import __version__
from quidnunc.output import count
from quidnunc.pipeline.lake.gold.curves import RunCurves, curves_of
from quidnunc.pipeline.lake.gold.stored import stored_claims, stored_metrics, stored_violations
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.page import SIGNS
from quidnunc.reports.pages.plots import Line, apart, bar_plot, line_plot

MAX_RUNS = 8
MAX_SHOWN = 10
"""Violations of one claim."""


@frozen(kw_only=True)
class Picture:
    """One plot: what it shows, and how to read it."""

    title: str
    says: str
    svg: str


@frozen(kw_only=True)
class RunSection:
    """One run of a folder."""

    name: str
    facts: Sequence[tuple[str, str]]
    pictures: Sequence[Picture]
    notes: Sequence[str]
    """What was not measured, or with a reservation."""
    curves: RunCurves


def trace_page(gold: Path, manifest: Mapping[str, Any], again: str) -> str:
    """The page of a folder of gold and the manifest of its run; `again` is the command that made it.

    Raises UsageError where matplotlib is not there, TraceError for a folder that is not whole.
    """
    metrics = stored_metrics(gold)
    # Those that are of no protocol of the trace are not asked, and listed nowhere.
    claims = [claim for claim in stored_claims(gold) if claim["asked"]]
    violations: dict[str, list[Mapping[str, Any]]] = {}
    for each in stored_violations(gold):
        violations.setdefault(each["claim"], []).append(each)
    order = {"fails": 0, "deviates": 1, "observed": 2, "undecided": 3, "inconclusive": 4}
    return rendered(
        "trace.html",
        manifest=manifest,
        sections=[_section(gold, each) for each in metrics[:MAX_RUNS]],
        more_runs=len(metrics) - MAX_RUNS,
        claims=sorted(claims, key=lambda claim: order.get(claim["verdict"], 9)),
        violations=violations,
        max_shown=MAX_SHOWN,
        signs=SIGNS,
        count=count,
        apart=apart,
        again=again,
        tool_version=__version__,
    )


def _section(gold: Path, metrics: Mapping[str, Any]) -> RunSection:
    curves = curves_of(gold, metrics)
    return RunSection(
        name=metrics["run"] or "The whole trace",
        facts=_facts(metrics),
        notes=metrics["lacking"],
        pictures=list(_pictures(curves, metrics)),
        curves=curves,
    )


def _facts(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    ratio, copies = metrics["delivery_ratio"], metrics["copies"]
    facts = [
        ("events", f"{metrics['events']:,}"),
        ("peers with a trace", f"{metrics['observers']:,}"),
        ("messages", f"{metrics['messages']:,}"),
        ("delivery ratio", "unknown" if ratio is None else f"{ratio:.4f}"),
        ("copies per delivery", "unknown" if copies is None else f"{copies:.2f}"),
        ("rejected", f"{metrics['rejected']:,}"),
    ]
    if metrics["latency_ms"] is not None:
        shown = ", ".join(
            f"{name} {_short(metrics['latency_ms'][name])}" for name in ("p50", "p95", "p99", "max")
        )
        facts.append((f"latency from the {metrics['latency_from']}, ms", shown))
    return facts


def _short(ms: float) -> str:
    """Four digits: of a fast network fractions of a millisecond tell one quantile from another."""
    return f"{ms:.0f}" if ms >= 1000 else f"{ms:.4g}"


def _pictures(curves: RunCurves, metrics: Mapping[str, Any]) -> Sequence[Picture]:
    found = []
    if curves.latency:
        lines = [Line(curve.label, curve.x, curve.y) for curve in curves.latency]
        whence = metrics["latency_from"] or "publication"
        found.append(
            Picture(
                title="Latency",
                says="Share of all messages that have been delivered once, and to all who should get them.",
                svg=line_plot(
                    lines, f"ms from the {whence}", "share of messages", log=_spread(lines), zero=True
                ),
            )
        )
    if curves.hops:
        links, deliveries = zip(*curves.hops, strict=True)
        found.append(
            Picture(
                title="Hops",
                says="Deliveries by the number of links from the publisher.",
                svg=bar_plot(links, deliveries, "links from the publisher", "deliveries"),
            )
        )
    if curves.degree:
        lines = [Line(curve.label, curve.x, curve.y) for curve in curves.degree]
        found.append(
            Picture(
                title="Mesh degree",
                says="Mesh members of a peer, the mean over all peers that have had one.",
                svg=line_plot(lines, "seconds from the first event", "mesh members", zero=True),
            )
        )
    return found


def _spread(lines: Sequence[Line]) -> bool:
    """Whether values differ so much that only a logarithmic axis shows them."""
    values = [x for line in lines for x in line.x]
    return min(values) > 0 and max(values) > 100 * min(values)
