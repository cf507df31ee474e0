"""Peers that a step cannot tell apart."""

from __future__ import annotations

import attrs
import pytest
from attrs import evolve

from quidnunc.model.events import MESHSUB_1_1, MESHSUB_1_2, Connect, Event, Join, Receive, Score, Sent
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_2
from quidnunc.model.rpc import Graft, IDontWant, Message, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.judge.alike import _fields, classes_of, unordered
from tests.helpers.puppet import state_after

T = "t1"
PARAMETERS = Parameters(scores=ScoreParameters(), validation="manual")
# No count of these states comes to the number of one of these peers.
PEERS = (21, 22, 23)
CONNECTED: tuple[Event, ...] = (Join(T), Connect(PEERS, MESHSUB_1_2), Receive(PEERS, (Subscribe(T),)))


def classes(*events: Event, parameters: Parameters = PARAMETERS) -> list[int]:
    return [*classes_of(PEERS, state_after(GOSSIPSUB_1_2, parameters, events)).values()]


def test_who_did_the_same_is_alike() -> None:
    assert classes(*CONNECTED) == [0, 0, 0]
    assert classes(*CONNECTED, Receive(PEERS, (Prune(T, 5),)), Score(PEERS, 7)) == [0, 0, 0]


@pytest.mark.parametrize(
    "event",
    [
        Receive((22,), (Subscribe("t2"),)),
        Receive((22,), (Graft(T),)),
        Receive((22,), (Prune(T, 5),)),
        Receive((22,), (IDontWant(("x",)),)),
        Receive((22,), (Message("m1", T, author=9),)),
        Receive((23,), (Message("m1", T, author=22),)),
        Score((22,), 1),
    ],
    ids=lambda event: type(getattr(event, "parts", (event,))[0]).__name__,
)
def test_of_whom_the_state_knows_something_else_is_not(event: Event) -> None:
    """Mutant of each: the field that keeps it is not compared, or its peers are not swapped."""
    found = classes(*CONNECTED, event)
    assert found[0] != found[1]


def test_another_stream_is_another_class() -> None:
    events = (Connect((21, 23), MESHSUB_1_2), Connect((22,), MESHSUB_1_1))
    assert classes(*events) == [0, 1, 0]
    assert classes(Connect((21, 23), MESHSUB_1_2), Connect((22,), MESHSUB_1_2, outbound=True)) == [0, 1, 0]


def test_an_explicit_peer_is_another_class() -> None:
    explicit = evolve(PARAMETERS, explicit_peers=frozenset({22}))
    assert classes(*CONNECTED, parameters=explicit) == [0, 1, 0]


def test_what_was_sent_counts_and_its_order_does_not() -> None:
    grafts = [Sent(p, Graft(T)) for p in PEERS]
    assert [*classes_of(PEERS, unordered(grafts)).values()] == [0, 0, 0]
    assert [*classes_of(PEERS, unordered([*grafts, grafts[1]])).values()] == [0, 1, 0]
    offered = [Sent(21, Prune(T, 5, (22,))), Sent(22, Prune(T, 5)), Sent(23, Prune(T, 5))]
    assert [*classes_of(PEERS, unordered(offered)).values()] == [0, 1, 2]


def test_an_event_is_of_its_peer() -> None:
    assert [*classes_of(PEERS, Receive((22,), (Graft(T),))).values()] == [0, 1, 0]


def test_types_that_attrs_has_resolved_are_read_as_they_are_written() -> None:
    """Mutant: `Peer` is `int` in them, and no field holds a peer any longer."""
    attrs.resolve_types(Graft)
    attrs.resolve_types(Message)
    _fields.cache_clear()
    assert dict(_fields(Message) or ())["author"]
