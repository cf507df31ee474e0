"""What bytes between two nodes say, as a trace has it: read once, wherever they are seen.

Ids are those of the wire, under the message-id function that the whole network has; a transaction's is the
SHA-256 of its bytes. The sizes of an RPC's parts add up to its length.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from attrs import define, field, frozen
from google.protobuf.message import DecodeError

from quidnunc.impl.wire import cat_pb2, mempool_pb2
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.cat_codec import VERSIONS
from quidnunc.impl.wire.extension_fields import extensions_value
from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signed_records import kind_of
from quidnunc.impl.wire.signing import SEQNO_BYTES, author_bytes, id_function, set_author, signature_fault
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import MessageIdFunction, SignaturePolicy
from quidnunc.model.rpc import PartShape, Peer
from quidnunc.pipeline.trace.parts import OTHERS
from quidnunc.pipeline.trace.rpc import (
    ControlMeta,
    ExtensionsMeta,
    GraftMeta,
    IDontWantMeta,
    IHaveMeta,
    IWantMeta,
    MempoolMeta,
    MessageMeta,
    OtherControlMeta,
    PartBytes,
    PartialMeta,
    PruneMeta,
    RpcMeta,
    SubscriptionMeta,
)

Language: TypeAlias = str
"""`pubsub`, `mempool` or `cat`: what the RPCs of a node are written in."""
MAX_VIEWS = 4096
MAX_VIEWED_BYTES = 64 << 20
"""What is remembered of RPCs that were read: a message goes to many, and arrives as it was sent."""


@frozen(eq=False)
class WirePayload:
    """One message or transaction inside an RPC."""

    id: bytes
    topic: str
    data: bytes
    """SHA-256 of its data: an application is handed data, and no id."""
    size: int
    author: bytes | None = None
    flaw: str | None = None


@frozen(eq=False)
class RpcView:
    """One RPC, read."""

    meta: RpcMeta | None
    """None where the bytes are no RPC."""
    parts: tuple[PartBytes, ...] = ()
    carried: tuple[WirePayload, ...] = ()
    unsettling: bool = False
    """It may change a mesh, a backoff or a route."""
    wants: bool = False
    """It asks for a transaction by its key."""
    greets: bool = False
    """It names extensions."""


@define(eq=False)
class RpcReader:
    """Reads RPCs of one network. `pubsub` nodes agree on how ids are made and messages signed."""

    message_id: MessageIdFunction = "content"
    policy: SignaturePolicy = "StrictSign"
    _known: OrderedDict[tuple[Language, bytes], RpcView] = field(factory=OrderedDict)
    _bytes: int = 0
    _carried: OrderedDict[bytes, WirePayload] = field(factory=OrderedDict)
    _id_of: Callable[[wire.Message], bytes] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._id_of = id_function(self.message_id)

    def of(self, language: Language, data: bytes) -> RpcView:
        """The view of one RPC."""
        key = (language, data)
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
            return found
        found = self._known[key] = READERS[language](data, self)
        self._bytes += len(data)
        while len(self._known) > MAX_VIEWS or self._bytes > MAX_VIEWED_BYTES:
            (_, oldest), _ = self._known.popitem(last=False)
            self._bytes -= len(oldest)
        return found

    def carried(self, message: wire.Message) -> WirePayload:
        """One message; its signature is looked at once, however many RPCs carry it."""
        written = message.SerializeToString(deterministic=True)
        key = sha256(written).digest()
        found = self._carried.get(key)
        if found is None:
            data = message.data
            found = self._carried[key] = WirePayload(
                id=self._id_of(message),
                topic=text(message.topic),
                data=sha256(data).digest(),
                size=len(data),
                author=author_bytes(message) or None,
                flaw=signature_fault(message, self.policy) or None,
            )
            if len(self._carried) > MAX_VIEWS:
                self._carried.popitem(last=False)
        return found

    def made(self, author: Peer, number: int, topic: str, data: bytes) -> WirePayload:
        """A node's own message, the `number`th, as our routers make it: named before anybody is sent it."""
        bare = wire.Message(topic=topic, data=data)
        signed = self.policy == "StrictSign"
        if signed:
            bare.seqno = number.to_bytes(SEQNO_BYTES, "big")
            set_author(bare, author)
        return WirePayload(
            id=self._id_of(bare),
            topic=topic,
            data=sha256(data).digest(),
            size=len(data),
            author=peer_id(author) if signed else None,
        )


def language_of(protocol: str) -> Language:
    """Which language a node of that protocol speaks."""
    return "cat" if protocol in VERSIONS else protocol_named(protocol).family


def text(topic: str | bytes) -> str:
    """A topic as text; protobuf gives bytes where it is none."""
    return topic if isinstance(topic, str) else topic.decode("utf-8", "backslashreplace")


# -- pubsub -------------------------------------------------------------------------------------------------


def _sized(inner: int) -> int:
    """Bytes of a field of that many: its tag, its length, itself."""
    return 1 + max(1, (inner.bit_length() + 6) // 7) + inner


def _pubsub(data: bytes, views: RpcReader) -> RpcView:
    try:
        rpc = wire.RPC.FromString(data)
    except DecodeError:
        return RpcView(None, (PartBytes(kind="unreadable", bytes=len(data)),))
    carried = tuple([views.carried(m) for m in rpc.publish])
    sizes: dict[str, int] = {}
    for kind, size in _sizes(rpc):
        sizes[kind] = sizes.get(kind, 0) + size
    # Tags that are longer than a byte, and the length of the control message, go with what came first.
    first = next(iter(sizes), "empty")
    sizes[first] = sizes.get(first, 0) + len(data) - sum(sizes.values())
    control = rpc.control if rpc.HasField("control") else None
    return RpcView(
        RpcMeta(
            messages=tuple([_message_meta(c) for c in carried]),
            subscription=tuple([_subscription(s) for s in rpc.subscriptions]),
            control=_control(control) if control is not None else None,
            test_extension=1 if rpc.HasField("testExtension") else None,
            partial=(_partial(rpc.partial),) if rpc.HasField("partial") else (),
        ),
        tuple([PartBytes(kind=kind, bytes=size) for kind, size in sizes.items() if size]),
        carried,
        unsettling=bool(rpc.subscriptions) or (control is not None and bool(control.graft or control.prune)),
        greets=control is not None and control.HasField("extensions"),
    )


def _sizes(rpc: wire.RPC) -> Iterator[tuple[str, int]]:
    for kind, parts in (
        ("message", rpc.publish),
        ("subscription", rpc.subscriptions),
        ("ihave", rpc.control.ihave),
        ("iwant", rpc.control.iwant),
        ("graft", rpc.control.graft),
        ("prune", rpc.control.prune),
        ("idontwant", rpc.control.idontwant),
    ):
        if parts:
            yield kind, sum([_sized(part.ByteSize()) for part in parts])
    for shape in OTHERS:
        if others := getattr(rpc.control, shape.word):
            yield shape.word, sum([_sized(part.ByteSize()) for part in others])
    if rpc.control.HasField("extensions"):
        yield "extensions", _sized(rpc.control.extensions.ByteSize())
    if rpc.HasField("partial"):
        yield "partial", _sized(rpc.partial.ByteSize())
    if rpc.HasField("testExtension"):
        yield "test_extension", _sized(rpc.testExtension.ByteSize())


def _message_meta(c: WirePayload) -> MessageMeta:
    return MessageMeta(message_id=c.id, topic=c.topic, size=c.size, author=c.author, flaw=c.flaw)


def _subscription(said: Any) -> SubscriptionMeta:
    return SubscriptionMeta(
        subscribe=said.subscribe,
        topic=text(said.topicid),
        requests_partial=said.requestsPartial or None,
        supports_partial=said.supportsSendingPartial or None,
    )


def _control(control: wire.ControlMessage) -> ControlMeta:
    greeting: tuple[ExtensionsMeta, ...] = ()
    if control.HasField("extensions"):
        greeting = (ExtensionsMeta(names=extensions_value(control.extensions).names),)
    return ControlMeta(
        ihave=tuple(
            [IHaveMeta(topic=text(i.topicID), message_ids=tuple(i.messageIDs)) for i in control.ihave]
        ),
        iwant=tuple([IWantMeta(message_ids=tuple(i.messageIDs)) for i in control.iwant]),
        graft=tuple([GraftMeta(topic=text(g.topicID)) for g in control.graft]),
        prune=tuple([_prune(p) for p in control.prune]),
        idontwant=tuple([IDontWantMeta(message_ids=tuple(i.messageIDs)) for i in control.idontwant]),
        extensions=greeting,
        others=tuple([_other(s, each) for s in OTHERS for each in getattr(control, s.word)]),
    )


def _other(shape: PartShape, part: Any) -> OtherControlMeta:
    kinds = {kind for _, kind in shape.fields}
    topic = text(part.topicID) if "topic" in kinds else None
    return OtherControlMeta(
        name=shape.word, topic=topic, ids=tuple(part.messageIDs) if "ids" in kinds else ()
    )


def _prune(prune: Any) -> PruneMeta:
    kinds = {kind_of(p.signedPeerRecord, p.peerID) for p in prune.peers}
    return PruneMeta(
        topic=text(prune.topicID),
        peers=tuple([p.peerID for p in prune.peers]),
        backoff_s=prune.backoff if prune.HasField("backoff") else None,
        records="forged" if "forged" in kinds else "signed" if "signed" in kinds else None,
    )


def _partial(partial: Any) -> PartialMeta:
    return PartialMeta(
        topic=text(partial.topicID),
        group=partial.groupID,
        payload=partial.partialMessage if partial.HasField("partialMessage") else None,
        metadata=partial.partsMetadata if partial.HasField("partsMetadata") else None,
    )


# -- mempools -----------------------------------------------------------------------------------------------

TX_TOPIC = "mempool"
"""What stands in the place of a topic where a transaction is reported as a message."""
_NAMES = {"have_tx": "haveTx", "seen_tx": "seenTx", "want_tx": "wantTx"}


def _mempool(data: bytes, kind_of_message: Any, *, unsettling: bool) -> RpcView:
    try:
        message = kind_of_message.FromString(data)
    except DecodeError:
        return RpcView(None, (PartBytes(kind="unreadable", bytes=len(data)),))
    kind = message.WhichOneof("sum")
    if kind == "txs":
        carried = tuple(carried_tx(tx) for tx in message.txs.txs)
        metas = tuple(MempoolMeta(kind="txs", tx=c.id) for c in carried)
        return RpcView(RpcMeta(mempool=metas), (PartBytes(kind="txs", bytes=len(data)),), carried)
    if kind == "reset_route":
        name, metas = "resetRoute", (MempoolMeta(kind="resetRoute"),)
    elif kind in _NAMES:
        name = _NAMES[kind]
        metas = (MempoolMeta(kind=name, tx=getattr(message, kind).tx_key),)
    else:
        return RpcView(None, (PartBytes(kind="unreadable", bytes=len(data)),))
    return RpcView(
        RpcMeta(mempool=metas),
        (PartBytes(kind=name, bytes=len(data)),),
        unsettling=unsettling,
        wants=kind == "want_tx",
    )


def carried_tx(tx: bytes) -> WirePayload:
    """A transaction, by its key."""
    key = sha256(tx).digest()
    return WirePayload(id=key, topic=TX_TOPIC, data=key, size=len(tx))


READERS: Mapping[Language, Callable[[bytes, RpcReader], RpcView]] = {
    "pubsub": lambda data, reader: _pubsub(data, reader),
    "mempool": lambda data, reader: _mempool(data, mempool_pb2.Message, unsettling=True),
    "cat": lambda data, reader: _mempool(data, cat_pb2.Message, unsettling=False),
}
"""How the RPCs of each language are read."""
