"""Partial messages at the seam: the same behind a sidecar, fitting the schema, refused where malformed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import (
    AdapterError,
    Config,
    Driver,
    PartialCall,
    PartialDecision,
    PartialDriver,
    Reply,
)
from quidnunc.impl.seam.partial_json import call_json, call_of, decision_json, decisions_of, feedback_kind
from quidnunc.impl.seam.sidecar_json import bytes_of
from quidnunc.impl.wire.codec import Codec
from quidnunc.model.events import MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Extensions, Graft, Partial, Subscribe
from tests.helpers.seam_schema import fits, of
from tests.impl.seam.test_sidecar import looped

CONFIG = Config(protocol="partial-messages-jvm", parameters=Parameters())
DECISIONS = (
    PartialDecision(peer=1, payload=b"p", metadata=b"w", next_state=b"s"),
    PartialDecision(peer=2, error=True),
    PartialDecision(peer=3, payload=b""),
)
CALLS = (
    PartialCall(kind="offer", topic="t", group=b"g", peer=1, state=b"s", requests=True),
    PartialCall(kind="gossip", topic="t", group=b"", peer=2),
    PartialCall(kind="hand", topic="", group=b"g", peer=3, payload=b"", metadata=b"w"),
)


def played(driver: Driver) -> list[Reply]:
    """A peer that requests, a publish to it, and a partial message of it."""
    codec = Codec(Parameters(), extended=True)
    hello = codec.encode((Extensions(("partial",)), Subscribe("t", True, True), Graft("t")), sender=1)
    said = codec.encode((Partial("t", "g", "p"),), sender=1)
    partial = cast("PartialDriver", driver)
    return [
        partial.join_partial("t", True, False),
        driver.connect(1, MESHSUB_1_3, False),
        driver.rpc(1, hello),
        partial.publish_partial("t", b"g", [PartialDecision(peer=1, payload=b"p", next_state=b"s")]),
        driver.rpc(1, said),
        partial.publish_partial("t", b"g", []),
    ]


def test_the_same_in_process_and_behind_a_sidecar() -> None:
    direct = played(open_ours(CONFIG))
    driver, _ = looped(CONFIG)
    assert played(driver) == direct
    kinds = [[(c.kind, c.peer, c.state) for c in reply.partial] for reply in direct]
    assert kinds == [[], [], [], [("offer", 1, None)], [("hand", 1, None)], [("offer", 1, b"s")]]
    assert direct[3].out


def test_values_round_trip_and_fit_the_schema() -> None:
    for d in DECISIONS:
        assert fits(decision_json(d), of("decision"))
    assert tuple(decisions_of([decision_json(d) for d in DECISIONS], bytes_of)) == DECISIONS
    for call in CALLS:
        assert fits(call_json(call), of("partial_call"))
        assert call_of(call_json(call), bytes_of) == call


@pytest.mark.parametrize(
    ("decisions", "says"),
    [
        ({}, "need at most 100000 in a list"),
        ([7], "need an object with error, metadata, next, payload, peer"),
        ([{"peer": 0}], "need peer as a number of 1 or more, got 0"),
        ([{"peer": 1, "payload": "?"}], "publish_partial.decisions payload: not base64"),
        ([{"peer": 1, "error": 1}], "need error as true or false, got 1"),
        ([{"peer": 1, "price": 1}], "need an object with"),
    ],
)
def test_malformed_decisions(decisions: Any, says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        decisions_of(decisions, bytes_of)


def test_malformed_calls_and_feedback() -> None:
    with pytest.raises(AdapterError, match="need kind .offer, gossip, hand. and topic, got 'x' and 't'"):
        call_of({"kind": "x", "topic": "t"}, bytes_of)
    with pytest.raises(AdapterError, match="feedback.kind: need one of useful, invalid, ignored, got 'good'"):
        feedback_kind("good")


def test_a_router_without_them_says_so() -> None:
    driver, _ = looped(Config(protocol="gossipsub-1.2", parameters=Parameters()))
    with pytest.raises(AdapterError, match="ours has no partial messages"):
        cast("PartialDriver", driver).join_partial("t", True, True)
