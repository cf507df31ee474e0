"""What happens to a router and what it does, between the vocabulary of the model and trace events.

One event of the harness is one trace event, and so is one output: an RPC of one part for each atom, because
how a router packs its RPCs is not looked at. Their type says which of the two it is.
"""

from __future__ import annotations

from typing import Any

from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.events import (
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Crashed,
    Decision,
    Delivered,
    Disconnect,
    Event,
    Feedback,
    GossipAsked,
    Join,
    Leave,
    Offered,
    Output,
    PartialIn,
    Publish,
    PublishPartial,
    Raw,
    Receive,
    Resume,
    Score,
    Sent,
    Stall,
    Submit,
    Verdict,
)
from quidnunc.model.events import Dialled as HasDialled
from quidnunc.pipeline.trace.events import (
    ApplicationScore,
    Body,
    ClosedStream,
    DeliverMessage,
    DialEvent,
    JoinEvent,
    LeaveEvent,
    MempoolEvent,
    OpenedStream,
    PartialCallEvent,
    PartialDecisionEvent,
    PartialDeliveryEvent,
    PartialFeedbackEvent,
    PartialPublishEvent,
    PublishMessage,
    ReceivedBytes,
    ReceivedRpc,
    ResumeEvent,
    RouterFailure,
    SentRpc,
    StallEvent,
    TimeAdvance,
    ValidationEvent,
)
from quidnunc.pipeline.trace.parts import (
    maybe_symbol,
    message_fields,
    message_read,
    meta_of,
    optional_value,
    partial_meta,
    partial_read,
    parts_of,
    peer_read,
    required_value,
    symbol,
)
from quidnunc.pipeline.trace.shapes import TraceError


def body_of_event(event: Event) -> Body:
    """The record of one event that names one peer at most."""
    peers = getattr(event, "peers", (None,))
    if len(peers) != 1:
        raise ValueError(f"an event for one peer was expected, got {event!r}")
    (peer,) = map(peer_id, peers) if peers[0] is not None else (None,)
    match event:
        case Receive(_, parts):
            return ReceivedRpc(peer=peer, meta=meta_of(parts))
        case Raw(_, kind):
            return ReceivedBytes(peer=peer, kind=kind)
        case Connect(_, protocol, outbound, address):
            return OpenedStream(peer=peer, protocol=protocol, outbound=outbound, address=address or None)
        case Disconnect():
            return ClosedStream(peer=peer)
        case Stall():
            return StallEvent(peer=peer)
        case Resume():
            return ResumeEvent(peer=peer)
        case Score(_, value):
            return ApplicationScore(peer=peer, value=value)
        case Advance(ms):
            return TimeAdvance(ms=ms)
        case Join(topic, requests, supports):
            return JoinEvent(
                topic=topic, requests_partial=requests or None, supports_partial=supports or None
            )
        case Leave(topic):
            return LeaveEvent(topic=topic)
        case Publish(message):
            return PublishMessage(**message_fields(message))
        case Verdict(message_id, judgement):
            return ValidationEvent(message_id=message_id.encode(), judgement=judgement)
        case PublishPartial(topic, group, decisions):
            return PartialPublishEvent(
                topic=topic, group=group.encode(), decisions=tuple(map(_decided, decisions))
            )
        case Feedback(topic, whose, feedback):
            return PartialFeedbackEvent(topic=topic, peer=peer_id(whose), kind=feedback)
        case Submit(tx):
            return MempoolEvent(act="submit", tx=tx.encode())
        case Commit(tx):
            return MempoolEvent(act="commit", tx=tx.encode())
        case Adjust():
            return MempoolEvent(act="adjust")


def _decided(each: Decision) -> PartialDecisionEvent:
    return PartialDecisionEvent(
        peer=peer_id(each.peer),
        payload=optional_value(each.payload),
        metadata=optional_value(each.metadata),
        next=optional_value(each.next),
        error=each.error or None,
    )


def body_of_output(output: Output) -> Body:
    """The record of one output."""
    match output:
        case Sent(peer, part):
            return SentRpc(peer=peer_id(peer), meta=meta_of((part,)))
        case Delivered(message):
            return DeliverMessage(**message_fields(message))
        case Offered(topic, group, peer, state, requests):
            return PartialCallEvent(
                kind="offer",
                topic=topic,
                group=group.encode(),
                peer=peer_id(peer),
                state=state.encode(),
                requests=requests,
            )
        case GossipAsked(topic, group, peer):
            return PartialCallEvent(kind="gossip", topic=topic, group=group.encode(), peer=peer_id(peer))
        case PartialIn(peer, part):
            return PartialDeliveryEvent(peer=peer_id(peer), partial=partial_meta(part))
        case HasDialled(peer):
            return DialEvent(peer=peer_id(peer))
        case Closed(peer):
            return ClosedStream(peer=peer_id(peer), by_router=True)
        case Crashed(text):
            return RouterFailure(text=text)


_JUDGEMENTS = ("accept", "reject", "ignore")
_FEEDBACK = ("useful", "invalid", "ignored")


def event_of_body(body: Body) -> Event | None:
    """The event of one record; None where it records something else. Raises TraceError."""
    match body:
        case ReceivedRpc():
            return Receive((peer_read(body.peer),), parts_of(body.meta))
        case ReceivedBytes():
            return Raw((peer_read(body.peer),), required_value(body.kind, "kind"))
        case OpenedStream():
            peers, protocol = (peer_read(body.peer),), required_value(body.protocol, "proto")
            return Connect(peers, protocol, bool(body.outbound), body.address or 0)
        case ClosedStream() if not body.by_router:
            return Disconnect((peer_read(body.peer),))
        case StallEvent():
            return Stall((peer_read(body.peer),))
        case ResumeEvent():
            return Resume((peer_read(body.peer),))
        case ApplicationScore():
            return Score((peer_read(body.peer),), required_value(body.value, "value"))
        case TimeAdvance():
            ms: int = required_value(body.ms, "ms")
            if ms < 1:
                raise TraceError(f"time passes forwards, not by {ms} ms")
            return Advance(ms)
        case JoinEvent():
            return Join(
                required_value(body.topic, "topic"), bool(body.requests_partial), bool(body.supports_partial)
            )
        case LeaveEvent():
            return Leave(required_value(body.topic, "topic"))
        case PublishMessage():
            return Publish(message_read(body))
        case ValidationEvent():
            return Verdict(symbol(body.message_id), _one_of(body.judgement, _JUDGEMENTS))
        case PartialPublishEvent():
            decisions = tuple(map(_decision, body.decisions))
            return PublishPartial(required_value(body.topic, "topic"), symbol(body.group), decisions)
        case PartialFeedbackEvent():
            kind = _one_of(body.kind, _FEEDBACK)
            return Feedback(required_value(body.topic, "topic"), peer_read(body.peer), kind)
        case MempoolEvent():
            act = _one_of(body.act, ("submit", "commit", "adjust"))
            return Adjust() if act == "adjust" else (Submit if act == "submit" else Commit)(symbol(body.tx))
        case _:
            return None


def _decision(each: PartialDecisionEvent) -> Decision:
    payload, metadata = maybe_symbol(each.payload), maybe_symbol(each.metadata)
    return Decision(peer_read(each.peer), payload, metadata, maybe_symbol(each.next), bool(each.error))


def output_of_body(body: Body) -> tuple[Output, ...]:
    """The outputs of one record, one for each part of an RPC; none where it records something else.

    Raises TraceError.
    """
    match body:
        case SentRpc():
            peer = peer_read(body.peer)
            return tuple(Sent(peer, part) for part in parts_of(body.meta))
        case DeliverMessage():
            return (Delivered(message_read(body)),)
        case PartialCallEvent():
            topic, group, peer = required_value(body.topic, "topic"), symbol(body.group), peer_read(body.peer)
            if _one_of(body.kind, ("offer", "gossip")) == "gossip":
                return (GossipAsked(topic, group, peer),)
            return (Offered(topic, group, peer, symbol(body.state), bool(body.requests)),)
        case PartialDeliveryEvent():
            return (PartialIn(peer_read(body.peer), partial_read(required_value(body.partial, "partial"))),)
        case DialEvent():
            return (HasDialled(peer_read(body.peer)),)
        case ClosedStream() if body.by_router:
            return (Closed(peer_read(body.peer)),)
        case RouterFailure():
            return (Crashed(body.text or ""),)
        case _:
            return ()


def _one_of(value: str | None, known: tuple[str, ...]) -> Any:
    if value not in known:
        raise TraceError(f"expected one of {', '.join(known)}, got {value!r}")
    return value
