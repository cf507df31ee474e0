"""Partial messages at the seam: the application's part as requests, and its callbacks as outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from quidnunc.impl.seam import Driver, PartialCall, PartialDecision, PartialDriver, Reply
from quidnunc.impl.wire.extension_fields import opaque, opaque_value
from quidnunc.model.events import (
    NOTHING_KEPT,
    Decision,
    Feedback,
    GossipAsked,
    Offered,
    Output,
    PartialIn,
    PublishPartial,
)
from quidnunc.model.rpc import Partial


def join(driver: Driver, topic: str, requests: bool, supports: bool) -> Reply:
    return cast("PartialDriver", driver).join_partial(topic, requests, supports)


def request(driver: Driver, event: PublishPartial | Feedback) -> Reply:
    """Hand the event to a driver that can `partial`."""
    speaker = cast("PartialDriver", driver)
    if isinstance(event, Feedback):
        return speaker.feedback(event.topic, event.peer, event.kind)
    group = opaque(event.group)
    return speaker.publish_partial(event.topic, group, [_decision(d) for d in event.decisions])


def _decision(d: Decision) -> PartialDecision:
    return PartialDecision(
        peer=d.peer,
        payload=_maybe(d.payload),
        metadata=_maybe(d.metadata),
        next_state=_maybe(d.next),
        error=d.error,
    )


def outputs(calls: Iterable[PartialCall]) -> Iterator[Output]:
    """What the application was asked and told."""
    for call in calls:
        group = opaque_value(call.group)
        if call.kind == "offer":
            state = NOTHING_KEPT if call.state is None else opaque_value(call.state)
            yield Offered(call.topic, group, call.peer, state, call.requests)
        elif call.kind == "gossip":
            yield GossipAsked(call.topic, group, call.peer)
        else:
            payload, metadata = _maybe_text(call.payload), _maybe_text(call.metadata)
            yield PartialIn(call.peer, Partial(call.topic, group, payload, metadata))


def _maybe(text: str | None) -> bytes | None:
    return None if text is None else opaque(text)


def _maybe_text(data: bytes | None) -> str | None:
    return None if data is None else opaque_value(data)
