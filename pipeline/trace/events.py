"""Trace events: what one router saw and did, one value each.

A superset of go-libp2p-pubsub's TraceEvent (its `pb/trace.proto`): types 0 to 12 and their fields are its
own, types from 100 on and the fields marked `ours` are this kit's. A field is None where the record lacks it,
as older files do. Peers and message ids are bytes. `at_ns` is a time on the observer's own clock; the order
of events is their order in the file, because the clock may step back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from quidnunc.pipeline.trace.rpc import PartBytes, PartialMeta, RpcMeta
from quidnunc.pipeline.trace.shapes import member

# -- the events of go ---------------------------------------------------------------------------------------


@frozen(kw_only=True)
class PublishMessage:
    message_id: bytes | None = member("messageID", "bytes")
    topic: str | None = member("topic", old=("topics",))
    size: int | None = member("size", "int", ours=True)
    author: bytes | None = member("author", "bytes", ours=True)
    flaw: str | None = member("flaw", ours=True)


@frozen(kw_only=True)
class RejectMessage:
    message_id: bytes | None = member("messageID", "bytes")
    received_from: bytes | None = member("receivedFrom", "bytes")
    reason: str | None = member("reason")
    topic: str | None = member("topic")


@frozen(kw_only=True)
class DuplicateMessage:
    message_id: bytes | None = member("messageID", "bytes")
    received_from: bytes | None = member("receivedFrom", "bytes")
    topic: str | None = member("topic")


@frozen(kw_only=True)
class DeliverMessage:
    message_id: bytes | None = member("messageID", "bytes")
    topic: str | None = member("topic")
    received_from: bytes | None = member("receivedFrom", "bytes")
    """The observer itself, for a message of its own."""
    size: int | None = member("size", "int", ours=True)
    author: bytes | None = member("author", "bytes", ours=True)
    flaw: str | None = member("flaw", ours=True)


@frozen(kw_only=True)
class OpenedStream:
    """go's ON_NEW_OUTBOUND_STREAM, which was ADD_PEER until April 2026."""

    peer: bytes | None = member("peerID", "bytes")
    protocol: str | None = member("proto")
    outbound: bool | None = member("outbound", "flag", ours=True)
    """The observer dialled."""
    address: int | None = member("address", "int", ours=True)
    """Peers of one address share an IP."""


@frozen(kw_only=True)
class ClosedStream:
    """go's ON_CLOSED_OUTBOUND_STREAM, which was REMOVE_PEER. The peer leaves every mesh without a PRUNE."""

    peer: bytes | None = member("peerID", "bytes")
    by_router: bool | None = member("byRouter", "flag", ours=True)
    """The observer itself reset or closed it."""


@frozen(kw_only=True)
class ReceivedRpc:
    peer: bytes | None = member("receivedFrom", "bytes")
    meta: RpcMeta | None = member("meta", of=RpcMeta)
    length: int | None = member("length", "int", ours=True)
    """Bytes of the RPC; a fork of go's tracer writes it too."""
    parts: tuple[PartBytes, ...] = member("parts", many=True, of=PartBytes, ours=True)


@frozen(kw_only=True)
class SentRpc:
    """It was put in the queue to `peer`; when it left is not seen."""

    peer: bytes | None = member("sendTo", "bytes")
    meta: RpcMeta | None = member("meta", of=RpcMeta)
    length: int | None = member("length", "int", ours=True)
    parts: tuple[PartBytes, ...] = member("parts", many=True, of=PartBytes, ours=True)


@frozen(kw_only=True)
class DroppedRpc:
    peer: bytes | None = member("sendTo", "bytes")
    meta: RpcMeta | None = member("meta", of=RpcMeta)
    length: int | None = member("length", "int", ours=True)
    parts: tuple[PartBytes, ...] = member("parts", many=True, of=PartBytes, ours=True)


@frozen(kw_only=True)
class JoinEvent:
    topic: str | None = member("topic")
    requests_partial: bool | None = member("requestsPartial", "flag", ours=True)
    supports_partial: bool | None = member("supportsSendingPartial", "flag", ours=True)


@frozen(kw_only=True)
class LeaveEvent:
    topic: str | None = member("topic")


@frozen(kw_only=True)
class GraftEvent:
    """`peer` is in the observer's own mesh from now on; the GRAFT message is in an RPC's control."""

    peer: bytes | None = member("peerID", "bytes")
    topic: str | None = member("topic")


@frozen(kw_only=True)
class PruneEvent:
    peer: bytes | None = member("peerID", "bytes")
    topic: str | None = member("topic")


# -- ours: the run and the router ---------------------------------------------------------------------------


@frozen(kw_only=True)
class RunStart:
    """The events that follow are of another run: its manifest as text in JSON."""

    name: str | None = member("name")
    manifest: str | None = member("manifest")


@frozen(kw_only=True)
class HeartbeatEvent:
    """The observer's heartbeat has run."""


@frozen(kw_only=True)
class TimeAdvance:
    """The harness let so much time pass for the observer."""

    ms: int | None = member("ms", "int")


@frozen(kw_only=True)
class BackoffEvent:
    peer: bytes | None = member("peerID", "bytes")
    topic: str | None = member("topic")
    until_ms: int | None = member("untilMs", "int")


@frozen(kw_only=True)
class ScoreSnapshot:
    peer: bytes | None = member("peerID", "bytes")
    value: float | None = member("value", "real")


@frozen(kw_only=True)
class RouteDisableEvent:
    """DOG: nothing that comes from `source` is sent to `target` any more."""

    source: bytes | None = member("source", "bytes")
    target: bytes | None = member("target", "bytes")


@frozen(kw_only=True)
class RouteEnableEvent:
    source: bytes | None = member("source", "bytes")
    target: bytes | None = member("target", "bytes")


@frozen(kw_only=True)
class RedundancyEvent:
    """DOG's controller measured so many duplicates per first arrival."""

    value: float | None = member("value", "real")


# -- ours: what a harness or an application does ------------------------------------------------------------


@frozen(kw_only=True)
class StallEvent:
    peer: bytes | None = member("peerID", "bytes")


@frozen(kw_only=True)
class ResumeEvent:
    peer: bytes | None = member("peerID", "bytes")


@frozen(kw_only=True)
class ReceivedBytes:
    """Bytes that are not an RPC, of a named kind (`quidnunc.impl.wire.malformed`)."""

    peer: bytes | None = member("receivedFrom", "bytes")
    kind: str | None = member("kind")


@frozen(kw_only=True)
class ValidationEvent:
    message_id: bytes | None = member("messageID", "bytes")
    judgement: str | None = member("judgement")


@frozen(kw_only=True)
class ApplicationScore:
    peer: bytes | None = member("peerID", "bytes")
    value: int | None = member("value", "int")


@frozen(kw_only=True)
class MempoolEvent:
    """`submit` or `commit` of a transaction, or `adjust`: the timer of DOG's controller."""

    act: str | None = member("act")
    tx: bytes | None = member("tx", "bytes")


@frozen(kw_only=True)
class PartialDecisionEvent:
    peer: bytes | None = member("peerID", "bytes")
    payload: bytes | None = member("payload", "bytes")
    metadata: bytes | None = member("metadata", "bytes")
    next: bytes | None = member("next", "bytes")
    error: bool | None = member("error", "flag")


@frozen(kw_only=True)
class PartialPublishEvent:
    topic: str | None = member("topic")
    group: bytes | None = member("group", "bytes")
    decisions: tuple[PartialDecisionEvent, ...] = member("decisions", many=True, of=PartialDecisionEvent)


@frozen(kw_only=True)
class PartialFeedbackEvent:
    topic: str | None = member("topic")
    peer: bytes | None = member("peerID", "bytes")
    kind: str | None = member("kind")


@frozen(kw_only=True)
class PartialCallEvent:
    """The application was asked: what to publish (`offer`), or to gossip (`gossip`)."""

    kind: str | None = member("kind")
    topic: str | None = member("topic")
    group: bytes | None = member("group", "bytes")
    peer: bytes | None = member("peerID", "bytes")
    state: bytes | None = member("state", "bytes")
    requests: bool | None = member("requests", "flag")


@frozen(kw_only=True)
class PartialDeliveryEvent:
    """The application was handed a partial message of `peer`."""

    peer: bytes | None = member("receivedFrom", "bytes")
    partial: PartialMeta | None = member("partial", of=PartialMeta)


@frozen(kw_only=True)
class DialEvent:
    peer: bytes | None = member("peerID", "bytes")


@frozen(kw_only=True)
class RouterFailure:
    """The router's own words."""

    text: str | None = member("text")


Body: TypeAlias = (
    PublishMessage
    | RejectMessage
    | DuplicateMessage
    | DeliverMessage
    | OpenedStream
    | ClosedStream
    | ReceivedRpc
    | SentRpc
    | DroppedRpc
    | JoinEvent
    | LeaveEvent
    | GraftEvent
    | PruneEvent
    | RunStart
    | HeartbeatEvent
    | TimeAdvance
    | BackoffEvent
    | ScoreSnapshot
    | RouteDisableEvent
    | RouteEnableEvent
    | RedundancyEvent
    | StallEvent
    | ResumeEvent
    | ReceivedBytes
    | ValidationEvent
    | ApplicationScore
    | MempoolEvent
    | PartialPublishEvent
    | PartialFeedbackEvent
    | PartialCallEvent
    | PartialDeliveryEvent
    | DialEvent
    | RouterFailure
)


@frozen
class BodyType:
    """One type of event: its number, its name in go's enumeration, the field that holds its body."""

    number: int
    kind: type[Body]
    enum: str
    field: str
    old_enum: str = ""
    old_field: str = ""

    @property
    def ours(self) -> bool:
        return self.number >= OURS


OURS = 100
"""The first number of a type of our own; go's are smaller."""

TYPES: tuple[BodyType, ...] = (
    BodyType(0, PublishMessage, "PUBLISH_MESSAGE", "publishMessage"),
    BodyType(1, RejectMessage, "REJECT_MESSAGE", "rejectMessage"),
    BodyType(2, DuplicateMessage, "DUPLICATE_MESSAGE", "duplicateMessage"),
    BodyType(3, DeliverMessage, "DELIVER_MESSAGE", "deliverMessage"),
    BodyType(4, OpenedStream, "ON_NEW_OUTBOUND_STREAM", "onNewOutboundStream", "ADD_PEER", "addPeer"),
    BodyType(
        5, ClosedStream, "ON_CLOSED_OUTBOUND_STREAM", "onClosedOutboundStream", "REMOVE_PEER", "removePeer"
    ),
    BodyType(6, ReceivedRpc, "RECV_RPC", "recvRPC"),
    BodyType(7, SentRpc, "SEND_RPC", "sendRPC"),
    BodyType(8, DroppedRpc, "DROP_RPC", "dropRPC"),
    BodyType(9, JoinEvent, "JOIN", "join"),
    BodyType(10, LeaveEvent, "LEAVE", "leave"),
    BodyType(11, GraftEvent, "GRAFT", "graft"),
    BodyType(12, PruneEvent, "PRUNE", "prune"),
    BodyType(100, RunStart, "RUN", "run"),
    BodyType(101, HeartbeatEvent, "HEARTBEAT", "heartbeat"),
    BodyType(102, TimeAdvance, "TIME_PASSED", "timePassed"),
    BodyType(103, BackoffEvent, "BACKOFF", "backoff"),
    BodyType(104, ScoreSnapshot, "SCORE", "score"),
    BodyType(105, RouteDisableEvent, "ROUTE_DISABLED", "routeDisabled"),
    BodyType(106, RouteEnableEvent, "ROUTE_ENABLED", "routeEnabled"),
    BodyType(107, RedundancyEvent, "REDUNDANCY", "redundancy"),
    BodyType(108, StallEvent, "STALL", "stall"),
    BodyType(109, ResumeEvent, "RESUME", "resume"),
    BodyType(110, ReceivedBytes, "RECV_BYTES", "recvBytes"),
    BodyType(111, ValidationEvent, "VERDICT", "verdict"),
    BodyType(112, ApplicationScore, "APPLICATION_SCORE", "applicationScore"),
    BodyType(113, MempoolEvent, "MEMPOOL", "mempool"),
    BodyType(114, PartialPublishEvent, "PUBLISH_PARTIAL", "publishPartial"),
    BodyType(115, PartialFeedbackEvent, "FEEDBACK", "feedback"),
    BodyType(116, PartialCallEvent, "PARTIAL_ASKED", "partialAsked"),
    BodyType(117, PartialDeliveryEvent, "PARTIAL_HANDED", "partialHanded"),
    BodyType(118, DialEvent, "DIAL", "dial"),
    BodyType(119, RouterFailure, "FAILED", "failed"),
)
TYPE_OF_NUMBER: Mapping[int, BodyType] = {t.number: t for t in TYPES}
TYPE_OF_NAME: Mapping[str, BodyType] = {n: t for t in TYPES for n in (t.enum, t.old_enum) if n}
TYPE_OF_BODY: Mapping[type, BodyType] = {t.kind: t for t in TYPES}


@frozen
class TraceEvent:
    """One event, seen by router `peer` at `at_ns` of its clock (nanoseconds; go's are since 1970)."""

    body: Body
    peer: bytes | None = None
    at_ns: int | None = None

    @property
    def type(self) -> BodyType:
        return TYPE_OF_BODY[type(self.body)]
