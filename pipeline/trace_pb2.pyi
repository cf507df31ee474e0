# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TraceEvent(_message.Message):
    __slots__ = ("type", "peerID", "timestamp", "publishMessage", "rejectMessage", "duplicateMessage", "deliverMessage", "onNewOutboundStream", "onClosedOutboundStream", "recvRPC", "sendRPC", "dropRPC", "join", "leave", "graft", "prune")
    class PublishMessage(_message.Message):
        __slots__ = ("messageID", "topic")
        MESSAGEID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        messageID: bytes
        topic: str
        def __init__(self, messageID: _Optional[bytes] = ..., topic: _Optional[str] = ...) -> None: ...
    class RejectMessage(_message.Message):
        __slots__ = ("messageID", "receivedFrom", "reason", "topic")
        MESSAGEID_FIELD_NUMBER: _ClassVar[int]
        RECEIVEDFROM_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        messageID: bytes
        receivedFrom: bytes
        reason: str
        topic: str
        def __init__(self, messageID: _Optional[bytes] = ..., receivedFrom: _Optional[bytes] = ..., reason: _Optional[str] = ..., topic: _Optional[str] = ...) -> None: ...
    class DuplicateMessage(_message.Message):
        __slots__ = ("messageID", "receivedFrom", "topic")
        MESSAGEID_FIELD_NUMBER: _ClassVar[int]
        RECEIVEDFROM_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        messageID: bytes
        receivedFrom: bytes
        topic: str
        def __init__(self, messageID: _Optional[bytes] = ..., receivedFrom: _Optional[bytes] = ..., topic: _Optional[str] = ...) -> None: ...
    class DeliverMessage(_message.Message):
        __slots__ = ("messageID", "topic", "receivedFrom")
        MESSAGEID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        RECEIVEDFROM_FIELD_NUMBER: _ClassVar[int]
        messageID: bytes
        topic: str
        receivedFrom: bytes
        def __init__(self, messageID: _Optional[bytes] = ..., topic: _Optional[str] = ..., receivedFrom: _Optional[bytes] = ...) -> None: ...
    class OpenedStream(_message.Message):
        __slots__ = ("peerID", "proto")
        PEERID_FIELD_NUMBER: _ClassVar[int]
        PROTO_FIELD_NUMBER: _ClassVar[int]
        peerID: bytes
        proto: str
        def __init__(self, peerID: _Optional[bytes] = ..., proto: _Optional[str] = ...) -> None: ...
    class ClosedStream(_message.Message):
        __slots__ = ("peerID",)
        PEERID_FIELD_NUMBER: _ClassVar[int]
        peerID: bytes
        def __init__(self, peerID: _Optional[bytes] = ...) -> None: ...
    class ReceivedRPC(_message.Message):
        __slots__ = ("receivedFrom", "meta")
        RECEIVEDFROM_FIELD_NUMBER: _ClassVar[int]
        META_FIELD_NUMBER: _ClassVar[int]
        receivedFrom: bytes
        meta: TraceEvent.RPCMeta
        def __init__(self, receivedFrom: _Optional[bytes] = ..., meta: _Optional[_Union[TraceEvent.RPCMeta, _Mapping]] = ...) -> None: ...
    class SentRPC(_message.Message):
        __slots__ = ("sendTo", "meta")
        SENDTO_FIELD_NUMBER: _ClassVar[int]
        META_FIELD_NUMBER: _ClassVar[int]
        sendTo: bytes
        meta: TraceEvent.RPCMeta
        def __init__(self, sendTo: _Optional[bytes] = ..., meta: _Optional[_Union[TraceEvent.RPCMeta, _Mapping]] = ...) -> None: ...
    class Joined(_message.Message):
        __slots__ = ("topic",)
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        topic: str
        def __init__(self, topic: _Optional[str] = ...) -> None: ...
    class Left(_message.Message):
        __slots__ = ("topic",)
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        topic: str
        def __init__(self, topic: _Optional[str] = ...) -> None: ...
    class OfMesh(_message.Message):
        __slots__ = ("peerID", "topic")
        PEERID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        peerID: bytes
        topic: str
        def __init__(self, peerID: _Optional[bytes] = ..., topic: _Optional[str] = ...) -> None: ...
    class RPCMeta(_message.Message):
        __slots__ = ("messages", "subscription", "control")
        MESSAGES_FIELD_NUMBER: _ClassVar[int]
        SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
        CONTROL_FIELD_NUMBER: _ClassVar[int]
        messages: _containers.RepeatedCompositeFieldContainer[TraceEvent.MessageMeta]
        subscription: _containers.RepeatedCompositeFieldContainer[TraceEvent.SubscriptionMeta]
        control: TraceEvent.ControlMeta
        def __init__(self, messages: _Optional[_Iterable[_Union[TraceEvent.MessageMeta, _Mapping]]] = ..., subscription: _Optional[_Iterable[_Union[TraceEvent.SubscriptionMeta, _Mapping]]] = ..., control: _Optional[_Union[TraceEvent.ControlMeta, _Mapping]] = ...) -> None: ...
    class MessageMeta(_message.Message):
        __slots__ = ("messageID", "topic")
        MESSAGEID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        messageID: bytes
        topic: str
        def __init__(self, messageID: _Optional[bytes] = ..., topic: _Optional[str] = ...) -> None: ...
    class SubscriptionMeta(_message.Message):
        __slots__ = ("subscribe", "topic")
        SUBSCRIBE_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        subscribe: bool
        topic: str
        def __init__(self, subscribe: bool = ..., topic: _Optional[str] = ...) -> None: ...
    class ControlMeta(_message.Message):
        __slots__ = ("ihave", "iwant", "graft", "prune", "idontwant")
        IHAVE_FIELD_NUMBER: _ClassVar[int]
        IWANT_FIELD_NUMBER: _ClassVar[int]
        GRAFT_FIELD_NUMBER: _ClassVar[int]
        PRUNE_FIELD_NUMBER: _ClassVar[int]
        IDONTWANT_FIELD_NUMBER: _ClassVar[int]
        ihave: _containers.RepeatedCompositeFieldContainer[TraceEvent.IHaveMeta]
        iwant: _containers.RepeatedCompositeFieldContainer[TraceEvent.IWantMeta]
        graft: _containers.RepeatedCompositeFieldContainer[TraceEvent.GraftMeta]
        prune: _containers.RepeatedCompositeFieldContainer[TraceEvent.PruneMeta]
        idontwant: _containers.RepeatedCompositeFieldContainer[TraceEvent.IWantMeta]
        def __init__(self, ihave: _Optional[_Iterable[_Union[TraceEvent.IHaveMeta, _Mapping]]] = ..., iwant: _Optional[_Iterable[_Union[TraceEvent.IWantMeta, _Mapping]]] = ..., graft: _Optional[_Iterable[_Union[TraceEvent.GraftMeta, _Mapping]]] = ..., prune: _Optional[_Iterable[_Union[TraceEvent.PruneMeta, _Mapping]]] = ..., idontwant: _Optional[_Iterable[_Union[TraceEvent.IWantMeta, _Mapping]]] = ...) -> None: ...
    class IHaveMeta(_message.Message):
        __slots__ = ("topic", "messageIDs")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        MESSAGEIDS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        messageIDs: _containers.RepeatedScalarFieldContainer[bytes]
        def __init__(self, topic: _Optional[str] = ..., messageIDs: _Optional[_Iterable[bytes]] = ...) -> None: ...
    class IWantMeta(_message.Message):
        __slots__ = ("messageIDs",)
        MESSAGEIDS_FIELD_NUMBER: _ClassVar[int]
        messageIDs: _containers.RepeatedScalarFieldContainer[bytes]
        def __init__(self, messageIDs: _Optional[_Iterable[bytes]] = ...) -> None: ...
    class GraftMeta(_message.Message):
        __slots__ = ("topic",)
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        topic: str
        def __init__(self, topic: _Optional[str] = ...) -> None: ...
    class PruneMeta(_message.Message):
        __slots__ = ("topic", "peers")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PEERS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        peers: _containers.RepeatedScalarFieldContainer[bytes]
        def __init__(self, topic: _Optional[str] = ..., peers: _Optional[_Iterable[bytes]] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    PEERID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    PUBLISHMESSAGE_FIELD_NUMBER: _ClassVar[int]
    REJECTMESSAGE_FIELD_NUMBER: _ClassVar[int]
    DUPLICATEMESSAGE_FIELD_NUMBER: _ClassVar[int]
    DELIVERMESSAGE_FIELD_NUMBER: _ClassVar[int]
    ONNEWOUTBOUNDSTREAM_FIELD_NUMBER: _ClassVar[int]
    ONCLOSEDOUTBOUNDSTREAM_FIELD_NUMBER: _ClassVar[int]
    RECVRPC_FIELD_NUMBER: _ClassVar[int]
    SENDRPC_FIELD_NUMBER: _ClassVar[int]
    DROPRPC_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    GRAFT_FIELD_NUMBER: _ClassVar[int]
    PRUNE_FIELD_NUMBER: _ClassVar[int]
    type: int
    peerID: bytes
    timestamp: int
    publishMessage: TraceEvent.PublishMessage
    rejectMessage: TraceEvent.RejectMessage
    duplicateMessage: TraceEvent.DuplicateMessage
    deliverMessage: TraceEvent.DeliverMessage
    onNewOutboundStream: TraceEvent.OpenedStream
    onClosedOutboundStream: TraceEvent.ClosedStream
    recvRPC: TraceEvent.ReceivedRPC
    sendRPC: TraceEvent.SentRPC
    dropRPC: TraceEvent.SentRPC
    join: TraceEvent.Joined
    leave: TraceEvent.Left
    graft: TraceEvent.OfMesh
    prune: TraceEvent.OfMesh
    def __init__(self, type: _Optional[int] = ..., peerID: _Optional[bytes] = ..., timestamp: _Optional[int] = ..., publishMessage: _Optional[_Union[TraceEvent.PublishMessage, _Mapping]] = ..., rejectMessage: _Optional[_Union[TraceEvent.RejectMessage, _Mapping]] = ..., duplicateMessage: _Optional[_Union[TraceEvent.DuplicateMessage, _Mapping]] = ..., deliverMessage: _Optional[_Union[TraceEvent.DeliverMessage, _Mapping]] = ..., onNewOutboundStream: _Optional[_Union[TraceEvent.OpenedStream, _Mapping]] = ..., onClosedOutboundStream: _Optional[_Union[TraceEvent.ClosedStream, _Mapping]] = ..., recvRPC: _Optional[_Union[TraceEvent.ReceivedRPC, _Mapping]] = ..., sendRPC: _Optional[_Union[TraceEvent.SentRPC, _Mapping]] = ..., dropRPC: _Optional[_Union[TraceEvent.SentRPC, _Mapping]] = ..., join: _Optional[_Union[TraceEvent.Joined, _Mapping]] = ..., leave: _Optional[_Union[TraceEvent.Left, _Mapping]] = ..., graft: _Optional[_Union[TraceEvent.OfMesh, _Mapping]] = ..., prune: _Optional[_Union[TraceEvent.OfMesh, _Mapping]] = ...) -> None: ...

class TraceEventBatch(_message.Message):
    __slots__ = ("batch",)
    BATCH_FIELD_NUMBER: _ClassVar[int]
    batch: _containers.RepeatedCompositeFieldContainer[TraceEvent]
    def __init__(self, batch: _Optional[_Iterable[_Union[TraceEvent, _Mapping]]] = ...) -> None: ...
