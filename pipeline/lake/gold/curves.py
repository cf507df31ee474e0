"""What is worth drawing of a run: curves and counts out of the tables of gold, small whatever the run is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.properties.lazy import numpy, parquet

MAX_POINTS = 400
MAX_TOPICS = 6
MAX_PEERS = 20


@frozen
class Curve:
    """One line of a plot."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@frozen
class Lacking:
    """A peer that lacks messages which it should have got."""

    peer: str
    messages: int
    from_whom: tuple[str, ...]
    """Mesh peers that had some of them, those with most first."""


@frozen(kw_only=True)
class RunCurves:
    """What is drawn of one run; what the trace does not say is empty."""

    latency: tuple[Curve, ...]
    """Share of all messages by ms from the publication to the first delivery, and to the last one of those
    that no subscriber lacks. A value holds until the next."""
    hops: tuple[tuple[int, int], ...]
    """(links from the publisher, deliveries)."""
    degree: tuple[Curve, ...]
    """By topic: mean number of mesh members of a peer, by seconds from the first event to the last. A value
    holds until the next."""
    lacking: tuple[Lacking, ...]
    peers_lacking: int
    """All of them; `lacking` has those that lack most."""


def curves_of(gold: Path, metrics: Mapping[str, Any]) -> RunCurves:
    """Of one run, from a folder of gold and the metrics of the run."""
    run = metrics["id"]
    names = {table: _names(gold, table) for table in ("peers", "names")}
    missing = _rows(gold, "missing", run)
    lacking = _lacking(missing, names["peers"])
    return RunCurves(
        latency=_latency(_rows(gold, "message_stats", run), missing),
        hops=_hops(_rows(gold, "hops", run)),
        degree=_degree(_rows(gold, "mesh_over_time", run), names["names"], metrics),
        lacking=tuple(lacking[:MAX_PEERS]),
        peers_lacking=len(lacking),
    )


def _rows(gold: Path, table: str, run: int) -> Mapping[str, Any]:
    """The columns of a table, as arrays of numpy; where there is none, no column."""
    if not (gold / table).is_dir():
        return {}
    found = parquet.read_table(gold / table, filters=[("run", "=", run)])
    return {name: found[name].to_numpy() for name in found.column_names}


def _names(gold: Path, table: str) -> Sequence[str]:
    found: list[str] = parquet.read_table(gold / f"{table}_named")["name"].to_pylist()
    return found


def _latency(rows: Mapping[str, Any], missing: Mapping[str, Any]) -> tuple[Curve, ...]:
    if not rows or not len(rows["message"]):
        return ()
    whole = ~numpy.isin(rows["message"], missing.get("message", ()))
    curves = []
    for column, label, counted in (
        ("first_us", "to the first delivery", numpy.ones(len(whole), bool)),
        ("last_us", "to the last one, if no subscriber lacks it", whole),
    ):
        known = numpy.asarray(rows[column], float)
        known = numpy.sort(known[counted & ~numpy.isnan(known)])
        if len(known):
            # Of all messages: what never arrives holds the curve below 1.
            shares = numpy.arange(len(known) + 1) / len(whole)
            some = _thinned(len(known) + 1)
            curves.append(
                Curve(label, _floats(numpy.append(known[0], known)[some] / 1000), _floats(shares[some]))
            )
    return tuple(curves)


def _hops(rows: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    known = numpy.asarray(rows.get("hops", ()), float)
    values, counts = numpy.unique(known[~numpy.isnan(known)], return_counts=True)
    return tuple((int(v), int(n)) for v, n in zip(values, counts, strict=True))


def _degree(rows: Mapping[str, Any], names: Sequence[str], metrics: Mapping[str, Any]) -> tuple[Curve, ...]:
    if not rows or not len(rows["topic"]) or metrics["first_ns"] is None:
        return ()
    topics, counts = numpy.unique(rows["topic"], return_counts=True)
    curves = []
    for topic in topics[numpy.argsort(-counts, kind="stable")][:MAX_TOPICS]:
        here = rows["topic"] == topic
        order = numpy.argsort(rows["second"][here], kind="stable")
        second = numpy.maximum(rows["second"][here] - metrics["first_ns"] / 1e9, 0)[order]
        mean = (rows["links"][here] / numpy.maximum(rows["peers"][here], 1))[order]
        some = _thinned(len(second))
        end = max(float(metrics["seconds"] or 0), float(second[-1]))
        curves.append(
            Curve(names[int(topic)], (*_floats(second[some]), end), (*_floats(mean[some]), float(mean[-1])))
        )
    return tuple(curves)


def _lacking(rows: Mapping[str, Any], names: Sequence[str]) -> list[Lacking]:
    """Those that lack most first."""
    messages: dict[int, set[int]] = {}
    senders: dict[int, dict[int, int]] = {}
    columns = (rows.get(name, ()) for name in ("peer", "message", "remote"))
    for peer, message, remote in zip(*columns, strict=True):
        messages.setdefault(int(peer), set()).add(int(message))
        if remote == remote:
            of_peer = senders.setdefault(int(peer), {})
            of_peer[int(remote)] = of_peer.get(int(remote), 0) + 1
    found = []
    for peer, lacked in sorted(messages.items(), key=lambda each: (-len(each[1]), names[each[0]])):
        had = sorted(senders.get(peer, {}).items(), key=lambda each: (-each[1], names[each[0]]))
        found.append(Lacking(names[peer], len(lacked), tuple(names[remote] for remote, _ in had[:3])))
    return found


def _thinned(count: int) -> Any:
    """Places of at most so many points as a plot can show, the first and the last among them."""
    return numpy.unique(numpy.linspace(0, count - 1, min(count, MAX_POINTS)).astype(int))


def _floats(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
