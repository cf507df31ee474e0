"""The report on a simulated network: figures, and its nodes against the model, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from attrs import asdict

from quidnunc.output import show, table
from quidnunc.properties.bounded import printable

if TYPE_CHECKING:
    from quidnunc.pipeline.trace.metrics import RunMetrics
    from quidnunc.pipeline.trace.network_check import NodeKindReport
    from quidnunc.properties.search.verdicts import ClaimVerdict

SHOWN = 10
BAR = 40
"""Columns of the longest bar."""


def chosen_verdicts(report: NodeKindReport, pattern: str) -> list[ClaimVerdict]:
    """The verdicts whose claim, or one of whose clauses, matches."""
    return [v for v in report.verdicts() if any(fnmatch(n, pattern) for n in (v.claim.id, *v.claim.clauses))]


def exit_of_network(
    reports: Mapping[tuple[str, str], NodeKindReport], pattern: str = "*", *, strict: bool = False
) -> tuple[int, str]:
    """The exit status of a check of a network, and why: of `trace check`, and of `simulate --check`."""
    from quidnunc.properties.search.verdicts import first_named

    chosen = [verdict for report in reports.values() for verdict in chosen_verdicts(report, pattern)]
    bad = {"fails"} | ({"deviates"} if strict else set())
    if failing := _ids(v for v in chosen if v.verdict in bad):
        return 1, f"fails: {', '.join(failing)}"
    bound = [v for v in chosen if v.binding]
    told = [
        f"{what}: {first_named(ids)}"
        for verdict, what in (("undecided", "undecided"), ("inconclusive", "never applied"))
        if (ids := _ids(v for v in bound if v.verdict == verdict))
    ]
    return (3, "; ".join(told)) if told else (0, "")


def _ids(verdicts: Iterable[ClaimVerdict]) -> list[str]:
    return list(dict.fromkeys(v.claim.id for v in verdicts))


def plain_report(reports: dict[tuple[str, str], NodeKindReport], pattern: str = "*") -> dict[str, Any]:
    """The verdicts of every kind of node, and every departure."""
    return {
        "kinds": [
            {
                "protocol": r.protocol,
                "against": r.router,
                "nodes": r.nodes,
                "steps": r.steps,
                "blurred": r.blurred,
                "left_out": r.left_out,
                "root_causes": [
                    {"clause": clause, "quirk": cause, "nodes": count}
                    for (clause, cause), count in sorted(r.causes.items())
                ],
            }
            for r in reports.values()
        ],
        "claims": [
            {
                "id": v.claim.id,
                "protocol": r.protocol,
                "against": r.router,
                "verdict": v.verdict,
                "applied": v.applied,
                "reason": v.reason,
            }
            for r in reports.values()
            for v in chosen_verdicts(r, pattern)
        ],
        "violations": [
            {"peer": v.node, **asdict(v)}
            for r in reports.values()
            for v in r.violations
            if fnmatch(v.claim, pattern) or fnmatch(v.clause, pattern)
        ],
    }


def print_report(reports: dict[tuple[str, str], NodeKindReport], pattern: str = "*") -> None:
    """A line for each kind of node, then its departures, then what was not checked."""
    rows = []
    for r in reports.values():
        counts = Counter(v.verdict for v in chosen_verdicts(r, pattern))
        shown = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        rows.append((r.protocol, r.router, r.nodes, r.steps, shown))
    show()
    show(table(("protocol", "router", "nodes", "steps", "claims"), rows))
    for r in reports.values():
        for (clause, cause), count in sorted(r.causes.items()):
            show(f"\n{printable(r.router)} departs from {clause}: {cause} ({count} nodes)")
            for v in [v for v in r.violations if v.key == (clause, cause)][:SHOWN]:
                show(f"  node {v.node}, event {v.sequence} at {v.at_ms} ms: {printable(v.witness)}")
        if r.blurred:
            show(f"  {r.protocol}: {r.blurred} replays ended at a choice that outputs do not show")
        never = [v.claim.id for v in chosen_verdicts(r, pattern) if v.verdict == "inconclusive"]
        if never:
            show(f"\nnot checked for {r.protocol} ({r.router}), never applied: {', '.join(never)}")


def print_metrics(found: RunMetrics) -> None:
    """The figures of one run, and how far its messages went."""
    ratio = "unknown" if found.delivery_ratio is None else f"{found.delivery_ratio:.4f}"
    copies = "unknown" if found.copies is None else f"{found.copies:.3f}"
    show(f"  delivery ratio {ratio}, copies per delivery {copies} ({found.duplicates} duplicates)")
    if found.latency_ms is not None:
        shown = ", ".join(f"{name} {value:.1f} ms" for name, value in found.latency_ms.items())
        show(f"  latency: {shown}")
    if found.bytes_sent:
        total = sum(found.bytes_sent.values())
        parts = ", ".join(f"{kind} {size}" for kind, size in Counter(found.bytes_sent).most_common())
        show(f"  bytes sent {total}: {parts}")
    longest = max(found.hops.values(), default=0)
    for hop, count in sorted(found.hops.items()):
        show(f"  {hop:>3} hops {'#' * max(1, BAR * count // longest)} {count}")
    for line in found.lacking:
        show(f"  note: {line}")
