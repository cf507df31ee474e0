"""Messages that come too early, or never: a simulated network with planted faults, SQL beside Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import pytest

from quidnunc.pipeline.lake.gold.build import GoldRequest, GoldResults, gold_of
from quidnunc.pipeline.lake.gold.claims import TraceSettings
from quidnunc.pipeline.trace.events import (
    ClosedStream,
    DeliverMessage,
    GraftEvent,
    JoinEvent,
    LeaveEvent,
    PruneEvent,
    PublishMessage,
    RejectMessage,
    TraceEvent,
)
from tests.helpers.simulated import run as simulated
from tests.helpers.trace_files import write_trace

pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.engines.spark import SparkEngine
from quidnunc.pipeline.lake.ingest import SourceOptions
from tests.helpers.duck import Duck
from tests.helpers.networks import silver_of

EARLY, LOST = "deliver.published-first", "deliver.to-all"
REACH_MS = 2000
SETTINGS = TraceSettings(reach_ms=REACH_MS)
Events = tuple[TraceEvent, ...]


@lru_cache(maxsize=1)
def network() -> Events:
    _, events = simulated(
        nodes=[{"count": 8}],
        topology={"degree": 4},
        duration_s=12,
        traffic=[{"count": 5, "start_s": 4, "size_bytes": 64}],
    )
    return tuple(events)


def deliveries(events: Events) -> list[int]:
    """Where the deliveries at others than the publisher are."""
    own = {(e.peer, e.body.message_id) for e in events if isinstance(e.body, PublishMessage)}
    return [
        at
        for at, e in enumerate(events)
        if isinstance(e.body, DeliverMessage) and (e.peer, e.body.message_id) not in own
    ]


def without(events: Events, *places: int) -> Events:
    return tuple(e for at, e in enumerate(events) if at not in places)


def early(events: Events, place: int, ms: int) -> Events:
    """The delivery there, `ms` before the message is published."""
    body = events[place].body
    assert isinstance(body, DeliverMessage)
    (at_ns,) = (
        e.at_ns for e in events if isinstance(e.body, PublishMessage) and e.body.message_id == body.message_id
    )
    assert at_ns is not None
    moved = attrs.evolve(events[place], at_ns=at_ns - ms * 1_000_000)
    return (*events[:place], moved, *events[place + 1 :])


def silver(events: Iterable[TraceEvent], folder: Path) -> Path:
    write_trace(events, folder / "landing" / "trace.jsonl")
    return silver_of(folder / "landing", folder / "run", SourceOptions(settings=SETTINGS))


def asked(place: Path, **settings: int) -> GoldRequest:
    return GoldRequest(
        silver=place.name, completeness="full", clock="one", settings=attrs.evolve(SETTINGS, **settings)
    )


def gold(place: Path, **settings: int) -> tuple[GoldResults, Duck]:
    duck = Duck(place)
    return gold_of(duck, asked(place, **settings)), duck


def verdict(found: GoldResults, claim: str) -> dict[str, Any]:
    (one,) = (each for each in found.claims if each["id"] == claim)
    return one


def test_a_clean_network_lacks_nothing(tmp_path: Path) -> None:
    found, _ = gold(silver(network(), tmp_path))
    for claim in (EARLY, LOST):
        told = verdict(found, claim)
        assert (told["verdict"], told["violations"], told["applied"]) == ("not-refuted", 0, 35)
    assert (found.metrics[0]["missing"], found.metrics[0]["stayed"]) == (0, 35)


def test_what_never_comes_is_counted_with_whom_it_should_have_come_from(tmp_path: Path) -> None:
    places = deliveries(network())[3:30:9]
    events = without(network(), *places)
    found, duck = gold(silver(events, tmp_path))
    told = verdict(found, LOST)
    assert (told["verdict"], told["violations"], told["binding"]) == ("observed", 3, False)
    assert told["reason"] == "3 of 35 did not"
    assert found.metrics[0]["missing"] == 3
    expected = missing(events)
    planted = [network()[place] for place in places]
    assert {pair for pair, _ in expected} == {(e.peer, getattr(e.body, "message_id", None)) for e in planted}
    assert named(duck, tmp_path) == expected
    assert sum(sender is not None for _, sender in expected) >= 3


@pytest.mark.parametrize("body", [LeaveEvent, ClosedStream, RejectMessage])
def test_who_did_not_stay_is_not_counted(body: type, tmp_path: Path) -> None:
    place = deliveries(network())[10]
    gone = network()[place]
    assert isinstance(gone.body, DeliverMessage) and gone.at_ns is not None
    told = {
        LeaveEvent: LeaveEvent(topic="t"),
        ClosedStream: ClosedStream(peer=gone.body.received_from),
        RejectMessage: RejectMessage(message_id=gone.body.message_id, topic="t", reason="no"),
    }
    events = (*network()[:place], attrs.evolve(gone, body=told[body]), *network()[place + 1 :])
    found, _ = gold(silver(events, tmp_path))
    assert verdict(found, LOST)["violations"] == len({pair for pair, _ in missing(events)}) == 0


def test_a_message_before_its_publication_deviates_unless_clocks_explain_it(tmp_path: Path) -> None:
    """That no two messages have one id is a "should" of the text."""
    place = deliveries(network())[5]
    made = silver(early(network(), place, 50), tmp_path)
    found, _ = gold(made)
    assert verdict(found, EARLY)["verdict"] == "deviates"
    (one,) = (v for v in found.violations if v["claim"] == EARLY)
    assert one["us"] == 50_000
    assert verdict(gold(made, skew_ms=49)[0], EARLY)["violations"] == 1
    assert verdict(gold(made, skew_ms=50)[0], EARLY)["verdict"] == "not-refuted"
    own = attrs.evolve(asked(made), clock="own")
    assert "needs one clock" in verdict(gold_of(Duck(made), own), EARLY)["reason"]


def test_what_came_from_who_has_no_trace_may_have_been_published_there(tmp_path: Path) -> None:
    place = deliveries(network())[5]
    events = early(network(), place, 50)
    body = events[place].body
    assert isinstance(body, DeliverMessage)
    stranger = attrs.evolve(events[place], body=attrs.evolve(body, received_from=b"stranger"))
    found, _ = gold(silver((*events[:place], stranger, *events[place + 1 :]), tmp_path))
    assert verdict(found, EARLY)["verdict"] == "not-refuted"
    assert verdict(found, EARLY)["applied"] == 35 - 7


def test_spark_says_what_duckdb_says(spark: Any, tmp_path: Path) -> None:
    places = deliveries(network())
    events = without(early(network(), places[5], 50), *places[7::6])
    made = silver(events, tmp_path)
    ours, duck = gold(made)
    assert {v["claim"] for v in ours.violations} == {EARLY, LOST}
    engine = SparkEngine(spark).queries(made, tmp_path / "gold")
    theirs = gold_of(engine, asked(made))
    assert theirs.claims == ours.claims
    assert theirs.violations == ours.violations
    every = "SELECT * FROM missing"
    assert sorted(map(as_text, engine.rows(every))) == sorted(map(as_text, duck.rows(every)))
    assert named(duck, tmp_path) == missing(events)


def as_text(row: dict[str, Any]) -> str:
    return str(sorted(row.items()))


# -- the same in plain Python -------------------------------------------------------------------------------

Lack = tuple[tuple[bytes | None, bytes], bytes | None]
"""Who lacks which message, and a mesh peer of it that had it."""


def missing(events: Events) -> set[Lack]:
    """Of a trace of one topic, in the order of time."""
    reach_ns = REACH_MS * 1_000_000
    published = [e for e in events if isinstance(e.body, PublishMessage)]
    found: set[Lack] = set()
    for origin in published:
        assert isinstance(origin.body, PublishMessage) and origin.at_ns is not None
        name = origin.body.message_id
        assert name is not None
        for peer in {e.peer for e in events if isinstance(e.body, JoinEvent)} - {origin.peer}:
            own = [e for e in events if e.peer == peer]
            joined = [e.at_ns for e in own if isinstance(e.body, JoinEvent)]
            ends = [e.at_ns for e in own if isinstance(e.body, LeaveEvent)] + [own[-1].at_ns]
            cuts = [e.at_ns for e in own if isinstance(e.body, ClosedStream)]
            told = [e for e in own if getattr(e.body, "message_id", None) == name]
            stayed = joined[0] <= origin.at_ns - reach_ns and min(ends) >= origin.at_ns + reach_ns
            cut = any(abs(at - origin.at_ns) < reach_ns for at in cuts if at is not None)
            if not stayed or cut or any(isinstance(e.body, DeliverMessage | RejectMessage) for e in told):
                continue
            senders = {other for other in holders(events, name) if held(events, other, peer, name)}
            found |= {((peer, name), sender) for sender in senders or {None}}
    return found


def holders(events: Events, name: bytes) -> set[bytes]:
    return {
        e.peer
        for e in events
        if isinstance(e.body, DeliverMessage | PublishMessage) and e.body.message_id == name and e.peer
    }


def held(events: Events, holder: bytes, peer: bytes | None, name: bytes) -> bool:
    """Whether the holder had the peer in its mesh when it got the message."""
    link = False
    for e in events:
        if e.peer != holder:
            continue
        if isinstance(e.body, GraftEvent | PruneEvent | ClosedStream) and e.body.peer == peer:
            link = isinstance(e.body, GraftEvent)
        if isinstance(e.body, DeliverMessage | PublishMessage) and e.body.message_id == name:
            return link
    return False


def named(duck: Duck, folder: Path) -> set[Lack]:
    """The rows of `missing` with the ids of the trace."""
    from quidnunc.pipeline.lake.silver.parts import read_ids

    (place,) = (folder / "run" / "silver").iterdir()
    ids = read_ids(place)
    peers, messages = ids["peers"], ids["messages"]
    found: set[Lack] = set()
    for row in duck.rows("SELECT * FROM missing"):
        sender = None if row["remote"] is None else peers[row["remote"]]
        found.add(((peers[row["peer"]], messages[row["message"]]), sender))
    return found
