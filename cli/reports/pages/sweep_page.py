"""The page of a sweep: each figure over what was varied, with the spread over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quidnunc import __version__
from quidnunc.output import count
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.plots import Line, apart, bar_plot, line_plot
from quidnunc.reports.pages.trace_page import Picture

Point = Mapping[str, Any]
FIGURES = {
    "delivery_ratio": "share of the deliveries that were due",
    "copies_per_node": "copies of a message sent, for each node",
    "latency_p50_ms": "median latency, ms",
    "latency_p99_ms": "99th percentile of the latency, ms",
    "bytes_per_message_and_node": "bytes sent, for each message and node",
}
"""What is drawn, and how the axis reads."""
MAX_LINES = 12


def sweep_page(summary: Mapping[str, Any], again: str) -> str:
    """The page of a summary; `again` is the command that made it.

    Raises UsageError where matplotlib is not there.
    """
    campaigns: dict[int, list[Point]] = {}
    for point in summary["simulate"]:
        campaigns.setdefault(point["campaign"], []).append(point)
    return rendered(
        "sweep.html",
        summary=summary,
        sections=[(number, list(_pictures(points)), points) for number, points in campaigns.items()],
        figures=FIGURES,
        count=count,
        apart=apart,
        again=again,
        tool_version=__version__,
    )


def _pictures(points: Sequence[Point]) -> Iterator[Picture]:
    axis = _axis(points)
    for name, says in FIGURES.items():
        known = [point for point in points if name in point["figures"]]
        if not known:
            continue
        if axis is None:
            labels = [", ".join(f"{k}={v}" for k, v in p["point"].items()) or "as it is" for p in known]
            svg = bar_plot(labels, [p["figures"][name]["mean"] for p in known], "", says)
        else:
            svg = line_plot(_lines(known, axis, name)[:MAX_LINES], axis, says, points=True, zero=True)
        yield Picture(
            title=name,
            says=f"{says}: mean over seeds, with its 95 % interval where there are several.",
            svg=svg,
        )


def _axis(points: Sequence[Point]) -> str | None:
    """What is varied in numbers, with most values; the others tell lines apart."""
    values: dict[str, set[Any]] = {}
    for point in points:
        for name, value in point["point"].items():
            values.setdefault(name, set()).add(value if _is_number(value) else str(value))
    of_numbers = [n for n, some in values.items() if len(some) > 1 and all(map(_is_number, some))]
    return max(of_numbers, key=lambda name: len(values[name]), default=None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lines(points: Sequence[Point], axis: str, figure: str) -> list[Line]:
    grouped: dict[str, list[Point]] = {}
    for point in points:
        if axis in point["point"]:
            others = ", ".join(f"{n}={v}" for n, v in point["point"].items() if n != axis)
            grouped.setdefault(others, []).append(point)
    lines = []
    for label, some in grouped.items():
        some.sort(key=lambda point: float(point["point"][axis]))
        spreads = [point["figures"][figure] for point in some]
        x = [float(point["point"][axis]) for point in some]
        known = all(s["ci95"] is not None for s in spreads)
        errors = [s["ci95"] for s in spreads] if known else []
        lines.append(Line(label, x, [s["mean"] for s in spreads], errors))
    return lines
