"""The metrics of each run, as `trace metrics` prints them: those that plain Python measures, and more.

Times are rounded to microseconds, in which latencies are counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from quidnunc.pipeline.lake.gold.claims import ONE_CLOCK
from quidnunc.pipeline.lake.silver.schema import NAME_OF_KIND, RowKind

Rows = Sequence[Mapping[str, Any]]
SENT, RECEIVED = 7, 6
OF_IDS = (RowKind.IHAVE, RowKind.IWANT, RowKind.IDONTWANT)


def metrics_of_rows(rows: Mapping[str, Rows], runs: Rows) -> list[dict[str, Any]]:
    """The metrics of every run of `runs` (id, name, completeness, clock), of the `row` queries of gold."""
    by_run: dict[int, dict[str, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for name, found in rows.items():
        for row in found:
            by_run[row["run"]][name].append(row)
    # A RUN event alone is no run to speak of.
    return [_of_run(run, by_run[run["id"]]) for run in runs if by_run[run["id"]]["run_spans"]]


def _of_run(run: Mapping[str, Any], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    one = {name: found[0] for name, found in rows.items() if found}
    counts = {(r["type"], r["kind"]): r for r in rows["kind_counts"]}
    span, messages = one["run_spans"], one.get("run_messages", {})
    deliveries = messages.get("deliveries", 0)
    duplicates = _events(counts, 2) + messages.get("repeats", 0)
    sent, wire = _sent(counts)
    told = bool(duplicates or sent)
    delivery = one.get("run_delivery", {})
    expected = delivery.get("expected")
    found: dict[str, Any] = {
        "id": run["id"],
        "run": run["name"],
        "events": sum(_events(counts, t) for t in {t for t, _ in counts} if t != 100),
        "observers": span["observers"],
        "completeness": run["completeness"],
        "clock": run["clock"],
        "first_ns": span["first_ns"],
        "seconds": _difference(span["first_ns"], span["last_ns"]),
        "messages": messages.get("messages", 0),
        "deliveries": deliveries,
        "expected_deliveries": expected,
        "delivery_ratio": delivery["reached"] / expected if expected else None,
        "missing": one.get("run_missing", {}).get("lacking"),
        "stayed": one.get("run_missing", {}).get("stayed", 0),
        "latency_ms": _latency(one.get("run_latency", {})),
        "latency_from": "publish" if messages.get("published") else "first",
        "hops": {str(r["depth"]): r["messages"] for r in _sorted(rows["depth_counts"], "depth")},
        "deliveries_by_hop": {
            str(r["hops"]): r["deliveries"]
            for r in _sorted(rows["hop_counts"], "hops")
            if r["hops"] is not None
        },
        "duplicates": duplicates,
        "rejected": _events(counts, 1),
        "copies": (deliveries + duplicates) / deliveries if deliveries and told else None,
        "sent": dict(sorted(sent.items())),
        "bytes": dict(sorted(wire.items())),
        "dropped_rpcs": _events(counts, 8),
        "mesh": _mesh(one),
        "idontwant": _idontwant(one, counts),
        "iwant": _iwant(one, counts),
        "dog": _dog(one),
    }
    unknown = sum(r["deliveries"] for r in rows["hop_counts"] if r["hops"] is None)
    found["lacking"] = _lacking(found, counts, unknown, told)
    return found


def _events(counts: Mapping[tuple[int, int], Mapping[str, Any]], kind: int) -> int:
    return sum(int(r["event_count"]) for (t, _), r in counts.items() if t == kind)


def _items(counts: Mapping[tuple[int, int], Mapping[str, Any]], type: int, kind: int) -> int:
    row = counts.get((type, kind))
    return 0 if row is None else int(row["with_message"] if kind in OF_IDS else row["row_count"])


def _sent(counts: Mapping[tuple[int, int], Mapping[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """Items and bytes sent, by the name of their kind."""
    sent: Counter[str] = Counter()
    wire: Counter[str] = Counter()
    for (type, number), row in counts.items():
        if type != SENT:
            continue
        kind = int(number)
        if kind not in (RowKind.EVENT, RowKind.MIXED, RowKind.OTHER):
            sent[NAME_OF_KIND[kind]] += _items(counts, type, kind)
        if row["sized"]:
            wire[NAME_OF_KIND[kind]] += int(row["wire"])
    return +sent, wire


def _sorted(rows: Rows, by: str) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: (row[by] is None, row[by]))


def _difference(first_ns: int | None, last_ns: int | None) -> float | None:
    return None if first_ns is None or last_ns is None else round((last_ns - first_ns) / 1e9, 6)


def _latency(row: Mapping[str, Any]) -> dict[str, float] | None:
    if row.get("max_us") is None:
        return None
    return {name: row[f"{name}_us"] / 1000 for name in ("p50", "p95", "p99", "max")}


def _mesh(one: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    degree = one.get("degree_stats")
    if degree is None:
        return None
    sides = one.get("mesh_stats", {})
    longest = sides.get("one_sided_longest_us")
    return {
        "degree_mean_at_end": degree["at_end"],
        "degree_max": degree["highest"],
        "one_sided": sides.get("one_sided_count", 0),
        "one_sided_too_long": sides.get("one_sided_long", 0),
        "one_sided_longest_ms": None if longest is None else longest / 1000,
    }


def _idontwant(one: Mapping[str, Mapping[str, Any]], counts: Mapping[Any, Any]) -> dict[str, Any] | None:
    row = one.get("control_stats", {})
    received = row.get("idontwant_pairs_in", 0)
    sent = _items(counts, SENT, RowKind.IDONTWANT)
    if not received and not sent:
        return None
    honoured = row.get("idontwant_honoured", 0)
    saved = one.get("idontwant_saved", {}).get("saved", 0)
    return {"sent": sent, "received": received, "nothing_sent_after": honoured, "copies_saved": saved}


def _iwant(one: Mapping[str, Mapping[str, Any]], counts: Mapping[Any, Any]) -> dict[str, Any] | None:
    row = one.get("control_stats", {})
    advertised = _items(counts, RECEIVED, RowKind.IHAVE)
    asked = _items(counts, SENT, RowKind.IWANT)
    if not advertised and not asked:
        return None
    names = {"answered": "iwant_answered", "delivered_by_it": "iwant_useful"}
    found = {name: row.get(column, 0) for name, column in names.items()}
    return {"advertised": advertised, "asked": asked, **found}


def _dog(one: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    routes, measured = one.get("route_stats", {}), one.get("redundancy_stats", {})
    if not routes and not measured:
        return None
    after = measured.get("stable_after_us")
    return {
        "routes_disabled": routes.get("disabled", 0),
        "routes_enabled": routes.get("enabled", 0),
        "redundancy_mean": measured.get("mean"),
        "peers": measured.get("peers", 0),
        "peers_stable": measured.get("stable", 0),
        "stable_after_ms": None if after is None or not measured.get("stable") else after / 1000,
    }


def _lacking(
    found: Mapping[str, Any], counts: Mapping[tuple[int, int], Any], unknown: int, told: bool
) -> list[str]:
    lacking = []
    if found["expected_deliveries"] is None:
        lacking.append("no delivery_ratio: the trace has no JOIN before a publication")
    if found["latency_ms"] is None:
        lacking.append("no latency_ms: no delivery with a time and a beginning")
    if unknown:
        lacking.append(f"hops: {unknown} deliveries do not lead back to their publisher")
    if not told:
        lacking.append("no copies: the trace has neither duplicates nor RPCs")
    if found["sent"] and not found["bytes"]:
        lacking.append("no bytes: no RPC says its length")
    if found["latency_ms"] is not None and found["clock"] not in ONE_CLOCK and found["observers"] > 1:
        lacking.append("latency_ms is as good as the clocks agree: each peer has its own")
    if found["completeness"] != "full":
        lacking.append(f"counts are of a trace that is {found['completeness']}")
    return lacking
