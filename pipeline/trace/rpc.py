"""What a trace says of one RPC: a superset of the RPCMeta of go-libp2p-pubsub's trace."""

from __future__ import annotations

from attrs import frozen

from quidnunc.pipeline.trace.shapes import member


@frozen(kw_only=True)
class MessageMeta:
    message_id: bytes | None = member("messageID", "bytes")
    topic: str | None = member("topic", old=("topics",))
    size: int | None = member("size", "int", ours=True)
    """Bytes of data."""
    author: bytes | None = member("author", "bytes", ours=True)
    flaw: str | None = member("flaw", ours=True)
    """What is wrong with this copy (`quidnunc.model.rpc.Flaw`)."""


@frozen(kw_only=True)
class SubscriptionMeta:
    subscribe: bool | None = member("subscribe", "flag")
    topic: str | None = member("topic")
    requests_partial: bool | None = member("requestsPartial", "flag", ours=True)
    supports_partial: bool | None = member("supportsSendingPartial", "flag", ours=True)


@frozen(kw_only=True)
class IHaveMeta:
    topic: str | None = member("topic")
    message_ids: tuple[bytes, ...] = member("messageIDs", "bytes", many=True)


@frozen(kw_only=True)
class IWantMeta:
    message_ids: tuple[bytes, ...] = member("messageIDs", "bytes", many=True)


@frozen(kw_only=True)
class GraftMeta:
    topic: str | None = member("topic")


@frozen(kw_only=True)
class PruneMeta:
    topic: str | None = member("topic")
    peers: tuple[bytes, ...] = member("peers", "bytes", many=True)
    backoff_s: int | None = member("backoff", "uint", ours=True)
    records: str | None = member("records", ours=True)
    """Kind of the signed records of those peers."""


@frozen(kw_only=True)
class IDontWantMeta:
    message_ids: tuple[bytes, ...] = member("messageIDs", "bytes", many=True)


@frozen(kw_only=True)
class ExtensionsMeta:
    names: tuple[str, ...] = member("names", many=True)
    late: bool | None = member("late", "flag", ours=True)
    """It was not in the first RPC on its stream."""


@frozen(kw_only=True)
class OtherControlMeta:
    """A control message that has no field of its own here: one of a later version, or of somebody's own."""

    name: str | None = member("name")
    topic: str | None = member("topic")
    ids: tuple[bytes, ...] = member("ids", "bytes", many=True)


@frozen(kw_only=True)
class ControlMeta:
    ihave: tuple[IHaveMeta, ...] = member("ihave", many=True, of=IHaveMeta)
    iwant: tuple[IWantMeta, ...] = member("iwant", many=True, of=IWantMeta)
    graft: tuple[GraftMeta, ...] = member("graft", many=True, of=GraftMeta)
    prune: tuple[PruneMeta, ...] = member("prune", many=True, of=PruneMeta)
    idontwant: tuple[IDontWantMeta, ...] = member("idontwant", many=True, of=IDontWantMeta)
    extensions: tuple[ExtensionsMeta, ...] = member("extensions", many=True, of=ExtensionsMeta, ours=True)
    others: tuple[OtherControlMeta, ...] = member("others", many=True, of=OtherControlMeta, ours=True)


@frozen(kw_only=True)
class PartialMeta:
    topic: str | None = member("topic")
    group: bytes | None = member("group", "bytes")
    payload: bytes | None = member("payload", "bytes")
    metadata: bytes | None = member("metadata", "bytes")


@frozen(kw_only=True)
class MempoolMeta:
    """One message of a mempool channel: `txs`, `haveTx`, `resetRoute`, `seenTx`, `wantTx`, or `stray:` and
    what is wrong with it."""

    kind: str | None = member("kind")
    tx: bytes | None = member("tx", "bytes")


@frozen(kw_only=True)
class RpcMeta:
    messages: tuple[MessageMeta, ...] = member("messages", many=True, of=MessageMeta)
    subscription: tuple[SubscriptionMeta, ...] = member("subscription", many=True, of=SubscriptionMeta)
    control: ControlMeta | None = member("control", of=ControlMeta)
    test_extension: int | None = member("testExtension", "int", ours=True)
    """How many messages of the test extension."""
    partial: tuple[PartialMeta, ...] = member("partial", many=True, of=PartialMeta, ours=True)
    mempool: tuple[MempoolMeta, ...] = member("mempool", many=True, of=MempoolMeta, ours=True)
    order: tuple[int, ...] = member("order", "int", many=True, ours=True)
    """In which order the parts were said, where it is not that of these fields."""


@frozen(kw_only=True)
class PartBytes:
    """How many bytes of an RPC are of one kind of part."""

    kind: str | None = member("kind")
    bytes: int | None = member("bytes", "int")
