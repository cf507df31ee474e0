"""A trace as frames: what each shows of nodes and links, and how many there are."""

from __future__ import annotations

import pytest

from quidnunc.impl.wire.keys import peer_id
from quidnunc.pipeline.trace import history
from quidnunc.pipeline.trace.events import (
    Body,
    ClosedStream,
    DeliverMessage,
    GraftEvent,
    JoinEvent,
    OpenedStream,
    PublishMessage,
    RouteDisableEvent,
    RouteEnableEvent,
    RouterFailure,
    TraceEvent,
)
from quidnunc.pipeline.trace.history import NetworkHistory, history_of
from quidnunc.pipeline.trace.shapes import TraceError

STREAM = "/meshsub/1.2.0"


def events(*told: tuple[int, int, Body]) -> list[TraceEvent]:
    """(second, node, what happened)"""
    return [TraceEvent(body, peer_id(node), at_s * 10**9) for at_s, node, body in told]


def opened(a: int, b: int, at_s: int = 0) -> list[tuple[int, int, Body]]:
    return [(at_s, x, OpenedStream(peer=peer_id(y), protocol=STREAM)) for x, y in ((a, b), (b, a))]


def link(found: NetworkHistory, a: int, b: int) -> list[str]:
    at = found.links.index((a, b))
    return [frame.links[at] for frame in found.frames]


def test_a_message_and_a_mesh_are_followed() -> None:
    joins = [(0, node, JoinEvent(topic="t")) for node in (0, 1, 2)]
    m1, m2 = b"m1", b"m2"
    found = history_of(
        events(
            *joins,
            *opened(0, 1),
            *opened(1, 2),
            (1, 0, GraftEvent(peer=peer_id(1), topic="t")),
            (2, 1, GraftEvent(peer=peer_id(0), topic="t")),
            (3, 0, PublishMessage(message_id=m1, topic="t")),
            (3, 0, DeliverMessage(message_id=m1, received_from=peer_id(0))),
            (4, 1, DeliverMessage(message_id=m1, received_from=peer_id(0))),
            (5, 2, DeliverMessage(message_id=m1, received_from=peer_id(1))),
            (6, 2, PublishMessage(message_id=m2, topic="t")),
            (6, 1, DeliverMessage(message_id=m1, received_from=peer_id(2))),
            (7, 1, ClosedStream(peer=peer_id(0))),
            (7, 0, ClosedStream(peer=peer_id(1))),
        ),
        4,
    )
    assert found.links == ((0, 1), (1, 2)) and len(found.frames) == 8
    assert [frame.at for frame in found.frames[:2]] == ["0.000 s", "1.000 s"]
    assert link(found, 0, 1) == ["open", "half", "full", "full", "full", "full", "full", "closed"]
    assert [frame.nodes for frame in found.frames[3:7]] == [
        ("publisher", "lacks", "lacks", "away"),
        ("publisher", "new", "lacks", "away"),
        ("publisher", "has", "new", "away"),
        ("lacks", "lacks", "publisher", "away"),
    ]
    assert found.frames[5].flows == ("forth", "forth") and found.frames[6].flows == ("none", "none")
    assert found.frames[5].counts == ("3 of 3", "2", "1")
    assert found.best == 5, "the first message, when it has got as far as it gets"
    assert found.frames[6].says == "node 2 published message 2; earlier messages were delivered 1 time"
    assert "1 connection closed" in found.frames[7].says
    # Who is cut off has left the mesh without a PRUNE.
    assert found.frames[7].nodes[0] == "away" and not found.notes


def test_routes_are_followed_in_both_directions() -> None:
    found = history_of(
        events(
            *opened(0, 1),
            (1, 0, RouteDisableEvent(source=peer_id(2), target=peer_id(1))),
            (2, 1, RouteDisableEvent(source=peer_id(2), target=peer_id(0))),
            (3, 0, RouteEnableEvent(source=peer_id(2), target=peer_id(1))),
            (4, 2, RouterFailure(text="out of memory")),
        ),
        3,
    )
    assert link(found, 0, 1) == ["full", "half", "open", "half", "half"]
    assert found.frames[1].says == "routes were disabled over 1 link"
    assert found.frames[3].says == "routes were enabled over 1 link"
    assert found.frames[4].says == "node 2 failed" and found.frames[4].nodes[2] == "failed"


def test_more_instants_than_frames_are_put_together_and_nothing_is_lost() -> None:
    told: list[tuple[int, int, Body]] = [*opened(0, 1)]
    for at in range(1, 1000):
        told.append((at, at % 2, PublishMessage(message_id=str(at).encode(), topic="t")))
    found = history_of(events(*told), 2)
    assert len(found.frames) <= history.MAX_FRAMES
    assert found.frames[-1].says.endswith("node 1 published message 999")
    assert found.frames[-1].at == "999.000 s"


def test_a_mesh_that_no_router_shows_is_said_to_be_unknown() -> None:
    found = history_of(events((0, 0, JoinEvent(topic="t")), *opened(0, 1)), 2)
    assert found.notes == ("No router of this network shows a mesh.",)
    assert found.frames[0].nodes == ("lacks", "outside")


def test_a_run_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_CHANGES", 1)
    with pytest.raises(TraceError, match="too many for a picture"):
        history_of(events(*opened(0, 1)), 2)
